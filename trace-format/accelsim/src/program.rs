//! The machine kernel behind the traces of a kernel's launches: every instruction that a warp was seen to execute, at
//! its place in the code.

use crate::fit::{Misfit, fit};
use crate::header::Header;
use crate::line::{Line, Registers, Static};
use crate::opcode::{Taken, row_of};
use std::collections::HashMap;
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, Language, MachineKernel, Op, Pc, Position, SourceFile, SourceLine};

/// Most different instructions of a kernel; the largest kernels of libraries have some hundred thousand.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Local addresses below this are offsets into a thread's local memory; CUDA gives a thread at most 512 KiB.
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// An instruction that was seen.
#[derive(Debug)]
struct Seen {
    pc: u64,
    destinations: Registers,
    opcode: Box<str>,
    sources: Registers,
    memory: bool,
    barrier: u32,
    op: Op,
    taken: Taken,
    /// The instruction behind it on some path, other than the next in the code.
    target: Option<usize>,
    /// Executions.
    count: u64,
}

/// The instructions of a kernel, by their PC; several may have the same, since functions that are called have PCs of
/// their own.
#[derive(Debug, Default)]
pub(crate) struct Program {
    seen: Vec<Seen>,
    at: HashMap<u64, Vec<u32>>,
    registers: u16,
    code_bytes: u64,
    /// Lowest and highest byte of local memory that was accessed.
    local: Option<(u64, u64)>,
}

/// A kernel that was built from what was seen, and where each instruction is in it.
#[derive(Debug)]
pub(crate) struct Built {
    pub kernel: MachineKernel,
    pub places: Vec<Pc>,
    /// Subtracted from addresses of local memory.
    pub local_base: u64,
}

/// What an opcode was taken for, with the executions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenFor {
    /// The opcode as the trace writes it.
    pub opcode: String,
    /// The row's mnemonic.
    pub row: String,
    /// How it was found.
    pub how: Taken,
    /// Warp instructions.
    pub count: u64,
}

/// How the instructions of a kernel fit.
#[derive(Debug, Default)]
pub(crate) struct Fits {
    pub taken: Vec<TakenFor>,
    /// Warp instructions with an operand that begins below its register.
    pub widened: u64,
    /// Warp instructions with a register that the row has no operand for.
    pub dropped: u64,
    /// Warp instructions that access memory and have no addresses.
    pub without_addresses: u64,
}

impl Program {
    /// Takes the facts of a launch.
    pub(crate) fn launched(&mut self, header: &Header) {
        self.code_bytes = header.code_bytes();
        // Hardware since sm_70 allocates two registers that no instruction names.
        let hidden = if header.binary_version >= 70 { 2 } else { 0 };
        self.registers = self.registers.max(header.registers.saturating_sub(hidden) as u16);
    }

    /// The number of an instruction that is known.
    #[inline]
    pub(crate) fn find(&self, what: &Static<'_>) -> Option<usize> {
        let candidates = self.at.get(&what.pc)?.iter().map(|number| *number as usize);
        candidates.into_iter().find(|number| self.seen[*number].is(what))
    }

    /// Counts an execution, behind that of the instruction `before` of the same warp, and returns the instruction's
    /// number.
    pub(crate) fn see(&mut self, line: &Line<'_>, before: Option<usize>) -> Result<usize, String> {
        let number = match self.find(&line.what) {
            Some(number) => number,
            None => self.add(&line.what)?,
        };
        self.seen[number].count += 1;
        if let Some(before) = before {
            let next = self.seen[before].pc.wrapping_add(self.code_bytes);
            let jumps = matches!(self.seen[before].op.info().kind, Kind::Branch | Kind::Call);
            if jumps && self.seen[before].target.is_none() && line.what.pc != next {
                self.seen[before].target = Some(number);
            }
        }
        if let Some(Space::Local) = self.seen[number].op.info().kind.space() {
            self.touch(line);
        }
        Ok(number)
    }

    /// Whether an instruction ends its lanes.
    pub(crate) fn ends_lanes(&self, number: usize) -> bool {
        self.seen[number].op.info().kind == Kind::Exit
    }

    fn touch(&mut self, line: &Line<'_>) {
        for lane in (0..32).filter(|lane| line.mask >> lane & 1 != 0) {
            let address = line.addresses[lane];
            if address != trace_format::isa::space::NO_ADDRESS {
                let (low, high) = self.local.unwrap_or((address, address));
                self.local = Some((low.min(address), high.max(address)));
            }
        }
    }

    fn add(&mut self, what: &Static<'_>) -> Result<usize, String> {
        if self.seen.len() == MAX_INSTRUCTIONS {
            return Err(format!("more than {MAX_INSTRUCTIONS} different instructions in a kernel"));
        }
        let opcode = String::from_utf8_lossy(what.opcode).into_owned();
        let has_result = !what.destinations.as_slice().is_empty();
        let (op, taken) = row_of(&opcode, what.memory, has_result);
        let number = self.seen.len();
        self.at.entry(what.pc).or_default().push(number as u32);
        self.seen.push(Seen {
            pc: what.pc,
            destinations: what.destinations,
            opcode: opcode.into(),
            sources: what.sources,
            memory: what.memory,
            barrier: what.barrier,
            op,
            taken,
            target: None,
            count: 0,
        });
        Ok(number)
    }

    /// The kernel; `file` is the name of the trace.
    pub(crate) fn build(&self, name: &str, file: &str, fits: &mut Fits) -> Built {
        let mut order: Vec<usize> = (0..self.seen.len()).collect();
        order.sort_by_key(|number| (self.seen[*number].pc, *number));
        let fills = self.fills(&order);
        let mut kernel = MachineKernel { name: name.to_owned(), ..MachineKernel::default() };
        let mut places = vec![Pc(0); self.seen.len()];
        let mut texts = Vec::new();
        let mut push = |kernel: &mut MachineKernel, inst: Inst, text: Option<String>| {
            let line = kernel.insts.len() as u32 + 1;
            let known = text.is_some();
            texts.extend(text.map(|text| (line, text)));
            kernel.insts.push(inst);
            let code = if known { Position { file: 1, line } } else { Position::default() };
            kernel.lines.push(SourceLine { code, ..SourceLine::default() });
        };
        for &number in &order {
            let seen = &self.seen[number];
            // Code that was never executed keeps its place, on which the instruction cache depends.
            while fills && (kernel.insts.len() as u64) < seen.pc / self.code_bytes {
                push(&mut kernel, Inst::new(Op::Nop {}), None);
            }
            let (inst, misfit) = fit(seen.op, &seen.destinations, &seen.sources, seen.barrier);
            fits.add(seen, &inst, misfit);
            places[number] = Pc(kernel.insts.len() as u32);
            push(&mut kernel, inst, Some(seen.text()));
        }
        for (number, seen) in self.seen.iter().enumerate() {
            let place = places[number].index();
            let next = Pc((place + 1).min(kernel.insts.len() - 1) as u32);
            kernel.insts[place].target = seen.target.map_or(next, |target| places[target]);
        }
        let last = kernel.insts.last().map(Inst::kind);
        if !matches!(last, Some(Kind::Exit | Kind::Return | Kind::Branch)) {
            // As behind every compiled kernel: a branch to itself.
            let here = Pc(kernel.insts.len() as u32);
            push(&mut kernel, Inst { target: here, ..Inst::new(Op::Bra {}) }, None);
        }
        let registers = kernel.insts.iter().flat_map(Inst::regs);
        let named = registers.map(|register| u16::from(register.0) + 1).max().unwrap_or(1);
        kernel.regs_per_thread = named.max(self.registers).min(255);
        let (low, high) = self.local.unwrap_or_default();
        let local_base = if high >= MAX_LOCAL_BYTES { low & !15 } else { 0 };
        let span = (high - local_base).min(MAX_LOCAL_BYTES) as u32;
        kernel.local_bytes = if self.local.is_some() { (span + 1).next_multiple_of(16) } else { 0 };
        kernel.files =
            vec![SourceFile { language: Language::MachineCode, name: file.to_owned(), lines: texts }];
        Built { kernel, places, local_base }
    }

    /// Whether the gaps between the instructions are filled: not if PCs are scattered, as those of functions are.
    fn fills(&self, order: &[usize]) -> bool {
        let [Some(first), Some(last)] = [order.first(), order.last()] else { return false };
        let (first, last) = (self.seen[*first].pc, self.seen[*last].pc);
        let span = (last - first) / self.code_bytes;
        first / self.code_bytes < 4096 && span < 8 * order.len() as u64 + 4096
    }
}

impl Seen {
    #[inline]
    fn is(&self, what: &Static<'_>) -> bool {
        self.opcode.as_bytes() == what.opcode
            && self.destinations == what.destinations
            && self.sources == what.sources
            && self.memory == what.memory
            && self.barrier == what.barrier
    }

    /// The instruction as the trace shows it: `LDG.E.SYS R4, R2`.
    fn text(&self) -> String {
        // The first destination stands for all.
        let registers = self.destinations.as_slice().iter().take(1).chain(self.sources.as_slice());
        let name = |number: &u8| if *number == 255 { "RZ".to_owned() } else { format!("R{number}") };
        let names: Vec<String> = registers.map(name).collect();
        format!("{} {}", self.opcode, names.join(", ")).trim_end().to_owned()
    }
}

impl Fits {
    fn add(&mut self, seen: &Seen, inst: &Inst, misfit: Misfit) {
        self.widened += if misfit.widened > 0 { seen.count } else { 0 };
        self.dropped += if misfit.dropped > 0 { seen.count } else { 0 };
        self.without_addresses += if inst.kind().is_memory() && !seen.memory { seen.count } else { 0 };
        let (opcode, row) = (seen.opcode.to_string(), inst.op.info().mnemonic.to_owned());
        // Another row of the unit may have been taken for its operands.
        let base = seen.opcode.split('.').next().unwrap_or_default();
        let renamed = seen.taken == Taken::Same && !row.starts_with(base);
        let how = if renamed { Taken::Like } else { seen.taken };
        match self.taken.iter_mut().find(|taken| taken.opcode == opcode && taken.row == row) {
            Some(taken) => taken.count += seen.count,
            None => self.taken.push(TakenFor { opcode, row, how, count: seen.count }),
        }
    }
}
