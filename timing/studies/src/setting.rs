//! Data for every study: the decoded instructions of a launch, lanes and values of the current instruction,
//! and properties of each register's current value.
//!
//! Shapes, widths and digests of registers are found at most once per value and shared by all studies of a pass.

use super::runs::Runs;
use super::values::{Digest, Level, Shape};
use trace_format::isa::{BarMode, Inst, Kind, MachineKernel, Op, PredSrc, RegSpan};
use trace_format::semantics::{Banks, Geometry, Row, Warp};
use warplab_model::source::MemAccess;
use warplab_technique::program::RegSet;

/// Consecutive registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u8,
    /// How many.
    pub count: u8,
}

impl Span {
    /// The registers of an operand.
    #[must_use]
    pub fn of(span: Option<RegSpan>) -> Span {
        span.map_or(Span::default(), |s| Span { first: s.first.0, count: s.count })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Their numbers.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let first = usize::from(self.first);
        first..first + usize::from(self.count)
    }
}

/// Maximum number of distinct registers that an instruction reads.
const MAX_READS: usize = 12;

/// An instruction decoded for studies.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// Effect besides computing registers.
    pub kind: Kind,
    /// Whether it transfers control: its guard is then an operand and does not mask lanes.
    pub control: bool,
    /// Whether warps wait for each other at it.
    pub waits: bool,
    /// Whether it reads a special register.
    pub special: bool,
    /// Guard that masks its lanes.
    pub guard: PredSrc,
    /// Register operands.
    pub sources: [Span; 3],
    /// Predicates read, without the guard except for control transfers; bit n is Pn.
    pub preds: u8,
    /// Registers written.
    pub writes: Span,
    reads: [u8; MAX_READS],
    read_count: u8,
}

impl Decoded {
    /// Decodes an instruction.
    #[must_use]
    pub fn of(inst: &Inst) -> Decoded {
        let kind = inst.kind();
        let control = matches!(kind, Kind::Branch | Kind::Call | Kind::Return | Kind::Exit);
        let guarded = usize::from(!control && !inst.guard.pred.is_true());
        let mut decoded = Decoded {
            kind,
            control,
            waits: matches!(inst.op, Op::Bar { mode } if mode != BarMode::Arrive),
            special: matches!(inst.op, Op::S2r { .. }),
            guard: inst.guard,
            sources: std::array::from_fn(|i| Span::of(inst.src_span(i))),
            preds: inst.src_preds().skip(guarded).fold(0, |set, pred| set | 1 << pred.0),
            writes: Span::of(inst.dst_span()),
            reads: [0; MAX_READS],
            read_count: 0,
        };
        let mut seen = RegSet::default();
        for reg in inst.src_regs() {
            if !seen.contains(reg.0) && usize::from(decoded.read_count) < MAX_READS {
                seen.insert(reg.0);
                decoded.reads[usize::from(decoded.read_count)] = reg.0;
                decoded.read_count += 1;
            }
        }
        decoded
    }

    /// Distinct registers read.
    #[inline(always)]
    pub fn reads(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.reads.iter().take(usize::from(self.read_count)).map(|&reg| usize::from(reg))
    }

    /// How many distinct registers are read.
    #[must_use]
    #[inline]
    pub fn read_count(&self) -> usize {
        usize::from(self.read_count)
    }

    /// Lanes of those on the path in which the guard holds.
    #[must_use]
    #[inline]
    pub fn guarded_lanes(&self, active: u32, state: &Warp) -> u32 {
        if self.guard.pred.is_true() && !self.guard.not {
            return active;
        }
        let holds = state.pred(self.guard.pred.0);
        active & if self.guard.not { !holds } else { holds }
    }
}

/// Whether an instruction's results in one lane depend on other lanes.
#[must_use]
pub(crate) fn across_lanes(inst: &Inst) -> bool {
    inst.op.crosses_lanes()
}

/// A launch.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The kernel.
    pub kernel: &'a MachineKernel,
    /// Grid and block.
    pub geometry: Geometry,
    /// Constants.
    pub banks: &'a Banks,
    /// Blocks recorded.
    pub blocks: u64,
    /// Warp instructions recorded, 0 if unknown.
    pub warp_instructions: u64,
    /// Instructions by index.
    pub insts: Vec<Decoded>,
    /// Registers of a thread.
    pub registers: usize,
    /// Vector level for row operations.
    pub(crate) level: Level,
    /// Launched lanes of each warp, a prefix of its lanes.
    pub launched: Vec<u32>,
    /// Whether it is the first studied launch of its kernel with this block shape.
    pub first: bool,
    /// Active studies; bit n is the n-th counting entry of the registry.
    pub(crate) chosen: u32,
}

impl Setting<'_> {
    /// Warps of a block.
    #[must_use]
    #[inline]
    pub fn warps(&self) -> usize {
        self.launched.len()
    }
}

/// Cached properties of a warp's register, valid until it is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fact {
    shape: Option<Shape>,
    /// 0 while unknown.
    width_bytes: u8,
    hashed: bool,
    digest: Digest,
}

impl Fact {
    /// Invalidates the properties when the register is written.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        (self.shape, self.width_bytes, self.hashed) = (None, 0, false);
    }
}

/// An instruction before or after its step.
#[derive(Debug)]
pub struct At<'a> {
    /// The launch.
    pub setting: &'a Setting<'a>,
    /// The instruction.
    pub inst: &'a Decoded,
    /// Its index.
    pub pc: u32,
    /// Warp in the block.
    pub warp: usize,
    /// Number of instructions that the warp has executed in its turn; together with the warp it gives the
    /// order of a round robin by instruction.
    pub step: u32,
    /// Number of the instruction in its warp and block, from 1.
    pub clock: u32,
    /// Launched lanes of the warp.
    pub launched: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Active lanes in which the guard is true.
    pub exec: u32,
    /// Registers and predicates, before or after the step.
    pub state: &'a Warp,
    /// The memory access of the step, after it.
    pub mem: Option<&'a MemAccess<'a>>,
    /// Cache of [`At::runs`].
    pub(crate) runs: Option<Runs>,
    /// Cached properties of the warp's registers.
    pub(crate) facts: &'a mut [Fact],
}

impl<'a> At<'a> {
    /// Lanes in which it takes effect; for control transfers the active lanes.
    #[must_use]
    #[inline]
    pub fn effective(&self) -> u32 {
        if self.inst.control { self.active } else { self.exec }
    }

    /// Runs of the step's access.
    #[inline]
    pub(crate) fn runs(&mut self, access: &MemAccess<'_>) -> Runs {
        let level = self.setting.level;
        *self.runs.get_or_insert_with(|| Runs::of(level, access))
    }

    /// Number of lanes in which the guard is true.
    #[must_use]
    #[inline(always)]
    pub fn exec_lanes(&self) -> u64 {
        if self.exec == u32::MAX { 32 } else { u64::from(self.exec.count_ones()) }
    }

    /// Launched lanes, which are the first of the warp.
    #[must_use]
    #[inline]
    pub fn lanes(&self) -> usize {
        self.launched.count_ones() as usize
    }

    /// Value of a register.
    #[must_use]
    #[inline(always)]
    pub fn row(&self, reg: usize) -> &'a Row {
        self.state.row(reg as u16)
    }

    /// Shape of a register over the launched lanes.
    #[inline(always)]
    pub fn shape(&mut self, reg: usize) -> Shape {
        let fact = &mut self.facts[reg];
        match fact.shape {
            Some(shape) => shape,
            None => find_shape(fact, self.setting.level, self.state.row(reg as u16), self.launched),
        }
    }

    /// Bytes from which every lane of a register is recovered by sign extension.
    #[inline(always)]
    pub fn width_bytes(&mut self, reg: usize) -> u32 {
        let fact = &mut self.facts[reg];
        match fact.width_bytes {
            0 => find_width(fact, self.setting.level, self.state.row(reg as u16)),
            width => u32::from(width),
        }
    }

    /// Digest of a register over the launched lanes.
    #[inline(always)]
    pub(crate) fn digest(&mut self, reg: usize) -> Digest {
        let shape = self.shape(reg);
        let fact = &mut self.facts[reg];
        match fact.hashed {
            true => fact.digest,
            false => find_digest(fact, self.state.row(reg as u16), shape, self.launched),
        }
    }
}

#[inline(never)]
fn find_shape(fact: &mut Fact, level: Level, row: &Row, launched: u32) -> Shape {
    let shape = level.shape(&row.0, launched.count_ones() as usize);
    fact.shape = Some(shape);
    shape
}

#[inline(never)]
fn find_width(fact: &mut Fact, level: Level, row: &Row) -> u32 {
    let width = level.width_bytes(&row.0);
    fact.width_bytes = width as u8;
    width
}

#[inline(never)]
fn find_digest(fact: &mut Fact, row: &Row, shape: Shape, launched: u32) -> Digest {
    fact.digest = match shape {
        Shape::Unstructured => Digest::of_lanes(&row.0, 0, launched.count_ones() as usize),
        _ => Digest::of_row(&row.0, shape),
    };
    fact.hashed = true;
    fact.digest
}
