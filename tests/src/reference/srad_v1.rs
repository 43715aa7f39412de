//! Reference of srad_v1: the same tree sums and the same order of operations per pixel.

use super::Case;
use crate::{Expected, Outputs};

const SPAN: usize = 512;
const LAMBDA: f32 = 0.5;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (rows, columns) = (case.size("rows"), case.size("columns"));
    let mut image = case.buffer::<f32>("image");
    let mut coefficients = Vec::new();
    for _ in 0..case.size("rounds") {
        let squares: Vec<f32> = image.iter().map(|value| value * value).collect();
        let sum = tree_sum(&image);
        coefficients = step(&mut image, sum, tree_sum(&squares), rows, columns);
    }
    Outputs::from([
        ("image".into(), Expected::exact(&image)),
        ("coefficients".into(), Expected::exact(&coefficients)),
    ])
}

/// Sum of spans of 512 as binary trees, and of their sums likewise.
fn tree_sum(values: &[f32]) -> f32 {
    if values.len() == 1 {
        return values[0];
    }
    let span = |span: &[f32]| {
        let mut tree = [0.0_f32; SPAN];
        tree[..span.len()].copy_from_slice(span);
        let mut width = 1;
        while width < SPAN {
            (2 * width - 1..SPAN).step_by(2 * width).for_each(|at| tree[at] += tree[at - width]);
            width *= 2;
        }
        tree[SPAN - 1]
    };
    tree_sum(&values.chunks(SPAN).map(span).collect::<Vec<_>>())
}

/// One iteration; returns the coefficients.
fn step(image: &mut [f32], sum: f32, squares: f32, rows: usize, columns: usize) -> Vec<f32> {
    let pixels = (rows * columns) as f32;
    let mean = sum / pixels;
    let variance = squares / pixels - mean * mean;
    let speckle = variance / (mean * mean);
    let neighbours = |at: usize| {
        let (row, column) = (at % rows, at / rows);
        let vertical = [row.saturating_sub(1), (row + 1).min(rows - 1)].map(|row| row + rows * column);
        let horizontal =
            [column.saturating_sub(1), (column + 1).min(columns - 1)].map(|column| row + rows * column);
        [vertical[0], vertical[1], horizontal[0], horizontal[1]]
    };
    let differences: Vec<[f32; 4]> =
        (0..rows * columns).map(|at| neighbours(at).map(|other| image[other] - image[at])).collect();
    let coefficient = |(at, [n, s, w, e]): (usize, &[f32; 4])| {
        let centre = image[at];
        let gradient = n.mul_add(*n, s.mul_add(*s, w.mul_add(*w, e * e))) / (centre * centre);
        let laplacian = (n + s + w + e) / centre;
        let numerator = 0.5_f32.mul_add(gradient, -(0.0625 * (laplacian * laplacian)));
        let denominator = 0.25_f32.mul_add(laplacian, 1.0);
        let q = numerator / (denominator * denominator);
        (1.0 / (1.0 + (q - speckle) / (speckle * (1.0 + speckle)))).clamp(0.0, 1.0)
    };
    let coefficients: Vec<f32> = differences.iter().enumerate().map(coefficient).collect();
    for (at, [n, s, w, e]) in differences.iter().enumerate() {
        let [_, south, _, east] = neighbours(at);
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
    fn trees_add_everything_and_diffusion_evens_out() {
        assert_eq!(tree_sum(&[1.0; 1500]), 1500.0);
        let mut image: Vec<f32> = (0..64).map(|at| 100.0 + (at * 37 % 11) as f32).collect();
        let spread = |image: &[f32]| image.iter().map(|v| (v - 105.0) * (v - 105.0)).sum::<f32>();
        let before = spread(&image);
        let squares: Vec<f32> = image.iter().map(|v| v * v).collect();
        let sums = (tree_sum(&image), tree_sum(&squares));
        step(&mut image, sums.0, sums.1, 8, 8);
        assert!(spread(&image) < before);
    }
}
