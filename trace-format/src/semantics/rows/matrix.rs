//! Rows of the opcode table for matrices, which a warp multiplies as a whole.

use super::super::execution::Execution;
use super::super::{Row, matrix};
use crate::isa::{
    AccTy, BitMultiply, ColumnHalf, HmmaSat, HmmaShape, HmmaTy, ImmaShape, IntElement, MatrixOrder, Rnd,
    SatInt,
};

/// Writes the registers of a fragment.
fn put_fragment(e: Execution<'_>, fragment: &[Row; 4]) {
    let Execution { inst, warp, exec } = e;
    for i in 0..inst.dst_rows.min(4) {
        warp.write_row(inst.dst + u16::from(i), &fragment[usize::from(i)], exec);
    }
}

#[inline(never)]
pub(super) fn hmma(e: Execution<'_>, shape: HmmaShape, ty: HmmaTy, acc: AccTy, sat: HmmaSat) {
    let d = matrix::hmma(shape, ty, acc, sat.0, e.warp, e.inst.src);
    put_fragment(e, &d);
}

#[inline(never)]
pub(super) fn hmma884(
    e: Execution<'_>,
    a: MatrixOrder,
    b: MatrixOrder,
    acc: AccTy,
    half: ColumnHalf,
    sat: HmmaSat,
) {
    let d = matrix::hmma884([a, b], acc, half, sat.0, e.warp, e.inst.src);
    put_fragment(e, &d);
}

#[inline(never)]
pub(super) fn imma(e: Execution<'_>, shape: ImmaShape, a: IntElement, b: IntElement, sat: SatInt) {
    let d = matrix::imma(shape, a, b, sat.0, e.warp, e.inst.src);
    put_fragment(e, &d);
}

#[inline(never)]
pub(super) fn bmma(e: Execution<'_>, shape: ImmaShape, op: BitMultiply) {
    let d = matrix::bmma(shape, op, e.warp, e.inst.src);
    put_fragment(e, &d);
}

#[inline(never)]
pub(super) fn dmma(e: Execution<'_>, rnd: Rnd) {
    let d = matrix::dmma(rnd, e.warp, e.inst.src);
    put_fragment(e, &d);
}

#[inline(never)]
pub(super) fn movm(e: Execution<'_>) {
    let d = [matrix::transpose(e.warp.row(e.inst.src[0].row)), Row::ZERO, Row::ZERO, Row::ZERO];
    put_fragment(e, &d);
}
