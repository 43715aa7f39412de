//! Half precision of the oracle: `.f16`, `.bf16` and pairs of them, in soft floating point.
//!
//! Every NaN is the one that PTX names, 0x7FFF. Approximate functions are computed in double precision and
//! rounded to nearest: to be compared within bounds.

use super::results::Results;
use emulator::ptx::{BoolOp, CompareOp, Comparison, FmaOp, MinMaxOp, Op, Rounding, ScalarType};
use rustc_apfloat::ieee::{BFloat, Double, Half};
use rustc_apfloat::{Float, FloatConvert};

/// The NaN of both formats.
pub(super) const NAN: u64 = 0x7FFF;

/// What follows an operation.
#[derive(Clone, Copy, Default)]
struct After {
    ftz: bool,
    sat: bool,
    relu: bool,
}

/// The format and the number of values of a half-precision type.
fn format(ty: ScalarType) -> Option<(bool, u32)> {
    Some(match ty {
        ScalarType::F16 => (false, 1),
        ScalarType::F16x2 => (false, 2),
        ScalarType::Bf16 => (true, 1),
        ScalarType::Bf16x2 => (true, 2),
        _ => return None,
    })
}

/// The value of bits of a format, exactly.
pub(super) fn value(bf16: bool, bits: u64) -> f64 {
    let bits = u128::from(bits & 0xFFFF);
    let mut loses = false;
    let wide: Double = if bf16 {
        BFloat::from_bits(bits).convert(&mut loses).value
    } else {
        Half::from_bits(bits).convert(&mut loses).value
    };
    f64::from_bits(wide.to_bits() as u64)
}

/// The bits of a value in a format, rounded once.
pub(super) fn rounded(bf16: bool, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return NAN;
    }
    let exact = Double::from_bits(u128::from(value.to_bits()));
    let (rounding, mut loses) = (super::float::round(rounding), false);
    if bf16 {
        let narrow: BFloat = exact.convert_r(rounding, &mut loses).value;
        narrow.to_bits() as u64
    } else {
        let narrow: Half = exact.convert_r(rounding, &mut loses).value;
        narrow.to_bits() as u64
    }
}

fn flushed(bf16: bool, bits: u64) -> u64 {
    let exponent = if bf16 { 0x7F80 } else { 0x7C00 };
    if bits & exponent == 0 { bits & 0x8000 } else { bits & 0xFFFF }
}

/// a * b + c rounded once to nearest.
fn fused(bf16: bool, s: [u64; 3], after: After) -> u64 {
    let s = s.map(|bits| if after.ftz { flushed(bf16, bits) } else { bits });
    let bits = if bf16 {
        let [a, b, c] = s.map(|bits| BFloat::from_bits(u128::from(bits & 0xFFFF)));
        let sum = a.mul_add_r(b, c, rustc_apfloat::Round::NearestTiesToEven).value;
        if sum.is_nan() { NAN } else { sum.to_bits() as u64 }
    } else {
        let [a, b, c] = s.map(|bits| Half::from_bits(u128::from(bits & 0xFFFF)));
        let sum = a.mul_add_r(b, c, rustc_apfloat::Round::NearestTiesToEven).value;
        if sum.is_nan() { NAN } else { sum.to_bits() as u64 }
    };
    finished(bf16, bits, after)
}

fn finished(bf16: bool, bits: u64, after: After) -> u64 {
    let bits = if after.ftz { flushed(bf16, bits) } else { bits };
    let number = value(bf16, bits);
    if after.sat {
        return if number > 0.0 { rounded(bf16, number.min(1.0), Rounding::Rn) } else { 0 };
    }
    if after.relu && number < 0.0 { 0 } else { bits }
}

const MINUS_ZERO: u64 = 0x8000;

fn one(bf16: bool) -> u64 {
    if bf16 { 0x3F80 } else { 0x3C00 }
}

fn negated(bits: u64) -> u64 {
    bits ^ 0x8000
}

/// Applies an operation to each of the values of its sources.
fn each(count: u32, s: &[u64], one: impl Fn([u64; 3]) -> u64) -> u64 {
    (0..count).fold(0, |d, at| {
        let part = |i: usize| s.get(i).map_or(0, |bits| bits >> (16 * at) & 0xFFFF);
        d | (one([part(0), part(1), part(2)]) & 0xFFFF) << (16 * at)
    })
}

/// The sums of two values or pairs of a half-precision type.
pub(super) fn sum(ty: ScalarType, a: u64, b: u64) -> Option<u64> {
    let (bf16, n) = format(ty)?;
    Some(each(n, &[a, b], |[a, b, _]| fused(bf16, [a, one(bf16), b], After::default())))
}

/// The result of a half-precision instruction; `None` for all others.
pub(super) fn evaluate(op: &Op, s: &[u64]) -> Option<Results> {
    let result = match *op {
        Op::Add(op) if op.narrow.is_none() => {
            let (bf16, n) = format(op.ty)?;
            let after = After { ftz: op.ftz, sat: op.sat, relu: false };
            each(n, s, |[a, b, _]| fused(bf16, [a, one(bf16), b], after))
        }
        Op::Sub(op) if op.narrow.is_none() => {
            let (bf16, n) = format(op.ty)?;
            let after = After { ftz: op.ftz, sat: op.sat, relu: false };
            each(n, s, |[a, b, _]| fused(bf16, [a, one(bf16), negated(b)], after))
        }
        Op::Mul(op) => {
            let (bf16, n) = format(op.ty)?;
            let after = After { ftz: op.ftz, sat: op.sat, relu: false };
            // A product keeps its sign where it is zero.
            each(n, s, |[a, b, _]| {
                let zero = if (a ^ b) & 0x8000 != 0 { MINUS_ZERO } else { 0 };
                fused(bf16, [a, b, zero], after)
            })
        }
        Op::Fma(FmaOp { ty, narrow: None, rounding: Rounding::Rn, ftz, sat, relu, oob: false }) => {
            let (bf16, n) = format(ty)?;
            each(n, s, |s| fused(bf16, s, After { ftz, sat, relu }))
        }
        Op::Neg { ty, ftz } => {
            let (bf16, n) = format(ty)?;
            each(n, s, |[a, ..]| negated(if ftz { flushed(bf16, a) } else { a }))
        }
        Op::Abs { ty, ftz } => {
            let (bf16, n) = format(ty)?;
            each(n, s, |[a, ..]| 0x7FFF & if ftz { flushed(bf16, a) } else { a })
        }
        Op::Min(op) => minimum(&op, false, s)?,
        Op::Max(op) => minimum(&op, true, s)?,
        Op::Ex2 { ty, ftz } => {
            let (bf16, n) = format(ty)?;
            each(n, s, |[a, ..]| approximate(bf16, ftz, a, f64::exp2))
        }
        Op::Tanh(ty) => {
            let (bf16, n) = format(ty)?;
            each(n, s, |[a, ..]| approximate(bf16, false, a, f64::tanh))
        }
        Op::Setp(op) => return setp(&op, s),
        Op::Set { dst_ty, compare } => return set(dst_ty, &compare, s),
        _ => return None,
    };
    Some([result, 0])
}

fn approximate(bf16: bool, ftz: bool, a: u64, function: impl Fn(f64) -> f64) -> u64 {
    let a = if ftz { flushed(bf16, a) } else { a };
    let result = rounded(bf16, function(value(bf16, a)), Rounding::Rn);
    if ftz { flushed(bf16, result) } else { result }
}

fn minimum(op: &MinMaxOp, max: bool, s: &[u64]) -> Option<u64> {
    let (bf16, n) = format(op.ty)?;
    if op.three {
        return None;
    }
    Some(each(n, s, |[a, b, _]| {
        let [a, b] = [a, b].map(|bits| if op.ftz { flushed(bf16, bits) } else { bits });
        let (x, y) = (value(bf16, a), value(bf16, b));
        if x.is_nan() && y.is_nan() || op.nan && (x.is_nan() || y.is_nan()) {
            return NAN;
        }
        let (x, y) = if op.xorsign_abs { (x.abs(), y.abs()) } else { (x, y) };
        // Minus zero is below zero.
        let picks_a = y.is_nan()
            || !x.is_nan() && if max { x > y } else { x < y }
            || x == y && x.is_sign_negative() != max;
        let picked = if picks_a { a } else { b };
        if op.xorsign_abs { picked & 0x7FFF | (a ^ b) & 0x8000 } else { picked }
    }))
}

fn compared(op: &CompareOp, bf16: bool, a: u64, b: u64) -> Option<bool> {
    let [x, y] = [a, b].map(|bits| value(bf16, if op.ftz { flushed(bf16, bits) } else { bits }));
    let unordered = x.is_nan() || y.is_nan();
    Some(match op.comparison {
        Comparison::Eq => x == y,
        Comparison::Ne => !unordered && x != y,
        Comparison::Lt => x < y,
        Comparison::Le => x <= y,
        Comparison::Gt => x > y,
        Comparison::Ge => x >= y,
        Comparison::Equ => unordered || x == y,
        Comparison::Neu => unordered || x != y,
        Comparison::Ltu => unordered || x < y,
        Comparison::Leu => unordered || x <= y,
        Comparison::Gtu => unordered || x > y,
        Comparison::Geu => unordered || x >= y,
        Comparison::Num => !unordered,
        Comparison::Nan => unordered,
        _ => return None,
    })
}

fn combined(op: Option<BoolOp>, holds: bool, c: u64) -> bool {
    match op {
        None => holds,
        Some(BoolOp::And) => holds & (c != 0),
        Some(BoolOp::Or) => holds | (c != 0),
        Some(BoolOp::Xor) => holds ^ (c != 0),
    }
}

fn setp(op: &CompareOp, s: &[u64]) -> Option<Results> {
    let (bf16, n) = format(op.ty)?;
    let c = s.get(2).copied().unwrap_or(0);
    let low = compared(op, bf16, s[0], s[1])?;
    let second = if n == 2 { compared(op, bf16, s[0] >> 16, s[1] >> 16)? } else { !low };
    Some([low, second].map(|holds| u64::from(combined(op.combine, holds, c))))
}

fn set(dst_ty: ScalarType, op: &CompareOp, s: &[u64]) -> Option<Results> {
    let (bf16, n) = format(op.ty)?;
    let c = s.get(2).copied().unwrap_or(0);
    let low = combined(op.combine, compared(op, bf16, s[0], s[1])?, c);
    let high = n == 2 && combined(op.combine, compared(op, bf16, s[0] >> 16, s[1] >> 16)?, c);
    let (yes, wide) = match dst_ty {
        ScalarType::F16 | ScalarType::F16x2 => (one(false), false),
        ScalarType::Bf16 | ScalarType::Bf16x2 => (one(true), false),
        ScalarType::U16 | ScalarType::S16 => (0xFFFF, false),
        // Of a pair each half is all ones or zero.
        ScalarType::U32 | ScalarType::S32 if n == 2 => (0xFFFF, false),
        ScalarType::U32 | ScalarType::S32 => (u64::MAX, true),
        _ => return None,
    };
    let low = if low { yes } else { 0 };
    Some([if wide { low } else { low | (if high { yes } else { 0 }) << 16 }, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_bits_are_those_of_another_library() {
        for bits in (0..=u16::MAX).step_by(7) {
            let (ours, theirs) = (value(false, u64::from(bits)), half::f16::from_bits(bits).to_f64());
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
            let (ours, theirs) = (value(true, u64::from(bits)), half::bf16::from_bits(bits).to_f64());
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
            if !theirs.is_nan() {
                assert_eq!(rounded(true, theirs, Rounding::Rn), u64::from(bits));
            }
        }
    }

    #[test]
    fn results_round_once_and_clamp() {
        let two = u64::from(half::f16::from_f32(2.0).to_bits());
        assert_eq!(
            fused(false, [two, two, one(false)], After::default()),
            u64::from(half::f16::from_f32(5.0).to_bits())
        );
        assert_eq!(fused(false, [two, two, 0], After { sat: true, ..After::default() }), one(false));
        assert_eq!(fused(false, [negated(two), two, 0], After { relu: true, ..After::default() }), 0);
        assert_eq!(fused(true, [0x7FC0, one(true), 0], After::default()), NAN);
        assert_eq!(fused(false, [1, one(false), 0], After { ftz: true, ..After::default() }), 0);
    }
}
