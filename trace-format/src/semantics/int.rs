//! 32-bit integer and logic operations, and the helpers that turn lane-wise tests into masks.

use super::WARP_SIZE;
use super::row::Row;
use crate::isa::{Dot, ICmp, Lut, PrmtMode, Sign};

/// Mask of the lanes in which a test holds.
#[inline(always)]
pub(super) fn mask_of(test: impl Fn(usize) -> bool) -> u32 {
    let mut mask = 0;
    for l in 0..WARP_SIZE {
        mask |= u32::from(test(l)) << l;
    }
    mask
}

#[inline(always)]
pub(super) fn map1(a: &Row, f: impl Fn(u32) -> u32) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = f(a.0[l]);
    }
    out
}

#[inline(always)]
pub(super) fn map2(a: &Row, b: &Row, f: impl Fn(u32, u32) -> u32) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = f(a.0[l], b.0[l]);
    }
    out
}

#[inline(always)]
pub(super) fn map3(a: &Row, b: &Row, c: &Row, f: impl Fn(u32, u32, u32) -> u32) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        out.0[l] = f(a.0[l], b.0[l], c.0[l]);
    }
    out
}

/// Evaluates an integer comparison on totally ordered lanes.
#[inline(always)]
pub(super) fn compare<T: Ord + Copy>(cmp: ICmp, a: impl Fn(usize) -> T, b: impl Fn(usize) -> T) -> u32 {
    match cmp {
        ICmp::Lt => mask_of(|l| a(l) < b(l)),
        ICmp::Eq => mask_of(|l| a(l) == b(l)),
        ICmp::Le => mask_of(|l| a(l) <= b(l)),
        ICmp::Gt => mask_of(|l| a(l) > b(l)),
        ICmp::Ne => mask_of(|l| a(l) != b(l)),
        ICmp::Ge => mask_of(|l| a(l) >= b(l)),
    }
}

/// Combines the comparison of upper words with that of the lower words: equal upper words defer to it.
#[inline(always)]
pub(super) fn extend_compare(cmp: ICmp, upper_strict: u32, upper_equal: u32, lower: u32) -> u32 {
    match cmp {
        ICmp::Eq => upper_equal & lower,
        ICmp::Ne => !upper_equal | lower,
        _ => (upper_equal & lower) | (!upper_equal & upper_strict),
    }
}

/// a + b + c + carry in each lane, and the lanes that carry out of bit 31. Negated terms enter as their
/// complement; `increment` is the number of +1 that two's complement negation adds.
#[inline(always)]
pub(super) fn add3_carry(a: &Row, b: &Row, c: &Row, increment: u64, carry_in: u32) -> (Row, u32) {
    let mut out = Row::ZERO;
    let mut carries = 0;
    for l in 0..WARP_SIZE {
        let sum = u64::from(a.0[l])
            + u64::from(b.0[l])
            + u64::from(c.0[l])
            + increment
            + u64::from(carry_in >> l & 1);
        out.0[l] = sum as u32;
        carries |= ((sum >> 32) as u32 & 1) << l;
    }
    (out, carries)
}

/// A three-input bitwise function; the common truth tables have loops of their own.
#[inline(always)]
pub(super) fn lop3(a: &Row, b: &Row, c: &Row, lut: Lut) -> Row {
    match lut.0 {
        0xC0 => map2(a, b, |x, y| x & y),
        0xFC => map2(a, b, |x, y| x | y),
        0x3C => map2(a, b, |x, y| x ^ y),
        0x30 => map2(a, b, |x, y| x & !y),
        0x0C => map2(a, b, |x, y| !x & y),
        0x80 => map3(a, b, c, |x, y, z| x & y & z),
        0xFE => map3(a, b, c, |x, y, z| x | y | z),
        0x96 => map3(a, b, c, |x, y, z| x ^ y ^ z),
        0xF8 => map3(a, b, c, |x, y, z| x | (y & z)),
        0xEA => map3(a, b, c, |x, y, z| (x & y) | z),
        0xCA => map3(a, b, c, |x, y, z| (x & y) | (!x & z)),
        t => {
            let on = |bit: u32| if t >> bit & 1 != 0 { u32::MAX } else { 0 };
            let m: [u32; 8] = [on(0), on(1), on(2), on(3), on(4), on(5), on(6), on(7)];
            map3(a, b, c, |x, y, z| {
                (!x & ((!y & ((!z & m[0]) | (z & m[1]))) | (y & ((!z & m[2]) | (z & m[3])))))
                    | (x & ((!y & ((!z & m[4]) | (z & m[5]))) | (y & ((!z & m[6]) | (z & m[7])))))
            })
        }
    }
}

/// The same truth table on three predicate masks.
#[inline(always)]
pub(super) fn lop3_bits(x: u32, y: u32, z: u32, lut: Lut) -> u32 {
    let mut out = 0;
    for bit in 0..8u32 {
        if lut.0 >> bit & 1 != 0 {
            let pick = |v: u32, on: u32| if on != 0 { v } else { !v };
            out |= pick(x, bit & 4) & pick(y, bit & 2) & pick(z, bit & 1);
        }
    }
    out
}

/// Amount of a funnel shift: clamped to the width, or modulo it.
#[inline(always)]
fn funnel_amount(b: u32, wide: bool, wrap: bool) -> u32 {
    let width = if wide { 64 } else { 32 };
    if wrap { b & (width - 1) } else { b.min(width) }
}

/// A word of {c:a} << b.
#[inline(always)]
pub(super) fn funnel_left(a: &Row, b: &Row, c: &Row, wide: bool, wrap: bool, high: bool) -> Row {
    map3(a, b, c, |lo, n, hi| {
        let v = u64::from(hi) << 32 | u64::from(lo);
        let n = funnel_amount(n, wide, wrap);
        let shifted = if n >= 64 { 0 } else { v << n };
        if high { (shifted >> 32) as u32 } else { shifted as u32 }
    })
}

/// A word of {c:a} >> b.
#[inline(always)]
pub(super) fn funnel_right(
    a: &Row,
    b: &Row,
    c: &Row,
    signed: bool,
    wide: bool,
    wrap: bool,
    high: bool,
) -> Row {
    map3(a, b, c, |lo, n, hi| {
        let v = u64::from(hi) << 32 | u64::from(lo);
        let n = funnel_amount(n, wide, wrap);
        let shifted = if signed {
            ((v as i64) >> n.min(63)) as u64
        } else if n >= 64 {
            0
        } else {
            v >> n
        };
        if high { (shifted >> 32) as u32 } else { shifted as u32 }
    })
}

/// x << n with amounts of 32 and more giving zero.
#[inline(always)]
pub(super) fn shl(x: u32, n: u32) -> u32 {
    if n > 31 { 0 } else { x << n }
}

/// x >> n with amounts of 32 and more giving zero.
#[inline(always)]
pub(super) fn shr(x: u32, n: u32) -> u32 {
    if n > 31 { 0 } else { x >> n }
}

/// The low n bits of x, sign- or zero-extended; n of 32 and more keeps x.
#[inline(always)]
pub(super) fn extend(x: u32, n: u32, signed: bool) -> u32 {
    let s = 32 - n.clamp(1, 32);
    let kept = if signed { (((x << s) as i32) >> s) as u32 } else { x << s >> s };
    if n == 0 { 0 } else { kept }
}

/// n ones starting at bit `start`.
#[inline(always)]
pub(super) fn bit_mask(start: u32, n: u32, wrap: bool) -> u32 {
    let (start, n) = if wrap { (start & 31, n & 31) } else { (start, n) };
    let ones = if n > 31 { u32::MAX } else { (1 << n) - 1 };
    shl(ones, start)
}

/// Position of the leading one (or leading bit that differs from the sign), all ones if there is none.
#[inline(always)]
pub(super) fn find_leading(x: u32, signed: bool, shift_amount: bool) -> u32 {
    let x = if signed && (x as i32) < 0 { !x } else { x };
    if x == 0 {
        u32::MAX
    } else if shift_amount {
        x.leading_zeros()
    } else {
        31 - x.leading_zeros()
    }
}

/// Bytes of {c:a} picked by a selector.
#[inline(always)]
pub(super) fn permute(a: u32, selector: u32, c: u32, mode: PrmtMode) -> u32 {
    let bytes = (u64::from(c) << 32 | u64::from(a)).to_le_bytes();
    let s = selector & 3;
    let pick: [u32; 4] = match mode {
        PrmtMode::Index => {
            let mut out = 0;
            for i in 0..4 {
                let nibble = selector >> (4 * i);
                let byte = bytes[(nibble & 7) as usize];
                let value = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
                out |= u32::from(value) << (8 * i);
            }
            return out;
        }
        PrmtMode::F4e => [s, s + 1, s + 2, s + 3],
        PrmtMode::B4e => [s, (s + 7) & 7, (s + 6) & 7, (s + 5) & 7],
        PrmtMode::Rc8 => [s, s, s, s],
        PrmtMode::Ecl => [s, s.max(1), s.max(2), 3],
        PrmtMode::Ecr => [0, s.min(1), s.min(2), s],
        PrmtMode::Rc16 => {
            let h = 2 * (s & 1);
            [h, h + 1, h, h + 1]
        }
    };
    u32::from_le_bytes(pick.map(|i| bytes[i as usize]))
}

/// Dot product of bytes, or of halves with bytes, plus an addend.
#[inline(always)]
pub(super) fn dot(dot: Dot, a_sign: Sign, b_sign: Sign, a: &Row, b: &Row, c: &Row) -> Row {
    let (a_signed, b_signed) = (a_sign == Sign::S32, b_sign == Sign::S32);
    let byte = |x: u32, i: u32, signed: bool| extend(x >> (8 * i), 8, signed);
    let half = |x: u32, i: u32| extend(x >> (16 * i), 16, a_signed);
    match dot {
        Dot::Bytes => map3(a, b, c, |x, y, z| {
            (0..4).fold(z, |sum, i| sum.wrapping_add(byte(x, i, a_signed).wrapping_mul(byte(y, i, b_signed))))
        }),
        Dot::HalvesLow | Dot::HalvesHigh => {
            let first = if dot == Dot::HalvesLow { 0 } else { 2 };
            map3(a, b, c, |x, y, z| {
                (0..2)
                    .fold(z, |sum, i| sum.wrapping_add(half(x, i).wrapping_mul(byte(y, first + i, b_signed))))
            })
        }
    }
}
