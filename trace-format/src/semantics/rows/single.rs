//! Rows of the opcode table in single precision.

use super::super::execution::Execution;
use super::super::operands::{combine, float_src, put, put_compare, put_pred, read_pred};
use super::super::{Row, directed, float, mufu};
use crate::isa::{BoolFloat, BoolOp, FCmp, Ftz, Max, MufuFn, NanProp, PowerOfTwo, Rnd, Sat};

#[inline(always)]
pub(super) fn fadd(e: Execution<'_>, rnd: Rnd, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0), float_src(warp, s1));
    let r = if rnd == Rnd::Rn {
        float::arithmetic([a, b, b], ftz.0, sat.0, |x, y, _| x + y)
    } else {
        directed::add(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), ftz.0, sat.0)
    };
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn fmul(e: Execution<'_>, rnd: Rnd, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0), float_src(warp, s1));
    let r = if rnd == Rnd::Rn {
        float::arithmetic([a, b, b], ftz.0, sat.0, |x, y, _| x * y)
    } else {
        directed::mul(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), ftz.0, sat.0)
    };
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn ffma(e: Execution<'_>, rnd: Rnd, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (float_src(warp, s0), float_src(warp, s1), float_src(warp, s2));
    let r = if rnd == Rnd::Rn {
        float::arithmetic([a, b, c], ftz.0, sat.0, f32::mul_add)
    } else {
        directed::fma(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), &c.resolve(ftz.0), ftz.0, sat.0)
    };
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn fmnmx(e: Execution<'_>, max: Max, ftz: Ftz, nan: NanProp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
    put(warp, inst, &float::min_max(&a, &b, max.0, nan.0), exec);
}

#[inline(always)]
pub(super) fn fsetp(e: Execution<'_>, cmp: FCmp, ftz: Ftz, bop: BoolOp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
    let m = float::compare(cmp, |l| float::f(a.0[l]), |l| float::f(b.0[l]));
    put_compare(warp, inst, bop, m, exec);
}

#[inline(always)]
pub(super) fn fset(e: Execution<'_>, cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
    let m = float::compare(cmp, |l| float::f(a.0[l]), |l| float::f(b.0[l]));
    let m = combine(bop, m, read_pred(warp, inst.psrc[0]));
    let on = if bf.0 { 0x3F80_0000 } else { u32::MAX };
    put(warp, inst, &Row::from_fn(|l| if m >> l & 1 != 0 { on } else { 0 }), exec);
}

#[inline(always)]
pub(super) fn fchk(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let m = float::needs_slow_division(warp.row(s0.row), warp.row(s1.row));
    put_pred(warp, inst, 0, m, exec);
}

#[inline(always)]
pub(super) fn mufu(e: Execution<'_>, func: MufuFn, ftz: Ftz) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = float_src(warp, s0).resolve(false);
    put(warp, inst, &mufu::apply(func, &a, ftz.0), exec);
}

#[inline(always)]
pub(super) fn fsel(e: Execution<'_>, ftz: Ftz) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
    let p = read_pred(warp, inst.psrc[0]);
    put(warp, inst, &Row::from_fn(|l| if p >> l & 1 != 0 { a.0[l] } else { b.0[l] }), exec);
}

#[inline(always)]
pub(super) fn fmul_scaled(e: Execution<'_>, by: PowerOfTwo, ftz: Ftz, sat: Sat) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
    // The product of two singles and the factor are exact as doubles.
    let product = |l: usize| f64::from(float::f(a.0[l])) * f64::from(float::f(b.0[l])) * by.value();
    let r = float::rounded(product, ftz.0, sat.0);
    put(warp, inst, &r, exec);
}
