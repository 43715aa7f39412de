//! Double-precision arithmetic on register pairs: low words in one row, high words in the next.
//!
//! NaN operands propagate (the first NaN source, quieted); an invalid operation returns 0xfff8000000000000.

use super::WARP_SIZE;
use super::warp::Row;

/// A row of 32 doubles.
pub(super) type Doubles = [f64; WARP_SIZE];

/// The NaN that invalid double-precision operations return.
pub(super) const INVALID: u64 = 0xFFF8_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;

#[inline(always)]
pub(super) fn join(low: &Row, high: &Row, neg: bool, abs: bool) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    let flip = if neg { 1u64 << 63 } else { 0 };
    let keep = if abs { u64::MAX >> 1 } else { u64::MAX };
    for l in 0..WARP_SIZE {
        out[l] = f64::from_bits(((u64::from(low.0[l]) | u64::from(high.0[l]) << 32) & keep) ^ flip);
    }
    out
}

#[inline(always)]
pub(super) fn split(v: &Doubles) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        low.0[l] = v[l].to_bits() as u32;
        high.0[l] = (v[l].to_bits() >> 32) as u32;
    }
    (low, high)
}

/// The NaN result for a list of operands, given that the raw result is NaN.
#[inline(always)]
fn nan_of(operands: &[f64]) -> f64 {
    let mut bits = INVALID;
    for v in operands.iter().rev() {
        bits = if v.is_nan() { v.to_bits() | QUIET } else { bits };
    }
    f64::from_bits(bits)
}

#[inline(always)]
pub(super) fn add(a: &Doubles, b: &Doubles) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for l in 0..WARP_SIZE {
        let r = a[l] + b[l];
        out[l] = if r.is_nan() { nan_of(&[a[l], b[l]]) } else { r };
    }
    out
}

#[inline(always)]
pub(super) fn mul(a: &Doubles, b: &Doubles) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for l in 0..WARP_SIZE {
        let r = a[l] * b[l];
        out[l] = if r.is_nan() { nan_of(&[a[l], b[l]]) } else { r };
    }
    out
}

#[inline(always)]
pub(super) fn fma(a: &Doubles, b: &Doubles, c: &Doubles) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for l in 0..WARP_SIZE {
        let r = a[l].mul_add(b[l], c[l]);
        out[l] = if r.is_nan() { nan_of(&[a[l], b[l], c[l]]) } else { r };
    }
    out
}
