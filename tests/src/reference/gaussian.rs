//! Reference of gaussian: textbook elimination and back substitution with fused multiply-adds, after the
//! diagonal has been strengthened.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = case.size("n");
    let mut a = case.buffer::<f32>("a");
    let mut b = case.buffer::<f32>("b");
    let mut m = vec![0.0_f32; n * n];
    for i in 0..n {
        a[i * n + i] += n as f32;
    }

    for pivot in 0..n {
        for row in pivot + 1..n {
            let factor = a[row * n + pivot] / a[pivot * n + pivot];
            m[row * n + pivot] = factor;
            for col in pivot..n {
                a[row * n + col] = (-factor).mul_add(a[pivot * n + col], a[row * n + col]);
            }
            b[row] = (-factor).mul_add(b[pivot], b[row]);
        }
    }

    let mut x = vec![0.0_f32; n];
    for row in (0..n).rev() {
        let rest = (row + 1..n).rev().fold(b[row], |rest, col| (-a[row * n + col]).mul_add(x[col], rest));
        x[row] = rest / a[row * n + row];
    }
    Outputs::from([
        ("a".into(), Expected::exact(&a)),
        ("b".into(), Expected::exact(&b)),
        ("m".into(), Expected::exact(&m)),
        ("x".into(), Expected::exact(&x)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn two_unknowns_by_hand() {
        // With the diagonal strengthened: 4x + 2y = 10, 2x + 3y = 9, so x = 1.5, y = 2.
        let a = [2.0_f32, 2.0, 2.0, 1.0];
        let outputs = Setup::scalars([("n", 2)]).buffer("a", &a).buffer("b", &[10.0_f32, 9.0]).run(expected);
        assert_eq!(values::<f32>(&outputs, "m"), [0.0, 0.0, 0.5, 0.0]);
        assert_eq!(values::<f32>(&outputs, "a"), [4.0, 2.0, 0.0, 2.0]);
        assert_eq!(values::<f32>(&outputs, "b"), [10.0, 4.0]);
        assert_eq!(values::<f32>(&outputs, "x"), [1.5, 2.0]);
    }
}
