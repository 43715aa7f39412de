//! Floating point of the oracle: Rust's own operations to nearest, soft floating point for directed roundings.
//!
//! Values are bits in the low end of a `u64`. Single-precision results that are NaN are 0x7fffffff, the one
//! that PTX names; double-precision ones are 0x7ff8000000000000, and callers must not tell NaNs of doubles
//! apart, since PTX does not say which they are. Approximate instructions are computed in double precision
//! and rounded: to be compared within bounds.

use emulator::ptx::{Comparison, Rounding, ScalarType, TestpOp};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

/// The NaN of single precision.
pub const NAN_F32: u64 = 0x7FFF_FFFF;
/// The NaN that replaces all NaNs of double precision.
pub const NAN_F64: u64 = 0x7FF8_0000_0000_0000;

/// An operation that IEEE 754 defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ieee {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
    /// a * b + c
    Fma,
    /// The square root of a.
    Sqrt,
}

/// Flushing and saturation of a single-precision instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// Subnormal operands and results become zero.
    pub ftz: bool,
    /// Results are clamped to 0 … 1, NaN becomes 0.
    pub sat: bool,
}

/// The soft-float rounding of a mode; to nearest where none is given.
pub fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Rz | Rounding::Rzi => Round::TowardZero,
        Rounding::Rm | Rounding::Rmi => Round::TowardNegative,
        Rounding::Rp | Rounding::Rpi => Round::TowardPositive,
        Rounding::Rna => Round::NearestTiesToAway,
        _ => Round::NearestTiesToEven,
    }
}

/// A subnormal number as zero of its sign.
pub fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// Bits of a single-precision source.
pub fn single(bits: u64, ftz: bool) -> f32 {
    let value = f32::from_bits(bits as u32);
    if ftz { flush(value) } else { value }
}

/// Bits of a single-precision result.
pub fn finish(value: f32, mode: Mode) -> u64 {
    let value = if mode.ftz { flush(value) } else { value };
    if mode.sat {
        let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
        return u64::from(clamped.to_bits());
    }
    if value.is_nan() { NAN_F32 } else { u64::from(value.to_bits()) }
}

/// Bits of a double-precision result.
pub fn finish_double(value: f64) -> u64 {
    if value.is_nan() { NAN_F64 } else { value.to_bits() }
}

/// An operation on bits of `.f32` or `.f64`.
pub fn ieee(op: Ieee, ty: ScalarType, rounding: Rounding, mode: Mode, args: &[u64]) -> u64 {
    if ty == ScalarType::F64 {
        let arg = |i: usize| f64::from_bits(args.get(i).copied().unwrap_or(0));
        return finish_double(double_op(op, rounding, arg(0), arg(1), arg(2)));
    }
    let arg = |i: usize| single(args.get(i).copied().unwrap_or(0), mode.ftz);
    finish(single_op(op, rounding, arg(0), arg(1), arg(2)), mode)
}

fn single_op(op: Ieee, rounding: Rounding, a: f32, b: f32, c: f32) -> f32 {
    if rounding == Rounding::Rn {
        return match op {
            Ieee::Add => a + b,
            Ieee::Sub => a - b,
            Ieee::Mul => a * b,
            Ieee::Div => a / b,
            Ieee::Fma => a.mul_add(b, c),
            Ieee::Sqrt => a.sqrt(),
        };
    }
    let soft = |v: f32| Single::from_bits(u128::from(v.to_bits()));
    let mode = round(rounding);
    let result = match op {
        Ieee::Add => soft(a).add_r(soft(b), mode).value,
        Ieee::Sub => soft(a).sub_r(soft(b), mode).value,
        Ieee::Mul => soft(a).mul_r(soft(b), mode).value,
        Ieee::Div => soft(a).div_r(soft(b), mode).value,
        Ieee::Fma => soft(a).mul_add_r(soft(b), soft(c), mode).value,
        Ieee::Sqrt => {
            // The square of a 24-bit number is exact in double precision.
            let (root, wanted) = (a.sqrt(), f64::from(a));
            let square = |r: f32| f64::from(r) * f64::from(r);
            let exact_order = square(root).partial_cmp(&wanted);
            return corrected(root, exact_order, rounding, f32::next_down, f32::next_up);
        }
    };
    f32::from_bits(result.to_bits() as u32)
}

fn double_op(op: Ieee, rounding: Rounding, a: f64, b: f64, c: f64) -> f64 {
    if rounding == Rounding::Rn {
        return match op {
            Ieee::Add => a + b,
            Ieee::Sub => a - b,
            Ieee::Mul => a * b,
            Ieee::Div => a / b,
            Ieee::Fma => a.mul_add(b, c),
            Ieee::Sqrt => a.sqrt(),
        };
    }
    let soft = |v: f64| Double::from_bits(u128::from(v.to_bits()));
    let mode = round(rounding);
    let result = match op {
        Ieee::Add => soft(a).add_r(soft(b), mode).value,
        Ieee::Sub => soft(a).sub_r(soft(b), mode).value,
        Ieee::Mul => soft(a).mul_r(soft(b), mode).value,
        Ieee::Div => soft(a).div_r(soft(b), mode).value,
        Ieee::Fma => soft(a).mul_add_r(soft(b), soft(c), mode).value,
        Ieee::Sqrt => {
            let root = a.sqrt();
            return corrected(root, order_of_square(root, a), rounding, f64::next_down, f64::next_up);
        }
    };
    f64::from_bits(result.to_bits() as u64)
}

/// How root * root compares with `wanted`, exactly, in integers.
fn order_of_square(root: f64, wanted: f64) -> Option<std::cmp::Ordering> {
    if !root.is_finite() || root == 0.0 {
        return Some(std::cmp::Ordering::Equal);
    }
    let split = |v: f64| {
        let exponent = (v.to_bits() >> 52 & 0x7FF) as i32;
        let fraction = u128::from(v.to_bits() & ((1 << 52) - 1));
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
    };
    let ((root, root_exponent), (wanted, wanted_exponent)) = (split(root), split(wanted));
    // A root has 53 significant bits, so its square has 105 or 106: the wanted number, of the same size, has its
    // last bit at or above the square's last bit.
    let shift = u32::try_from(wanted_exponent - 2 * root_exponent).expect("the square has more bits");
    (root * root).partial_cmp(&(wanted << shift))
}

/// A root to nearest, moved where a directed rounding lies on its other side.
fn corrected<F>(
    root: F,
    square_against_wanted: Option<std::cmp::Ordering>,
    rounding: Rounding,
    down: fn(F) -> F,
    up: fn(F) -> F,
) -> F {
    use std::cmp::Ordering::{Greater, Less};
    match (square_against_wanted, rounding) {
        (Some(Greater), Rounding::Rz | Rounding::Rm) => down(root),
        (Some(Less), Rounding::Rp) => up(root),
        _ => root,
    }
}

/// A comparison of `.f32` or `.f64` bits.
pub fn compare(ty: ScalarType, comparison: Comparison, ftz: bool, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if ty == ScalarType::F64 {
        f64::from_bits(a).partial_cmp(&f64::from_bits(b))
    } else {
        single(a, ftz).partial_cmp(&single(b, ftz))
    };
    use Comparison as C;
    match comparison {
        C::Eq => order == Some(Equal),
        C::Ne => matches!(order, Some(Less | Greater)),
        C::Lt => order == Some(Less),
        C::Le => matches!(order, Some(Less | Equal)),
        C::Gt => order == Some(Greater),
        C::Ge => matches!(order, Some(Greater | Equal)),
        C::Equ => matches!(order, None | Some(Equal)),
        C::Neu => order != Some(Equal),
        C::Ltu => matches!(order, None | Some(Less)),
        C::Leu => matches!(order, None | Some(Less | Equal)),
        C::Gtu => matches!(order, None | Some(Greater)),
        C::Geu => matches!(order, None | Some(Greater | Equal)),
        C::Num => order.is_some(),
        C::Nan => order.is_none(),
        C::Lo | C::Ls | C::Hi | C::Hs => unreachable!("the decoder has no unsigned comparison of floats"),
    }
}

/// Operation of a minimum or maximum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinMax {
    /// Maximum, else minimum.
    pub max: bool,
    /// A NaN source gives NaN.
    pub nan: bool,
    /// `.ftz`
    pub ftz: bool,
    /// `.xorsign.abs`
    pub xorsign_abs: bool,
}

/// Minimum or maximum of `.f32` or `.f64` bits.
pub fn min_max(ty: ScalarType, op: MinMax, a: u64, b: u64) -> u64 {
    // Widening a single is exact, so one calculation serves both types.
    let wide = |bits: u64| {
        if ty == ScalarType::F64 { f64::from_bits(bits) } else { f64::from(single(bits, op.ftz)) }
    };
    let (mut a, mut b) = (wide(a), wide(b));
    let sign = a.is_sign_negative() ^ b.is_sign_negative();
    if op.xorsign_abs {
        (a, b) = (a.abs(), b.abs());
    }
    let picked = match (a.is_nan(), b.is_nan()) {
        (true, true) => f64::NAN,
        (true, false) | (false, true) if op.nan => f64::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let a_is_less = a.total_cmp(&b).is_lt();
            if a_is_less != op.max { a } else { b }
        }
    };
    let picked = match op.xorsign_abs && !picked.is_nan() {
        true if sign => -picked,
        _ => picked,
    };
    if ty == ScalarType::F64 { finish_double(picked) } else { finish(picked as f32, Mode::default()) }
}

/// The class of a number.
pub fn testp(ty: ScalarType, op: TestpOp, a: u64) -> bool {
    use std::num::FpCategory as Class;
    let class =
        if ty == ScalarType::F64 { f64::from_bits(a).classify() } else { single(a, false).classify() };
    match op {
        TestpOp::Finite => !matches!(class, Class::Nan | Class::Infinite),
        TestpOp::Infinite => class == Class::Infinite,
        TestpOp::Number => class != Class::Nan,
        TestpOp::NotANumber => class == Class::Nan,
        // "As a special case, positive and negative zero are considered normal numbers."
        TestpOp::Normal => matches!(class, Class::Normal | Class::Zero),
        TestpOp::Subnormal => class == Class::Subnormal,
    }
}

/// An approximate function, computed as well as double precision allows.
pub fn approximate(ty: ScalarType, ftz: bool, args: &[u64], f: impl Fn(f64, f64) -> f64) -> u64 {
    if ty == ScalarType::F64 {
        let arg = |i: usize| f64::from_bits(args.get(i).copied().unwrap_or(0));
        return finish_double(f(arg(0), arg(1)));
    }
    let arg = |i: usize| f64::from(single(args.get(i).copied().unwrap_or(0), ftz));
    finish(f(arg(0), arg(1)) as f32, Mode { ftz, sat: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_kit::Random;

    #[test]
    fn directed_roots_enclose_the_root() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let bits = random.bits();
            let wide = f64::from_bits(bits >> 1);
            let narrow = f32::from_bits((bits >> 33) as u32);
            let root = |rounding| double_op(Ieee::Sqrt, rounding, wide, 0.0, 0.0);
            check(root(Rounding::Rm), root(Rounding::Rn), root(Rounding::Rp), f64::next_up);
            let root = |rounding| single_op(Ieee::Sqrt, rounding, narrow, 0.0, 0.0);
            check(root(Rounding::Rm), root(Rounding::Rn), root(Rounding::Rp), f32::next_up);
        }
        for exact in [4.0, 1e-300 * 0.0, 2.25, f64::INFINITY, (1u64 << 40) as f64] {
            let root = |rounding| double_op(Ieee::Sqrt, rounding, exact, 0.0, 0.0);
            assert_eq!(root(Rounding::Rm), root(Rounding::Rp));
        }
        // The root of the least subnormal, 2^-537, is exact.
        let least = |rounding| double_op(Ieee::Sqrt, rounding, f64::from_bits(1), 0.0, 0.0);
        assert_eq!(least(Rounding::Rm), least(Rounding::Rp));
    }

    fn check<F: PartialOrd + Copy>(down: F, nearest: F, up: F, next_up: fn(F) -> F) {
        #[allow(clippy::eq_op, reason = "the NaN test, for both float types")]
        if nearest != nearest {
            return;
        }
        assert!(down <= nearest && nearest <= up);
        assert!(down == up || next_up(down) == up);
    }

    #[test]
    fn minimum_orders_zeros_and_passes_numbers() {
        let op = MinMax { max: false, nan: false, ftz: false, xorsign_abs: false };
        let (zero, minus_zero, nan) = (0u64, 0x8000_0000u64, 0x7FC0_0000u64);
        assert_eq!(min_max(ScalarType::F32, op, zero, minus_zero), minus_zero);
        assert_eq!(min_max(ScalarType::F32, MinMax { max: true, ..op }, minus_zero, zero), zero);
        assert_eq!(min_max(ScalarType::F32, op, nan, zero), zero);
        assert_eq!(min_max(ScalarType::F32, MinMax { nan: true, ..op }, nan, zero), NAN_F32);
        assert_eq!(min_max(ScalarType::F32, op, nan, nan), NAN_F32);
    }
}
