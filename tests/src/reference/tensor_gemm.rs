//! Reference of tensor_gemm: inputs rounded to halves; per element and step of 8 along k, the products are added to
//! the sum in double precision in the order of k and the result is rounded to single; at last a factor.

use half::f16;

use super::Case;
use crate::{Expected, Outputs};

/// Depth of one product on the tensor cores of the PTX's target, sm_75.
const STEP: usize = 8;
/// The factor that the manifest passes.
const ALPHA: f32 = 0.5;

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = case.size("n");
    let halves =
        |name: &str| -> Vec<f16> { case.buffer::<f32>(name).iter().map(|&v| f16::from_f32(v)).collect() };
    let (a, b) = (halves("a"), halves("b"));
    let mut c = vec![0.0_f32; n * n];
    for row in 0..n {
        for col in 0..n {
            let mut sum = 0.0_f32;
            for k in (0..n).step_by(STEP) {
                let product = |k: usize| a[row * n + k].to_f64() * b[k * n + col].to_f64();
                sum = (k..k + STEP).fold(f64::from(sum), |sum, k| sum + product(k)) as f32;
            }
            c[row * n + col] = sum * ALPHA;
        }
    }
    let bits = |h: &[f16]| -> Vec<u16> { h.iter().map(|h| h.to_bits()).collect() };
    Outputs::from([
        ("half_a".into(), Expected::exact(&bits(&a))),
        ("half_b".into(), Expected::exact(&bits(&b))),
        ("c".into(), Expected::exact(&c)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn multiplies_halves() {
        let n = 16;
        // a is diagonal with 2, b counts; 1 + 2^-11 is not a half and rounds to 1.
        let a: Vec<f32> = (0..n * n).map(|i| if i % (n + 1) == 0 { 2.0 } else { 0.0 }).collect();
        let mut b: Vec<f32> = (0..n * n).map(|i| i as f32).collect();
        b[3] = 1.0 + 2.0_f32.powi(-11);
        let setup = Setup::scalars([("n", i64::from(n))]).buffer("a", &a).buffer("b", &b);
        let c = values::<f32>(&setup.run(expected), "c");
        b[3] = 1.0;
        assert_eq!(c, b);
    }
}
