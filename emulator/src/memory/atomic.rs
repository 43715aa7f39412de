//! The arithmetic of atomics and reductions on a memory location.

use trace_format::isa::{AtomOp, AtomTy};

/// The new value of `old` under `op` with operand `b` (and `c`, the new value of a compare-and-swap). Values
/// are the bits of the type, in the low part of the word. `flush` replaces single-precision subnormals by
/// zero, as atomics on global memory do (PTX ISA, `atom`).
#[must_use]
pub(crate) fn apply(op: AtomOp, ty: AtomTy, flush: bool, old: u128, b: u128, c: u128) -> u128 {
    let words = (old as u32, b as u32, c as u32);
    let longs = (old as u64, b as u64, c as u64);
    match ty {
        AtomTy::F32 => u128::from(apply_f32(op, flush, words.0, words.1, words.2)),
        AtomTy::F64 => u128::from(apply_f64(op, longs.0, longs.1, longs.2)),
        AtomTy::U32 | AtomTy::S32 => u128::from(apply_u32(op, ty == AtomTy::S32, words.0, words.1, words.2)),
        AtomTy::U64 | AtomTy::S64 => u128::from(apply_u64(op, ty == AtomTy::S64, longs.0, longs.1, longs.2)),
        AtomTy::U16 => u128::from(apply_u32(op, false, words.0 & 0xFFFF, words.1 & 0xFFFF, words.2 & 0xFFFF)),
        AtomTy::F16 => u128::from(apply_half::<half::f16>(op, old as u16, b as u16)),
        AtomTy::Bf16 => u128::from(apply_half::<half::bf16>(op, old as u16, b as u16)),
        AtomTy::F16x2 => u128::from(apply_halves::<half::f16>(op, words.0, words.1)),
        AtomTy::Bf16x2 => u128::from(apply_halves::<half::bf16>(op, words.0, words.1)),
        AtomTy::B128 => match op {
            AtomOp::Exch => b,
            AtomOp::Cas | AtomOp::CasDone if old == b => c,
            _ => old,
        },
    }
}

/// What an atomic gives back that found `old`, compared with `b` if it compares.
#[must_use]
pub(crate) fn result(op: AtomOp, old: u128, b: u128) -> u128 {
    match op {
        AtomOp::CasDone => u128::from(old == b),
        _ => old,
    }
}

/// The NaN that half-precision arithmetic returns.
const NAN_HALF: u16 = 0x7FFF;

/// A 16-bit format, whose numbers all are single-precision numbers.
trait HalfFormat {
    fn value(bits: u16) -> f32;
    fn nearest(v: f32) -> u16;
}

impl HalfFormat for half::f16 {
    fn value(bits: u16) -> f32 {
        half::f16::from_bits(bits).to_f32()
    }
    fn nearest(v: f32) -> u16 {
        half::f16::from_f32(v).to_bits()
    }
}

impl HalfFormat for half::bf16 {
    fn value(bits: u16) -> f32 {
        half::bf16::from_bits(bits).to_f32()
    }
    fn nearest(v: f32) -> u16 {
        half::bf16::from_f32(v).to_bits()
    }
}

/// Single precision has more than twice the bits of either format, so a sum rounded to it first ends up
/// where rounding the exact sum would.
fn apply_half<F: HalfFormat>(op: AtomOp, old: u16, b: u16) -> u16 {
    let (x, y) = (F::value(old), F::value(b));
    let below = |x: f32, y: f32| x < y || (x == y && x.is_sign_negative());
    match op {
        AtomOp::Add if (x + y).is_nan() => NAN_HALF,
        AtomOp::Add => F::nearest(x + y),
        AtomOp::Min | AtomOp::Max if x.is_nan() && y.is_nan() => NAN_HALF,
        AtomOp::Min | AtomOp::Max if x.is_nan() => b,
        AtomOp::Min | AtomOp::Max if y.is_nan() => old,
        AtomOp::Min if below(x, y) => old,
        AtomOp::Max if below(y, x) => old,
        AtomOp::Min | AtomOp::Max | AtomOp::Exch => b,
        _ => old,
    }
}

fn apply_halves<F: HalfFormat>(op: AtomOp, old: u32, b: u32) -> u32 {
    let low = apply_half::<F>(op, old as u16, b as u16);
    let high = apply_half::<F>(op, (old >> 16) as u16, (b >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

fn apply_u32(op: AtomOp, signed: bool, old: u32, b: u32, c: u32) -> u32 {
    match op {
        AtomOp::Add => old.wrapping_add(b),
        AtomOp::Min if signed => (old as i32).min(b as i32) as u32,
        AtomOp::Max if signed => (old as i32).max(b as i32) as u32,
        AtomOp::Min => old.min(b),
        AtomOp::Max => old.max(b),
        AtomOp::Inc if old >= b => 0,
        AtomOp::Inc => old + 1,
        AtomOp::Dec if old == 0 || old > b => b,
        AtomOp::Dec => old - 1,
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => b,
        AtomOp::Cas | AtomOp::CasDone if old == b => c,
        AtomOp::Cas | AtomOp::CasDone => old,
    }
}

fn apply_u64(op: AtomOp, signed: bool, old: u64, b: u64, c: u64) -> u64 {
    match op {
        AtomOp::Add => old.wrapping_add(b),
        AtomOp::Min if signed => (old as i64).min(b as i64) as u64,
        AtomOp::Max if signed => (old as i64).max(b as i64) as u64,
        AtomOp::Min => old.min(b),
        AtomOp::Max => old.max(b),
        AtomOp::Inc if old >= b => 0,
        AtomOp::Inc => old + 1,
        AtomOp::Dec if old == 0 || old > b => b,
        AtomOp::Dec => old - 1,
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => b,
        AtomOp::Cas | AtomOp::CasDone if old == b => c,
        AtomOp::Cas | AtomOp::CasDone => old,
    }
}

/// The NaN that single-precision arithmetic returns.
const NAN_F32: u32 = 0x7FFF_FFFF;
/// The NaN that an invalid double-precision operation returns; NaN operands pass through, quieted.
const NAN_F64: u64 = 0xFFF8_0000_0000_0000;
const QUIET_F64: u64 = 0x0008_0000_0000_0000;

fn flushed(x: f32, flush: bool) -> f32 {
    if flush && x.is_subnormal() { 0f32.copysign(x) } else { x }
}

fn apply_f32(op: AtomOp, flush: bool, old: u32, b: u32, c: u32) -> u32 {
    let (x, y) = (flushed(f32::from_bits(old), flush), flushed(f32::from_bits(b), flush));
    let number = |r: f32| if r.is_nan() { NAN_F32 } else { flushed(r, flush).to_bits() };
    match op {
        AtomOp::Add => number(x + y),
        AtomOp::Min => number(x.min(y)),
        AtomOp::Max => number(x.max(y)),
        _ => apply_u32(op, false, old, b, c),
    }
}

fn apply_f64(op: AtomOp, old: u64, b: u64, c: u64) -> u64 {
    let (x, y) = (f64::from_bits(old), f64::from_bits(b));
    let number = |r: f64| match (r.is_nan(), x.is_nan(), y.is_nan()) {
        (false, ..) => r.to_bits(),
        (_, true, _) => old | QUIET_F64,
        (_, _, true) => b | QUIET_F64,
        _ => NAN_F64,
    };
    match op {
        AtomOp::Add => number(x + y),
        AtomOp::Min => number(x.min(y)),
        AtomOp::Max => number(x.max(y)),
        _ => apply_u64(op, false, old, b, c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_counters_wrap_where_ptx_says() {
        let inc = |old, b| apply(AtomOp::Inc, AtomTy::U32, false, old, b, 0);
        assert_eq!((inc(3, 4), inc(4, 4), inc(9, 4)), (4, 0, 0));
        let dec = |old, b| apply(AtomOp::Dec, AtomTy::U32, false, old, b, 0);
        assert_eq!((dec(3, 4), dec(0, 4), dec(9, 4)), (2, 4, 4));
    }

    #[test]
    fn signedness_and_width_count() {
        let minus_one = u128::from(u32::MAX);
        assert_eq!(apply(AtomOp::Max, AtomTy::S32, false, minus_one, 0, 0), 0);
        assert_eq!(apply(AtomOp::Max, AtomTy::U32, false, minus_one, 0, 0), minus_one);
        assert_eq!(apply(AtomOp::Add, AtomTy::U32, false, minus_one, 1, 0), 0);
        assert_eq!(apply(AtomOp::Add, AtomTy::U64, false, minus_one, 1, 0), 1 << 32);
        assert_eq!(apply(AtomOp::Min, AtomTy::S64, false, u64::MAX.into(), 0, 0), u64::MAX.into());
        assert_eq!(apply(AtomOp::Cas, AtomTy::U64, false, 5, 5, 9), 9);
        assert_eq!(apply(AtomOp::Cas, AtomTy::U64, false, 6, 5, 9), 6);
    }

    #[test]
    fn float_addition_flushes_only_where_asked() {
        let tiny = u128::from(f32::from_bits(5).to_bits());
        let zero_plus = |flush| apply(AtomOp::Add, AtomTy::F32, flush, 0, tiny, 0);
        assert_eq!((zero_plus(true), zero_plus(false)), (0, tiny));
        let sum =
            apply(AtomOp::Add, AtomTy::F64, false, 1.5f64.to_bits().into(), 2.25f64.to_bits().into(), 0);
        assert_eq!(f64::from_bits(sum as u64), 3.75);
        let nan = apply(AtomOp::Add, AtomTy::F32, false, 0x7F80_0000, 0xFF80_0000, 0);
        assert_eq!(nan, u128::from(NAN_F32));
    }

    #[test]
    fn halves_are_modified_one_by_one() {
        let add = |ty, old, b| apply(AtomOp::Add, ty, false, old, b, 0);
        // 1 + 1 and 65504 + 65504; the low half's carry stays there.
        assert_eq!(add(AtomTy::F16x2, 0x7BFF_3C00, 0x7BFF_3C00), 0x7C00_4000);
        assert_eq!(add(AtomTy::Bf16x2, 0x3F80_FF80, 0x3F80_7F80), 0x4000_7FFF);
        // Half an ulp of 2 and the smallest subnormal.
        assert_eq!(add(AtomTy::F16, 0x4000, 0x1400), 0x4000);
        assert_eq!(add(AtomTy::F16, 1, 1), 2);
        let min = |old, b| apply(AtomOp::Min, AtomTy::F16, false, old, b, 0);
        assert_eq!((min(0, 0x8000), min(0x8000, 0), min(0x7E00, 0x3C00)), (0x8000, 0x8000, 0x3C00));
        assert_eq!(apply(AtomOp::Max, AtomTy::Bf16, false, 0x8000, 0, 0), 0);
    }

    #[test]
    fn narrow_and_wide_exchanges() {
        let cas = |ty, old, b, c| apply(AtomOp::Cas, ty, false, old, b, c);
        assert_eq!((cas(AtomTy::U16, 7, 0xABCD_0007, 0x1_0009), cas(AtomTy::U16, 7, 8, 9)), (9, 7));
        let wide = 1u128 << 127;
        assert_eq!((cas(AtomTy::B128, wide, wide, 3), cas(AtomTy::B128, wide, 0, 3)), (3, wide));
        assert_eq!(apply(AtomOp::Exch, AtomTy::B128, false, wide, wide >> 1, 0), wide >> 1);
    }
}
