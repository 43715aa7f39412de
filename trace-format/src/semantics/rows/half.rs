//! Rows of the opcode table in half precision.

use super::super::Row;
use super::super::execution::Execution;
use super::super::half::{
    Finish, arithmetic, arranged, by_halves, compare, fused, infinity, min_max, product, source, sum_of_low,
};
use super::super::operands::{combine, put, put_pred, read_pred};
use crate::isa::{BoolFloat, BoolOp, FCmp, Ftz, HalfTy, Halves, Max, NanProp, Relu, Sat};

#[inline(always)]
pub(super) fn hadd2(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (source(warp, s0, ty, ftz.0), source(warp, s1, ty, ftz.0));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: false };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &b], |x, y, _| x + y), exec);
}

#[inline(always)]
pub(super) fn hmul2(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (source(warp, s0, ty, ftz.0), source(warp, s1, ty, ftz.0));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: false };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &b], product), exec);
}

#[inline(always)]
pub(super) fn hfma2(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat, relu: Relu) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let [a, b, c] = [s0, s1, s2].map(|s| source(warp, s, ty, ftz.0));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: relu.0 };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &c], fused), exec);
}

#[inline(always)]
pub(super) fn hmnmx2(e: Execution<'_>, ty: HalfTy, max: Max, ftz: Ftz, nan: NanProp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (source(warp, s0, ty, ftz.0), source(warp, s1, ty, ftz.0));
    let infinity = infinity(ty);
    let r = by_halves(|l, shift| {
        min_max(a.0[l] >> shift & 0xFFFF, b.0[l] >> shift & 0xFFFF, infinity, max.0, nan.0)
    });
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn hsetp2(e: Execution<'_>, ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (source(warp, s0, ty, ftz.0), source(warp, s1, ty, ftz.0));
    let with = read_pred(warp, inst.psrc[0]);
    let [low, high] = [0, 16].map(|shift| combine(bop, compare(ty, cmp, &a, &b, shift), with));
    put_pred(warp, inst, 0, low, exec);
    put_pred(warp, inst, 1, high, exec);
}

#[inline(always)]
pub(super) fn hset2(e: Execution<'_>, ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (source(warp, s0, ty, ftz.0), source(warp, s1, ty, ftz.0));
    let with = read_pred(warp, inst.psrc[0]);
    let [low, high] = [0, 16].map(|shift| combine(bop, compare(ty, cmp, &a, &b, shift), with));
    let on = match (bf.0, ty) {
        (false, _) => 0xFFFF,
        (true, HalfTy::F16) => 0x3C00,
        (true, HalfTy::Bf16) => 0x3F80,
    };
    let r = Row::from_fn(|l| ((low >> l & 1) * on) | (((high >> l & 1) * on) << 16));
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn hadd2_parts(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (arranged(warp, s0, ty, ftz.0, a), arranged(warp, s1, ty, ftz.0, b));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: false };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &b], |x, y, _| x + y), exec);
}

#[inline(always)]
pub(super) fn hmul2_parts(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (arranged(warp, s0, ty, ftz.0, a), arranged(warp, s1, ty, ftz.0, b));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: false };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &b], product), exec);
}

#[inline(always)]
#[expect(clippy::too_many_arguments)]
pub(super) fn hfma2_parts(
    e: Execution<'_>,
    ty: HalfTy,
    ftz: Ftz,
    sat: Sat,
    relu: Relu,
    a: Halves,
    b: Halves,
    c: Halves,
) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let [a, b, c] = [(s0, a), (s1, b), (s2, c)].map(|(s, part)| arranged(warp, s, ty, ftz.0, part));
    let end = Finish { ftz: ftz.0, sat: sat.0, relu: relu.0 };
    put(warp, inst, &arithmetic(ty, end, [&a, &b, &c], fused), exec);
}

#[inline(always)]
pub(super) fn hadd_single(e: Execution<'_>, ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (arranged(warp, s0, ty, ftz.0, a), arranged(warp, s1, ty, ftz.0, b));
    put(warp, inst, &sum_of_low(ty, sat.0, &a, &b), exec);
}
