//! Functions for the opcode table's rows to read sources and write results.

use super::code::{ExecInst, PredRef, SrcRow};
use super::row::Row;
use super::warp::{Warp, blend};
use super::{FULL_MASK, double, float, int};
use crate::isa::{BoolOp, SpecialReg};

#[inline(always)]
pub(super) fn read_pred(warp: &Warp, p: PredRef) -> u32 {
    let v = warp.pred(p.index);
    if p.not { !v } else { v }
}

/// An integer source: two's complement negation when the source is negated.
#[inline(always)]
pub(super) fn int_src(warp: &Warp, s: SrcRow) -> Row {
    let row = *warp.row(s.row);
    if s.neg { int::map1(&row, u32::wrapping_neg) } else { row }
}

/// An integer source whose negation is the bitwise complement.
#[inline(always)]
pub(super) fn logic_src(warp: &Warp, s: SrcRow) -> Row {
    let row = *warp.row(s.row);
    if s.neg { int::map1(&row, |x| !x) } else { row }
}

/// A single-precision source with its modifiers.
#[inline(always)]
pub(super) fn float_src(warp: &Warp, s: SrcRow) -> float::Single<'_> {
    float::Single::new(warp.row(s.row), s.neg, s.abs)
}

/// A double-precision source with its modifiers.
#[inline(always)]
pub(super) fn double_src(warp: &Warp, s: SrcRow) -> double::Double<'_> {
    double::Double::new(warp.row(s.row), warp.row(s.row + 1), s.neg, s.abs)
}

/// A double-precision zero in every lane, for operations of two operands.
#[inline(always)]
pub(super) fn double_zero(_: &Warp) -> double::Double<'_> {
    double::Double::new(&Row::ZERO, &Row::ZERO, false, false)
}

#[inline(always)]
pub(super) fn put(warp: &mut Warp, inst: &ExecInst, value: &Row, exec: u32) {
    blend(&mut warp.rows[usize::from(inst.dst)], value, exec | inst.spread);
}

#[inline(always)]
pub(super) fn put_pair(warp: &mut Warp, inst: &ExecInst, low: &Row, high: &Row, exec: u32) {
    blend(&mut warp.rows[usize::from(inst.dst)], low, exec | inst.spread);
    blend(&mut warp.rows[usize::from(inst.dst) + 1], high, exec | inst.spread);
}

/// Writes a destination predicate.
#[inline(always)]
pub(super) fn put_pred(warp: &mut Warp, inst: &ExecInst, which: usize, value: u32, exec: u32) {
    warp.write_pred(inst.pdst[which], value, exec | inst.spread);
}

#[inline(always)]
pub(super) fn combine(bop: BoolOp, a: u32, b: u32) -> u32 {
    match bop {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

/// Writes a comparison and its complement, each combined with the first predicate source.
#[inline(always)]
pub(super) fn put_compare(warp: &mut Warp, inst: &ExecInst, bop: BoolOp, cmp: u32, exec: u32) {
    let with = read_pred(warp, inst.psrc[0]);
    put_pred(warp, inst, 0, combine(bop, cmp, with), exec);
    put_pred(warp, inst, 1, combine(bop, !cmp, with), exec);
}

#[inline(always)]
pub(super) fn special(warp: &Warp, sr: SpecialReg, exec: u32) -> Row {
    match sr {
        SpecialReg::TidX => warp.tid[0],
        SpecialReg::TidY => warp.tid[1],
        SpecialReg::TidZ => warp.tid[2],
        SpecialReg::CtaidX => Row::splat(warp.ctaid[0]),
        SpecialReg::CtaidY => Row::splat(warp.ctaid[1]),
        SpecialReg::CtaidZ => Row::splat(warp.ctaid[2]),
        SpecialReg::LaneId => Row::from_fn(|l| l as u32),
        SpecialReg::WarpId => Row::splat(warp.warp_in_block),
        SpecialReg::LaneMaskEq => Row::from_fn(|l| 1 << l),
        SpecialReg::LaneMaskLt => Row::from_fn(|l| (1 << l) - 1),
        SpecialReg::LaneMaskLe => Row::from_fn(|l| FULL_MASK >> (31 - l)),
        SpecialReg::LaneMaskGt => Row::from_fn(|l| !(FULL_MASK >> (31 - l))),
        SpecialReg::LaneMaskGe => Row::from_fn(|l| FULL_MASK << l),
        SpecialReg::ActiveMask => Row::splat(exec),
        SpecialReg::ClusterRank => Row::ZERO,
        SpecialReg::SmId
        | SpecialReg::NSmId
        | SpecialReg::ClockLo
        | SpecialReg::ClockHi
        | SpecialReg::GlobalTimerLo
        | SpecialReg::GlobalTimerHi
        | SpecialReg::GridId => Row::ZERO,
    }
}
