//! Reference of lud: every entry loses the products of those before it in its row and column, in order.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = 16 * case.size("tiles");
    let mut a = case.buffer::<f32>("a");
    (0..n).for_each(|i| a[i * n + i] += n as f32);
    decompose(&mut a, n);
    Outputs::from([("a".into(), Expected::exact(&a))])
}

fn decompose(a: &mut [f32], n: usize) {
    for pivot in 0..n {
        for row in pivot + 1..n {
            a[row * n + pivot] /= a[pivot * n + pivot];
            let factor = a[row * n + pivot];
            for column in pivot + 1..n {
                a[row * n + column] = (-factor).mul_add(a[pivot * n + column], a[row * n + column]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_matrix() {
        let mut a = [4.0, 2.0, 8.0, 7.0];
        decompose(&mut a, 2);
        assert_eq!(a, [4.0, 2.0, 2.0, 3.0]);
    }
}
