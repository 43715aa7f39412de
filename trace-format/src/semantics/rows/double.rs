//! Rows of the opcode table in double precision.

use super::super::execution::Execution;
use super::super::operands::{double_src, double_zero, put_compare, put_pair};
use super::super::{directed, double, float};
use crate::isa::{BoolOp, FCmp, Rnd};

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
