//! Floating-point formats narrower than single precision: their values as doubles, and doubles rounded to
//! them once, in every rounding mode.
//!
//! A format is a row of numbers ([`Format`]); one routine encodes all of them on the bits of the double, so
//! that no result is rounded twice. Formats without infinities saturate, as the conversions to them do.

use crate::isa::{FloatTy, HalfTy, PackRnd, Rnd};

/// What distinguishes a format: fields, range and special encodings (without the sign).
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Bits of an element, sign included.
    pub(super) bits: u32,
    mantissa: u32,
    /// Exponent of the smallest normal number.
    min_exponent: i32,
    largest: u32,
    infinity: Option<u32>,
    /// Encoding of NaN; the largest number where the format has none.
    pub(super) nan: u32,
    /// Zero bits below the mantissa.
    padding: u32,
}

impl Format {
    pub(super) const F16: Format = Format::new(16, 10, -14, 0x7BFF, Some(0x7C00), 0x7FFF);
    pub(super) const BF16: Format = Format::new(16, 7, -126, 0x7F7F, Some(0x7F80), 0x7FFF);
    const TF32: Format =
        Format { padding: 13, ..Format::new(32, 10, -126, 0x3_FBFF, Some(0x3_FC00), 0x7FFF_FFFF) };
    const E4M3: Format = Format::new(8, 3, -6, 0x7E, None, 0x7F);
    const E5M2: Format = Format::new(8, 2, -14, 0x7B, Some(0x7C), 0x7F);
    const E3M2: Format = Format::new(6, 2, -2, 0x1F, None, 0x1F);
    const E2M3: Format = Format::new(6, 3, 0, 0x1F, None, 0x1F);
    const E2M1: Format = Format::new(4, 1, 0, 0x7, None, 0x7);

    const fn new(
        bits: u32,
        mantissa: u32,
        min_exponent: i32,
        largest: u32,
        infinity: Option<u32>,
        nan: u32,
    ) -> Format {
        Format { bits, mantissa, min_exponent, largest, infinity, nan, padding: 0 }
    }

    /// The row of a narrow format; single and double precision have none.
    pub(super) const fn of(ty: FloatTy) -> Option<Format> {
        Some(match ty {
            FloatTy::F16 => Format::F16,
            FloatTy::Bf16 => Format::BF16,
            FloatTy::Tf32 => Format::TF32,
            FloatTy::E4m3 => Format::E4M3,
            FloatTy::E5m2 => Format::E5M2,
            FloatTy::E3m2 => Format::E3M2,
            FloatTy::E2m3 => Format::E2M3,
            FloatTy::E2m1 => Format::E2M1,
            FloatTy::F32 | FloatTy::F64 => return None,
        })
    }

    /// The number that an encoding stands for; bits above the format are ignored.
    #[inline(always)]
    pub(super) fn value(&self, bits: u32) -> f64 {
        let magnitude = (bits & ((1u64 << (self.bits - 1)) - 1) as u32) >> self.padding;
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let exponent = (magnitude >> self.mantissa) as i32;
        let whole = if exponent == 0 { fraction } else { fraction | 1 << self.mantissa };
        let scale = exponent.max(1) - 1 + self.min_exponent - self.mantissa as i32;
        let v = f64::from(whole) * f64::from_bits(((scale + 1023) as u64) << 52);
        // A NaN keeps its payload.
        let nan = f64::from_bits(0x7FF8 << 48 | u64::from(fraction) << (52 - self.mantissa));
        let special = if self.infinity == Some(magnitude) { f64::INFINITY } else { nan };
        let v = if magnitude > self.largest { special } else { v };
        if bits >> (self.bits - 1) & 1 != 0 { -v } else { v }
    }

    /// A double in this format.
    #[inline(always)]
    pub(super) fn encode(&self, v: f64, rnd: PackRnd, finite: bool) -> u32 {
        // No branch before the end, so that loops over lanes vectorise.
        let bits = v.to_bits();
        let negative = bits >> 63 != 0;
        let field = (bits >> 52 & 0x7FF) as i32;
        let fraction = bits & 0x000F_FFFF_FFFF_FFFF;
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
        let exponent = field.max(1) - 1023;
        let lift = (self.min_exponent - exponent).max(0);
        // A shift by 63 leaves only the sticky bit of the 53 bits.
        let shift = (52 - self.mantissa as i32 + lift).min(63) as u32;
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let up = match rnd {
            PackRnd::Nearest => (rest > half) | ((rest == half) & (kept & 1 == 1)),
            PackRnd::Away => rest >= half,
            PackRnd::Zero => false,
            PackRnd::Down => negative & (rest != 0),
            PackRnd::Up => !negative & (rest != 0),
        };
        // The carry out of the mantissa goes into the exponent, where it belongs.
        let base = ((exponent.max(self.min_exponent) - self.min_exponent) as u64) << self.mantissa;
        let rounded = base + kept + u64::from(up);
        let outward = match rnd {
            PackRnd::Nearest | PackRnd::Away => true,
            PackRnd::Zero => false,
            PackRnd::Down => negative,
            PackRnd::Up => !negative,
        };
        let beyond = match self.infinity {
            Some(infinity) if !finite && (outward || v.is_infinite()) => infinity,
            _ => self.largest,
        };
        let magnitude = if rounded > u64::from(self.largest) { beyond } else { rounded as u32 };
        let number = magnitude << self.padding | u32::from(negative) << (self.bits - 1);
        if v.is_nan() { self.nan } else { number }
    }
}

/// A double rounded to single precision, to odd: a later rounding to at least two bits fewer is exact.
#[inline(always)]
pub(super) fn to_odd(v: f64) -> f32 {
    let nearest = v as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    let step = if v.abs() > back.abs() { 1 } else { u32::MAX };
    let odd = if bits & 1 == 0 { bits.wrapping_add(step) } else { bits };
    if (back != v) & !v.is_nan() { f32::from_bits(odd) } else { nearest }
}

/// A single-precision number rounded to nearest in a 16-bit format, without a branch; NaN is 0x7fff.
#[inline(always)]
pub(super) fn encode_half(ty: HalfTy, x: f32) -> u32 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7FFF_FFFF;
    let number = match ty {
        HalfTy::Bf16 => (magnitude + 0x7FFF + (magnitude >> 16 & 1)) >> 16,
        HalfTy::F16 => {
            let rounded = (magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13;
            let normal = rounded.wrapping_sub(112 << 10).min(0x7C00);
            // The last bit of a number in [0.5, 1) is worth as much as a subnormal's.
            let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3F00_0000);
            if magnitude < 0x3880_0000 { subnormal } else { normal }
        }
    };
    if magnitude > 0x7F80_0000 { 0x7FFF } else { number | (bits >> 16 & 0x8000) }
}

/// A rounding of arithmetic as one of conversions.
pub(super) const fn pack_rnd(rnd: Rnd) -> PackRnd {
    match rnd {
        Rnd::Rn => PackRnd::Nearest,
        Rnd::Rz => PackRnd::Zero,
        Rnd::Rm => PackRnd::Down,
        Rnd::Rp => PackRnd::Up,
    }
}
