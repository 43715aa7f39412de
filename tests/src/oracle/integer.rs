//! Integer and bit operations of the oracle, on the low bits of a `u64`.
//!
//! Everything is computed on wide integers, or bit by bit as the PTX ISA's pseudo-code has it; width and sign
//! come from the instruction's type. Results are undefined above the type's width: the write of a register
//! truncates them.

use emulator::ptx::{MulMode, PrmtMode, ScalarType, ShiftDirection, ShiftMode};

/// The low `bits` bits of a value.
pub(super) fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The number that bits of a type stand for.
pub(super) fn number(ty: ScalarType, value: u64) -> i128 {
    let bits = ty.bits();
    let value = low(value, bits);
    if ty.is_signed() && value >> (bits - 1) & 1 == 1 {
        i128::from(value) - (1i128 << bits)
    } else {
        i128::from(value)
    }
}

/// Least and greatest number of an integer type.
pub(super) fn range(ty: ScalarType) -> (i128, i128) {
    if ty.is_signed() {
        (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1)
    } else {
        (0, (1i128 << ty.bits()) - 1)
    }
}

fn clamp(ty: ScalarType, value: i128) -> u64 {
    let (least, greatest) = range(ty);
    value.clamp(least, greatest) as u64
}

/// a + b + carry, saturated if asked, and the carry out of the type's width.
pub(super) fn add(ty: ScalarType, a: u64, b: u64, carry: bool, sat: bool) -> (u64, bool) {
    let (a, b) = (number(ty, a), number(ty, b));
    let mask = (1i128 << ty.bits()) - 1;
    let carry_out = ((a & mask) + (b & mask) + i128::from(carry)) >> ty.bits() != 0;
    let sum = a + b + i128::from(carry);
    (if sat { clamp(ty, sum) } else { sum as u64 }, carry_out)
}

/// a - b - borrow, saturated if asked, and the borrow.
pub(super) fn sub(ty: ScalarType, a: u64, b: u64, borrow: bool, sat: bool) -> (u64, bool) {
    let (a, b) = (number(ty, a), number(ty, b));
    let mask = (1i128 << ty.bits()) - 1;
    let borrow_out = (a & mask) < (b & mask) + i128::from(borrow);
    let difference = a - b - i128::from(borrow);
    (if sat { clamp(ty, difference) } else { difference as u64 }, borrow_out)
}

/// The wanted part of a * b.
pub(super) fn mul(ty: ScalarType, mode: MulMode, a: u64, b: u64) -> u64 {
    let product = (number(ty, a) as u128).wrapping_mul(number(ty, b) as u128);
    match mode {
        MulMode::Lo | MulMode::Wide => product as u64,
        MulMode::Hi => (product >> ty.bits()) as u64,
    }
}

/// The middle or low part of a product of 24-bit numbers.
pub(super) fn mul24(ty: ScalarType, high: bool, a: u64, b: u64) -> u64 {
    let part = |v: u64| if ty.is_signed() { ((v << 40) as i64) >> 40 } else { low(v, 24) as i64 };
    let product = i128::from(part(a)) * i128::from(part(b));
    if high { (product >> 16) as u64 } else { product as u64 }
}

/// a / b towards zero; `None` for a zero divisor.
pub(super) fn div(ty: ScalarType, a: u64, b: u64) -> Option<u64> {
    number(ty, a).checked_div(number(ty, b)).map(|q| q as u64)
}

/// The remainder of [`div`].
pub(super) fn rem(ty: ScalarType, a: u64, b: u64) -> Option<u64> {
    number(ty, a).checked_rem(number(ty, b)).map(|r| r as u64)
}

/// Position of the most significant bit that is not a copy of the sign, or the shift that brings it to the top.
pub(super) fn bfind(ty: ScalarType, shiftamt: bool, a: u64) -> u64 {
    let value = number(ty, a);
    let value = if value < 0 { !value } else { value };
    if value == 0 {
        return 0xFFFF_FFFF;
    }
    let position = 127 - value.leading_zeros();
    u64::from(if shiftamt { ty.bits() - 1 - position } else { position })
}

/// Find the n-th set bit: PTX ISA, `fns`.
pub(super) fn fns(mask: u64, base: u64, offset: u64) -> u64 {
    let offset = offset as u32 as i32;
    let set = |at: i64| (0..32).contains(&at) && mask >> at & 1 == 1;
    let base = i64::from(base as u32);
    if offset == 0 {
        return if set(base) { base as u64 } else { 0xFFFF_FFFF };
    }
    let (step, mut wanted) = if offset > 0 { (1, offset) } else { (-1, -offset) };
    let mut at = base;
    while (0..32).contains(&at) {
        if set(at) {
            wanted -= 1;
            if wanted == 0 {
                return at as u64;
            }
        }
        at += step;
    }
    0xFFFF_FFFF
}

/// Bits in reverse order.
pub(super) fn brev(ty: ScalarType, a: u64) -> u64 {
    (0..ty.bits()).fold(0, |d, i| d | (a >> i & 1) << (ty.bits() - 1 - i))
}

/// Bit field extract.
pub(super) fn bfe(ty: ScalarType, a: u64, b: u64, c: u64) -> u64 {
    let msb = u64::from(ty.bits() - 1);
    let (pos, len) = (b & 0xFF, c & 0xFF);
    let sign = if !ty.is_signed() || len == 0 { 0 } else { a >> (pos + len - 1).min(msb) & 1 };
    (0..=msb).fold(0, |d, i| d | (if i < len && pos + i <= msb { a >> (pos + i) & 1 } else { sign }) << i)
}

/// Bit field insert.
pub(super) fn bfi(ty: ScalarType, a: u64, b: u64, c: u64, d: u64) -> u64 {
    let msb = u64::from(ty.bits() - 1);
    let (pos, len) = (c & 0xFF, d & 0xFF);
    let mut f = b;
    let mut i = 0;
    while i < len && pos + i <= msb {
        f = f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i);
        i += 1;
    }
    f
}

/// A run of ones.
pub(super) fn bmsk(mode: ShiftMode, a: u64, b: u64) -> u64 {
    let (start, width) = match mode {
        ShiftMode::Wrap => (a & 31, b & 31),
        ShiftMode::Clamp => (a, b),
    };
    (0..32).filter(|&i| i >= start && i - start < width).fold(0, |d, i| d | 1 << i)
}

/// The low `b` bits of `a`, extended.
pub(super) fn szext(ty: ScalarType, mode: ShiftMode, a: u64, b: u64) -> u64 {
    if mode == ShiftMode::Clamp && b >= 32 {
        return a;
    }
    let width = (b & 31) as u32;
    if width == 0 {
        return 0;
    }
    let kept = low(a, width);
    if ty.is_signed() && kept >> (width - 1) & 1 == 1 { kept | u64::MAX << width } else { kept }
}

/// Sum of four products of bytes.
pub(super) fn dp4a(a_ty: ScalarType, b_ty: ScalarType, a: u64, b: u64, c: u64) -> u64 {
    (0..4).fold(c, |sum, i| {
        let product = part(a_ty, a, i, 8) * part(b_ty, b, i, 8);
        sum.wrapping_add(product as u64)
    })
}

/// Sum of two products of a half with a byte.
pub(super) fn dp2a(a_ty: ScalarType, b_ty: ScalarType, high: bool, a: u64, b: u64, c: u64) -> u64 {
    (0..2).fold(c, |sum, i| {
        let byte = i + if high { 2 } else { 0 };
        let product = part(a_ty, a, i, 16) * part(b_ty, b, byte, 8);
        sum.wrapping_add(product as u64)
    })
}

/// Part `index` of `bits` bits, extended as the type is signed.
fn part(ty: ScalarType, value: u64, index: u32, bits: u32) -> i64 {
    let field = low(value >> (index * bits), bits) as i64;
    if ty.is_signed() && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
}

/// Bitwise function by truth table.
pub(super) fn lop3(lut: u8, a: u64, b: u64, c: u64) -> u64 {
    (0..32).fold(0, |d, i| {
        let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
        d | u64::from(lut >> row & 1) << i
    })
}

/// Funnel shift of `high:low`.
pub(super) fn shf(
    direction: ShiftDirection,
    mode: ShiftMode,
    low_word: u64,
    high_word: u64,
    amount: u64,
) -> u64 {
    let both = u128::from(low(high_word, 32) << 32 | low(low_word, 32));
    let amount = match mode {
        ShiftMode::Clamp => low(amount, 32).min(32),
        ShiftMode::Wrap => amount & 31,
    };
    match direction {
        ShiftDirection::Left => ((both << amount) >> 32) as u64,
        ShiftDirection::Right => (both >> amount) as u64,
    }
}

/// Shift left; amounts beyond the width give zero.
pub(super) fn shl(ty: ScalarType, a: u64, amount: u64) -> u64 {
    let amount = low(amount, 32);
    if amount >= u64::from(ty.bits()) { 0 } else { a << amount }
}

/// Shift right; amounts beyond the width give zero or the sign.
pub(super) fn shr(ty: ScalarType, a: u64, amount: u64) -> u64 {
    (number(ty, a) >> low(amount, 32).min(100)) as u64
}

/// Byte permutation.
pub(super) fn prmt(mode: Option<PrmtMode>, a: u64, b: u64, c: u64) -> u64 {
    let bytes = low(b, 32) << 32 | low(a, 32);
    let byte = |index: u64| bytes >> (8 * index) & 0xFF;
    let Some(mode) = mode else {
        return (0..4).fold(0, |d, i| {
            let selector = c >> (4 * i) & 0xF;
            let picked = byte(selector & 7);
            let picked = match (selector & 8 != 0, picked & 0x80 != 0) {
                (false, _) => picked,
                (true, true) => 0xFF,
                (true, false) => 0,
            };
            d | picked << (8 * i)
        });
    };
    let c = c & 3;
    (0..4).fold(0, |d, i: u64| {
        let index = match mode {
            PrmtMode::F4e => c + i,
            PrmtMode::B4e => (8 + c - i) % 8,
            PrmtMode::Rc8 => c,
            PrmtMode::Ecl => i.max(c),
            PrmtMode::Ecr => i.min(c),
            PrmtMode::Rc16 => (c & 1) * 2 + (i & 1),
        };
        d | byte(index) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as T;

    /// Tables and examples of the PTX ISA's sections on each instruction.
    #[test]
    fn bit_instructions_follow_the_examples_of_the_isa() {
        assert_eq!(low(bfind(T::U32, true, 1), 32), 31);
        assert_eq!(bfind(T::S32, false, 0xFFFF_FFFF), 0xFFFF_FFFF);
        assert_eq!(bfe(T::S32, 0x80, 7, 1) as u32, u32::MAX);
        assert_eq!(bfe(T::U32, u64::from(u32::MAX), 28, 255), 0xF);
        assert_eq!(bfi(T::B32, 0xF, 0, 30, 4) as u32, 0xC000_0000);
        assert_eq!(bmsk(ShiftMode::Clamp, 4, 40), 0xFFFF_FFF0);
        assert_eq!(bmsk(ShiftMode::Wrap, 36, 36), 0xF0);
        assert_eq!(szext(T::S32, ShiftMode::Clamp, 0x80, 8) as u32, 0xFFFF_FF80);
        assert_eq!(prmt(None, 0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(prmt(None, 0x80, 0x7F, 0xC8), 0x0000_00FF | 0x80 << 16 | 0x80 << 24);
        assert_eq!(prmt(Some(PrmtMode::F4e), 0x3322_1100, 0x7766_5544, 3), 0x6655_4433);
        assert_eq!(prmt(Some(PrmtMode::B4e), 0x3322_1100, 0x7766_5544, 0), 0x5566_7700);
        assert_eq!(fns(0b1011, 0, 3), 3);
        assert_eq!(fns(0b1011, 2, 0), 0xFFFF_FFFF);
        assert_eq!(lop3(0x80, 6, 5, 7), 4);
    }

    #[test]
    fn carries_and_saturation() {
        assert!(add(T::U32, 0xFFFF_FFFF, 0, true, false).1);
        assert_eq!(sub(T::U32, 0, 0, true, false), (u64::MAX, true));
        assert_eq!(add(T::S32, 0x7FFF_FFFF, 1, false, true).0, 0x7FFF_FFFF);
        assert_eq!(mul(T::S64, MulMode::Hi, u64::MAX, 5), u64::MAX);
        assert_eq!(mul(T::U64, MulMode::Hi, u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!(div(T::S32, 0x8000_0000, 0xFFFF_FFFF).map(|q| q as u32), Some(0x8000_0000));
        assert_eq!(div(T::U8, 1, 0), None);
    }
}
