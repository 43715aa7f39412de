//! Rows of the opcode table in double precision.

use super::super::execution::Execution;
use super::super::operands::{double_src, double_zero, put_compare, put_pair, put_pred};
use super::super::{directed, double, float, int};
use crate::isa::{BoolOp, FCmp, Max, Rnd};

#[inline(always)]
pub(super) fn dadd(e: Execution<'_>, rnd: Rnd) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (double_src(warp, s0), double_src(warp, s1));
    let r = if rnd == Rnd::Rn {
        double::arithmetic([a, b, double_zero(warp)], |x, y, _| x + y)
    } else {
        double::split(&directed::dadd(rnd, &a.resolve(), &b.resolve()))
    };
    put_pair(warp, inst, &r.0, &r.1, exec);
}

#[inline(always)]
pub(super) fn dmul(e: Execution<'_>, rnd: Rnd) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (double_src(warp, s0), double_src(warp, s1));
    let r = if rnd == Rnd::Rn {
        double::arithmetic([a, b, double_zero(warp)], |x, y, _| x * y)
    } else {
        double::split(&directed::dmul(rnd, &a.resolve(), &b.resolve()))
    };
    put_pair(warp, inst, &r.0, &r.1, exec);
}

#[inline(always)]
pub(super) fn dfma(e: Execution<'_>, rnd: Rnd) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (double_src(warp, s0), double_src(warp, s1), double_src(warp, s2));
    let r = if rnd == Rnd::Rn {
        double::arithmetic([a, b, c], f64::mul_add)
    } else {
        double::split(&directed::dfma(rnd, &a.resolve(), &b.resolve(), &c.resolve()))
    };
    put_pair(warp, inst, &r.0, &r.1, exec);
}

#[inline(always)]
pub(super) fn dsetp(e: Execution<'_>, cmp: FCmp, bop: BoolOp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (double_src(warp, s0), double_src(warp, s1));
    let m = float::compare(cmp, |l| a.lane(l), |l| b.lane(l));
    put_compare(warp, inst, bop, m, exec);
}

#[inline(always)]
pub(super) fn dsetp_pick(e: Execution<'_>, max: Max) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (double_src(warp, s0), double_src(warp, s1));
    // Minus zero is less than plus zero.
    let chosen = |x: f64, y: f64| match (x.is_nan(), y.is_nan()) {
        (true, _) => false,
        (false, true) => true,
        _ if x == y => x.is_sign_negative() != max.0 || x.is_sign_negative() == y.is_sign_negative(),
        _ => (x < y) != max.0,
    };
    let first = int::mask_of(|l| chosen(a.lane(l), b.lane(l)));
    let neither = int::mask_of(|l| a.lane(l).is_nan() && b.lane(l).is_nan());
    put_pred(warp, inst, 0, first, exec);
    put_pred(warp, inst, 1, neither, exec);
}
