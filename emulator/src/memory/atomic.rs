//! The arithmetic of atomics and reductions: what a memory location becomes.

use trace_format::isa::{AtomOp, AtomTy};

/// What `old` becomes under `op` with operand `b` (and `c`, the new value of a compare-and-swap). Values are
/// the bits of the type, in the low part of the word. `flush` replaces single-precision subnormals by zero,
/// as atomics on global memory do (PTX ISA, `atom`).
#[must_use]
pub fn apply(op: AtomOp, ty: AtomTy, flush: bool, old: u64, b: u64, c: u64) -> u64 {
    match ty {
        AtomTy::F32 => u64::from(apply_f32(op, flush, old as u32, b as u32, c as u32)),
        AtomTy::F64 => apply_f64(op, old, b, c),
        AtomTy::U32 | AtomTy::S32 => {
            let signed = ty == AtomTy::S32;
            u64::from(apply_u32(op, signed, old as u32, b as u32, c as u32))
        }
        AtomTy::U64 | AtomTy::S64 => apply_u64(op, ty == AtomTy::S64, old, b, c),
    }
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
        AtomOp::Cas if old == b => c,
        AtomOp::Cas => old,
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
        AtomOp::Cas if old == b => c,
        AtomOp::Cas => old,
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
        let minus_one = u64::from(u32::MAX);
        assert_eq!(apply(AtomOp::Max, AtomTy::S32, false, minus_one, 0, 0), 0);
        assert_eq!(apply(AtomOp::Max, AtomTy::U32, false, minus_one, 0, 0), minus_one);
        assert_eq!(apply(AtomOp::Add, AtomTy::U32, false, minus_one, 1, 0), 0);
        assert_eq!(apply(AtomOp::Add, AtomTy::U64, false, minus_one, 1, 0), 1 << 32);
        assert_eq!(apply(AtomOp::Min, AtomTy::S64, false, u64::MAX, 0, 0), u64::MAX);
        assert_eq!(apply(AtomOp::Cas, AtomTy::U64, false, 5, 5, 9), 9);
        assert_eq!(apply(AtomOp::Cas, AtomTy::U64, false, 6, 5, 9), 6);
    }

    #[test]
    fn float_addition_flushes_only_where_asked() {
        let tiny = u64::from(f32::from_bits(5).to_bits());
        let zero_plus = |flush| apply(AtomOp::Add, AtomTy::F32, flush, 0, tiny, 0);
        assert_eq!((zero_plus(true), zero_plus(false)), (0, tiny));
        let sum = apply(AtomOp::Add, AtomTy::F64, false, 1.5f64.to_bits(), 2.25f64.to_bits(), 0);
        assert_eq!(f64::from_bits(sum), 3.75);
        let nan = apply(AtomOp::Add, AtomTy::F32, false, 0x7F80_0000, 0xFF80_0000, 0);
        assert_eq!(nan, u64::from(NAN_F32));
    }
}
