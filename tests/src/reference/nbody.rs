//! Reference of nbody in double precision.
//!
//! Bound: the kernel's rsqrt.approx is off by at most 2^-22.9, which enters a pull three times; the other nine
//! roundings on the way to a term are 2^-24 each, and n terms are summed in single precision. Terms cancel,
//! so the bound is absolute: (3 * 2^-22.9 + 9 * 2^-24 + n * 2^-24) times the largest sum of magnitudes.

use super::Case;
use crate::{Expected, Outputs};

const SOFTENING: f64 = 0.01_f32 as f64;

pub(crate) fn expected(case: &Case) -> Outputs {
    let bodies: Vec<f64> = case.buffer::<f32>("bodies").into_iter().map(f64::from).collect();
    let mut accelerations = Vec::with_capacity(bodies.len());
    let mut largest = 0.0_f64;
    for this in bodies.chunks_exact(4) {
        let mut sum = [0.0_f64; 3];
        let mut magnitude = [0.0_f64; 3];
        for other in bodies.chunks_exact(4) {
            let d: [f64; 3] = std::array::from_fn(|axis| other[axis] - this[axis]);
            let distance2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
            let pull = other[3] / (distance2 * distance2.sqrt());
            for axis in 0..3 {
                sum[axis] += d[axis] * pull;
                magnitude[axis] += (d[axis] * pull).abs();
            }
        }
        largest = magnitude.into_iter().fold(largest, f64::max);
        accelerations.extend(sum.map(|value| value as f32));
        accelerations.push(0.0);
    }
    let terms = (bodies.len() / 4) as f64;
    let bound = 3.0 * (-22.9_f64).exp2() + (9.0 + terms) * (-24.0_f64).exp2();
    let accelerations = Expected::within(&accelerations, 0.0, bound * largest);
    Outputs::from([("accelerations".into(), accelerations)])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn two_bodies_attract_each_other_by_their_masses() {
        let bodies = [0.0_f32, 0.0, 0.0, 2.0, 3.0, 0.0, 4.0, 1.0];
        let outputs = Setup::default().buffer("bodies", &bodies).run(expected);
        let a = values::<f32>(&outputs, "accelerations");
        // Distance 5: mass 1 pulls with 1/125 per unit of length, mass 2 with twice that.
        for (i, want) in [3.0, 0.0, 4.0, 0.0, -6.0, 0.0, -8.0, 0.0].into_iter().enumerate() {
            assert!((a[i] - want / 125.0).abs() < 1e-4, "{i}: {}", a[i]);
        }
        // A deviation of a thousandth is caught.
        let mut wrong = a.clone();
        wrong[0] *= 1.001;
        assert!(outputs["accelerations"].compare(&crate::element::encode(&wrong)).is_err());
    }
}
