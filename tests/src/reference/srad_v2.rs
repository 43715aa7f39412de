//! Reference of srad_v2: each iteration over the whole image, without tiles.

use super::Case;
use crate::{Expected, Outputs};

const LAMBDA: f32 = 0.5;
const SPECKLE: f32 = 0.05;

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = case.size("side");
    let mut image = case.buffer::<f32>("image");
    let mut coefficients = Vec::new();
    for _ in 0..case.size("rounds") {
        coefficients = step(&mut image, side);
    }
    Outputs::from([
        ("image".into(), Expected::exact(&image)),
        ("coefficients".into(), Expected::exact(&coefficients)),
    ])
}

/// One iteration; returns the coefficients.
fn step(image: &mut [f32], side: usize) -> Vec<f32> {
    let near = |at: usize| {
        let (row, column) = (at / side, at % side);
        [
            row.saturating_sub(1) * side + column,
            (row + 1).min(side - 1) * side + column,
            row * side + column.saturating_sub(1),
            row * side + (column + 1).min(side - 1),
        ]
    };
    let differences: Vec<[f32; 4]> =
        (0..image.len()).map(|at| near(at).map(|other| image[other] - image[at])).collect();
    let coefficient = |(at, [n, s, w, e]): (usize, &[f32; 4])| {
        let centre = image[at];
        let gradient = n.mul_add(*n, s.mul_add(*s, w.mul_add(*w, e * e))) / (centre * centre);
        let laplacian = (n + s + w + e) / centre;
        let numerator = 0.5_f32.mul_add(gradient, -(0.0625 * (laplacian * laplacian)));
        let denominator = 0.25_f32.mul_add(laplacian, 1.0);
        let q = numerator / (denominator * denominator);
        (1.0 / (1.0 + (q - SPECKLE) / (SPECKLE * (1.0 + SPECKLE)))).clamp(0.0, 1.0)
    };
    let coefficients: Vec<f32> = differences.iter().enumerate().map(coefficient).collect();
    for (at, [n, s, w, e]) in differences.iter().enumerate() {
        let [_, south, _, east] = near(at);
        let here = coefficients[at];
        let flow =
            here.mul_add(*n, coefficients[south].mul_add(*s, here.mul_add(*w, coefficients[east] * e)));
        image[at] = (0.25 * LAMBDA).mul_add(flow, image[at]);
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays() {
        let mut image = vec![2.0_f32; 256];
        let coefficients = step(&mut image, 16);
        assert!(image.iter().all(|&v| v == 2.0) && coefficients.iter().all(|&c| c == 1.0));
    }
}
