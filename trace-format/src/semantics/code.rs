//! A machine kernel prepared for one launch: every operand is the index of a row.
//!
//! Rows of a warp, in order: the kernel's registers; four rows that stay zero (RZ and its pairs and quads);
//! four that swallow writes to RZ; the uniform registers, whose lanes all hold the same word; one row per distinct
//! immediate or constant-bank word; finally two for the addresses of texture and surface accesses.

use super::row::{Geometry, Row};
use crate::isa::{
    Inst, Kind, MachineKernel, MemData, MemOp, MemWidth, Op, Operand, Pc, PredSrc, Reg, Results, UniformReg,
    space,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Contents of the constant banks of one launch.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Banks {
    /// Bank 0: geometry and parameters, as laid out in [`crate::isa::space`].
    pub param: Vec<u8>,
    /// Bank 3: the module's `.const` variables.
    pub user: Vec<u8>,
    /// Bank 2: literals of the kernel after relocation.
    pub literal: Vec<u8>,
    /// Bank 4: addresses of variables and functions, in machine code.
    pub addresses: Vec<u8>,
}

impl Banks {
    /// Bank 0 up to the parameters: the launch's shape, and the stack pointer of a thread with `local_bytes`
    /// of local memory.
    #[must_use]
    pub fn parameter_head(geometry: &Geometry, local_bytes: u32) -> Vec<u8> {
        let mut head = vec![0; usize::from(space::PARAM_BASE)];
        let mut put = |at: u16, words: &[u32]| {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            head[usize::from(at)..].iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        };
        put(space::PARAM_NTID, &geometry.block);
        put(space::PARAM_NCTAID, &geometry.grid);
        put(space::PARAM_STACK, &[local_bytes]);
        head
    }

    /// The bytes of a bank; unknown banks are empty.
    #[must_use]
    pub fn bank(&self, bank: u8) -> &[u8] {
        match bank {
            space::BANK_PARAM => &self.param,
            space::BANK_LITERAL => &self.literal,
            space::BANK_USER => &self.user,
            space::BANK_ADDRESSES => &self.addresses,
            _ => &[],
        }
    }

    /// A little-endian word of a bank; bytes past its end read as zero.
    #[must_use]
    pub fn word(&self, bank: u8, offset: usize) -> u32 {
        let bytes = self.bank(bank);
        let at = |i: usize| bytes.get(offset + i).copied().unwrap_or(0);
        u32::from_le_bytes([at(0), at(1), at(2), at(3)])
    }
}

/// A source operand resolved to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcRow {
    /// Row of the (first) word.
    pub row: u16,
    /// See [`crate::isa::Src::neg`].
    pub neg: bool,
    /// See [`crate::isa::Src::abs`].
    pub abs: bool,
}

/// A predicate operand resolved to an index; 7 is PT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredRef {
    /// Index of the predicate.
    pub index: u8,
    /// Whether it is complemented.
    pub not: bool,
}

impl PredRef {
    fn of(p: PredSrc) -> PredRef {
        PredRef { index: p.pred.0, not: p.not }
    }
}

/// An instruction with resolved operands.
#[derive(Clone, Copy, Debug)]
pub struct ExecInst {
    /// Opcode with modifiers.
    pub op: Op,
    /// Side effects, from the table.
    pub kind: Kind,
    /// Guard predicate.
    pub guard: PredRef,
    /// First destination row (a sink row when the destination is RZ).
    pub dst: u16,
    /// Number of destination rows, those of [`crate::isa::Results`].
    pub dst_rows: u8,
    /// Predicates that may be written, a bit each by their number, those of [`crate::isa::Results`].
    pub dst_preds: u16,
    /// Lanes that are written besides those that take part: all of them if a result is uniform.
    pub spread: u32,
    /// The memory access, if there is one, from the table.
    pub memory: Option<MemOp>,
    /// Destination predicates, 7 for none.
    pub pdst: [u8; 2],
    /// Sources.
    pub src: [SrcRow; 3],
    /// Predicate sources.
    pub psrc: [PredRef; 3],
    /// Byte offset of a memory instruction.
    pub offset: i32,
    /// First row of the uniform register that is added to the address of a memory instruction, a row of zeros if there
    /// is none.
    pub base: u16,
    /// Whether there is one.
    pub has_base: bool,
    /// Target of a branch or call.
    pub target: Pc,
    /// Reconvergence point of a branch.
    pub reconv: Option<Pc>,
}

impl ExecInst {
    /// All destinations.
    #[must_use]
    #[inline]
    pub const fn results(&self) -> Results {
        Results { registers: self.dst_rows, predicates: self.dst_preds }
    }

    /// Lanes whose results are written if the instruction takes effect in those of `exec`.
    #[must_use]
    #[inline]
    pub const fn written_lanes(&self, exec: u32) -> u32 {
        if exec == 0 { 0 } else { exec | self.spread }
    }

    /// Whether the guard is PT, so that all active lanes take part.
    #[must_use]
    #[inline]
    pub const fn is_unguarded(&self) -> bool {
        self.guard.index == 7 && !self.guard.not
    }

    /// Bytes accessed per lane, 0 for all but memory instructions.
    #[must_use]
    #[inline]
    pub const fn mem_bytes(&self) -> u8 {
        match &self.memory {
            Some(memory) => memory.bytes(),
            None => 0,
        }
    }

    /// Width of a load or store of one value per lane; 32 bits for other instructions.
    #[must_use]
    #[inline(always)]
    pub const fn width(&self) -> MemWidth {
        match self.memory {
            Some(MemOp { data: MemData::Plain(width), .. }) => width,
            _ => MemWidth::B32,
        }
    }

    /// Lanes whose addresses a memory instruction uses; matrix loads and stores let some lanes address rows for all.
    #[must_use]
    #[inline]
    pub const fn address_lanes(&self) -> u32 {
        match &self.memory {
            Some(memory) => memory.address_lanes(),
            None => u32::MAX,
        }
    }
}

/// A kernel prepared for all of its launches: operands are rows, and only the constants' values are missing.
#[derive(Clone, Debug)]
pub struct Template {
    insts: Arc<[ExecInst]>,
    /// Rows of a new warp, without the constants.
    rows: Vec<Row>,
    /// Row, bank and byte offset of every word of a constant bank that the kernel reads.
    constants: Vec<(u16, u8, u32)>,
    register_rows: usize,
    state_rows: usize,
}

/// A kernel prepared for execution with the constants of one launch.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instructions, parallel to [`MachineKernel::insts`].
    pub insts: Arc<[ExecInst]>,
    rows: Vec<Row>,
    register_rows: usize,
    state_rows: usize,
    /// Vector level that [`super::execute`] runs at.
    pub(super) level: super::level::VectorLevel,
}

/// Content of a row that no instruction writes: one word, or two words together with the next row.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Literal {
    Value(u32, Option<u32>),
    Constant { bank: u8, offset: u16, two: bool },
}

struct Pool {
    rows: Vec<Row>,
    of_literal: HashMap<Literal, u16>,
    constants: Vec<(u16, u8, u32)>,
}

impl Pool {
    /// Row of a literal, or of the first of its two words.
    fn row(&mut self, literal: Literal) -> u16 {
        if let Some(&known) = self.of_literal.get(&literal) {
            return known;
        }
        let index = self.rows.len() as u16;
        match literal {
            Literal::Value(low, high) => {
                self.rows.push(Row::splat(low));
                self.rows.extend(high.map(Row::splat));
            }
            Literal::Constant { bank, offset, two } => {
                for word in 0..1 + u16::from(two) {
                    self.constants.push((index + word, bank, u32::from(offset) + 4 * u32::from(word)));
                    self.rows.push(Row::ZERO);
                }
            }
        }
        self.of_literal.insert(literal, index);
        index
    }
}

impl Template {
    /// Resolves the operands of a checked kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> Template {
        let register_rows = usize::from(kernel.regs_per_thread);
        let state_rows = register_rows + SPECIAL_ROWS + usize::from(kernel.uniform_registers);
        let rows = vec![Row::ZERO; state_rows];
        let mut pool = Pool { rows, of_literal: HashMap::new(), constants: Vec::new() };
        let insts = kernel.insts.iter().map(|i| resolve(i, register_rows as u16, &mut pool)).collect();
        // One extra row, so that the second word of any one-word source is a row too.
        pool.rows.push(Row::ZERO);
        // Addresses of texture and surface accesses.
        pool.rows.extend([Row::ZERO; 2]);
        Template { insts, rows: pool.rows, constants: pool.constants, register_rows, state_rows }
    }

    /// Inserts the constants of a launch.
    #[must_use]
    pub fn bind(&self, banks: &Banks) -> Code {
        let mut rows = self.rows.clone();
        for &(row, bank, offset) in &self.constants {
            rows[usize::from(row)] = Row::splat(banks.word(bank, offset as usize));
        }
        let (insts, register_rows) = (Arc::clone(&self.insts), self.register_rows);
        Code {
            insts,
            rows,
            register_rows,
            state_rows: self.state_rows,
            level: super::level::VectorLevel::detect(),
        }
    }
}

impl Code {
    /// Resolves the operands of a checked kernel against the constants of a launch.
    #[must_use]
    pub fn prepare(kernel: &MachineKernel, banks: &Banks) -> Code {
        Template::of(kernel).bind(banks)
    }

    /// Like [`Code::prepare`], at a vector level not above the host's; results are the same at every level.
    #[must_use]
    pub fn prepare_at(kernel: &MachineKernel, banks: &Banks, level: super::level::VectorLevel) -> Code {
        let code = Code::prepare(kernel, banks);
        Code { level: level.min(code.level), ..code }
    }

    /// Number of register rows; row n below it is register Rn.
    #[must_use]
    pub fn register_rows(&self) -> usize {
        self.register_rows
    }

    /// Number of rows that are zero when a warp begins: registers, uniform registers, and those of RZ.
    #[must_use]
    pub(super) fn state_rows(&self) -> usize {
        self.state_rows
    }

    /// The rows of the uniform registers UR0.. in order.
    #[must_use]
    #[inline]
    pub fn uniform_rows(&self) -> std::ops::Range<usize> {
        self.register_rows + SPECIAL_ROWS..self.state_rows
    }

    /// First of the four rows that read as zero.
    #[must_use]
    pub fn zero_row(&self) -> u16 {
        self.register_rows as u16
    }

    /// Rows of a new warp: zeros, then constants.
    #[must_use]
    pub fn initial_rows(&self) -> &[Row] {
        &self.rows
    }

    /// The instruction at a program counter.
    #[must_use]
    #[inline]
    pub fn inst(&self, pc: Pc) -> &ExecInst {
        &self.insts[pc.index()]
    }
}

/// Rows between the registers and the uniform ones: zeros, and those that swallow writes.
const SPECIAL_ROWS: usize = 8;

fn resolve(inst: &Inst, zero: u16, pool: &mut Pool) -> ExecInst {
    let (info, results) = (inst.info(), inst.results());
    let uniform = |reg: UniformReg| {
        if reg.is_zero() { zero } else { zero + SPECIAL_ROWS as u16 + u16::from(reg.0) }
    };
    let src = std::array::from_fn(|i| {
        let s = inst.src[i];
        let two = info.src_regs[i] >= 2;
        let row = match s.operand {
            Operand::None => zero,
            Operand::Reg(r) if r.is_zero() => zero,
            Operand::Reg(r) => u16::from(r.0),
            Operand::Uniform(r) => uniform(r),
            Operand::Imm(v) if two => {
                let [low, high] = inst.op.literal_pair(v);
                pool.row(Literal::Value(low, Some(high)))
            }
            Operand::Imm(v) => pool.row(Literal::Value(v, None)),
            Operand::Const { bank, offset } => pool.row(Literal::Constant { bank, offset, two }),
        };
        SrcRow { row, neg: s.neg, abs: s.abs }
    });
    ExecInst {
        op: inst.op,
        kind: info.kind,
        guard: PredRef::of(inst.guard),
        dst: match (inst.dst, inst.udst) {
            (Reg::RZ, UniformReg::URZ) => zero + 4,
            (Reg::RZ, reg) => uniform(reg),
            (reg, _) => u16::from(reg.0),
        },
        dst_rows: results.registers,
        dst_preds: results.predicates,
        spread: if inst.writes_uniform() { u32::MAX } else { 0 },
        memory: info.memory,
        pdst: inst.pdst.map(|p| p.0),
        src,
        psrc: inst.psrc.map(PredRef::of),
        offset: inst.offset,
        base: uniform(inst.base),
        has_base: !inst.base.is_zero(),
        target: inst.target,
        reconv: inst.reconv,
    }
}

#[cfg(test)]
mod tests {
    use super::{Banks, Geometry};

    #[test]
    fn bank_0_begins_with_the_launch_and_parameters_follow() {
        let geometry = Geometry { grid: [0x0102_0304, 5, 6], block: [32, 2, 1] };
        let head = Banks::parameter_head(&geometry, 0x180);
        assert_eq!(head.len(), 0x160);
        assert_eq!(head[..12], [32, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(head[12..24], [4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(head[0x28..0x2c], [0x80, 1, 0, 0]);
        let others = head[24..0x28].iter().chain(&head[0x2c..]);
        assert_eq!(others.filter(|byte| **byte != 0).count(), 0);
    }
}
