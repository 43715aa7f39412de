//! Conversions between integer and floating-point formats, with every rounding and saturation.

use super::WARP_SIZE;
use super::directed;
use super::double::{Doubles, join, split};
use super::float::{CANONICAL_NAN, f, flush, saturate};
use super::int::{extend, map1};
use super::narrow::{Format, encode_half, pack_rnd, to_odd};
use super::row::Row;
use crate::isa::{FloatTy, HalfTy, IntRnd, IntTy, PackRnd, Rnd};

/// A lane's value between formats: one or two words.
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
        _ => match Format::of(ty) {
            Some(format) => doubles(|l| format.value(low.0[l])),
            None => [0.0; WARP_SIZE],
        },
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
        FloatTy::F16 if rnd == Rnd::Rn && !sat => (halves(HalfTy::F16, v), Row::ZERO),
        FloatTy::Bf16 if rnd == Rnd::Rn && !sat => (halves(HalfTy::Bf16, v), Row::ZERO),
        _ => match Format::of(ty) {
            Some(format) => (Row::from_fn(|l| small(v[l], rnd, sat, &format)), Row::ZERO),
            None => (Row::ZERO, Row::ZERO),
        },
    }
}

/// Doubles rounded to nearest in a 16-bit format.
#[inline(always)]
fn halves(ty: HalfTy, v: &Doubles) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = encode_half(ty, to_odd(v[l]));
    }
    out
}

/// Two single-precision rows rounded to nearest in a 16-bit format, `a` in the upper halves.
#[inline(always)]
fn pack_halves(ty: HalfTy, a: &Row, b: &Row, relu: bool) -> Row {
    let one = |x: u32| {
        let r = encode_half(ty, f(x));
        if relu & (r & 0x8000 != 0) { 0 } else { r }
    };
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = one(b.0[l]) | one(a.0[l]) << 16;
    }
    out
}

/// A double in a narrow format.
#[inline(always)]
fn small(v: f64, rnd: Rnd, sat: bool, format: &Format) -> u32 {
    // Saturation turns NaN into zero too.
    let v = if sat { if v > 0.0 { v.min(1.0) } else { 0.0 } } else { v };
    format.encode(v, pack_rnd(rnd), false)
}

/// Bits between the two results of a packing conversion; 32 where only one fits.
const fn container(ty: FloatTy) -> u32 {
    match ty {
        FloatTy::F16 | FloatTy::Bf16 => 16,
        FloatTy::E4m3 | FloatTy::E5m2 | FloatTy::E3m2 | FloatTy::E2m3 => 8,
        FloatTy::E2m1 => 4,
        FloatTy::Tf32 | FloatTy::F32 | FloatTy::F64 => 32,
    }
}

/// Two single-precision rows in a narrow format, side by side: `b` lowest, `a` above it.
#[inline(always)]
pub(super) fn pack(dst: FloatTy, a: &Row, b: &Row, rnd: PackRnd, relu: bool, finite: bool) -> Row {
    match dst {
        FloatTy::F16 if rnd == PackRnd::Nearest && !finite => return pack_halves(HalfTy::F16, a, b, relu),
        FloatTy::Bf16 if rnd == PackRnd::Nearest && !finite => return pack_halves(HalfTy::Bf16, a, b, relu),
        _ => {}
    }
    let Some(format) = Format::of(dst) else { return *b };
    let one = |x: u32| {
        let r = format.encode(f64::from(f(x)), rnd, finite);
        if relu && r >> (format.bits - 1) & 1 != 0 { 0 } else { r }
    };
    let shift = container(dst);
    Row::from_fn(|l| one(b.0[l]) | if shift < 32 { one(a.0[l]) << shift } else { 0 })
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
        _ => narrow(dst, &doubles(|l| round_to_odd(value(l))), rnd, false, false),
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
