//! A machine instruction: an opcode with the registers, predicates, constants and immediates it works on, and
//! queries for static analyses and the timing model.

use super::facts::{Address, Kind, MemOp, OpInfo};
use super::regs::{Pc, Pred, Reg, UniformReg};
use super::space::Space;
use super::table::Op;
use serde::{Deserialize, Serialize};

/// A predicate read, possibly complemented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PredSrc {
    /// The predicate register.
    pub pred: Pred,
    /// Whether it is complemented.
    pub not: bool,
}

impl PredSrc {
    /// Always true.
    pub const TRUE: PredSrc = PredSrc { pred: Pred::PT, not: false };
    /// Always false.
    pub const FALSE: PredSrc = PredSrc { pred: Pred::PT, not: true };

    /// The predicate itself.
    #[must_use]
    pub const fn of(pred: Pred) -> PredSrc {
        PredSrc { pred, not: false }
    }

    /// The complement of the predicate.
    #[must_use]
    pub const fn not(pred: Pred) -> PredSrc {
        PredSrc { pred, not: true }
    }
}

/// The predicate under which an instruction takes effect, lane by lane.
pub type Guard = PredSrc;

/// Location of a source operand's value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Operand {
    /// The source is absent.
    None,
    /// A register (the first of a pair or quad when the opcode reads more than one).
    Reg(Reg),
    /// A uniform register (the first of a pair when the opcode reads more than one).
    Uniform(UniformReg),
    /// A literal. For a two-register source: the upper word of a double, or a zero-extended integer
    /// (sign-extended for signed wide multiply-add).
    Imm(u32),
    /// A word (or an aligned double word) of a constant bank, at a byte offset.
    Const {
        /// Bank number.
        bank: u8,
        /// Byte offset.
        offset: u16,
    },
}

/// A source operand with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Src {
    /// Location of the value.
    pub operand: Operand,
    /// Negated: sign bit flipped for floats, two's complement for integers (bitwise complement for
    /// extended adds).
    pub neg: bool,
    /// Absolute value, applied before the negation; floats only.
    pub abs: bool,
}

impl Src {
    /// An absent source.
    pub const NONE: Src = Src { operand: Operand::None, neg: false, abs: false };
    /// The register that reads as zero.
    pub const RZ: Src = Src::reg(Reg::RZ);

    /// A register.
    #[must_use]
    pub const fn reg(reg: Reg) -> Src {
        Src { operand: Operand::Reg(reg), neg: false, abs: false }
    }

    /// A uniform register.
    #[must_use]
    pub const fn uniform(reg: UniformReg) -> Src {
        Src { operand: Operand::Uniform(reg), neg: false, abs: false }
    }

    /// A literal.
    #[must_use]
    pub const fn imm(value: u32) -> Src {
        Src { operand: Operand::Imm(value), neg: false, abs: false }
    }

    /// A constant-bank word.
    #[must_use]
    pub const fn constant(bank: u8, offset: u16) -> Src {
        Src { operand: Operand::Const { bank, offset }, neg: false, abs: false }
    }

    /// The same source negated (a second negation cancels the first).
    #[must_use]
    pub const fn negated(self) -> Src {
        Src { neg: !self.neg, ..self }
    }

    /// The register, when the source is one other than RZ.
    #[must_use]
    pub const fn as_reg(&self) -> Option<Reg> {
        match self.operand {
            Operand::Reg(r) if !r.is_zero() => Some(r),
            _ => None,
        }
    }
}

/// A run of consecutive 32-bit registers that one operand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegSpan {
    /// First register.
    pub first: Reg,
    /// How many.
    pub count: u8,
}

impl RegSpan {
    /// The registers of the span, in order.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        (0..self.count).map(move |i| self.first.nth(i))
    }

    /// Whether a register belongs to the span.
    #[must_use]
    pub const fn contains(self, reg: Reg) -> bool {
        reg.0 >= self.first.0 && (reg.0 as u16) < self.first.0 as u16 + self.count as u16
    }
}

/// The destinations of an instruction: the one list from which checksums, recorded rows and slices follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Results {
    /// Number of registers or uniform registers, which follow one another.
    pub registers: u8,
    /// Predicates, uniform ones too, a bit each by their number.
    pub predicates: u16,
}

impl Results {
    /// The predicates by number, in ascending order.
    #[inline]
    pub fn predicate_numbers(self) -> impl Iterator<Item = u8> {
        let mut left = self.predicates;
        std::iter::from_fn(move || {
            let number = (left != 0).then(|| left.trailing_zeros() as u8);
            left &= left.wrapping_sub(1);
            number
        })
    }
}

/// One machine instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Inst {
    /// Opcode with modifiers.
    pub op: Op,
    /// Guard; PT for all lanes.
    pub guard: Guard,
    /// First destination register, RZ for none.
    pub dst: Reg,
    /// First destination register when the result is uniform, URZ for none; then `dst` is RZ.
    pub udst: UniformReg,
    /// Destination predicates, PT for none.
    pub pdst: [Pred; 2],
    /// Sources.
    pub src: [Src; 3],
    /// Predicate sources, PT where unused.
    pub psrc: [PredSrc; 3],
    /// Byte offset added to the address of a memory instruction.
    pub offset: i32,
    /// Uniform register added to the address of a memory instruction, URZ for none; a pair where addresses have 64 bits.
    pub base: UniformReg,
    /// Target of a branch or call. Where machine code calls or returns through a register: the first instruction of the section
    /// that its addresses may count from.
    pub target: Pc,
    /// Reconvergence point of a branch (its immediate post-dominator), if it has one before the end of the
    /// function.
    pub reconv: Option<Pc>,
}

impl Inst {
    /// An unguarded instruction without operands.
    #[must_use]
    pub const fn new(op: Op) -> Inst {
        Inst {
            op,
            guard: PredSrc::TRUE,
            dst: Reg::RZ,
            udst: UniformReg::URZ,
            pdst: [Pred::PT; 2],
            src: [Src::NONE; 3],
            psrc: [PredSrc::TRUE; 3],
            offset: 0,
            base: UniformReg::URZ,
            target: Pc(0),
            reconv: None,
        }
    }

    /// The same instruction with a destination register.
    #[must_use]
    pub const fn dst(mut self, dst: Reg) -> Inst {
        self.dst = dst;
        self
    }

    /// The same instruction with its sources, in order.
    #[must_use]
    pub fn srcs<const N: usize>(mut self, srcs: [Src; N]) -> Inst {
        self.src[..N].copy_from_slice(&srcs);
        self
    }

    /// The same instruction under a guard.
    #[must_use]
    pub const fn guarded(mut self, guard: Guard) -> Inst {
        self.guard = guard;
        self
    }

    /// Static facts of the opcode.
    #[must_use]
    #[inline]
    pub const fn info(&self) -> OpInfo {
        self.op.info()
    }

    /// Side effects of the opcode.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> Kind {
        self.op.info().kind
    }

    /// Registers written, `None` when the destination is absent or RZ.
    #[must_use]
    pub const fn dst_span(&self) -> Option<RegSpan> {
        let count = self.info().dst_regs;
        if count == 0 || self.dst.is_zero() { None } else { Some(RegSpan { first: self.dst, count }) }
    }

    /// Registers that source `i` reads, `None` when it is absent, RZ, an immediate or a constant.
    #[must_use]
    pub const fn src_span(&self, i: usize) -> Option<RegSpan> {
        let count = self.info().src_regs[i];
        match self.src[i].as_reg() {
            Some(first) if count > 0 => Some(RegSpan { first, count }),
            _ => None,
        }
    }

    /// Every 32-bit register read, source by source; a register read twice appears twice.
    pub fn src_regs(&self) -> impl Iterator<Item = Reg> + '_ {
        (0..3).filter_map(|i| self.src_span(i)).flat_map(RegSpan::iter)
    }

    /// Uniform registers that source `i` reads.
    pub fn src_uniforms_of(&self, i: usize) -> impl Iterator<Item = UniformReg> + use<> {
        let first = match self.src[i].operand {
            Operand::Uniform(first) => first,
            _ => UniformReg::URZ,
        };
        (0..self.info().src_regs[i]).map(move |n| first.nth(n)).filter(|reg| !reg.is_zero())
    }

    /// Uniform registers that are added to an address.
    pub fn base_uniforms(&self) -> impl Iterator<Item = UniformReg> + use<> {
        let wide = matches!(self.info().memory, Some(MemOp { address: Address::Wide | Address::Offset, .. }));
        let first = self.base;
        (0..if wide { 2 } else { 1 }).map(move |n| first.nth(n)).filter(|reg| !reg.is_zero())
    }

    /// Every uniform register read, the address's first.
    pub fn src_uniforms(&self) -> impl Iterator<Item = UniformReg> + '_ {
        self.base_uniforms().chain((0..3).flat_map(|i| self.src_uniforms_of(i)))
    }

    /// Every uniform register written.
    pub fn dst_uniforms(&self) -> impl Iterator<Item = UniformReg> + use<> {
        let (first, count) = (self.udst, self.info().dst_regs);
        (0..count).map(move |n| first.nth(n)).filter(|reg| !reg.is_zero())
    }

    /// Every register read or written.
    pub fn regs(&self) -> impl Iterator<Item = Reg> + '_ {
        self.dst_regs().chain(self.src_regs())
    }

    /// Every uniform register read or written.
    pub fn uniforms(&self) -> impl Iterator<Item = UniformReg> + '_ {
        self.dst_uniforms().chain(self.src_uniforms())
    }

    /// Number of uniform registers read, and written.
    #[must_use]
    pub fn uniform_operands(&self) -> [u8; 2] {
        [self.src_uniforms().count() as u8, self.dst_uniforms().count() as u8]
    }

    /// Whether a uniform register or predicate is written, for the whole warp whatever lanes are active.
    #[must_use]
    pub fn writes_uniform(&self) -> bool {
        !self.udst.is_zero() || self.pdst.iter().any(|pred| pred.is_uniform())
    }

    /// Every 32-bit register written.
    pub fn dst_regs(&self) -> impl Iterator<Item = Reg> + use<> {
        self.dst_span().into_iter().flat_map(RegSpan::iter)
    }

    /// Predicates of lanes that are read, the guard first; PT is left out.
    pub fn src_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        self.all_src_preds().filter(|p| !p.is_uniform())
    }

    /// Predicates of lanes that are written; PT is left out.
    pub fn dst_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        self.all_dst_preds().filter(|p| !p.is_uniform())
    }

    /// Predicates read, uniform ones too, the guard first; PT is left out.
    pub fn all_src_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        let n = self.info().pred_srcs as usize;
        let own = self.psrc[..n].iter().map(|p| p.pred);
        let file = predicates_of(if self.op.reads_all_predicates() { ALL_LANE_PREDICATES } else { 0 });
        std::iter::once(self.guard.pred).chain(own).chain(file).filter(|p| !p.is_true())
    }

    /// Predicates that may be written, uniform ones too; PT is left out.
    pub fn all_dst_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        self.own_dst_preds().chain(predicates_of(self.selected_predicates().unwrap_or(ALL_LANE_PREDICATES)))
    }

    /// Predicates that are written in every lane in which the instruction takes effect.
    pub fn surely_written_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        self.own_dst_preds().chain(predicates_of(self.selected_predicates().unwrap_or(0)))
    }

    /// Predicates that are operands.
    fn own_dst_preds(&self) -> impl Iterator<Item = Pred> + '_ {
        let n = self.info().pred_dsts as usize;
        self.pdst[..n].iter().copied().filter(|p| !p.is_true())
    }

    /// Predicates that an opcode writes which selects them by a mask in source `b`, one bit each; `None` if the mask is
    /// known only when the instruction executes.
    fn selected_predicates(&self) -> Option<u8> {
        match self.src[1].operand {
            _ if !self.op.writes_all_predicates() => Some(0),
            Operand::Imm(mask) => Some(mask as u8 & ALL_LANE_PREDICATES),
            _ => None,
        }
    }

    /// All destinations as the rows and predicates that a warp holds.
    #[must_use]
    pub fn results(&self) -> Results {
        Results {
            registers: (self.dst_regs().count() + self.dst_uniforms().count()) as u8,
            predicates: self.all_dst_preds().fold(0, |set, pred| set | 1 << pred.0),
        }
    }

    /// Whether all active lanes take part: the guard is PT, and the opcode does not choose lanes by itself.
    #[must_use]
    pub const fn is_unguarded(&self) -> bool {
        self.has_no_guard() && !matches!(self.op, Op::BraDiv {})
    }

    /// Whether the guard is PT.
    #[must_use]
    pub const fn has_no_guard(&self) -> bool {
        self.guard.pred.is_true() && !self.guard.not
    }

    /// Target of a branch or direct call.
    #[must_use]
    pub const fn jumps_to(&self) -> Option<Pc> {
        match self.kind() {
            Kind::Branch => Some(self.target),
            Kind::Call if !matches!(self.op, Op::CallInd {}) => Some(self.target),
            _ => None,
        }
    }

    /// Checks operand shapes: register alignment, one non-register source, operands present where the
    /// opcode reads them.
    ///
    /// # Errors
    /// The error names the operand and the rule it breaks.
    pub fn check(&self) -> Result<(), String> {
        let info = self.info();
        let aligned = |reg: Reg, count: u8| {
            reg.is_zero()
                || count < 2
                || (reg.0.is_multiple_of(count) && usize::from(reg.0) + usize::from(count) <= Reg::COUNT)
        };
        if !aligned(self.dst, info.dst_regs) {
            return Err(format!("destination {} is not aligned to {} registers", self.dst, info.dst_regs));
        }
        let mut literals = 0;
        for i in 0..3 {
            let count = info.src_regs[i];
            match self.src[i].operand {
                Operand::None if count > 0 => return Err(format!("source {i} is missing")),
                Operand::Reg(_) | Operand::Uniform(_) | Operand::Imm(_) | Operand::Const { .. }
                    if count == 0 =>
                {
                    return Err(format!("source {i} is not read by {}", info.mnemonic));
                }
                Operand::Reg(r) if !aligned(r, count) => {
                    return Err(format!("source {i} ({r}) is not aligned to {count} registers"));
                }
                Operand::Imm(_) | Operand::Const { .. } => literals += 1,
                _ => {}
            }
        }
        if literals > 1
            && !info.kind.is_memory()
            && !matches!(info.kind, Kind::Barrier)
            && !matches!(self.op, Op::Shfl { .. })
        {
            return Err("more than one source is an immediate or a constant".into());
        }
        if !self.udst.is_zero() && !self.dst.is_zero() {
            return Err(format!("both {} and {} are destinations", self.dst, self.udst));
        }
        let uniform = matches!(info.kind, Kind::Pure | Kind::Load(Space::Const) | Kind::External);
        if self.writes_uniform() && !uniform {
            return Err(format!("{} cannot write a uniform register or predicate", info.mnemonic));
        }
        if !self.base.is_zero() && !self.op.takes_address() {
            return Err(format!("{} takes no address, so it adds no uniform register", info.mnemonic));
        }
        if self.offset != 0 && !self.op.takes_address() {
            return Err(format!("{} takes no address, so it has no offset", info.mnemonic));
        }
        Ok(())
    }
}

/// P0 to P6, one bit each.
const ALL_LANE_PREDICATES: u8 = (1 << Pred::COUNT) - 1;

/// The predicates of a set.
fn predicates_of(set: u8) -> impl Iterator<Item = Pred> {
    (0..Pred::COUNT as u8).filter(move |p| set >> p & 1 != 0).map(Pred)
}
