//! What every study knows: of a launch its decoded instructions, of an instruction being executed its lanes and
//! values, of a register what it holds until it is written again.
//!
//! Shapes, widths and digests of registers are found at most once per value and shared by all studies of a pass.

use super::values::{Digest, Shape, shape, width_bytes};
use crate::program::RegSet;
use crate::source::MemAccess;
use trace_format::isa::{BarMode, Inst, Kind, LatencyClass, MachineKernel, Op, PredSrc, RegSpan};
use trace_format::semantics::{Banks, Geometry, Row, Warp};

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

/// Most distinct registers that an instruction reads.
const MAX_READS: usize = 12;

/// An instruction as studies look at it.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// What it does besides computing registers.
    pub kind: Kind,
    /// A transfer of control: its guard is an operand, not a condition of its taking effect.
    pub control: bool,
    /// Whether warps wait at it for one another.
    pub waits: bool,
    /// Whether it reads a special register.
    pub special: bool,
    /// In which lanes it takes effect.
    pub guard: PredSrc,
    /// Register operands.
    pub sources: [Span; 3],
    /// Predicates read, the guard of other than transfers of control left out; bit n is Pn.
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
    #[inline]
    pub fn reads(&self) -> impl Iterator<Item = usize> + use<> {
        let (reads, count) = (self.reads, self.read_count);
        reads.into_iter().take(usize::from(count)).map(usize::from)
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
pub fn across_lanes(inst: &Inst) -> bool {
    matches!(inst.info().latency, LatencyClass::Shuffle | LatencyClass::Tensor)
        || matches!(inst.op, Op::Vote { .. })
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
    /// Warp instructions recorded, 0 where that is not known.
    pub warp_instructions: u64,
    /// Instructions by index.
    pub insts: Vec<Decoded>,
    /// Registers of a thread.
    pub registers: usize,
    /// Launched lanes of each warp, a prefix of its lanes.
    pub launched: Vec<u32>,
    /// Whether it is the first launch of its kernel with this shape of blocks that is studied.
    pub first: bool,
    /// Which studies count; bit n is the n-th of the registry's counting rows.
    pub chosen: u32,
}

impl Setting<'_> {
    /// Warps of a block.
    #[must_use]
    #[inline]
    pub fn warps(&self) -> usize {
        self.launched.len()
    }
}

/// What is known of a register of a warp until it is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fact {
    shape: Option<Shape>,
    /// 0 while it is not known.
    width_bytes: u8,
    digest: Option<Digest>,
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
    /// Instructions that the warp has executed in its turn: with the warp, the place in the order in which warps
    /// execute one instruction each in turn.
    pub step: u32,
    /// Launched lanes of the warp.
    pub launched: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Those of them in which the guard holds.
    pub exec: u32,
    /// Registers and predicates: before the step those that it reads.
    pub state: &'a Warp,
    /// The memory access of the step, after it.
    pub mem: Option<&'a MemAccess<'a>>,
    /// What is known of the warp's registers.
    pub facts: &'a mut [Fact],
}

impl<'a> At<'a> {
    /// Lanes in which it takes effect: for transfers of control those on the path.
    #[must_use]
    #[inline]
    pub fn effective(&self) -> u32 {
        if self.inst.control { self.active } else { self.exec }
    }

    /// Launched lanes, which are the first of the warp.
    #[must_use]
    #[inline]
    pub fn lanes(&self) -> usize {
        self.launched.count_ones() as usize
    }

    /// What a register holds.
    #[must_use]
    #[inline(always)]
    pub fn row(&self, reg: usize) -> &'a Row {
        self.state.row(reg as u16)
    }

    /// Shape of a register over the launched lanes.
    #[inline]
    pub fn shape(&mut self, reg: usize) -> Shape {
        match self.facts[reg].shape {
            Some(shape) => shape,
            None => self.find_shape(reg),
        }
    }

    #[inline(never)]
    fn find_shape(&mut self, reg: usize) -> Shape {
        let shape = shape(&self.row(reg).0, self.lanes());
        self.facts[reg].shape = Some(shape);
        shape
    }

    /// Bytes from which every lane of a register is recovered by sign extension.
    #[inline]
    pub fn width_bytes(&mut self, reg: usize) -> u32 {
        match self.facts[reg].width_bytes {
            0 => self.find_width(reg),
            width => u32::from(width),
        }
    }

    #[inline(never)]
    fn find_width(&mut self, reg: usize) -> u32 {
        let width = width_bytes(&self.row(reg).0);
        self.facts[reg].width_bytes = width as u8;
        width
    }

    /// Digest of a register over the launched lanes.
    #[inline]
    pub fn digest(&mut self, reg: usize) -> Digest {
        match self.facts[reg].digest {
            Some(digest) => digest,
            None => self.find_digest(reg),
        }
    }

    #[inline(never)]
    fn find_digest(&mut self, reg: usize) -> Digest {
        let (row, shape, lanes) = (self.row(reg), self.shape(reg), self.lanes());
        let digest = match shape {
            Shape::Unstructured => Digest::of_lanes(&row.0, 0, lanes),
            _ => Digest::of_row(&row.0, shape),
        };
        self.facts[reg].digest = Some(digest);
        digest
    }
}
