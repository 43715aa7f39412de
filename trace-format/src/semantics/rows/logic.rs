//! Rows of the opcode table for bits, moves and special registers.

use super::super::execution::Execution;
use super::super::operands::{combine, logic_src, put, put_pair, put_pred, read_pred, special};
use super::super::{Row, WARP_SIZE, int};
use crate::isa::{BoolOp, High, Lut, Pred, PrmtMode, ShiftAmount, Sign, SpecialReg, Wide, Wrap};

#[inline(always)]
pub(super) fn lop3(e: Execution<'_>, lut: Lut) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (logic_src(warp, s0), logic_src(warp, s1), logic_src(warp, s2));
    let r = int::lop3(&a, &b, &c, lut);
    put(warp, inst, &r, exec);
    if inst.pdst[0] != 7 {
        put_pred(warp, inst, 0, int::mask_of(|l| r.0[l] != 0), exec);
    }
}

#[inline(always)]
pub(super) fn lop3_with(e: Execution<'_>, lut: Lut, bop: BoolOp) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (logic_src(warp, s0), logic_src(warp, s1), logic_src(warp, s2));
    let r = int::lop3(&a, &b, &c, lut);
    let with = read_pred(warp, inst.psrc[0]);
    put(warp, inst, &r, exec);
    put_pred(warp, inst, 0, combine(bop, int::mask_of(|l| r.0[l] != 0), with), exec);
}

#[inline(always)]
pub(super) fn shf_l(e: Execution<'_>, wide: Wide, wrap: Wrap, high: High) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
    let r = if high.0 || wide.0 || wrap.0 {
        int::funnel_left(&a, &b, &c, wide.0, wrap.0, high.0)
    } else {
        int::map2(&a, &b, int::shl)
    };
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn shf_r(e: Execution<'_>, sign: Sign, wide: Wide, wrap: Wrap, high: High) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
    let signed = sign == Sign::S32;
    let r = match (high.0 && !wide.0 && !wrap.0, signed) {
        (true, true) => int::map2(&c, &b, |x, n| ((x as i32) >> n.min(31)) as u32),
        (true, false) => int::map2(&c, &b, int::shr),
        _ => int::funnel_right(&a, &b, &c, signed, wide.0, wrap.0, high.0),
    };
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn sgxt(e: Execution<'_>, sign: Sign) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
    put(warp, inst, &int::map2(&a, &b, |x, n| int::extend(x, n, sign == Sign::S32)), exec);
}

#[inline(always)]
pub(super) fn bmsk(e: Execution<'_>, wrap: Wrap) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
    put(warp, inst, &int::map2(&a, &b, |x, n| int::bit_mask(x, n, wrap.0)), exec);
}

#[inline(always)]
pub(super) fn prmt(e: Execution<'_>, mode: PrmtMode) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, s2] = inst.src;
    let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
    put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| int::permute(x, y, z, mode)), exec);
}

#[inline(always)]
pub(super) fn popc(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = logic_src(warp, s0);
    put(warp, inst, &int::map1(&a, u32::count_ones), exec);
}

#[inline(always)]
pub(super) fn flo(e: Execution<'_>, sign: Sign, sh: ShiftAmount) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = logic_src(warp, s0);
    put(warp, inst, &int::map1(&a, |x| int::find_leading(x, sign == Sign::S32, sh.0)), exec);
}

#[inline(always)]
pub(super) fn brev(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = *warp.row(s0.row);
    put(warp, inst, &int::map1(&a, u32::reverse_bits), exec);
}

#[inline(always)]
pub(super) fn sel(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
    let p = read_pred(warp, inst.psrc[0]);
    let mut r = Row::ZERO;
    for l in 0..WARP_SIZE {
        r.0[l] = if p >> l & 1 != 0 { a.0[l] } else { b.0[l] };
    }
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn mov(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, ..] = inst.src;
    let a = *warp.row(s0.row);
    put(warp, inst, &a, exec);
}

#[inline(always)]
pub(super) fn plop3(e: Execution<'_>, lut: Lut) {
    let Execution { inst, warp, exec } = e;
    let [x, y, z] = inst.psrc.map(|p| read_pred(warp, p));
    let r = int::lop3_bits(x, y, z, lut);
    put_pred(warp, inst, 0, r, exec);
    put_pred(warp, inst, 1, !r, exec);
}

#[inline(always)]
pub(super) fn s2r(e: Execution<'_>, sr: SpecialReg) {
    let Execution { inst, warp, exec } = e;
    let r = special(warp, sr, exec);
    put(warp, inst, &r, exec);
}

#[inline(always)]
pub(super) fn plop3_both(e: Execution<'_>, lut: Lut, second: Lut) {
    let Execution { inst, warp, exec } = e;
    let [x, y, z] = inst.psrc.map(|p| read_pred(warp, p));
    put_pred(warp, inst, 0, int::lop3_bits(x, y, z, lut), exec);
    put_pred(warp, inst, 1, int::lop3_bits(x, y, z, second), exec);
}

#[inline(always)]
pub(super) fn p2r(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, mask) = (*warp.row(s0.row), *warp.row(s1.row));
    let bits = Row::from_fn(|l| (0..Pred::COUNT as u8).fold(0, |all, p| all | (warp.pred(p) >> l & 1) << p));
    put(warp, inst, &int::map3(&a, &bits, &mask, |old, new, mask| old & !mask | new & mask), exec);
}

#[inline(always)]
pub(super) fn r2p(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let [s0, s1, _] = inst.src;
    let (a, mask) = (*warp.row(s0.row), *warp.row(s1.row));
    for p in 0..Pred::COUNT as u8 {
        let lanes = int::mask_of(|l| mask.0[l] >> p & 1 != 0) & exec;
        warp.write_pred(p, int::mask_of(|l| a.0[l] >> p & 1 != 0), lanes);
    }
}

#[inline(always)]
pub(super) fn mov_pair(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let (low, high) = (*warp.row(inst.src[0].row), *warp.row(inst.src[0].row + 1));
    put_pair(warp, inst, &low, &high, exec);
}

#[inline(always)]
pub(super) fn sel_pair(e: Execution<'_>) {
    let Execution { inst, warp, exec } = e;
    let p = read_pred(warp, inst.psrc[0]);
    let pick = |word: u16| {
        let [a, b] = [0, 1].map(|i| warp.row(inst.src[i].row + word));
        Row::from_fn(|l| if p >> l & 1 != 0 { a.0[l] } else { b.0[l] })
    };
    let (low, high) = (pick(0), pick(1));
    put_pair(warp, inst, &low, &high, exec);
}
