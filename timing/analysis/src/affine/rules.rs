//! The operations that keep tuples (DAC, sections 3, 4.4 and 4.6).
//!
//! Sums, differences, shifts to the left and products with a scalar; moduli by a power of two; minimum, maximum, absolute
//! value and selection, which are a condition each; comparisons with a value of the block. Operations on scalars alone
//! are those of a single lane and may be any. Of machine code, sums and products with a carry, and moves of pairs and from a
//! lane to the warp, belong to these.

use super::types::{Level, Reason, Type, condition_at};
use trace_format::isa::{Inst, Lanes, Lut, Op, Operand, Pred, PredSrc, Sign, SpecialReg};

/// Whether an instruction's predicate result is a carry.
pub(super) fn sets_carry(inst: &Inst) -> bool {
    matches!(inst.op, Op::Iadd3 { .. } | Op::Iadd3Carries { .. } | Op::Lea { .. })
}

/// Whether an instruction adds the carry of lower words.
fn takes_carry(inst: &Inst) -> bool {
    match inst.op {
        Op::Iadd3 { x } | Op::Iadd3Carries { x } | Op::LeaHi { x, .. } | Op::LeaHiSx32 { x, .. } => x.0,
        Op::ImadX {} => true,
        _ => false,
    }
}

/// Whether a sum with carries has at most one in that is not known and none out, or one out and none in: a tuple of 64 bits
/// holds the two words of the sum of two numbers.
#[must_use]
pub fn is_half_of_sum(inst: &Inst) -> bool {
    match inst.op {
        Op::Iadd3Carries { x } if x.0 => {
            inst.pdst == [Pred::PT; 2] && (known_carry(inst).is_some() || inst.psrc[1] == PredSrc::FALSE)
        }
        Op::Iadd3Carries { .. } => inst.pdst[1] == Pred::PT,
        _ => true,
    }
}

/// What the carries into a sum amount to, if they are literals: code adds one so.
#[must_use]
pub fn known_carry(inst: &Inst) -> Option<u64> {
    let carries = &inst.psrc[..usize::from(inst.info().pred_srcs)];
    carries.iter().try_fold(0, |sum, carry| carry.pred.is_true().then_some(sum + u64::from(!carry.not)))
}

/// The exponent of the power of two that an instruction takes a modulus by, and the operand that it takes it of.
#[must_use]
pub fn modulus(inst: &Inst) -> Option<(usize, u32)> {
    let Op::Lop3 { lut } = inst.op else { return None };
    if lut.0 != Lut::A & Lut::B || inst.src[..2].iter().any(|src| src.neg) {
        return None;
    }
    let mask = |i: usize| match inst.src[i].operand {
        Operand::Imm(mask) if mask != 0 && mask & mask.wrapping_add(1) == 0 => Some(mask.count_ones()),
        _ => None,
    };
    mask(1).map(|bits| (0, bits)).or_else(|| mask(0).map(|bits| (1, bits)))
}

/// Whether an instruction is the complement of its first operand.
#[must_use]
pub fn is_complement(inst: &Inst) -> bool {
    matches!(inst.op, Op::Lop3 { lut } if lut.0 == !Lut::A) && !inst.src[0].neg
}

/// Whether an instruction gives the upper word of a sign extension.
#[must_use]
pub fn is_sign_word(inst: &Inst) -> bool {
    matches!(inst.op, Op::ShfR { sign: Sign::S32, wide, wrap, high } if high.0 && !wide.0 && !wrap.0)
        && inst.src[1].operand == Operand::Imm(31)
}

fn product(a: Type, b: Type, limit: usize) -> Type {
    let both = a.and(b, limit);
    if a.level.min(b.level) == Level::Scalar || !both.is_affine() {
        both
    } else {
        Type::data(Reason::Operation)
    }
}

/// The type of an instruction's results, if it is pure.
pub(super) fn result(inst: &Inst, pc: u32, sources: &[Type; 3], predicates: Type, limit: usize) -> Type {
    let computed = of_lanes(inst, pc, sources, predicates, limit);
    let of_thread = inst.writes_uniform() && computed.level == Level::Thread;
    if of_thread || inst.op.writes_all_predicates() { Type::data(Reason::Operation) } else { computed }
}

/// The type of results, whatever holds them.
fn of_lanes(inst: &Inst, pc: u32, sources: &[Type; 3], predicates: Type, limit: usize) -> Type {
    let [a, b, c] = *sources;
    let all = a.and(b, limit).and(c, limit);
    let everything = all.and(predicates, limit);
    match inst.op {
        // The first active lane's value is every lane's.
        Op::R2ur {} if a.is_of_block() || !a.is_affine() => return a,
        _ if inst.info().lanes != Lanes::Own => return Type::data(Reason::Operation),
        _ => {}
    }
    if !everything.is_affine() {
        return Type::data(everything.why);
    }
    if predicates.carry && !takes_carry(inst) {
        return Type::data(Reason::Operation);
    }
    let plain = |ty: Type| Type { carry: false, ..ty };
    let computed = match inst.op {
        Op::S2r { sr } => match sr {
            SpecialReg::TidX | SpecialReg::TidY | SpecialReg::TidZ => Type::of(Level::Thread),
            SpecialReg::CtaidX | SpecialReg::CtaidY | SpecialReg::CtaidZ => Type::of(Level::Block),
            _ => Type::data(Reason::Operation),
        },
        _ if everything.level == Level::Scalar => plain(everything),
        Op::Mov {} | Op::MovPair {} => a,
        Op::Iadd3Carries { .. } if !is_half_of_sum(inst) => Type::data(Reason::Operation),
        // A shift to the right.
        Op::LeaHi { x, .. } | Op::LeaHiSx32 { x, .. } if !x.0 => Type::data(Reason::Operation),
        Op::Iadd3 { .. } | Op::Iadd3Carries { .. } | Op::LeaHi { .. } | Op::LeaHiSx32 { .. } => {
            if everything.level != Level::Data { plain(everything) } else { Type::data(Reason::Operand) }
        }
        Op::Lea { .. } => a.and(b, limit),
        Op::Imad {} | Op::ImadX {} | Op::ImadWide { .. } => plain(product(a, b, limit).and(c, limit)),
        Op::ShfL { wrap, .. } if !wrap.0 && b.level == Level::Scalar => all,
        Op::ShfR { .. } if is_sign_word(inst) => c,
        Op::Lop3 { .. } if inst.pdst[0].is_true() && modulus(inst).is_some() => all,
        Op::Lop3 { .. } if inst.pdst[0].is_true() && is_complement(inst) => a,
        Op::Imnmx { .. } | Op::Iabs {} => all.with(condition_at(pc), limit),
        Op::Sel {} if predicates.is_uniform() => all,
        Op::Sel {} => all.with(condition_at(pc), limit),
        // One operand has to be the same in all threads of a block (section 4.3).
        Op::Isetp { .. } if a.level.min(b.level) <= Level::Block => everything,
        Op::Plop3 { .. } | Op::Plop3Both { .. } => everything,
        _ => Type::data(Reason::Operation),
    };
    Type { carry: sets_carry(inst) && computed.is_affine(), ..computed }
}
