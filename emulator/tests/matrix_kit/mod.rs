//! Matrices for the tests of matrix instructions: random ones of every element type, their encodings, and D = A * B + C.
//!
//! Inputs are such that products and sums are exact in double precision, so that only the last rounding counts.

use super::lower_kit::*;
use half::{bf16, f16};
use test_kit::Random;

/// A matrix of numbers that its elements' type represents.
#[derive(Clone)]
pub(crate) struct Matrix {
    pub cols: usize,
    pub values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn random(rows: usize, cols: usize, ty: &str, seed: u64) -> Matrix {
        let mut random = Random::new(seed);
        let values = (0..rows * cols).map(|_| sample(ty, &mut random)).collect();
        Matrix { cols, values }
    }

    pub(crate) fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }
}

/// A number of a type, with few enough digits that sums of products stay exact in 53 bits.
pub(crate) fn sample(ty: &str, random: &mut Random) -> f64 {
    let bits = random.bits();
    match ty {
        "u8" => (bits & 0xFF) as f64,
        "s8" => f64::from(bits as i8),
        "u4" => (bits & 15) as f64,
        "s4" => f64::from((bits as i8) >> 4),
        "b1" => (bits & 1) as f64,
        "s32" => f64::from(bits as i32),
        // Seven to eleven digits, exponents -4 to 3.
        _ => {
            let digits = match ty {
                "bf16" => 8,
                "f64" => 20,
                _ => 11,
            };
            let magnitude = (bits >> 8 & ((1 << digits) - 1)) as f64 / f64::from(1 << (digits - 1));
            let scale = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0][(bits & 7) as usize];
            if bits >> 7 & 1 == 0 { magnitude * scale } else { -magnitude * scale }
        }
    }
}

pub(crate) fn bits_of(ty: &str) -> usize {
    match ty {
        "bf16" => 16,
        "tf32" => 32,
        _ => ty[1..].parse().unwrap(),
    }
}

/// The encoding of a number that a type represents, or the nearest.
pub(crate) fn encode(ty: &str, v: f64) -> u64 {
    match ty {
        "f16" => f16::from_f64(v).to_bits().into(),
        "bf16" => bf16::from_f64(v).to_bits().into(),
        "f32" | "tf32" => (v as f32).to_bits().into(),
        "f64" => v.to_bits(),
        _ => (v as i64 as u64) & (u64::MAX >> (64 - bits_of(ty))),
    }
}

/// D = A * B + C, as the type of D rounds or wraps it.
pub(crate) fn product(
    a: &Matrix,
    b: &Matrix,
    c: &Matrix,
    ty: &str,
    combine: impl Fn(f64, f64) -> f64,
) -> Vec<u64> {
    let depth = a.cols;
    let mut d = Vec::new();
    for i in 0..c.values.len() / c.cols {
        for j in 0..c.cols {
            let sum: f64 = (0..depth).map(|k| combine(a.at(i, k), b.at(k, j))).sum();
            d.push(encode(ty, sum + c.at(i, j)));
        }
    }
    d
}

/// Packs elements into words, first element lowest.
pub(crate) fn pack(elements: &[u64], bits: usize) -> Vec<u32> {
    if bits == 64 {
        return words64(elements);
    }
    let per = 32 / bits;
    elements
        .chunks(per)
        .map(|c| c.iter().enumerate().fold(0, |w, (i, e)| w | (*e as u32) << (i * bits)))
        .collect()
}

/// Registers per lane of a fragment of `count` elements.
pub(crate) fn registers(ty: &str, count: usize) -> usize {
    if ty == "f64" { count } else { count * bits_of(ty) / 32 }
}
