//! Reference of mriq in double precision.
//!
//! Bound: angles are at most 2 pi * 3 and off by a few 2^-20; sin.approx and cos.approx are off by 2^-20 near zero and by
//! as much per turn beyond; 513 terms with magnitudes up to 2 are off by less than 513 * 2 * 8 * 2^-20.

use super::Case;
use crate::{Expected, Outputs};
use std::f64::consts::TAU;

pub(crate) fn expected(case: &Case) -> Outputs {
    let wide = |name| case.buffer::<f32>(name).into_iter().map(f64::from).collect::<Vec<f64>>();
    let samples = case.size("samples");
    let (real, imaginary, places) = (wide("phi_real"), wide("phi_imaginary"), wide("samples"));
    let (x, y, z) = (wide("x"), wide("y"), wide("z"));
    let mut stored = case.buffer::<f32>("samples");
    for k in 0..samples {
        let (real, imaginary) = (real[k] as f32, imaginary[k] as f32);
        stored[4 * k + 3] = real.mul_add(real, imaginary * imaginary);
    }
    let q = |voxel: usize| {
        let terms = (0..samples).map(|k| {
            let k4 = 4 * k;
            let phase = places[k4] * x[voxel] + places[k4 + 1] * y[voxel] + places[k4 + 2] * z[voxel];
            (f64::from(stored[k4 + 3]), TAU * phase)
        });
        terms.fold((0.0, 0.0), |(r, i), (size, angle)| (r + size * angle.cos(), i + size * angle.sin()))
    };
    let sums: Vec<(f64, f64)> = (0..x.len()).map(q).collect();
    let real: Vec<f32> = sums.iter().map(|sum| sum.0 as f32).collect();
    let imaginary: Vec<f32> = sums.iter().map(|sum| sum.1 as f32).collect();
    Outputs::from([
        ("samples".into(), Expected::exact(&stored)),
        ("real".into(), Expected::within(&real, 0.0, 8e-3)),
        ("imaginary".into(), Expected::within(&imaginary, 0.0, 8e-3)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_sample_at_a_quarter_turn_is_imaginary() {
        let setup = Setup::scalars([("samples", 1)])
            .buffer("phi_real", &[3.0_f32])
            .buffer("phi_imaginary", &[4.0_f32])
            .buffer("samples", &[0.5_f32, 0.0, 0.0, 0.0])
            .buffer("x", &[0.5_f32])
            .buffer("y", &[1.0_f32])
            .buffer("z", &[1.0_f32]);
        let outputs = setup.run(expected);
        assert_eq!(values::<f32>(&outputs, "imaginary"), [25.0]);
        assert!(values::<f32>(&outputs, "real")[0].abs() < 1e-6);
    }
}
