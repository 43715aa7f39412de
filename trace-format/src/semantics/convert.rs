//! Conversions between integer and floating-point formats, with every rounding and saturation.

use super::WARP_SIZE;
use super::directed;
use super::double::{Doubles, join, split};
use super::float::{CANONICAL_NAN, f, flush, saturate};
use super::int::{extend, map1};
use super::warp::Row;
use crate::isa::{FloatTy, IntRnd, IntTy, Rnd};

/// A lane's value on its way between formats: one or two words.
type Words = (Row, Row);

fn doubles(f: impl Fn(usize) -> f64) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for (l, v) in out.iter_mut().enumerate() {
        *v = f(l);
    }
    out
}

/// Values of a float format as doubles: exact for every format.
#[inline(always)]
pub(super) fn widen(ty: FloatTy, low: &Row, high: &Row, neg: bool, abs: bool, ftz: bool) -> Doubles {
    let mut v = match ty {
        FloatTy::F64 => join(low, high, false, false),
        FloatTy::F32 => {
            let mut out = [0.0; WARP_SIZE];
            for l in 0..WARP_SIZE {
                out[l] = f64::from(f(if ftz { flush(low.0[l]) } else { low.0[l] }));
            }
            out
        }
        FloatTy::F16 => doubles(|l| half::f16::from_bits(low.0[l] as u16).to_f64()),
        FloatTy::Bf16 => doubles(|l| half::bf16::from_bits(low.0[l] as u16).to_f64()),
    };
    if abs {
        v.iter_mut().for_each(|x| *x = x.abs());
    }
    if neg {
        v.iter_mut().for_each(|x| *x = -*x);
    }
    v
}

/// Doubles rounded to a float format.
#[inline(always)]
pub(super) fn narrow(ty: FloatTy, v: &Doubles, rnd: Rnd, ftz: bool, sat: bool) -> Words {
    match ty {
        FloatTy::F64 => {
            let fixed = if sat { doubles(|l| if v[l] > 0.0 { v[l].min(1.0) } else { 0.0 }) } else { *v };
            split(&fixed)
        }
        FloatTy::F32 => {
            let mut out = Row::ZERO;
            if rnd == Rnd::Rn {
                for l in 0..WARP_SIZE {
                    let x = v[l] as f32;
                    out.0[l] = if x.is_nan() { CANONICAL_NAN } else { x.to_bits() };
                }
            } else {
                out = Row::from_fn(|l| directed::narrow(rnd, v[l]));
            }
            if ftz {
                out = map1(&out, flush);
            }
            if sat {
                out = map1(&out, saturate);
            }
            (out, Row::ZERO)
        }
        FloatTy::F16 => (Row::from_fn(|l| u32::from(small(v[l], rnd, sat, Small::F16))), Row::ZERO),
        FloatTy::Bf16 => (Row::from_fn(|l| u32::from(small(v[l], rnd, sat, Small::Bf16))), Row::ZERO),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Small {
    F16,
    Bf16,
}

impl Small {
    fn nearest(self, v: f64) -> u16 {
        match self {
            Small::F16 => half::f16::from_f64(v).to_bits(),
            Small::Bf16 => half::bf16::from_f64(v).to_bits(),
        }
    }

    fn value(self, bits: u16) -> f64 {
        match self {
            Small::F16 => half::f16::from_bits(bits).to_f64(),
            Small::Bf16 => half::bf16::from_bits(bits).to_f64(),
        }
    }
}

/// A double in a 16-bit float format; NaN is 0x7fff.
fn small(v: f64, rnd: Rnd, sat: bool, format: Small) -> u16 {
    if v.is_nan() {
        return if sat { 0 } else { 0x7FFF };
    }
    let v = if sat { if v > 0.0 { v.min(1.0) } else { 0.0 } } else { v };
    let bits = format.nearest(v);
    let got = format.value(bits);
    // Neighbouring encodings of one sign are consecutive integers, away from zero upwards.
    let towards_zero = |b: u16| if b & 0x7FFF == 0 { b } else { b - 1 };
    match rnd {
        Rnd::Rz if got.abs() > v.abs() => towards_zero(bits),
        Rnd::Rm if got > v => {
            if got > 0.0 {
                towards_zero(bits)
            } else {
                away(bits, true)
            }
        }
        Rnd::Rp if got < v => {
            if got < 0.0 {
                towards_zero(bits)
            } else {
                away(bits, false)
            }
        }
        _ => bits,
    }
}

/// The next encoding away from zero on the given side.
fn away(bits: u16, negative: bool) -> u16 {
    if bits & 0x7FFF == 0 { 1 | if negative { 0x8000 } else { 0 } } else { bits + 1 }
}

#[inline(always)]
fn to_integral(v: f64, rnd: IntRnd) -> f64 {
    match rnd {
        IntRnd::Nearest => v.round_ties_even(),
        IntRnd::Trunc => v.trunc(),
        IntRnd::Floor => v.floor(),
        IntRnd::Ceil => v.ceil(),
    }
}

/// Rounds to an integral value in the same format.
#[inline(always)]
pub(super) fn round_float(v: &Doubles, rnd: IntRnd) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    for l in 0..WARP_SIZE {
        out[l] = to_integral(v[l], rnd);
    }
    out
}

/// Floats to integers: rounded, saturated; NaN gives zero, or the most significant bit when either side is
/// 64 bits wide (PTX ISA, `cvt`).
#[inline(always)]
pub(super) fn to_int(dst: IntTy, src: FloatTy, v: &Doubles, rnd: IntRnd) -> Words {
    let nan_bit = src == FloatTy::F64 || dst.bits() == 64;
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        let x = to_integral(v[l], rnd);
        // As every result, the most significant bit is extended where the type is signed.
        let top = if dst.signed() { u64::MAX } else { 1 } << (dst.bits() - 1);
        let nan = if nan_bit { top } else { 0 };
        let value = match dst {
            IntTy::U8 => u64::from(x as u8),
            IntTy::S8 => x as i8 as u64,
            IntTy::U16 => u64::from(x as u16),
            IntTy::S16 => x as i16 as u64,
            IntTy::U32 => u64::from(x as u32),
            IntTy::S32 => x as i32 as u64,
            IntTy::U64 => x as u64,
            IntTy::S64 => x as i64 as u64,
        };
        let value = if v[l].is_nan() { nan } else { value };
        low.0[l] = value as u32;
        high.0[l] = (value >> 32) as u32;
    }
    (low, high)
}

/// The integer in a lane, extended from its format.
#[inline(always)]
fn integer(ty: IntTy, low: u32, high: u32) -> i128 {
    match ty {
        IntTy::U64 => i128::from(u64::from(low) | u64::from(high) << 32),
        IntTy::S64 => i128::from((u64::from(low) | u64::from(high) << 32) as i64),
        _ => {
            let word = extend(low, ty.bits(), ty.signed());
            if ty.signed() { i128::from(word as i32) } else { i128::from(word) }
        }
    }
}

/// Integers to floats.
#[inline(always)]
pub(super) fn from_int(dst: FloatTy, src: IntTy, low: &Row, high: &Row, neg: bool, rnd: Rnd) -> Words {
    if rnd == Rnd::Rn && !neg {
        match (dst, src) {
            (FloatTy::F32, IntTy::S32) => return (map1(low, |x| (x as i32 as f32).to_bits()), Row::ZERO),
            (FloatTy::F32, IntTy::U32) => return (map1(low, |x| (x as f32).to_bits()), Row::ZERO),
            (FloatTy::F64, IntTy::S32) => return split(&doubles(|l| f64::from(low.0[l] as i32))),
            (FloatTy::F64, IntTy::U32) => return split(&doubles(|l| f64::from(low.0[l]))),
            _ => {}
        }
    }
    from_int_any(dst, src, low, high, neg, rnd)
}

#[inline(never)]
fn from_int_any(dst: FloatTy, src: IntTy, low: &Row, high: &Row, neg: bool, rnd: Rnd) -> Words {
    let value = |l: usize| {
        let v = integer(src, low.0[l], high.0[l]);
        if neg { -v } else { v }
    };
    match dst {
        FloatTy::F32 => (Row::from_fn(|l| directed::from_integer(rnd, value(l), false) as u32), Row::ZERO),
        FloatTy::F64 => split(&doubles(|l| f64::from_bits(directed::from_integer(rnd, value(l), true)))),
        // Up to 53 bits are exact in a double; wider integers round to odd first, so the second rounding is
        // that of the exact value.
        FloatTy::F16 | FloatTy::Bf16 => narrow(dst, &doubles(|l| round_to_odd(value(l))), rnd, false, false),
    }
}

fn round_to_odd(v: i128) -> f64 {
    let cut = f64::from_bits(directed::from_integer(Rnd::Rz, v, true));
    if cut as i128 == v { cut } else { f64::from_bits(cut.to_bits() | 1) }
}

/// Saturates to a narrower integer format and extends back to 32 bits.
#[inline(always)]
pub(super) fn saturate_int(dst: IntTy, x: u32, signed_source: bool) -> u32 {
    let v = if signed_source { i64::from(x as i32) } else { i64::from(x) };
    let (min, max) = if dst.signed() {
        (-(1i64 << (dst.bits().min(32) - 1)), (1i64 << (dst.bits().min(32) - 1)) - 1)
    } else {
        (0, (1i64 << dst.bits().min(32)) - 1)
    };
    v.clamp(min, max) as u32
}
