//! Rows of the opcode table for integer arithmetic and comparison.

use super::super::code::{ExecInst, SrcRow};
use super::super::execution::Execution;
use super::super::operands::{int_src, logic_src, put, put_compare, put_pair, put_pred, read_pred};
use super::super::warp::Warp;
use super::super::{Row, WARP_SIZE, int};
use crate::isa::{Accumulate, BoolOp, Dot, Extended, ICmp, Max, Relu, ShiftBy, Sign};

#[inline(always)]
fn wide_product(a: &Row, b: &Row, c: &[Row; 2], signed: bool) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        let product = if signed {
            (i64::from(a.0[l] as i32) * i64::from(b.0[l] as i32)) as u64
        } else {
            u64::from(a.0[l]) * u64::from(b.0[l])
        };
        let sum = product.wrapping_add(u64::from(c[0].0[l]) | u64::from(c[1].0[l]) << 32);
        low.0[l] = sum as u32;
        high.0[l] = (sum >> 32) as u32;
    }
    (low, high)
}

#[inline(always)]
pub(super) fn iadd3(e: Execution<'_>, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    if !x.0 && inst.pdst[0] == 7 {
        let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
        put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| x.wrapping_add(y).wrapping_add(z)), exec);
    } else {
        let (a, b, c) = (logic_src(warp, s0), logic_src(warp, s1), logic_src(warp, s2));
        let negated = u64::from(s0.neg) + u64::from(s1.neg) + u64::from(s2.neg);
        let carry = if x.0 { read_pred(warp, inst.psrc[0]) } else { 0 };
        let (r, out) = int::add3_carry(&a, &b, &c, if x.0 { 0 } else { negated }, carry);
        put(warp, inst, &r, exec);
        put_pred(warp, inst, 0, out, exec);
    }
}

#[inline(always)]
pub(super) fn imad(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
    put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| x.wrapping_mul(y).wrapping_add(z)), exec);
}

#[inline(always)]
pub(super) fn imad_hi(e: Execution<'_>, sign: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
    let (_, high) = wide_product(&a, &b, &[Row::ZERO, Row::ZERO], sign == Sign::S32);
    put(warp, inst, &int::map2(&high, &c, u32::wrapping_add), exec);
}

#[inline(always)]
pub(super) fn imad_wide(e: Execution<'_>, sign: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    let c = [*warp.row(s2.row), *warp.row(s2.row + 1)];
    let (low, high) = wide_product(&a, &b, &c, sign == Sign::S32);
    put_pair(warp, inst, &low, &high, exec);
}

#[inline(always)]
pub(super) fn idp(e: Execution<'_>, dot: Dot, a: Sign, b: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let rows = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
    put(warp, inst, &int::dot(dot, a, b, &rows.0, &rows.1, &rows.2), exec);
}

/// The lesser or the greater of two rows.
#[inline(always)]
fn min_max(sign: Sign, max: Max, a: &Row, b: &Row) -> Row {
    match (sign, max.0) {
        (Sign::S32, false) => int::map2(a, b, |x, y| (x as i32).min(y as i32) as u32),
        (Sign::S32, true) => int::map2(a, b, |x, y| (x as i32).max(y as i32) as u32),
        (Sign::U32, false) => int::map2(a, b, u32::min),
        (Sign::U32, true) => int::map2(a, b, u32::max),
    }
}

#[inline(always)]
pub(super) fn imnmx(e: Execution<'_>, sign: Sign, max: Max) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    put(warp, inst, &min_max(sign, max, &a, &b), exec);
}

#[inline(always)]
pub(super) fn iabs(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = int_src(warp, s0);
    put(warp, inst, &int::map1(&a, |x| (x as i32).unsigned_abs()), exec);
}

#[inline(always)]
pub(super) fn vabsdiff(e: Execution<'_>, sign: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
    let r = int::map3(&a, &b, &c, |x, y, z| {
        let d = if sign == Sign::S32 { (x as i32).abs_diff(y as i32) } else { x.abs_diff(y) };
        d.wrapping_add(z)
    });
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn vabsdiff4(e: Execution<'_>, sign: Sign, acc: Accumulate) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
    // A byte with its sign flipped is as far from others, and unsigned.
    let flip = if sign == Sign::S32 { 0x8080_8080 } else { 0 };
    let r = int::map3(&a, &b, &c, |x, y, z| {
        let byte = |word: u32, i: u32| (word ^ flip) >> (8 * i) & 0xFF;
        (0..4).fold(if acc.0 { z } else { 0 }, |d, i| {
            let difference = byte(x, i).abs_diff(byte(y, i));
            if acc.0 { d.wrapping_add(difference) } else { d | difference << (8 * i) }
        })
    });
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn isetp(e: Execution<'_>, cmp: ICmp, sign: Sign, bop: BoolOp, ex: Extended) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    let mut m = if sign == Sign::S32 {
        int::compare(cmp, |l| a.0[l] as i32, |l| b.0[l] as i32)
    } else {
        int::compare(cmp, |l| a.0[l], |l| b.0[l])
    };
    if ex.0 {
        let equal = int::mask_of(|l| a.0[l] == b.0[l]);
        m = int::extend_compare(cmp, m, equal, read_pred(warp, inst.psrc[1]));
    }
    put_compare(warp, inst, bop, m, exec);
}

#[inline(always)]
pub(super) fn lea(e: Execution<'_>, shift: ShiftBy) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    let n = u32::from(shift.0 & 31);
    let shifted = int::map1(&a, |x| x << n);
    let (r, carry) = int::add3_carry(&shifted, &b, &Row::ZERO, 0, 0);
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, carry, exec);
}

#[inline(always)]
pub(super) fn lea_hi(e: Execution<'_>, shift: ShiftBy, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let (r, _) = with_carry(warp, inst, &shifted_upper(warp, inst, shift), x);
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn iadd3_carries(e: Execution<'_>, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let [a, b, c] = inst.src.map(|s| logic_src(warp, s));
    let negated = inst.src.iter().map(|s| u64::from(s.neg)).sum::<u64>();
    // A negated term is its complement plus one; in the upper words of a sum the carry is that one.
    let more = if x.0 { 0 } else { negated };
    let carries = if x.0 { [0, 1].map(|i| read_pred(warp, inst.psrc[i])) } else { [0; 2] };
    let (mut sum, mut out) = (Row::ZERO, [0u32; 2]);
    for l in 0..WARP_SIZE {
        let carried = carries.iter().map(|lanes| u64::from(lanes >> l & 1)).sum::<u64>();
        let total = u64::from(a.0[l]) + u64::from(b.0[l]) + u64::from(c.0[l]) + more + carried;
        sum.0[l] = total as u32;
        out[0] |= u32::from(total >> 32 >= 1) << l;
        out[1] |= u32::from(total >> 32 >= 2) << l;
    }
    put(warp, inst, &sum, exec);
    put_pred(warp, inst, 0, out[0], exec);
    put_pred(warp, inst, 1, out[1], exec);
}

#[inline(always)]
pub(super) fn imad_x(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), logic_src(warp, s2));
    let carry = read_pred(warp, inst.psrc[0]);
    let mut r = int::map3(&a, &b, &c, |x, y, z| x.wrapping_mul(y).wrapping_add(z));
    for l in 0..WARP_SIZE {
        r.0[l] = r.0[l].wrapping_add(carry >> l & 1);
    }
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn imad_wide_carry(e: Execution<'_>, sign: Sign, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    let c = [*warp.row(s2.row), *warp.row(s2.row + 1)];
    let carry = if x.0 { read_pred(warp, inst.psrc[0]) } else { 0 };
    let (low, high) = wide_product(&a, &b, &[Row::ZERO, Row::ZERO], sign == Sign::S32);
    let (mut words, mut out) = ([Row::ZERO; 2], 0u32);
    for l in 0..WARP_SIZE {
        let pair = |low: &Row, high: &Row| u128::from(low.0[l]) | u128::from(high.0[l]) << 32;
        let total = pair(&low, &high) + pair(&c[0], &c[1]) + u128::from(carry >> l & 1);
        (words[0].0[l], words[1].0[l]) = (total as u32, (total >> 32) as u32);
        out |= u32::from(total >> 64 != 0) << l;
    }
    put_pair(warp, inst, &words[0], &words[1], exec);
    put_pred(warp, inst, 0, out, exec);
}

#[inline(always)]
pub(super) fn lea_hi_sx32(e: Execution<'_>, shift: ShiftBy, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let (r, _) = with_carry(warp, inst, &shifted_upper_sx32(warp, inst, shift), x);
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn lea_hi_carry(e: Execution<'_>, shift: ShiftBy, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let (r, out) = with_carry(warp, inst, &shifted_upper(warp, inst, shift), x);
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, out, exec);
}

#[inline(always)]
pub(super) fn lea_hi_sx32_carry(e: Execution<'_>, shift: ShiftBy, x: Extended) {
    let Execution { inst, warp, exec } = e;
    let (r, out) = with_carry(warp, inst, &shifted_upper_sx32(warp, inst, shift), x);
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, out, exec);
}

/// The upper word of the first and third source, a pair, shifted to the left.
#[inline(always)]
fn shifted_upper(warp: &Warp, inst: &ExecInst, shift: ShiftBy) -> Row {
    let (a, c) = (int_src(warp, inst.src[0]), int_src(warp, inst.src[2]));
    let n = u32::from(shift.0 & 31);
    int::map2(&a, &c, |lo, hi| (((u64::from(hi) << 32 | u64::from(lo)) << n) >> 32) as u32)
}

/// The upper word of the first source, sign-extended and shifted to the left.
#[inline(always)]
fn shifted_upper_sx32(warp: &Warp, inst: &ExecInst, shift: ShiftBy) -> Row {
    let n = u32::from(shift.0 & 31);
    int::map1(&int_src(warp, inst.src[0]), |x| ((i64::from(x as i32) << n) >> 32) as u32)
}

/// The sum of a word, the second source and the carry in when extended, and the carry out.
#[inline(always)]
fn with_carry(warp: &Warp, inst: &ExecInst, upper: &Row, x: Extended) -> (Row, u32) {
    let carry = if x.0 { read_pred(warp, inst.psrc[0]) } else { 0 };
    int::add3_carry(upper, &int_src(warp, inst.src[1]), &Row::ZERO, 0, carry)
}

#[inline(always)]
pub(super) fn imad_hi_pair(e: Execution<'_>, sign: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b) = (int_src(warp, s0), int_src(warp, s1));
    let c = [*warp.row(s2.row), *warp.row(s2.row + 1)];
    let (_, high) = wide_product(&a, &b, &c, sign == Sign::S32);
    put(warp, inst, &high, exec);
}

/// The row, with 0 in place of what is negative if `relu`.
#[inline(always)]
fn not_negative(relu: bool, row: Row) -> Row {
    if relu { int::map1(&row, |x| (x as i32).max(0) as u32) } else { row }
}

#[inline(always)]
pub(super) fn vimnmx_relu(e: Execution<'_>, sign: Sign, max: Max) {
    let Execution { inst, warp, exec } = e;
    let (a, b) = (int_src(warp, inst.src[0]), int_src(warp, inst.src[1]));
    put(warp, inst, &not_negative(true, min_max(sign, max, &a, &b)), exec);
}

#[inline(always)]
pub(super) fn viaddmnmx(e: Execution<'_>, sign: Sign, max: Max, relu: Relu) {
    let Execution { inst, warp, exec } = e;
    let [a, b, c] = inst.src.map(|s| int_src(warp, s));
    let sum = int::map2(&a, &b, u32::wrapping_add);
    put(warp, inst, &not_negative(relu.0, min_max(sign, max, &sum, &c)), exec);
}

#[inline(always)]
pub(super) fn vimnmx3(e: Execution<'_>, sign: Sign, max: Max, relu: Relu) {
    let Execution { inst, warp, exec } = e;
    let [a, b, c] = inst.src.map(|s| int_src(warp, s));
    let two = min_max(sign, max, &a, &b);
    put(warp, inst, &not_negative(relu.0, min_max(sign, max, &two, &c)), exec);
}

/// A source of 64 bits in a lane, negated if it says so.
#[inline(always)]
fn pair(warp: &Warp, s: SrcRow, l: usize) -> u64 {
    let value = u64::from(warp.row(s.row).0[l]) | u64::from(warp.row(s.row + 1).0[l]) << 32;
    if s.neg { value.wrapping_neg() } else { value }
}

#[inline(always)]
pub(super) fn iadd_pair(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let sum = |l| pair(warp, inst.src[0], l).wrapping_add(pair(warp, inst.src[1], l));
    let (low, high) = (Row::from_fn(|l| sum(l) as u32), Row::from_fn(|l| (sum(l) >> 32) as u32));
    put_pair(warp, inst, &low, &high, exec);
}

#[inline(always)]
pub(super) fn isetp_pair(e: Execution<'_>, cmp: ICmp, sign: Sign, bop: BoolOp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let m = if sign == Sign::S32 {
        int::compare(cmp, |l| pair(warp, s0, l) as i64, |l| pair(warp, s1, l) as i64)
    } else {
        int::compare(cmp, |l| pair(warp, s0, l), |l| pair(warp, s1, l))
    };
    put_compare(warp, inst, bop, m, exec);
}
