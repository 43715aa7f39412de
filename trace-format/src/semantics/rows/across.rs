//! Rows of the opcode table that read other lanes.

use super::super::execution::Execution;
use super::super::lanes;
use super::super::operands::{float_src, put, put_pred, read_pred};
use super::super::{Row, WARP_SIZE};
use crate::isa::{MatchMode, NanProp, ReduxOp, ReduxTy, ShflMode, VoteMode, Wide};

#[inline(always)]
pub(super) fn shfl(e: Execution<'_>, mode: ShflMode) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (r, p) = lanes::shuffle(mode, warp.row(s0.row), warp.row(s1.row), warp.row(s2.row), exec);
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, p, exec);
}

#[inline(always)]
pub(super) fn vote(e: Execution<'_>, mode: VoteMode) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let pred = read_pred(warp, inst.psrc[0]);
    let (ballot, p) = lanes::vote(mode, pred, exec, warp.row(s0.row));
    if mode == VoteMode::Ballot {
        put(warp, inst, &ballot, exec);
    }
    put_pred(warp, inst, 0, p, exec);
}

#[inline(always)]
pub(super) fn find_equal(e: Execution<'_>, mode: MatchMode, wide: Wide) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (low, high, members) = (*warp.row(s0.row), *warp.row(s0.row + 1), *warp.row(s1.row));
    let upper = |l: usize| if wide.0 { u64::from(high.0[l]) << 32 } else { 0 };
    let (r, p) = lanes::find_equal(mode, exec, &members, |l| u64::from(low.0[l]) | upper(l));
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, p, exec);
}

#[inline(always)]
pub(super) fn redux(e: Execution<'_>, op: ReduxOp, ty: ReduxTy, nan: NanProp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, members) = (float_src(warp, s0).resolve(false), *warp.row(s1.row));
    put(warp, inst, &lanes::reduce(op, ty, nan.0, &a, exec, &members), exec);
}

#[inline(always)]
pub(super) fn r2ur(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let first = exec.trailing_zeros() as usize & (WARP_SIZE - 1);
    let word = warp.row(inst.src[0].row).0[first];
    put(warp, inst, &Row::splat(word), exec);
}
