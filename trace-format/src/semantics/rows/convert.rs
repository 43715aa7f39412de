//! Rows of the opcode table for conversions.

use super::super::execution::Execution;
use super::super::operands::{float_src, put, put_pair};
use super::super::{Row, convert, double, int};
use crate::isa::{FloatTy, Ftz, IntRnd, IntTy, PackRnd, Part, Relu, Rnd, Sat, SatFinite, Sign};

/// Writes a result of one or two registers.
#[inline(always)]
fn put_words(e: Execution<'_>, (low, high): &(Row, Row), registers: u8) {
    let Execution { inst, warp, exec } = e;
    if registers == 2 {
        put_pair(warp, inst, low, high, exec);
    } else {
        put(warp, inst, low, exec);
    }
}

/// Both words of the source, of which the second counts for 64-bit formats.
#[inline(always)]
fn words(e: &Execution<'_>) -> (Row, Row) {
    let row = e.inst.src[0].row;
    (*e.warp.row(row), *e.warp.row(row + 1))
}

/// The source as a number.
#[inline(always)]
fn number(e: &Execution<'_>, ty: FloatTy, ftz: Ftz) -> double::Doubles {
    let (s, (low, high)) = (e.inst.src[0], words(e));
    convert::widen(ty, &low, &high, s.neg, s.abs, ftz.0)
}

#[inline(always)]
pub(super) fn f2f(e: Execution<'_>, dst: FloatTy, src: FloatTy, rnd: Rnd, ftz: Ftz, sat: Sat) {
    let v = number(&e, src, ftz);
    put_words(e, &convert::narrow(dst, &v, rnd, ftz.0, sat.0), dst.regs());
}

#[inline(always)]
pub(super) fn f2i(e: Execution<'_>, dst: IntTy, src: FloatTy, rnd: IntRnd, ftz: Ftz) {
    let v = number(&e, src, ftz);
    put_words(e, &convert::to_int(dst, src, &v, rnd), dst.regs());
}

#[inline(always)]
pub(super) fn i2f(e: Execution<'_>, dst: FloatTy, src: IntTy, rnd: Rnd) {
    let (neg, (low, high)) = (e.inst.src[0].neg, words(&e));
    put_words(e, &convert::from_int(dst, src, &low, &high, neg, rnd), dst.regs());
}

#[inline(always)]
pub(super) fn frnd(e: Execution<'_>, ty: FloatTy, rnd: IntRnd, ftz: Ftz, sat: Sat) {
    let v = convert::round_float(&number(&e, ty, ftz), rnd);
    put_words(e, &convert::narrow(ty, &v, Rnd::Rn, ftz.0, sat.0), ty.regs());
}

#[inline(always)]
pub(super) fn i2i(e: Execution<'_>, dst: IntTy, src: Sign) {
    let Execution { inst, warp, exec } = e;
    let signed = src == Sign::S32;
    let r = int::map1(warp.row(inst.src[0].row), |v| convert::saturate_int(dst, v, signed));
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn f2fp(e: Execution<'_>, dst: FloatTy, rnd: PackRnd, relu: Relu, fin: SatFinite) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(false), float_src(warp, s1).resolve(false));
    put(warp, inst, &convert::pack(dst, &a, &b, rnd, relu.0, fin.0), exec);
}

#[inline(always)]
pub(super) fn i2f_part(e: Execution<'_>, dst: FloatTy, src: IntTy, part: Part) {
    let neg = e.inst.src[0].neg;
    let low = int::map1(e.warp.row(e.inst.src[0].row), |word| word >> part.shift());
    put_words(e, &convert::from_int(dst, src, &low, &Row::ZERO, neg, Rnd::Rn), dst.regs());
}
