//! The multi-function unit: reciprocal, roots, exponential, logarithm, sine, cosine, hyperbolic tangent.
//!
//! Everything is computed in double precision from polynomials written out here, never from the host's
//! mathematics library, so results are the same on every machine. The errors stay below one unit in the last
//! place of the single-precision result, inside the bounds that the PTX ISA states for `.approx`.

use super::float::{CANONICAL_NAN, f, flush};
use super::int::map1;
use super::row::Row;
use crate::isa::MufuFn;

/// Applies a function of the unit to every lane.
#[inline(always)]
pub(super) fn apply(func: MufuFn, a: &Row, ftz: bool) -> Row {
    let single = |g: fn(f64) -> f64| single(a, ftz, g);
    match func {
        MufuFn::Rcp => single(|x| 1.0 / x),
        MufuFn::Rsq => single(|x| 1.0 / x.sqrt()),
        MufuFn::Sqrt => single(f64::sqrt),
        MufuFn::Ex2 => single(exp2),
        MufuFn::Lg2 => single(log2),
        MufuFn::Sin => single(sin_turns),
        MufuFn::Cos => single(|x| sin_turns(x.abs() + 0.25)),
        MufuFn::Tanh => single(tanh),
        MufuFn::Rcp64h => map1(a, |x| upper(1.0 / from_upper(x))),
        MufuFn::Rsq64h => map1(a, |x| upper(1.0 / from_upper(x).sqrt())),
    }
}

#[inline(always)]
fn single(a: &Row, ftz: bool, g: impl Fn(f64) -> f64) -> Row {
    map1(a, |x| {
        let x = if ftz { flush(x) } else { x };
        let r = g(f64::from(f(x))) as f32;
        let bits = if r.is_nan() { CANONICAL_NAN } else { r.to_bits() };
        if ftz { flush(bits) } else { bits }
    })
}

fn from_upper(x: u32) -> f64 {
    f64::from_bits(u64::from(x) << 32)
}

fn upper(v: f64) -> u32 {
    if v.is_nan() { 0xFFF8_0000 } else { (v.to_bits() >> 32) as u32 }
}

/// 2^x by splitting off the integer part and a Taylor polynomial of e^(t ln 2) for |t| <= 1/2
/// (truncation error below 3e-13).
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    const C: [f64; 12] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
    ];
    // `clamp` keeps NaN.
    let clamped = x.clamp(-300.0, 300.0);
    let whole = clamped.round_ties_even();
    let t = (clamped - whole) * std::f64::consts::LN_2;
    let poly = C.iter().rev().fold(0.0, |acc: f64, c| acc.mul_add(t, *c));
    // `as` maps NaN to 0; the polynomial keeps the NaN.
    let scale = f64::from_bits(((whole as i32 + 1023) as u64) << 52);
    poly * scale
}

/// log2(x) from the exponent and the area-tangent series of the mantissa in [1/sqrt 2, sqrt 2).
#[inline(always)]
fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let big = bits & 0x000F_FFFF_FFFF_FFFF >= 0x0006_A09E_667F_3BCD;
    let exponent = ((bits >> 52) as i32 & 0x7FF) - 1023 + i32::from(big);
    let mantissa =
        f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | if big { 0x3FE0 << 48 } else { 0x3FF0 << 48 });
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    const C: [f64; 10] = [
        1.0,
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
    ];
    let series = C.iter().rev().fold(0.0, |acc: f64, c| acc.mul_add(z, *c));
    let value = (s * series).mul_add(2.0 / std::f64::consts::LN_2, f64::from(exponent));
    if x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else if x == f64::INFINITY {
        f64::INFINITY
    } else {
        value
    }
}

/// sin(2 pi x): reduction to a quarter turn either side of zero is exact, then a Taylor polynomial
/// (truncation error below 1e-15).
#[inline(always)]
fn sin_turns(x: f64) -> f64 {
    const C: [f64; 10] = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
        -1.0 / 121_645_100_408_832_000.0,
    ];
    let turn = x - x.round_ties_even();
    let half = (2.0 * turn).round_ties_even();
    let t = 0.5f64.mul_add(-half, turn) * std::f64::consts::TAU;
    let z = t * t;
    let poly = t * C.iter().rev().fold(0.0, |acc: f64, c| acc.mul_add(z, *c));
    if half == 0.0 { poly } else { -poly }
}

#[inline(always)]
fn tanh(x: f64) -> f64 {
    let e = exp2(x * (2.0 * std::f64::consts::LOG2_E));
    let far = 1.0 - 2.0 / (e + 1.0);
    let near = x * (1.0 - x * x / 3.0);
    if x.abs() < 1e-3 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lane(func: MufuFn, x: f32) -> f32 {
        f32::from_bits(apply(func, &Row::splat(x.to_bits()), false).0[0])
    }

    fn ulps(got: f32, want: f64) -> f64 {
        let unit = f64::from((want as f32).abs().max(f32::MIN_POSITIVE).next_up())
            - f64::from((want as f32).abs().max(f32::MIN_POSITIVE));
        (f64::from(got) - want).abs() / unit
    }

    proptest! {
        #[test]
        fn exponential_and_logarithm_are_within_an_ulp(x in -125.0f32..127.0, y in 1e-37f32..1e38) {
            prop_assert!(ulps(lane(MufuFn::Ex2, x), f64::from(x).exp2()) <= 1.0);
            prop_assert!(ulps(lane(MufuFn::Lg2, y), f64::from(y).log2()) <= 1.0);
        }

        #[test]
        fn sine_and_cosine_take_turns(x in -8.0f32..8.0) {
            let angle = f64::from(x) * std::f64::consts::TAU;
            prop_assert!((f64::from(lane(MufuFn::Sin, x)) - angle.sin()).abs() < 1e-7);
            prop_assert!((f64::from(lane(MufuFn::Cos, x)) - angle.cos()).abs() < 1e-7);
        }

        #[test]
        fn roots_and_reciprocal_are_correctly_rounded(x in 1e-30f32..1e30) {
            prop_assert_eq!(lane(MufuFn::Rcp, x), 1.0 / x);
            prop_assert_eq!(lane(MufuFn::Sqrt, x), x.sqrt());
            prop_assert!(ulps(lane(MufuFn::Rsq, x), 1.0 / f64::from(x).sqrt()) <= 1.0);
            prop_assert!(ulps(lane(MufuFn::Tanh, x.min(20.0)), f64::from(x.min(20.0)).tanh()) <= 1.0);
        }
    }

    #[test]
    fn special_values() {
        assert_eq!(lane(MufuFn::Ex2, f32::NEG_INFINITY), 0.0);
        assert_eq!(lane(MufuFn::Ex2, f32::INFINITY), f32::INFINITY);
        assert_eq!(lane(MufuFn::Lg2, 0.0), f32::NEG_INFINITY);
        assert_eq!(lane(MufuFn::Rcp, -0.0), f32::NEG_INFINITY);
        assert_eq!(lane(MufuFn::Sqrt, -1.0).to_bits(), CANONICAL_NAN);
        assert_eq!(lane(MufuFn::Lg2, -1.0).to_bits(), CANONICAL_NAN);
        assert_eq!(lane(MufuFn::Sin, f32::INFINITY).to_bits(), CANONICAL_NAN);
        assert_eq!(lane(MufuFn::Ex2, f32::NAN).to_bits(), CANONICAL_NAN);
    }
}
