//! Arithmetic in the directed rounding modes, through a soft-float library: rare enough that exactness
//! matters and speed does not.

use super::double::{Doubles, INVALID};
use super::row::Row;
use super::{WARP_SIZE, float};
use crate::isa::Rnd;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

fn round(rnd: Rnd) -> Round {
    match rnd {
        Rnd::Rn => Round::NearestTiesToEven,
        Rnd::Rz => Round::TowardZero,
        Rnd::Rm => Round::TowardNegative,
        Rnd::Rp => Round::TowardPositive,
    }
}

fn single(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

fn double(v: f64) -> Double {
    Double::from_bits(u128::from(v.to_bits()))
}

fn double_result(value: Double, operands: &[f64]) -> f64 {
    if value.is_nan() {
        let nan = operands.iter().find(|v| v.is_nan()).map_or(INVALID, |v| v.to_bits() | 1 << 51);
        f64::from_bits(nan)
    } else {
        f64::from_bits(value.to_bits() as u64)
    }
}

fn finish(value: Single, ftz: bool, sat: bool) -> u32 {
    let v = f32::from_bits(value.to_bits() as u32);
    match (ftz, sat) {
        (false, false) => float::finish::<false, false>(v),
        (true, false) => float::finish::<true, false>(v),
        (false, true) => float::finish::<false, true>(v),
        (true, true) => float::finish::<true, true>(v),
    }
}

/// a + b in a directed mode.
#[inline(never)]
pub(super) fn add(rnd: Rnd, a: &Row, b: &Row, ftz: bool, sat: bool) -> Row {
    Row::from_fn(|l| finish(single(a.0[l]).add_r(single(b.0[l]), round(rnd)).value, ftz, sat))
}

/// a * b in a directed mode.
#[inline(never)]
pub(super) fn mul(rnd: Rnd, a: &Row, b: &Row, ftz: bool, sat: bool) -> Row {
    Row::from_fn(|l| finish(single(a.0[l]).mul_r(single(b.0[l]), round(rnd)).value, ftz, sat))
}

/// a * b + c in a directed mode, rounded once.
#[inline(never)]
pub(super) fn fma(rnd: Rnd, a: &Row, b: &Row, c: &Row, ftz: bool, sat: bool) -> Row {
    Row::from_fn(|l| {
        finish(single(a.0[l]).mul_add_r(single(b.0[l]), single(c.0[l]), round(rnd)).value, ftz, sat)
    })
}

/// a + b on doubles in a directed mode.
#[inline(never)]
pub(super) fn dadd(rnd: Rnd, a: &Doubles, b: &Doubles) -> Doubles {
    lanes(|l| double_result(double(a[l]).add_r(double(b[l]), round(rnd)).value, &[a[l], b[l]]))
}

/// a * b on doubles in a directed mode.
#[inline(never)]
pub(super) fn dmul(rnd: Rnd, a: &Doubles, b: &Doubles) -> Doubles {
    lanes(|l| double_result(double(a[l]).mul_r(double(b[l]), round(rnd)).value, &[a[l], b[l]]))
}

/// a * b + c on doubles in a directed mode, rounded once.
#[inline(never)]
pub(super) fn dfma(rnd: Rnd, a: &Doubles, b: &Doubles, c: &Doubles) -> Doubles {
    lanes(|l| {
        let v = double(a[l]).mul_add_r(double(b[l]), double(c[l]), round(rnd)).value;
        double_result(v, &[a[l], b[l], c[l]])
    })
}

/// A double rounded to single in any mode.
pub(super) fn narrow(rnd: Rnd, v: f64) -> u32 {
    if v.is_nan() {
        return float::CANONICAL_NAN;
    }
    let nearest = v as f32;
    let exact = f64::from(nearest);
    let fixed = match rnd {
        Rnd::Rn => nearest,
        Rnd::Rz if exact.abs() > v.abs() => next_towards_zero(nearest),
        Rnd::Rm if exact > v => nearest.next_down(),
        Rnd::Rp if exact < v => nearest.next_up(),
        _ => nearest,
    };
    fixed.to_bits()
}

fn next_towards_zero(v: f32) -> f32 {
    if v > 0.0 { v.next_down() } else { v.next_up() }
}

/// An integer (as sign and magnitude) rounded to single or double in any mode.
pub(super) fn from_integer(rnd: Rnd, v: i128, to_double: bool) -> u64 {
    if to_double {
        Double::from_i128_r(v, round(rnd)).value.to_bits() as u64
    } else {
        Single::from_i128_r(v, round(rnd)).value.to_bits() as u64
    }
}

fn lanes(f: impl Fn(usize) -> f64) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for (l, v) in out.iter_mut().enumerate() {
        *v = f(l);
    }
    out
}
