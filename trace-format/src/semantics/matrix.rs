//! Matrix products of a whole warp (HMMA, IMMA, BMMA, DMMA) and the transposition of 8x8 matrices of halves.
//!
//! Fragments are gathered into matrices by the layouts of [`fragment`], multiplied by plain loops, and scattered
//! again. Floating-point products are exact in double precision; they are added to C in double precision, in the
//! order of k, and the sum is rounded once to the accumulator's format (NaN results are canonical). Every
//! lane's registers count, whether or not the lane executes the instruction; PTX demands that all do.

use super::code::SrcRow;
use super::double::{self, Double};
use super::narrow::Format;
use super::row::Row;
use super::warp::Warp;
use super::{WARP_SIZE, directed, float};
use crate::isa::fragment::{Role, place};
use crate::isa::{
    AccTy, BitMultiply, ColumnHalf, HmmaShape, HmmaTy, ImmaShape, IntElement, MatrixOrder, PackRnd, Rnd,
};

/// Rows of A and D at most.
const M: usize = 16;
/// Columns of B and D.
const N: usize = 8;

/// Element `within` of a word of A or B.
fn element(ty: HmmaTy, word: u32, within: usize) -> f64 {
    match ty {
        HmmaTy::F16 => half(word >> (16 * within)),
        HmmaTy::Bf16 => f64::from(f32::from_bits(word >> (16 * within) << 16)),
        HmmaTy::Tf32 => f64::from(f32::from_bits(word & 0xFFFF_E000)),
    }
}

/// The half in the low 16 bits.
fn half(word: u32) -> f64 {
    Format::F16.value(word)
}

/// A sum in single precision, with the canonical NaN.
fn to_single(v: f64, finite: bool) -> u32 {
    match v as f32 {
        x if x.is_nan() => {
            if finite {
                0
            } else {
                float::CANONICAL_NAN
            }
        }
        x if finite => x.clamp(f32::MIN, f32::MAX).to_bits(),
        x => x.to_bits(),
    }
}

/// A sum in half precision, with the canonical NaN.
fn to_half(v: f64, finite: bool) -> u32 {
    if finite && v.is_nan() { 0 } else { Format::F16.encode(v, PackRnd::Nearest, finite) }
}

/// Calls `visit` with lane, register, element within the register, row and column of every element of a factor.
fn visit_factor(
    role: Role,
    tall: bool,
    packed: usize,
    registers: usize,
    mut visit: impl FnMut(usize, usize, usize, usize, usize),
) {
    for i in 0..registers * packed {
        let [row, col] = place(role, tall, packed, i);
        for l in 0..WARP_SIZE {
            visit(l, i / packed, i % packed, row.of(l), col.of(l));
        }
    }
}

pub(super) fn hmma(
    shape: HmmaShape,
    ty: HmmaTy,
    acc: AccTy,
    finite: bool,
    warp: &Warp,
    src: [SrcRow; 3],
) -> [Row; 4] {
    let (packed, a_regs) = (ty.per_register(), usize::from(shape.a_regs(ty)));
    let depth = (2 * packed * a_regs).min(16);
    let word = |s: usize, r: usize, l: usize| warp.row(src[s].row + r as u16).0[l];
    let (mut a, mut b, mut c) = ([[0.0; 16]; M], [[0.0; N]; 16], [[0.0; N]; M]);
    visit_factor(Role::A, true, packed, a_regs, |l, r, s, row, col| {
        a[row & 15][col & 15] = element(ty, word(0, r, l), s);
    });
    visit_factor(Role::B, true, packed, a_regs / 2, |l, r, s, row, col| {
        b[row & 15][col & 7] = element(ty, word(1, r, l), s);
    });
    for i in 0..4 {
        let [row, col] = place(Role::Acc, true, 1, i);
        for l in 0..WARP_SIZE {
            c[row.of(l) & 15][col.of(l) & 7] = match acc {
                AccTy::F32 => f64::from(f32::from_bits(word(2, i, l))),
                AccTy::F16 => half(word(2, i / 2, l) >> (16 * (i % 2))),
            };
        }
    }
    for (a, sums) in a.iter().zip(&mut c) {
        for (x, b) in a.iter().zip(&b).take(depth) {
            for (sum, y) in sums.iter_mut().zip(b) {
                *sum += x * y;
            }
        }
    }
    let mut out = [Row::ZERO; 4];
    for i in 0..4 {
        let [row, col] = place(Role::Acc, true, 1, i);
        for l in 0..WARP_SIZE {
            let sum = c[row.of(l) & 15][col.of(l) & 7];
            match acc {
                AccTy::F32 => out[i].0[l] = to_single(sum, finite),
                AccTy::F16 => out[i / 2].0[l] |= to_half(sum, finite) << (16 * (i % 2)),
            }
        }
    }
    out
}

/// Volta's 8x8x4 product, once per quad pair: lanes 4q to 4q + 3 and those 16 above.
pub(super) fn hmma884(
    [a_order, b_order]: [MatrixOrder; 2],
    acc: AccTy,
    columns: ColumnHalf,
    finite: bool,
    warp: &Warp,
    src: [SrcRow; 3],
) -> [Row; 4] {
    let mut out = [Row::ZERO; 4];
    let halves =
        |s: usize, lane: usize, i: usize| half(warp.row(src[s].row + i as u16 / 2).0[lane] >> (16 * (i % 2)));
    for q in 0..4 {
        let lane = |n: usize| 4 * q + (n & 3) + 16 * (n >> 2);
        let (mut a, mut b) = ([[0.0; 4]; 8], [[0.0; 8]; 4]);
        for n in 0..8 {
            let upper = n & 4;
            for i in 0..4 {
                let (row, k) = if a_order == MatrixOrder::Row { (n, i) } else { (i + upper, n & 3) };
                a[row][k] = halves(0, lane(n), i);
                let (k, col) = if b_order == MatrixOrder::Row { (n & 3, i + upper) } else { (i, n) };
                b[k][col] = halves(1, lane(n), i);
            }
        }
        let product = |row: usize, col: usize, c: f64| (0..4).fold(c, |sum, k| sum + a[row][k] * b[k][col]);
        for n in 0..8 {
            let l = lane(n);
            match acc {
                AccTy::F16 => {
                    for col in 0..8 {
                        let sum = product(n, col, halves(2, l, col));
                        out[col / 2].0[l] |= to_half(sum, finite) << (16 * (col % 2));
                    }
                }
                AccTy::F32 => {
                    for i in 0..4 {
                        let row = (n & 1) + (i & 2) + (n & 4);
                        let col = (n & 2) + (i & 1) + if columns == ColumnHalf::Upper { 4 } else { 0 };
                        let c = f32::from_bits(warp.row(src[2].row + i as u16).0[l]);
                        out[i].0[l] = to_single(product(row, col, f64::from(c)), finite);
                    }
                }
            }
        }
    }
    out
}

/// Element `within` of a word of integers.
fn integer(ty: IntElement, word: u32, within: usize) -> i32 {
    let bits = 32 / ty.per_register() as u32;
    let top = word << (32 - bits * (within as u32 + 1));
    if ty.is_signed() { (top as i32) >> (32 - bits) } else { (top >> (32 - bits)) as i32 }
}

/// Adds integer products to C and writes D.
fn accumulate(
    tall: bool,
    warp: &Warp,
    c_row: u16,
    mut add: impl FnMut(usize, usize, u32) -> u32,
) -> [Row; 4] {
    let mut out = [Row::ZERO; 4];
    for i in 0..if tall { 4 } else { 2 } {
        let [row, col] = place(Role::Acc, tall, 1, i);
        let c = warp.row(c_row + i as u16);
        for l in 0..WARP_SIZE {
            out[i].0[l] = add(row.of(l) & 15, col.of(l) & 7, c.0[l]);
        }
    }
    out
}

pub(super) fn imma(
    shape: ImmaShape,
    a_ty: IntElement,
    b_ty: IntElement,
    sat: bool,
    warp: &Warp,
    src: [SrcRow; 3],
) -> [Row; 4] {
    let (packed, tall) = (a_ty.per_register(), shape.is_tall());
    let word = |s: usize, r: usize, l: usize| warp.row(src[s].row + r as u16).0[l];
    // Columns of B are kept as rows, so that products are of two rows.
    let (mut a, mut b) = ([[0i32; 64]; M], [[0i32; 64]; N]);
    visit_factor(Role::A, tall, packed, shape.a_regs(a_ty).into(), |l, r, s, row, col| {
        a[row & 15][col & 63] = integer(a_ty, word(0, r, l), s);
    });
    visit_factor(Role::B, tall, packed, shape.b_regs(a_ty).into(), |l, r, s, row, col| {
        b[col & 7][row & 63] = integer(b_ty, word(1, r, l), s);
    });
    accumulate(tall, warp, src[2].row, |row, col, c| {
        // 64 products of bytes stay far inside 32 bits; only C can take the sum out of range.
        let sum: i32 = a[row].iter().zip(&b[col]).map(|(x, y)| x * y).sum();
        if sat { (c as i32).saturating_add(sum) as u32 } else { c.wrapping_add(sum as u32) }
    })
}

pub(super) fn bmma(shape: ImmaShape, op: BitMultiply, warp: &Warp, src: [SrcRow; 3]) -> [Row; 4] {
    let tall = shape.is_tall();
    let word = |s: usize, r: usize, l: usize| warp.row(src[s].row + r as u16).0[l];
    let words = 4 * usize::from(shape.b_regs(IntElement::U4));
    let (mut a, mut b) = ([[0u32; 8]; M], [[0u32; 8]; N]);
    visit_factor(Role::A, tall, 1, shape.a_regs(IntElement::U4).into(), |l, r, _, row, col| {
        a[row & 15][col & 7] = word(0, r, l);
    });
    visit_factor(Role::B, tall, 1, shape.b_regs(IntElement::U4).into(), |l, r, _, row, col| {
        b[col & 7][row & 7] = word(1, r, l);
    });
    accumulate(tall, warp, src[2].row, |row, col, c| {
        let pairs = a[row].iter().zip(&b[col]).take(words);
        let ones: u32 = match op {
            BitMultiply::Xor => pairs.map(|(x, y)| (x ^ y).count_ones()).sum(),
            BitMultiply::And => pairs.map(|(x, y)| (x & y).count_ones()).sum(),
        };
        c.wrapping_add(ones)
    })
}

pub(super) fn dmma(rnd: Rnd, warp: &Warp, src: [SrcRow; 3]) -> [Row; 4] {
    let gather = |s: usize, word: u16, from: &dyn Fn(usize) -> usize| {
        let row = warp.row(src[s].row + word);
        Row::from_fn(|l| row.0[from(l) & 31])
    };
    let mut out = [Row::ZERO; 4];
    for i in 0..2 {
        let c = 2 * i as u16;
        let mut sum = (*warp.row(src[2].row + c), *warp.row(src[2].row + c + 1));
        for k in 0..4 {
            // Lane l computes row l / 4, column 2 (l % 4) + i; element (row, k) of A and (k, column) of B are where
            // the layouts have them: in lane 4 row + k and lane 4 column + k.
            let of_a = |l: usize| (l & !3) + k;
            let of_b = |l: usize| 4 * (2 * (l & 3) + i) + k;
            let (a_low, a_high) = (gather(0, 0, &of_a), gather(0, 1, &of_a));
            let (b_low, b_high) = (gather(1, 0, &of_b), gather(1, 1, &of_b));
            let [a, b, c] = [(&a_low, &a_high), (&b_low, &b_high), (&sum.0, &sum.1)]
                .map(|(low, high)| Double::new(low, high, false, false));
            sum = if rnd == Rnd::Rn {
                double::arithmetic([a, b, c], f64::mul_add)
            } else {
                double::split(&directed::dfma(rnd, &a.resolve(), &b.resolve(), &c.resolve()))
            };
        }
        (out[2 * i], out[2 * i + 1]) = sum;
    }
    out
}

/// The fragment of the transpose of an 8x8 matrix of halves.
#[must_use]
pub fn transpose(a: &Row) -> Row {
    // Lane l holds row l / 4, columns 2 (l % 4) and the next.
    let at = |row: usize, col: usize| a.0[4 * row + col / 2] >> (16 * (col % 2)) & 0xFFFF;
    Row::from_fn(|l| at(2 * (l & 3), l >> 2) | at(2 * (l & 3) + 1, l >> 2) << 16)
}
