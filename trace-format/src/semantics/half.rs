//! Half-precision arithmetic on both halves of a register: IEEE binary16 and bfloat16.
//!
//! Operands are widened. A sum in single precision has more than twice the bits of either format, so rounding
//! it again gives what rounding the exact sum would; products and fused sums are rounded to odd on the way,
//! which keeps a second rounding exact. Every NaN result is 0x7fff, as the PTX ISA asks. A scalar occupies
//! the low half; the high half is then undefined.

use super::WARP_SIZE;
use super::code::SrcRow;
use super::float;
use super::narrow::{encode_half, to_odd};
use super::row::Row;
use super::warp::Warp;
use crate::isa::{FCmp, HalfTy, Halves};

/// The NaN that half-precision instructions return.
const NAN: u32 = 0x7FFF;

/// How results are finished.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    pub(super) ftz: bool,
    pub(super) sat: bool,
    pub(super) relu: bool,
}

/// The encoding of infinity, above which NaNs are.
pub(super) const fn infinity(ty: HalfTy) -> u32 {
    match ty {
        HalfTy::F16 => 0x7C00,
        HalfTy::Bf16 => 0x7F80,
    }
}

/// A row from a function of the lane and the half's lowest bit.
#[inline(always)]
pub(super) fn by_halves(f: impl Fn(usize, u32) -> u32) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = f(l, 0) | f(l, 16) << 16;
    }
    out
}

/// Subnormal halves of a word replaced by zeros of their sign.
#[inline(always)]
fn flush(x: u32, infinity: u32) -> u32 {
    let low = if x & infinity == 0 { x & 0x8000 } else { x & 0xFFFF };
    let high = if x & infinity << 16 == 0 { x & 0x8000_0000 } else { x & 0xFFFF_0000 };
    low | high
}

/// A source row with its modifiers, which act on both halves.
#[inline(always)]
pub(super) fn source(warp: &Warp, s: SrcRow, ty: HalfTy, ftz: bool) -> Row {
    let row = warp.row(s.row);
    let keep = if s.abs { 0x7FFF_7FFF } else { u32::MAX };
    let flip = if s.neg { 0x8000_8000 } else { 0 };
    let infinity = infinity(ty);
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        let x = (row.0[l] & keep) ^ flip;
        out.0[l] = if ftz { flush(x, infinity) } else { x };
    }
    out
}

/// A source row of which halves are chosen.
#[inline(always)]
pub(super) fn arranged(warp: &Warp, s: SrcRow, ty: HalfTy, ftz: bool, part: Halves) -> Row {
    let mut row = source(warp, s, ty, ftz);
    for x in &mut row.0 {
        *x = match part {
            Halves::Both => *x,
            Halves::Low => *x & 0xFFFF | *x << 16,
            Halves::High => *x >> 16 | *x & 0xFFFF_0000,
        };
    }
    row
}

/// The sums of lower halves in single precision, which holds them; NaN results are one.
#[inline(always)]
pub(super) fn sum_of_low(ty: HalfTy, sat: bool, a: &Row, b: &Row) -> Row {
    let (a, b) = (widened(ty, a, 0), widened(ty, b, 0));
    Row::from_fn(|l| {
        let sum = a[l] + b[l];
        match (sum.is_nan(), sat) {
            (true, true) => 0,
            (true, false) => 0x7FFF_FFFF,
            (false, true) => sum.clamp(0.0, 1.0).to_bits(),
            (false, false) => sum.to_bits(),
        }
    })
}

/// A half as a single-precision number, which holds every value of both formats.
#[inline(always)]
fn single(ty: HalfTy, bits: u32) -> f32 {
    match ty {
        HalfTy::Bf16 => f32::from_bits(bits << 16),
        HalfTy::F16 => {
            // The exponent's bias grows from 15 to 127, in one exact product for subnormals too.
            let magnitude = (bits & 0x7FFF) << 13;
            let finite = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
            let top = if bits & 0x7C00 == 0x7C00 { 0x7F80_0000 | magnitude } else { finite };
            f32::from_bits(top | (bits & 0x8000) << 16)
        }
    }
}

/// One loop per format and half.
#[inline(always)]
pub(super) fn arithmetic(ty: HalfTy, end: Finish, s: [&Row; 3], op: impl Fn(f32, f32, f32) -> f32) -> Row {
    match ty {
        HalfTy::F16 => arithmetic_as(HalfTy::F16, end, s, op),
        HalfTy::Bf16 => arithmetic_as(HalfTy::Bf16, end, s, op),
    }
}

/// Stages of one simple loop each, which vectorise, unlike one loop over all of them.
#[inline(always)]
fn arithmetic_as(ty: HalfTy, end: Finish, s: [&Row; 3], op: impl Fn(f32, f32, f32) -> f32) -> Row {
    let mut out = Row::ZERO;
    for shift in [0, 16] {
        let [a, b, c] = [widened(ty, s[0], shift), widened(ty, s[1], shift), widened(ty, s[2], shift)];
        let mut results = [0.0f32; WARP_SIZE];
        for l in 0..WARP_SIZE {
            results[l] = op(a[l], b[l], c[l]);
        }
        for l in 0..WARP_SIZE {
            out.0[l] |= encode_half(ty, results[l]) << shift;
        }
    }
    if end.ftz || end.sat || end.relu {
        finish(ty, end, &mut out);
    }
    out
}

/// One half of every lane in single precision.
#[inline(always)]
fn widened(ty: HalfTy, row: &Row, shift: u32) -> [f32; WARP_SIZE] {
    let mut out = [0.0; WARP_SIZE];
    for l in 0..WARP_SIZE {
        out[l] = single(ty, row.0[l] >> shift & 0xFFFF);
    }
    out
}

/// Flushes, saturates or cuts off the results.
fn finish(ty: HalfTy, end: Finish, out: &mut Row) {
    let one = if ty == HalfTy::F16 { 0x3C00 } else { 0x3F80 };
    let infinity = infinity(ty);
    let half = |x: u32| {
        let x = if end.ftz & (x & infinity == 0) { x & 0x8000 } else { x };
        let negative = x & 0x8000 != 0;
        let x = if end.relu & negative { 0 } else { x };
        let clamped = if negative | (x > infinity) { 0 } else { x.min(one) };
        if end.sat { clamped } else { x }
    };
    for x in &mut out.0 {
        *x = half(*x & 0xFFFF) | half(*x >> 16) << 16;
    }
}

/// a * b rounded to odd; exact but for products of bfloat16 numbers below single precision's range.
#[inline(always)]
pub(super) fn product(a: f32, b: f32, _: f32) -> f32 {
    to_odd(f64::from(a) * f64::from(b))
}

/// a * b + c rounded to odd.
#[inline(always)]
pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
    to_odd(fma_to_odd(f64::from(a), f64::from(b), f64::from(c)))
}

/// a * b + c for an exact product, rounded to odd: a later rounding to fewer bits then sees on which side of
/// a midpoint the exact result lies.
#[inline(always)]
fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let p = a * b;
    let s = p + c;
    let from_c = s - p;
    let error = (p - (s - from_c)) + (c - from_c);
    let bits = s.to_bits();
    let step = if (error > 0.0) == (s > 0.0) { 1 } else { u64::MAX };
    let odd = if bits & 1 == 0 { bits.wrapping_add(step) } else { bits };
    if (error != 0.0) & s.is_finite() { f64::from_bits(odd) } else { s }
}

/// Minimum or maximum of two halves with -0 below +0.
#[inline(always)]
pub(super) fn min_max(x: u32, y: u32, infinity: u32, max: bool, nan: bool) -> u32 {
    let key = |v: u32| (v ^ if v & 0x8000 != 0 { 0x7FFF } else { 0 }) as i16;
    let x_wins = if max { key(x) > key(y) } else { key(x) < key(y) };
    let (x_nan, y_nan) = (x & 0x7FFF > infinity, y & 0x7FFF > infinity);
    let number = if x_nan { y } else { x };
    let unordered = if nan || (x_nan && y_nan) { NAN } else { number };
    let ordered = if x_wins { x } else { y };
    if x_nan || y_nan { unordered } else { ordered }
}

/// Lanes in which the comparison of one half holds.
#[inline(always)]
pub(super) fn compare(ty: HalfTy, cmp: FCmp, a: &Row, b: &Row, shift: u32) -> u32 {
    let mut values = [[0.0f32; WARP_SIZE]; 2];
    for (out, row) in values.iter_mut().zip([a, b]) {
        for l in 0..WARP_SIZE {
            out[l] = single(ty, row.0[l] >> shift & 0xFFFF);
        }
    }
    float::compare(cmp, |l| values[0][l], |l| values[1][l])
}
