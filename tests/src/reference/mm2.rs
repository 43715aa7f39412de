//! Reference of mm2: sums in the order of k.

use super::Case;
use crate::{Expected, Outputs};

const ALPHA: f32 = 1.5;
const BETA: f32 = 1.25;

pub(crate) fn expected(case: &Case) -> Outputs {
    let [ni, nj, nk, nl] = ["ni", "nj", "nk", "nl"].map(|name| case.size(name));
    let scaled: Vec<f32> = case.buffer::<f32>("a").iter().map(|a| ALPHA * a).collect();
    let product = add_product(vec![0.0; ni * nj], &scaled, &case.buffer("b"), [ni, nj, nk]);
    let d = case.buffer::<f32>("d").iter().map(|d| d * BETA).collect();
    let d = add_product(d, &product, &case.buffer("c"), [ni, nl, nj]);
    Outputs::from([("product".into(), Expected::exact(&product)), ("d".into(), Expected::exact(&d))])
}

/// `c` plus the product of a (m x k) and b (k x n).
pub(super) fn add_product(mut c: Vec<f32>, a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).fold(c[i * n + j], |sum, p| a[i * k + p].mul_add(b[p * n + j], sum));
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_added() {
        assert_eq!(add_product(vec![1.0; 2], &[2.0, 3.0], &[4.0, 5.0, 6.0, 7.0], [1, 2, 2]), [27.0, 32.0]);
    }
}
