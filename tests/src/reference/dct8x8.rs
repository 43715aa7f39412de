//! Reference of dct8x8: along the columns of every square, then along its rows, with a basis computed here.

use super::Case;
use crate::{Expected, Outputs};
use std::f64::consts::PI;

const N: usize = 8;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let image = case.buffer::<f32>("image");
    let basis = basis();
    let mut coefficients = vec![0.0_f32; width * height];
    for top in (0..height).step_by(N) {
        for left in (0..width).step_by(N) {
            let at = |y: usize, x: usize| (top + y) * width + left + x;
            let mut halfway = [[0.0_f32; N]; N];
            for u in 0..N {
                for x in 0..N {
                    halfway[u][x] = (0..N).fold(0.0, |sum, y| basis[u][y].mul_add(image[at(y, x)], sum));
                }
            }
            for u in 0..N {
                for v in 0..N {
                    coefficients[at(u, v)] =
                        (0..N).fold(0.0, |sum, x| halfway[u][x].mul_add(basis[v][x], sum));
                }
            }
        }
    }
    Outputs::from([("coefficients".into(), Expected::exact(&coefficients))])
}

/// The orthonormal basis of the transform of type II, rounded to single precision.
fn basis() -> [[f32; N]; N] {
    std::array::from_fn(|u| {
        let scale = if u == 0 { (1.0 / N as f64).sqrt() } else { (2.0 / N as f64).sqrt() };
        std::array::from_fn(|k| (scale * ((2 * k + 1) as f64 * u as f64 * PI / 16.0).cos()) as f32)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_flat_square_has_its_mean_and_nothing_else() {
        let setup = Setup::scalars([("width", 8), ("height", 8)]).buffer("image", &[3.0_f32; 64]);
        let coefficients = values::<f32>(&setup.run(expected), "coefficients");
        assert!((coefficients[0] - 24.0).abs() < 1e-5);
        assert!(coefficients[1..].iter().all(|c| c.abs() < 1e-5));
    }

    #[test]
    fn energy_is_kept_and_squares_do_not_mix() {
        let image: Vec<f32> = (0..128).map(|i| if i % 16 < 8 { 0.0 } else { (i * i % 37) as f32 }).collect();
        let setup = Setup::scalars([("width", 16), ("height", 8)]).buffer("image", &image);
        let coefficients = values::<f32>(&setup.run(expected), "coefficients");
        let energy = |values: &[f32]| values.iter().map(|v| f64::from(v * v)).sum::<f64>();
        assert!((energy(&coefficients) / energy(&image) - 1.0).abs() < 1e-5);
        assert!(coefficients.chunks(8).step_by(2).flatten().all(|&c| c == 0.0));
    }
}
