//! Reference of cutcp in double precision: every point meets the atoms of 27 bins.
//!
//! Bound: places are multiples of 1/16, so that squares are exact; a term is at most 2 / 0.1 and off by 2^-21 of
//! itself, and a sum of up to 216 terms below 200 by 216 * 2^-24 of itself.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let blocks = ["bx", "by", "bz"].map(|name| case.size(name));
    let bits = case.buffer::<u32>("bits");
    let bins = blocks.map(|count| count + 2);
    let atoms: Vec<Vec<[f64; 4]>> = (0..bins.iter().product()).map(|at| bin(at, bins, &bits)).collect();
    let points = blocks.map(|count| 8 * count);
    let mut grid = Vec::with_capacity(points.iter().product());
    for k in 0..points[2] {
        for j in 0..points[1] {
            for i in 0..points[0] {
                let near = (0..27).flat_map(|n| {
                    let [x, y, z] = [i / 8 + n % 3, j / 8 + n / 3 % 3, k / 8 + n / 9];
                    &atoms[(z * bins[1] + y) * bins[0] + x]
                });
                grid.push(potential([i, j, k].map(|c| 0.5 * c as f64), near) as f32);
            }
        }
    }
    Outputs::from([("grid".into(), Expected::within(&grid, 0.0, 4e-3))])
}

/// Atoms of a bin.
fn bin(at: usize, [bx, by, bz]: [usize; 3], bits: &[u32]) -> Vec<[f64; 4]> {
    let place = [at % bx, at / bx % by, at / (bx * by)];
    let edge = place.iter().zip([bx, by, bz]).any(|(&p, count)| p == 0 || p == count - 1);
    let count = if edge { 0 } else { at * 5 % 9 };
    let atom = |slot: usize| {
        let draw = bits[8 * at + slot];
        let along = |axis: usize| {
            4.0 * (place[axis] as f64 - 1.0) + f64::from(draw >> (5 * axis) & 31) * 0.125 + 0.0625
        };
        [along(0), along(1), along(2), f64::from(draw >> 16 & 15) * 0.125 + 0.125]
    };
    (0..count.min(8)).map(atom).collect()
}

fn potential<'a>(point: [f64; 3], atoms: impl Iterator<Item = &'a [f64; 4]>) -> f64 {
    let term = |atom: &[f64; 4]| {
        let square: f64 = (0..3).map(|i| (atom[i] - point[i]).powi(2)).sum();
        if square < 16.0 { atom[3] / square.sqrt() * (1.0 - square / 16.0).powi(2) } else { 0.0 }
    };
    atoms.map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_beyond_the_cutoff_do_not_count() {
        let atoms = [[0.0, 0.0, 2.0, 1.0], [4.0, 0.0, 0.0, 5.0]];
        assert_eq!(potential([0.0; 3], atoms.iter()), 0.5 * 0.75 * 0.75);
    }
}
