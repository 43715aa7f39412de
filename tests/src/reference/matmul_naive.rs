//! Reference of matmul_naive: c = a * b for n x n row-major matrices, one chain of fused multiply-adds in the
//! order of k per element.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = case.size("n");
    let (a, b) = (case.buffer::<f32>("a"), case.buffer::<f32>("b"));
    let mut c = vec![0.0_f32; n * n];
    for row in 0..n {
        for col in 0..n {
            c[row * n + col] = (0..n).fold(0.0, |sum, k| a[row * n + k].mul_add(b[k * n + col], sum));
        }
    }
    Outputs::from([("c".into(), Expected::exact(&c))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn multiplies_by_hand_and_by_the_identity() {
        let a = [1.0_f32, 2.0, 3.0, 4.0];
        let by = |b: &[f32]| {
            let setup = Setup::scalars([("n", 2)]).buffer("a", &a).buffer("b", b);
            values::<f32>(&setup.run(expected), "c")
        };
        assert_eq!(by(&[5.0, 6.0, 7.0, 8.0]), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(by(&[1.0, 0.0, 0.0, 1.0]), a);
    }
}
