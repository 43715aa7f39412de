//! Reference of conv3d: fifteen products per inner cell, in the kernel's order.

use super::Case;
use crate::{Expected, Outputs};

/// Factor and offset of each product.
const TERMS: [(f32, [usize; 3]); 15] = [
    (2.0, [0, 0, 0]),
    (4.0, [2, 0, 0]),
    (5.0, [0, 0, 0]),
    (7.0, [2, 0, 0]),
    (-8.0, [0, 0, 0]),
    (10.0, [2, 0, 0]),
    (-3.0, [1, 0, 1]),
    (6.0, [1, 1, 1]),
    (-9.0, [1, 2, 1]),
    (2.0, [0, 0, 2]),
    (4.0, [2, 0, 2]),
    (5.0, [0, 1, 2]),
    (7.0, [2, 1, 2]),
    (-8.0, [0, 2, 2]),
    (10.0, [2, 2, 2]),
];

pub(crate) fn expected(case: &Case) -> Outputs {
    let [ni, nj, nk] = ["ni", "nj", "nk"].map(|name| case.size(name));
    let from = case.buffer::<f32>("from");
    let mut to = case.buffer::<f32>("to");
    for i in 0..ni - 2 {
        for j in 0..nj - 2 {
            for k in 0..nk - 2 {
                let at = |[di, dj, dk]: [usize; 3]| from[((i + di) * nj + j + dj) * nk + k + dk];
                let sum = TERMS.iter().fold(0.0_f32, |sum, (factor, place)| factor.mul_add(at(*place), sum));
                to[((i + 1) * nj + j + 1) * nk + k + 1] = sum;
            }
        }
    }
    Outputs::from([("to".into(), Expected::exact(&to))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_sum_to_those_of_the_filter() {
        assert_eq!(TERMS.iter().map(|term| term.0).sum::<f32>(), 34.0);
    }
}
