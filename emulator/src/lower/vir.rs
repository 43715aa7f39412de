//! The intermediate form between PTX and machine code: a control-flow graph of machine opcodes over
//! unlimited values in static single assignment.
//!
//! Every value is one 32-bit register or one predicate. Operands that read or write several registers are
//! tuples of values, so the halves of 64-bit integers and doubles are followed one by one; the register
//! allocator brings tuples into consecutive registers. Constants, constant-bank words and predicates that
//! are known travel as operands ([`Val`], [`PSrc`]), never as instructions.

mod func;

pub(super) use func::{Def, Func, Sub};

use crate::ptx::{FuncId, ScalarType};
use trace_format::isa::{Kind, Op, SourceLine};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub(super) struct $name(pub u32);
        impl $name {
            /// Position in its table.
            pub(super) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

index! {
    /// A 32-bit value.
    VReg,
    /// A predicate value.
    VPred,
    /// An instruction of a function.
    InstId,
    /// A basic block of a function.
    Blk,
    /// An out-of-line subroutine (a slow path) of a function.
    SubId,
}

/// A 32-bit operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Val {
    /// An undefined value.
    Undef,
    /// A value.
    Reg(VReg),
    /// A literal.
    Imm(u32),
    /// A word of a constant bank.
    Const {
        /// Bank number.
        bank: u8,
        /// Byte offset.
        offset: u16,
    },
}

impl Val {
    /// The literal zero, which machine code reads from RZ.
    pub(super) const ZERO: Val = Val::Imm(0);

    /// The value, if the operand is one.
    pub(super) const fn reg(self) -> Option<VReg> {
        match self {
            Val::Reg(v) => Some(v),
            _ => None,
        }
    }

    /// The literal, if the operand is one; undefined operands count as zero.
    pub(super) const fn imm(self) -> Option<u32> {
        match self {
            Val::Imm(x) => Some(x),
            Val::Undef => Some(0),
            _ => None,
        }
    }

    /// Whether the operand occupies the instruction's one place for a literal or a constant.
    pub(super) const fn is_literal(self) -> bool {
        match self {
            Val::Imm(x) => x != 0,
            Val::Const { .. } => true,
            Val::Undef | Val::Reg(_) => false,
        }
    }
}

/// A predicate operand: a value or "true", possibly complemented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct PSrc {
    /// The predicate value, `None` for the one that is always true.
    pub pred: Option<VPred>,
    /// Whether it is complemented.
    pub not: bool,
}

impl PSrc {
    /// Always true.
    pub(super) const TRUE: PSrc = PSrc { pred: None, not: false };
    /// Always false.
    pub(super) const FALSE: PSrc = PSrc { pred: None, not: true };

    /// A predicate value.
    pub(super) const fn of(pred: VPred) -> PSrc {
        PSrc { pred: Some(pred), not: false }
    }

    /// The complement.
    #[must_use]
    pub(super) const fn negated(self) -> PSrc {
        PSrc { not: !self.not, ..self }
    }

    /// The constant, if the operand is one.
    pub(super) const fn constant(self) -> Option<bool> {
        match self.pred {
            None => Some(!self.not),
            Some(_) => None,
        }
    }
}

/// A source operand: as many values as the opcode reads registers there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Src {
    /// The values, lowest register first; unused places are `Undef`.
    pub v: [Val; 4],
    /// See [`trace_format::isa::Src::neg`].
    pub neg: bool,
    /// See [`trace_format::isa::Src::abs`].
    pub abs: bool,
}

impl Src {
    /// No operand.
    pub(super) const NONE: Src = Src { v: [Val::Undef; 4], neg: false, abs: false };
    /// The register that reads as zero.
    pub(super) const RZ: Src = Src::one(Val::ZERO);

    /// A 32-bit operand.
    pub(super) const fn one(v: Val) -> Src {
        Src { v: [v, Val::Undef, Val::Undef, Val::Undef], neg: false, abs: false }
    }

    /// A pair.
    pub(super) const fn two(v: [Val; 2]) -> Src {
        Src { v: [v[0], v[1], Val::Undef, Val::Undef], neg: false, abs: false }
    }

    /// The first `n` of a list.
    pub(super) fn many(values: &[Val]) -> Src {
        let mut v = [Val::Undef; 4];
        v[..values.len()].copy_from_slice(values);
        Src { v, neg: false, abs: false }
    }

    /// The same operand negated (a second negation cancels the first).
    #[must_use]
    pub(super) const fn negated(self) -> Src {
        Src { neg: !self.neg, ..self }
    }

    /// Whether it is the plain operand, without modifiers.
    pub(super) const fn plain(&self) -> bool {
        !self.neg && !self.abs
    }
}

impl From<Val> for Src {
    fn from(v: Val) -> Src {
        Src::one(v)
    }
}

impl From<[Val; 2]> for Src {
    fn from(v: [Val; 2]) -> Src {
        Src::two(v)
    }
}

/// Operation of an instruction: a machine opcode, or a pseudo-operation that a later pass expands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum VOp {
    /// A machine opcode.
    M(Op),
    /// 64-bit d = a + b, either negated; becomes a carry chain unless it is folded into an address or a
    /// wide multiply-add.
    Add64,
    /// A call of a subroutine: its arguments are in `Inst::args`, its results the destinations there.
    Call(SubId),
    /// A call of a separate machine function; arguments and results are in the frame.
    CallFunction(FuncId),
    /// d = the address in local memory at a byte offset (`Inst::offset`) of the function's frame, see
    /// [`super::frame`].
    FrameAddress,
}

/// Number of registers and predicates that an opcode reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// Destination registers.
    pub dst: u8,
    /// Registers of each source.
    pub src: [u8; 3],
    /// Destination predicates.
    pub pdst: u8,
    /// Predicate sources.
    pub psrc: u8,
}

impl VOp {
    /// Operand shape.
    pub(super) const fn shape(&self) -> Shape {
        match self {
            VOp::M(op) => {
                let info = op.info();
                Shape { dst: info.dst_regs, src: info.src_regs, pdst: info.pred_dsts, psrc: info.pred_srcs }
            }
            VOp::Add64 => Shape { dst: 2, src: [2, 2, 0], pdst: 0, psrc: 0 },
            VOp::FrameAddress => Shape { dst: 1, src: [0; 3], pdst: 0, psrc: 0 },
            VOp::Call(_) | VOp::CallFunction(_) => Shape { dst: 0, src: [0; 3], pdst: 0, psrc: 0 },
        }
    }

    /// Side effects.
    pub(super) const fn kind(&self) -> Kind {
        match self {
            VOp::M(op) => op.info().kind,
            VOp::Add64 | VOp::FrameAddress => Kind::Pure,
            VOp::Call(_) | VOp::CallFunction(_) => Kind::Call,
        }
    }

    /// Whether the result depends on which lanes execute the instruction together, so that it must not be
    /// moved in the control flow.
    pub(super) const fn crosses_lanes(&self) -> bool {
        use trace_format::isa::SpecialReg;
        match self {
            VOp::M(Op::S2r { sr }) => matches!(sr, SpecialReg::ActiveMask),
            VOp::M(op) => op.crosses_lanes(),
            _ => false,
        }
    }

    /// Whether the instruction is a matrix product of the whole warp.
    pub(super) const fn is_matrix_product(&self) -> bool {
        use trace_format::isa::Unit;
        matches!(self, VOp::M(op) if matches!(op.info().unit, Unit::Tensor))
    }

    /// Whether the instruction only computes its destinations from its sources and may therefore be
    /// removed, repeated, merged with an equal one or executed early.
    pub(super) const fn is_free(&self) -> bool {
        match self.kind() {
            Kind::Pure => !self.crosses_lanes(),
            Kind::Load(trace_format::isa::space::Space::Const) => true,
            _ => false,
        }
    }
}

/// Arguments and results of a subroutine call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CallOperands {
    /// Arguments, one word per parameter.
    pub args: Vec<Val>,
    /// Results, one word each.
    pub results: Vec<VReg>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// Operation.
    pub op: VOp,
    /// Guard.
    pub guard: PSrc,
    /// Destination registers; all present or, for an unused result, all absent.
    pub dst: [Option<VReg>; 4],
    /// Destination predicates.
    pub pdst: [Option<VPred>; 2],
    /// Sources.
    pub src: [Src; 3],
    /// Predicate sources.
    pub psrc: [PSrc; 3],
    /// Values of the destinations in lanes where the guard is false; the allocator puts them into the
    /// destination's register. `Undef` if unused.
    pub tied: [Val; 4],
    /// Byte offset of a memory instruction.
    pub offset: i32,
    /// A memory access that must not be reordered or merged although the opcode does not show it: volatile
    /// accesses to shared memory.
    pub strong: bool,
    /// Set for sums and products that PTX allows to be fused ([`super::contract`]).
    pub fuse: Option<Fuse>,
    /// Where it comes from.
    pub line: SourceLine,
    /// Operands of a call.
    pub call: Option<Box<CallOperands>>,
}

impl Inst {
    /// An unguarded instruction without operands.
    pub(super) fn new(op: VOp, line: SourceLine) -> Inst {
        Inst {
            op,
            guard: PSrc::TRUE,
            dst: [None; 4],
            pdst: [None; 2],
            src: [Src::NONE; 3],
            psrc: [PSrc::TRUE; 3],
            tied: [Val::Undef; 4],
            offset: 0,
            strong: false,
            fuse: None,
            line,
            call: None,
        }
    }

    /// The machine opcode, if it is one.
    pub(super) const fn machine(&self) -> Option<Op> {
        match self.op {
            VOp::M(op) => Some(op),
            _ => None,
        }
    }

    /// Calls `visit` with every value operand, tied and call operands included.
    pub(super) fn for_each_val(&self, mut visit: impl FnMut(Val)) {
        let shape = self.op.shape();
        for i in 0..3 {
            self.src[i].v[..shape.src[i] as usize].iter().copied().for_each(&mut visit);
        }
        self.tied[..shape.dst as usize].iter().copied().for_each(&mut visit);
        if let Some(call) = &self.call {
            call.args.iter().copied().for_each(&mut visit);
        }
    }

    /// Rewrites every value operand.
    pub(super) fn map_vals(&mut self, mut map: impl FnMut(Val) -> Val) {
        let shape = self.op.shape();
        for i in 0..3 {
            for v in &mut self.src[i].v[..shape.src[i] as usize] {
                *v = map(*v);
            }
        }
        for v in &mut self.tied[..shape.dst as usize] {
            *v = map(*v);
        }
        if let Some(call) = &mut self.call {
            for v in &mut call.args {
                *v = map(*v);
            }
        }
    }

    /// Calls `visit` with every predicate operand, the guard first.
    pub(super) fn for_each_psrc(&self, mut visit: impl FnMut(PSrc)) {
        visit(self.guard);
        self.psrc[..self.op.shape().psrc as usize].iter().copied().for_each(visit);
    }

    /// Rewrites every predicate operand.
    pub(super) fn map_psrcs(&mut self, mut map: impl FnMut(PSrc) -> PSrc) {
        self.guard = map(self.guard);
        for p in &mut self.psrc[..self.op.shape().psrc as usize] {
            *p = map(*p);
        }
    }

    /// Every register written.
    pub(super) fn dsts(&self) -> impl Iterator<Item = VReg> + '_ {
        let results = self.call.iter().flat_map(|c| c.results.iter().copied());
        self.dst.iter().copied().flatten().chain(results)
    }

    /// Every predicate written.
    pub(super) fn pdsts(&self) -> impl Iterator<Item = VPred> + '_ {
        self.pdst.iter().copied().flatten()
    }
}

/// Which sums and products may be fused with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fuse {
    /// Number of the run of statements, without a way in or out.
    pub run: u32,
    /// Type in PTX.
    pub ty: ScalarType,
}

/// A phi: a value with one argument per predecessor, in their order.
#[derive(Clone, Debug)]
pub(super) struct Phi {
    /// The value defined.
    pub dst: VReg,
    /// What it is for each predecessor.
    pub args: Vec<Val>,
}

/// The same for predicates.
#[derive(Clone, Debug)]
pub(super) struct PPhi {
    /// The predicate defined.
    pub dst: VPred,
    /// What it is for each predecessor.
    pub args: Vec<PSrc>,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// Continues at a block.
    Goto(Blk),
    /// Lanes where the predicate holds go to the first block, the others to the second.
    If(PSrc, Blk, Blk),
    /// The threads end.
    Exit,
    /// Back to the caller of the subroutine.
    Return,
    /// The kernel stops with a fault: that of a `trap` (0), or the one that entry n - 1 of
    /// [`Func::traps`] describes.
    Trap(u32),
}

impl Term {
    /// Blocks that may come next.
    pub(super) fn succs(&self) -> impl Iterator<Item = Blk> {
        let (a, b) = match *self {
            Term::Goto(a) => (Some(a), None),
            Term::If(_, a, b) => (Some(a), Some(b)),
            Term::Exit | Term::Return | Term::Trap(_) => (None, None),
        };
        a.into_iter().chain(b)
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Register phis.
    pub phis: Vec<Phi>,
    /// Predicate phis.
    pub pphis: Vec<PPhi>,
    /// Instructions in order.
    pub insts: Vec<InstId>,
    /// How it ends.
    pub term: Term,
    /// Origin of the terminator.
    pub line: SourceLine,
    /// Blocks that may come before, each once per edge.
    pub preds: Vec<Blk>,
    /// The subroutine that the block belongs to, `None` for the kernel's own code.
    pub sub: Option<SubId>,
    /// `.pragma "nounroll"` stands in the block.
    pub nounroll: bool,
}
