//! Code of either compiler in the one form that both are compared in.

use trace_format::isa::{BlockId, Kind, MachineKernel};

/// What an instruction says about the number of copies of its line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Weight {
    /// It stays in the block of its line: stores, atomics, barriers, control transfers.
    Pinned,
    /// One per line in most cases: loads, floating-point arithmetic.
    Counted,
    /// Address arithmetic, copies, comparisons, which compilers fold, repeat and move.
    Loose,
}

impl Weight {
    /// The weight of an operation by its mnemonic, which our ISA and NVIDIA's share.
    #[must_use]
    pub fn of(mnemonic: &str) -> Weight {
        let stem = mnemonic.split('.').next().unwrap_or(mnemonic);
        const PINNED: &[&str] = &[
            "ST", "STG", "STS", "STL", "ATOM", "ATOMG", "ATOMS", "RED", "BAR", "SUST", "SURED", "BRA", "EXIT",
        ];
        const COUNTED: &[&str] = &[
            "LD", "LDG", "LDS", "LDSM", "FFMA", "FADD", "FMUL", "DFMA", "DADD", "DMUL", "HFMA2", "HADD2",
            "HMUL2", "HMMA", "IMMA", "TEX", "TLD", "TLD4", "SULD", "SHFL",
        ];
        if PINNED.contains(&stem) {
            Weight::Pinned
        } else if COUNTED.contains(&stem) {
            Weight::Counted
        } else {
            Weight::Loose
        }
    }
}

/// An instruction: the PTX line that it comes from (0 if unknown), and its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// PTX line, counted from 1.
    pub line: u32,
    /// What it says about copies.
    pub weight: Weight,
}

/// How a block passes control on besides its successors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// To its successors.
    #[default]
    Flows,
    /// Through a call of a subroutine, which few warps take: a slow path of division.
    Calls,
}

/// Basic blocks of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Instructions in order.
    pub instructions: Vec<Instruction>,
    /// Blocks as ranges of instructions, in order.
    pub blocks: Vec<std::ops::Range<usize>>,
    /// Successors of each block.
    pub successors: Vec<Vec<usize>>,
    /// How each block ends.
    pub endings: Vec<Ending>,
}

impl Code {
    /// The code of a machine kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> Code {
        let flow = kernel.flow();
        let instruction = |(at, inst): (usize, &trace_format::isa::Inst)| Instruction {
            line: kernel.lines.get(at).map_or(0, |line| line.code.line),
            weight: Weight::of(&inst.op.mnemonic()),
        };
        let calls = |block: usize| {
            let last = flow.block(BlockId(block as u32)).end.index() - 1;
            if kernel.insts[last].kind() == Kind::Call { Ending::Calls } else { Ending::Flows }
        };
        let count = flow.blocks().len();
        let next = |b: usize| flow.successors(BlockId(b as u32)).iter().map(|s| s.0 as usize).collect();
        Code {
            instructions: kernel.insts.iter().enumerate().map(instruction).collect(),
            blocks: flow.blocks().iter().map(|b| b.first.index()..b.end.index()).collect(),
            successors: (0..count).map(next).collect(),
            endings: (0..count).map(calls).collect(),
        }
    }
}
