//! Reference of sgemm: sums of fused products in the order of k.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let [m, n, k] = ["m", "n", "k"].map(|name| case.size(name));
    let (a, b, mut c) = (case.buffer::<f32>("a"), case.buffer::<f32>("b"), case.buffer::<f32>("c"));
    for column in 0..n {
        for row in 0..m {
            let sum = (0..k).fold(0.0_f32, |sum, i| a[row + i * m].mul_add(b[column + i * n], sum));
            let c = &mut c[row + column * m];
            *c = c.mul_add(0.5, 1.25 * sum);
        }
    }
    Outputs::from([("c".into(), Expected::exact(&c))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_second_matrix_is_transposed() {
        let setup = Setup::scalars([("m", 1), ("n", 2), ("k", 2)])
            .buffer("a", &[2.0_f32, 3.0])
            .buffer("b", &[1.0_f32, 10.0, 2.0, 20.0])
            .buffer("c", &[4.0_f32, 8.0]);
        assert_eq!(values::<f32>(&setup.run(expected), "c"), [12.0, 104.0]);
    }
}
