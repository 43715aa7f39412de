//! Algebraic simplification of one instruction: folds constants, removes identities, puts operands into
//! canonical order.
//!
//! The builder applies it to every instruction it is about to make, and the combiner again when more is known
//! about operands. It considers only the given instruction, not uses or other instructions.

use super::truth;
use super::vir::{Inst, PSrc, Src, VOp, Val};
use std::cmp::Ordering;
use trace_format::isa::{BoolOp, Extended, ICmp, Lut, Max, Op, PrmtMode, Rnd, Sign, Wrap};

/// Known results of an instruction: operands that replace its destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// In place of the destination registers.
    pub dst: [Val; 4],
    /// In place of the destination predicates.
    pub pdst: [PSrc; 2],
}

impl Known {
    /// A 32-bit result.
    pub(super) const fn one(v: Val) -> Known {
        Known { dst: [v, Val::Undef, Val::Undef, Val::Undef], pdst: [PSrc::FALSE; 2] }
    }

    /// A pair.
    pub(super) const fn two(v: [Val; 2]) -> Known {
        Known { dst: [v[0], v[1], Val::Undef, Val::Undef], pdst: [PSrc::FALSE; 2] }
    }

    /// A predicate and its complement.
    pub(super) const fn preds(p: PSrc, q: PSrc) -> Known {
        Known { dst: [Val::Undef; 4], pdst: [p, q] }
    }

    fn word64(v: u64) -> Known {
        Known::two([Val::Imm(v as u32), Val::Imm((v >> 32) as u32)])
    }
}

/// Simplifies an unguarded instruction in place; returns its results if they are known. `wants_pred` tells
/// whether the first destination predicate is used.
pub(super) fn fold(inst: &mut Inst, wants_pred: bool) -> Option<Known> {
    if inst.guard != PSrc::TRUE {
        return None;
    }
    let op = match inst.op {
        VOp::M(op) => op,
        VOp::Add64 => return fold_add64(inst),
        VOp::Call(_) | VOp::CallFunction(_) | VOp::FrameAddress => return None,
    };
    match op {
        Op::Mov {} => Some(Known::one(inst.src[0].v[0])),
        Op::Iadd3 { x } => fold_iadd3(inst, x.0, wants_pred),
        Op::Imad {} => fold_imad(inst),
        Op::ImadWide { sign } => fold_imad_wide(inst, sign),
        Op::ImadHi { sign } => {
            let (a, b) = (plain_imm(&inst.src[0])?, plain_imm(&inst.src[1])?);
            let high = match sign {
                Sign::S32 => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
                Sign::U32 => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            };
            let c = plain_imm(&inst.src[2])?;
            Some(Known::one(Val::Imm(high.wrapping_add(c))))
        }
        Op::Lop3 { lut } if !wants_pred => fold_lop3(inst, lut),
        Op::ShfL { .. } | Op::ShfR { .. } => fold_shift(inst, op),
        Op::Sel {} => fold_sel(inst),
        Op::Imnmx { sign, max } => fold_imnmx(inst, sign, max),
        Op::Isetp { cmp, sign, bop, ex } => fold_isetp(inst, cmp, sign, bop, ex),
        Op::Fsetp { cmp, ftz, bop } => {
            let holds = super::evaluate::comparison(Op::Fsetp { cmp, ftz, bop: BoolOp::And }, inst)?;
            Some(known_comparison(holds, bop, inst.psrc[0]))
        }
        Op::Dsetp { cmp, bop } => {
            let holds = super::evaluate::comparison(Op::Dsetp { cmp, bop: BoolOp::And }, inst)?;
            Some(known_comparison(holds, bop, inst.psrc[0]))
        }
        Op::Plop3 { lut } => fold_plop3(inst, lut),
        Op::Prmt { mode: PrmtMode::Index } => fold_prmt(inst),
        Op::Sgxt { sign } => {
            let (x, n) = (plain_imm(&inst.src[0])?, plain_imm(&inst.src[1])?);
            Some(Known::one(Val::Imm(extend(x, n, sign == Sign::S32))))
        }
        Op::Bmsk { wrap: Wrap(wrap) } => {
            let (start, n) = (plain_imm(&inst.src[0])?, plain_imm(&inst.src[1])?);
            let (start, n) = if wrap { (start & 31, n & 31) } else { (start, n) };
            let ones = if n > 31 { u32::MAX } else { (1u32 << n) - 1 };
            Some(Known::one(Val::Imm(ones.checked_shl(start).unwrap_or(0))))
        }
        Op::Popc {} => Some(Known::one(Val::Imm(plain_imm(&inst.src[0])?.count_ones()))),
        Op::Brev {} => Some(Known::one(Val::Imm(plain_imm(&inst.src[0])?.reverse_bits()))),
        Op::F2i { .. }
        | Op::I2f { .. }
        | Op::F2f { .. }
        | Op::I2i { .. }
        | Op::Fadd { .. }
        | Op::Fmul { .. }
        | Op::Ffma { .. } => super::evaluate::words(op, inst).map(Known::two),
        Op::Dadd { rnd: Rnd::Rn } => fold_doubles(inst, |a, b| a + b),
        Op::Dmul { rnd: Rnd::Rn } => fold_doubles(inst, |a, b| a * b),
        Op::Iabs {} => Some(Known::one(Val::Imm((plain_imm(&inst.src[0])? as i32).unsigned_abs()))),
        _ => None,
    }
}

/// The sum or product of two numbers in double precision, rounded to nearest; NaN is left to the code.
fn fold_doubles(inst: &Inst, of: fn(f64, f64) -> f64) -> Option<Known> {
    let number = |s: &Src| -> Option<f64> {
        let value = f64::from_bits(u64::from(s.v[0].imm()?) | u64::from(s.v[1].imm()?) << 32);
        let value = if s.abs { value.abs() } else { value };
        Some(if s.neg { -value } else { value })
    };
    let result = of(number(&inst.src[0])?, number(&inst.src[1])?);
    (!result.is_nan()).then(|| Known::word64(result.to_bits()))
}

fn plain_imm(s: &Src) -> Option<u32> {
    if s.plain() { s.v[0].imm() } else { None }
}

/// The low `n` bits, zero- or sign-extended.
pub(super) fn extend(x: u32, n: u32, signed: bool) -> u32 {
    match n {
        0 => 0,
        1..=31 if signed => (((x << (32 - n)) as i32) >> (32 - n)) as u32,
        1..=31 => x & ((1 << n) - 1),
        _ => x,
    }
}

/// The literal value of an integer source, negation applied.
fn int_imm(s: &Src) -> Option<u32> {
    let x = s.v[0].imm()?;
    Some(if s.neg { x.wrapping_neg() } else { x })
}

fn fold_iadd3(inst: &mut Inst, extended: bool, wants_pred: bool) -> Option<Known> {
    if extended {
        match inst.psrc[0].constant() {
            Some(false) if inst.src.iter().all(|s| !s.neg) => {
                inst.op = VOp::M(Op::Iadd3 { x: Extended(false) });
                inst.psrc[0] = PSrc::TRUE;
            }
            Some(true) if !wants_pred && inst.src.iter().filter(|s| s.neg).count() == 1 => {
                inst.op = VOp::M(Op::Iadd3 { x: Extended(false) });
                inst.psrc[0] = PSrc::TRUE;
            }
            _ => return None,
        }
    }
    let terms: Vec<Src> = inst.src.iter().copied().filter(|s| s.v[0].imm().is_none()).collect();
    let literals: Vec<Src> =
        inst.src.iter().copied().filter(|s| s.v[0].imm().is_some_and(|x| x != 0)).collect();
    if wants_pred {
        // A negated zero enters as its complement plus one, and so always carries out.
        if inst.src.iter().any(|s| s.neg && s.v[0].imm() == Some(0)) {
            let sum = match (terms.as_slice(), literals.as_slice()) {
                ([], []) => Val::ZERO,
                ([a], []) | ([], [a]) if !a.neg => a.v[0],
                _ => return None,
            };
            return Some(Known { pdst: [PSrc::TRUE, PSrc::FALSE], ..Known::one(sum) });
        }
        return match (terms.as_slice(), literals.as_slice()) {
            ([], []) => Some(Known::one(Val::ZERO)),
            ([], [a]) if !a.neg => Some(Known::one(a.v[0])),
            ([a], []) if !a.neg => Some(Known::one(a.v[0])),
            ([], [a, b]) if !a.neg && !b.neg => {
                let (sum, carry) = a.v[0].imm()?.overflowing_add(b.v[0].imm()?);
                let p = if carry { PSrc::TRUE } else { PSrc::FALSE };
                Some(Known { pdst: [p, PSrc::FALSE], ..Known::one(Val::Imm(sum)) })
            }
            _ => None,
        };
    }
    let sum = literals.iter().filter_map(int_imm).fold(0u32, u32::wrapping_add);
    match terms.as_slice() {
        [] => return Some(Known::one(Val::Imm(sum))),
        [a] if !a.neg && sum == 0 => return Some(Known::one(a.v[0])),
        [a, b] if a.v[0] == b.v[0] && a.neg != b.neg => return Some(Known::one(Val::Imm(sum))),
        _ => {}
    }
    if terms.len() < 3 {
        let mut sorted = terms;
        sorted.sort_by_key(|s| (s.neg, s.v[0]));
        sorted.push(Src::one(Val::Imm(sum)));
        sorted.resize(3, Src::RZ);
        inst.src.copy_from_slice(&sorted);
    }
    None
}

fn fold_add64(inst: &mut Inst) -> Option<Known> {
    let word = |s: &Src| -> Option<u64> {
        let v = u64::from(s.v[0].imm()?) | u64::from(s.v[1].imm()?) << 32;
        Some(if s.neg { v.wrapping_neg() } else { v })
    };
    let (a, b) = (word(&inst.src[0]), word(&inst.src[1]));
    match (a, b) {
        (Some(a), Some(b)) => return Some(Known::word64(a.wrapping_add(b))),
        (Some(_), None) => inst.src.swap(0, 1),
        _ => {}
    }
    if let Some(c) = a.or(b) {
        let x = inst.src[0];
        if c == 0 && !x.neg {
            return Some(Known::two([x.v[0], x.v[1]]));
        }
        inst.src[1] = Src::two([Val::Imm(c as u32), Val::Imm((c >> 32) as u32)]);
    }
    None
}

fn fold_imad(inst: &mut Inst) -> Option<Known> {
    if inst.src[0].v[0].imm().is_some() {
        inst.src.swap(0, 1);
    }
    let c = inst.src[2];
    let factor = int_imm(&inst.src[1]);
    match (int_imm(&inst.src[0]), factor) {
        (Some(a), Some(b)) => {
            let product = a.wrapping_mul(b);
            if let Some(c) = int_imm(&c) {
                return Some(Known::one(Val::Imm(product.wrapping_add(c))));
            }
            become_add(inst, Src::one(Val::Imm(product)), c)
        }
        (None, Some(0)) => become_add(inst, Src::RZ, c),
        (None, Some(1)) => {
            let a = inst.src[0];
            become_add(inst, a, c)
        }
        (None, Some(u32::MAX)) => {
            let a = inst.src[0].negated();
            become_add(inst, a, c)
        }
        (None, Some(b)) => {
            inst.src[1] = Src::one(Val::Imm(b));
            if b.is_power_of_two() && c.v[0].imm() == Some(0) && !inst.src[0].neg {
                inst.op = VOp::M(SHL);
                inst.src = [inst.src[0], Src::one(Val::Imm(b.trailing_zeros())), Src::RZ];
            }
            None
        }
        _ => None,
    }
}

/// The plain 32-bit left shift.
pub(super) const SHL: Op = Op::ShfL {
    wide: trace_format::isa::Wide(false),
    wrap: Wrap(false),
    high: trace_format::isa::High(false),
};

fn become_add(inst: &mut Inst, a: Src, b: Src) -> Option<Known> {
    inst.op = VOp::M(Op::Iadd3 { x: Extended(false) });
    inst.src = [a, b, Src::RZ];
    fold_iadd3(inst, false, false)
}

fn fold_imad_wide(inst: &mut Inst, sign: Sign) -> Option<Known> {
    if inst.src[0].v[0].imm().is_some() {
        inst.src.swap(0, 1);
    }
    let c = inst.src[2];
    let (a, b) = (plain_imm(&inst.src[0]), plain_imm(&inst.src[1]));
    let product = match (a, b, sign) {
        (_, Some(0), _) => 0,
        (Some(a), Some(b), Sign::U32) => u64::from(a) * u64::from(b),
        (Some(a), Some(b), Sign::S32) => (i64::from(a as i32) * i64::from(b as i32)) as u64,
        _ => return None,
    };
    inst.op = VOp::Add64;
    inst.src = [c, Src::two([Val::Imm(product as u32), Val::Imm((product >> 32) as u32)]), Src::NONE];
    fold_add64(inst)
}

fn fold_lop3(inst: &mut Inst, lut: Lut) -> Option<Known> {
    let inputs = inst.src.map(|s| (s.v[0], s.neg));
    let (table, vars) = truth::reduce_words(lut.0, inputs);
    let all = vars.map(|v| v.and_then(Val::imm));
    if vars.iter().all(|v| v.is_none() || v.is_some_and(|v| v.imm().is_some())) {
        let at = |i: usize| all[i].unwrap_or(0);
        return Some(Known::one(Val::Imm(truth::apply_words(table, at(0), at(1), at(2)))));
    }
    match (table, vars) {
        (Lut::A, [Some(v), None, None]) => return Some(Known::one(v)),
        (0, _) => return Some(Known::one(Val::ZERO)),
        (0xFF, _) => return Some(Known::one(Val::Imm(u32::MAX))),
        _ => {}
    }
    inst.op = VOp::M(Op::Lop3 { lut: Lut(table) });
    inst.src = vars.map(|v| v.map_or(Src::RZ, Src::one));
    None
}

fn fold_shift(inst: &mut Inst, op: Op) -> Option<Known> {
    let (left, signed, wide, wrap, high) = match op {
        Op::ShfL { wide, wrap, high } => (true, false, wide.0, wrap.0, high.0),
        Op::ShfR { sign, wide, wrap, high } => (false, sign == Sign::S32, wide.0, wrap.0, high.0),
        _ => return None,
    };
    let amount = plain_imm(&inst.src[1])?;
    let width = if wide { 64 } else { 32 };
    let n = if wrap { amount & (width - 1) } else { amount.min(width) };
    let (low, upper) = (inst.src[0].v[0], inst.src[2].v[0]);
    if n == 0 {
        return Some(Known::one(if high { upper } else { low }));
    }
    // Whole-word moves.
    if !signed && n == 32 {
        let moved = match (left, high) {
            (true, true) => low,
            (true, false) | (false, true) => Val::ZERO,
            (false, false) => upper,
        };
        return Some(Known::one(moved));
    }
    // A source that contributes nothing does not have to be known.
    let needs_low = !(n < 32 && !left && high);
    let needs_upper = !(n < 32 && left && !high);
    let low = if needs_low { low.imm()? } else { 0 };
    let upper = if needs_upper { upper.imm()? } else { 0 };
    let v = u64::from(upper) << 32 | u64::from(low);
    let shifted = match (left, signed) {
        (true, _) => v.checked_shl(n).unwrap_or(0),
        (false, true) => ((v as i64) >> n.min(63)) as u64,
        (false, false) => v.checked_shr(n).unwrap_or(0),
    };
    Some(Known::one(Val::Imm(if high { (shifted >> 32) as u32 } else { shifted as u32 })))
}

fn fold_sel(inst: &mut Inst) -> Option<Known> {
    let (a, b) = (inst.src[0].v[0], inst.src[1].v[0]);
    match inst.psrc[0].constant() {
        Some(true) => return Some(Known::one(a)),
        Some(false) => return Some(Known::one(b)),
        None if a == b => return Some(Known::one(a)),
        None => {}
    }
    if inst.psrc[0].not {
        inst.src.swap(0, 1);
        inst.psrc[0].not = false;
    }
    None
}

fn fold_imnmx(inst: &mut Inst, sign: Sign, max: Max) -> Option<Known> {
    if inst.src[0].v[0] == inst.src[1].v[0] {
        return Some(Known::one(inst.src[0].v[0]));
    }
    if inst.src[0].v[0].imm().is_some() {
        inst.src.swap(0, 1);
    }
    let (a, b) = (plain_imm(&inst.src[0])?, plain_imm(&inst.src[1])?);
    let less = if sign == Sign::S32 { (a as i32) < b as i32 } else { a < b };
    Some(Known::one(Val::Imm(if less != max.0 { a } else { b })))
}

/// The comparison with its operands exchanged.
pub(super) const fn swapped(cmp: ICmp) -> ICmp {
    match cmp {
        ICmp::Lt => ICmp::Gt,
        ICmp::Gt => ICmp::Lt,
        ICmp::Le => ICmp::Ge,
        ICmp::Ge => ICmp::Le,
        ICmp::Eq => ICmp::Eq,
        ICmp::Ne => ICmp::Ne,
    }
}

/// The opposite comparison.
pub(super) const fn inverted(cmp: ICmp) -> ICmp {
    match cmp {
        ICmp::Lt => ICmp::Ge,
        ICmp::Ge => ICmp::Lt,
        ICmp::Le => ICmp::Gt,
        ICmp::Gt => ICmp::Le,
        ICmp::Eq => ICmp::Ne,
        ICmp::Ne => ICmp::Eq,
    }
}

fn fold_isetp(inst: &mut Inst, cmp: ICmp, sign: Sign, bop: BoolOp, ex: Extended) -> Option<Known> {
    let (a, b) = (inst.src[0].v[0], inst.src[1].v[0]);
    let order = match (plain_imm(&inst.src[0]), plain_imm(&inst.src[1])) {
        _ if a == b && inst.src[0].plain() && inst.src[1].plain() => Some(Ordering::Equal),
        (Some(x), Some(y)) if sign == Sign::S32 => Some((x as i32).cmp(&(y as i32))),
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        (Some(_), None) => {
            inst.src.swap(0, 1);
            inst.op = VOp::M(Op::Isetp { cmp: swapped(cmp), sign, bop, ex });
            None
        }
        _ => None,
    };
    let known = if ex.0 {
        // The lower halves decide where the upper ones are equal. ptxas knows the result where it knows both.
        let lower = inst.psrc[1].constant();
        order.zip(lower).map(|(order, lower)| if order.is_eq() { lower } else { integer_holds(cmp, order) })
    } else {
        order.map(|order| integer_holds(cmp, order))
    };
    let with = inst.psrc[0];
    match (known, with.constant(), bop) {
        (Some(holds), _, _) => Some(known_comparison(holds, bop, with)),
        (None, Some(false), BoolOp::And) => Some(Known::preds(PSrc::FALSE, PSrc::FALSE)),
        (None, Some(true), BoolOp::Or) => Some(Known::preds(PSrc::TRUE, PSrc::TRUE)),
        _ => None,
    }
}

/// Whether two words in this order compare so.
const fn integer_holds(cmp: ICmp, order: Ordering) -> bool {
    match cmp {
        ICmp::Lt => order.is_lt(),
        ICmp::Eq => order.is_eq(),
        ICmp::Le => order.is_le(),
        ICmp::Gt => order.is_gt(),
        ICmp::Ne => order.is_ne(),
        ICmp::Ge => order.is_ge(),
    }
}

/// Both results of a comparison that is known to hold or not, combined with a predicate.
fn known_comparison(holds: bool, bop: BoolOp, with: PSrc) -> Known {
    let combined = |holds: bool| match (bop, holds) {
        (BoolOp::And, true) | (BoolOp::Or | BoolOp::Xor, false) => with,
        (BoolOp::And, false) => PSrc::FALSE,
        (BoolOp::Or, true) => PSrc::TRUE,
        (BoolOp::Xor, true) => with.negated(),
    };
    Known::preds(combined(holds), combined(!holds))
}

fn fold_plop3(inst: &mut Inst, lut: Lut) -> Option<Known> {
    let (table, vars) = truth::reduce_preds(lut.0, inst.psrc);
    let known = match (table, vars[0]) {
        (0, _) => PSrc::FALSE,
        (0xFF, _) => PSrc::TRUE,
        (Lut::A, Some(p)) => PSrc::of(p),
        (t, Some(p)) if t == !Lut::A => PSrc::of(p).negated(),
        _ => {
            inst.op = VOp::M(Op::Plop3 { lut: Lut(table) });
            inst.psrc = vars.map(|v| v.map_or(PSrc::TRUE, PSrc::of));
            return None;
        }
    };
    Some(Known::preds(known, known.negated()))
}

fn fold_prmt(inst: &mut Inst) -> Option<Known> {
    let selector = plain_imm(&inst.src[1])? & 0xFFFF;
    let (a, c) = (inst.src[0].v[0], inst.src[2].v[0]);
    match selector {
        0x3210 => return Some(Known::one(a)),
        0x7654 => return Some(Known::one(c)),
        _ => {}
    }
    let nibbles = [0, 1, 2, 3].map(|i| selector >> (4 * i) & 0xF);
    if nibbles.iter().all(|n| n & 4 == 0) {
        inst.src[2] = Src::RZ;
    }
    let (a, c) = (plain_imm(&inst.src[0])?, plain_imm(&inst.src[2])?);
    let bytes = (u64::from(c) << 32 | u64::from(a)).to_le_bytes();
    let pick = nibbles.map(|n| {
        let byte = bytes[(n & 7) as usize];
        if n & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
    });
    Some(Known::one(Val::Imm(u32::from_le_bytes(pick))))
}
