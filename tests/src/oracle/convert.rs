//! `cvt` of the oracle: between all integer types, `.f16`, `.f32` and `.f64`.
//!
//! Numbers go through the widest exact form: integers as `i128`, floats as doubles; rounding happens once, in
//! soft floating point.

use super::float::{Mode, NAN_F32, finish, finish_double, flush, round};
use super::half;
use super::integer::{number, range};
use emulator::ptx::{CvtOp, Rounding, ScalarType};
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// The converted bits, extended to 64 bits by the sign of the result type.
pub(super) fn cvt(op: &CvtOp, s: &[u64]) -> Option<u64> {
    use ScalarType as T;
    if let (T::F16x2, T::E4m3x2 | T::E5m2x2) = (op.dst_ty, op.src_ty) {
        let [low, high] = [s[0] & 0xFF, s[0] >> 8 & 0xFF].map(|byte| unpacked(op, byte));
        return Some(high << 16 | low);
    }
    if let T::F16x2 | T::Bf16x2 = op.dst_ty {
        let element = CvtOp { dst_ty: if op.dst_ty == T::F16x2 { T::F16 } else { T::Bf16 }, ..*op };
        // The first source is the upper half.
        let [high, low] = [s[0], *s.get(1)?].map(|bits| narrow(&element, bits));
        return Some((high? & 0xFFFF) << 16 | low? & 0xFFFF);
    }
    if op.dst_ty == T::Tf32 {
        return tf32(op, s[0]);
    }
    let halves = [T::F16, T::Bf16];
    let special = op.relu || op.satfinite || op.dst_ty == T::Bf16 || op.src_ty == T::Bf16;
    if special && halves.contains(&op.dst_ty) && op.src_ty == T::F32 {
        return narrow(op, s[0]);
    }
    if (op.dst_ty, op.src_ty, op.rounding) == (T::F32, T::Bf16, None) && !op.sat {
        let value = half::value(true, s[0]);
        return Some(if value.is_nan() { NAN_F32 } else { u64::from((value as f32).to_bits()) });
    }
    plain(op, s[0])
}

/// A float of 8 bits as a half, which holds it exactly.
fn unpacked(op: &CvtOp, byte: u64) -> u64 {
    let sign = (byte & 0x80) << 8;
    if op.src_ty == ScalarType::E5m2 || op.src_ty == ScalarType::E5m2x2 {
        let is_nan = byte & 0x7F > 0x7C;
        return match (is_nan, op.relu && sign != 0) {
            (true, _) => 0x7FFF,
            (false, true) => 0,
            _ => byte << 8,
        };
    }
    let magnitude = byte & 0x7F;
    match magnitude {
        0x7F => 0x7FFF,
        _ if op.relu && sign != 0 => 0,
        // Subnormal numbers are eighths of the least exponent's.
        0..=7 => sign | half::rounded(false, magnitude as f64 / 512.0, Rounding::Rn),
        _ => sign | ((magnitude << 7) + (8 << 10)),
    }
}

/// Single precision to half.
fn narrow(op: &CvtOp, bits: u64) -> Option<u64> {
    if op.src_ty != ScalarType::F32 || op.sat || op.ftz {
        return None;
    }
    let bf16 = op.dst_ty == ScalarType::Bf16;
    let value = f64::from(f32::from_bits(bits as u32));
    if op.relu && value < 0.0 {
        return Some(0);
    }
    let rounding = op.rounding.filter(|r| matches!(r, Rounding::Rn | Rounding::Rz))?;
    let result = half::rounded(bf16, value, rounding);
    let infinity = if bf16 { 0x7F80 } else { 0x7C00 };
    // Larger values become the greatest finite number.
    Some(if op.satfinite && result & 0x7FFF == infinity { result - 1 } else { result })
}

/// Rounds to the ten bits of significand that tensor cores read, in a single-precision number.
fn tf32(op: &CvtOp, bits: u64) -> Option<u64> {
    if op.src_ty != ScalarType::F32 || op.relu || op.satfinite {
        return None;
    }
    let bits = bits & 0xFFFF_FFFF;
    if f32::from_bits(bits as u32).is_nan() {
        return Some(NAN_F32);
    }
    let kept = bits & !0x1FFF;
    let rest = bits & 0x1FFF;
    let up = match op.rounding? {
        Rounding::Rna => rest >= 0x1000,
        Rounding::Rn => rest > 0x1000 || rest == 0x1000 && kept & 0x2000 != 0,
        Rounding::Rz => false,
        _ => return None,
    };
    Some(if up { kept + 0x2000 } else { kept })
}

/// `cvt.pack.sat`: two numbers are saturated into the low lanes, and the value of `c` is shifted up.
pub(super) fn pack(dst_ty: ScalarType, merge: bool, s: &[u64]) -> u64 {
    let (least, greatest) = range(dst_ty);
    let bits = dst_ty.bits();
    let lane = |value: u64| number(ScalarType::S32, value).clamp(least, greatest) as u64 & ((1 << bits) - 1);
    let both = lane(s[0]) << bits | lane(s[1]);
    if merge { s[2] << (2 * bits) | both } else { both }
}

fn plain(op: &CvtOp, bits: u64) -> Option<u64> {
    if op.satfinite || op.relu || !known(op.dst_ty) || !known(op.src_ty) {
        return None;
    }
    Some(match (op.dst_ty.is_float(), op.src_ty.is_float()) {
        (false, false) => integer(op, number(op.src_ty, bits)),
        (true, false) => from_integer(op, number(op.src_ty, bits)),
        (false, true) => to_integer(op, bits)?,
        (true, true) => between_floats(op, bits)?,
    })
}

fn known(ty: ScalarType) -> bool {
    use ScalarType as T;
    let integer = [T::U8, T::U16, T::U32, T::U64, T::S8, T::S16, T::S32, T::S64].contains(&ty);
    integer || matches!(ty, T::F16 | T::F32 | T::F64)
}

fn integer(op: &CvtOp, value: i128) -> u64 {
    let (least, greatest) = range(op.dst_ty);
    let value = if op.sat { value.clamp(least, greatest) } else { value };
    number(op.dst_ty, value as u64) as u64
}

fn from_integer(op: &CvtOp, value: i128) -> u64 {
    let rounding = round(op.rounding.unwrap_or(Rounding::Rn));
    match op.dst_ty {
        ScalarType::F64 => clamp_double(f64_of(Double::from_i128_r(value, rounding).value), op.sat),
        ScalarType::F32 => finish(f32_of(Single::from_i128_r(value, rounding).value), mode(op)),
        _ => clamp_half(Half::from_i128_r(value, rounding).value, op.sat),
    }
}

fn mode(op: &CvtOp) -> Mode {
    Mode { ftz: op.ftz, sat: op.sat }
}

/// The source as a double, which holds it exactly.
fn source(op: &CvtOp, bits: u64) -> f64 {
    match op.src_ty {
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::F32 => {
            let value = f32::from_bits(bits as u32);
            f64::from(if op.ftz { flush(value) } else { value })
        }
        _ => f64_of(Half::from_bits(u128::from(bits & 0xFFFF)).convert(&mut false).value),
    }
}

fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Rzi => value.trunc(),
        Rounding::Rmi => value.floor(),
        Rounding::Rpi => value.ceil(),
        _ => value.round_ties_even(),
    }
}

fn to_integer(op: &CvtOp, bits: u64) -> Option<u64> {
    let value = source(op, bits);
    let wide = op.src_ty == ScalarType::F64 || op.dst_ty.bits() == 64;
    if value.is_nan() {
        let result = if wide { 1 << (op.dst_ty.bits() - 1) } else { 0 };
        return Some(number(op.dst_ty, result) as u64);
    }
    let (least, greatest) = range(op.dst_ty);
    // A cast to i128 saturates, far outside of every type's range.
    let value = to_integral(value, op.rounding?) as i128;
    Some(value.clamp(least, greatest) as u64)
}

fn between_floats(op: &CvtOp, bits: u64) -> Option<u64> {
    let value = source(op, bits);
    let to_integer =
        matches!(op.rounding, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
    let (value, rounding) = match op.rounding {
        Some(rounding) if to_integer => (to_integral(value, rounding), Round::NearestTiesToEven),
        Some(rounding) => (value, round(rounding)),
        None => (value, Round::NearestTiesToEven),
    };
    let exact = Double::from_bits(u128::from(value.to_bits()));
    Some(match op.dst_ty {
        ScalarType::F64 => clamp_double(value, op.sat),
        ScalarType::F32 if value.is_nan() && !op.sat => NAN_F32,
        ScalarType::F32 => {
            let narrowed: Single = exact.convert_r(rounding, &mut false).value;
            finish(f32_of(narrowed), mode(op))
        }
        _ => clamp_half(exact.convert_r(rounding, &mut false).value, op.sat),
    })
}

fn f64_of(value: Double) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

fn f32_of(value: Single) -> f32 {
    f32::from_bits(value.to_bits() as u32)
}

fn clamp_double(value: f64, sat: bool) -> u64 {
    if !sat {
        return finish_double(value);
    }
    finish_double(if value > 0.0 { value.min(1.0) } else { 0.0 })
}

fn clamp_half(value: Half, sat: bool) -> u64 {
    let one = Half::from_i128(1).value;
    let value = match (sat, value.is_nan()) {
        (false, true) => return 0x7FFF,
        (true, true) => Half::ZERO,
        (true, false) if value > one => one,
        (true, false) if value.is_negative() => Half::ZERO,
        _ => value,
    };
    value.to_bits() as u64
}
