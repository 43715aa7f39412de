//! Reference of fft in double precision, by the definition of the transform.
//!
//! Bound: values are at most 1, sums at most 512, but typically 20; sin.approx and cos.approx are off by 2^-20.5, in two
//! rounds of twiddle factors on partial sums of at most 64.

use super::Case;
use crate::{Expected, Outputs};
use std::f64::consts::TAU;

const N: usize = 512;

pub(crate) fn expected(case: &Case) -> Outputs {
    let from = case.buffer::<f32>("from");
    let to: Vec<f32> = from.chunks_exact(2 * N).flat_map(transform).map(|value| value as f32).collect();
    Outputs::from([("to".into(), Expected::within(&to, 0.0, 1e-3))])
}

fn transform(values: &[f32]) -> Vec<f64> {
    let roots: Vec<(f64, f64)> = (0..N).map(|k| (-TAU * k as f64 / N as f64).sin_cos()).collect();
    let frequency = |k: usize| {
        let mut sum = [0.0; 2];
        for (i, value) in values.chunks_exact(2).enumerate() {
            let (sin, cos) = roots[i * k % N];
            let (re, im) = (f64::from(value[0]), f64::from(value[1]));
            sum[0] += re * cos - im * sin;
            sum[1] += re * sin + im * cos;
        }
        sum
    };
    (0..N).flat_map(frequency).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_has_all_frequencies() {
        let mut values = vec![0.0; 2 * N];
        values[0] = 1.0;
        assert!(transform(&values).chunks_exact(2).all(|f| f == [1.0, 0.0]));
    }
}
