//! Reference of alexnet: convolution, normalisation and pooling.

use super::{Case, layers};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let field = |name| case.buffer::<f32>(name);
    let [images, maps, side] = ["images", "maps", "side"].map(|name| case.size(name));
    let layer = layers::Convolution {
        channels: 3,
        side,
        filters: maps,
        k: 11,
        stride: 4,
        rectify: true,
        ..Default::default()
    };
    let convolved = layer.run(&field("input"), &field("filters"), &field("bias"), images);
    let out_side = layer.out_side();
    let normal = normalise(&convolved, maps, out_side * out_side);
    let pooled = pool(&normal, out_side);
    let outputs = [("convolved", convolved), ("normal", normal), ("pooled", pooled)];
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).into()
}

fn normalise(input: &[f32], maps: usize, pixels: usize) -> Vec<f32> {
    let value = |at: usize| {
        let (image, map, pixel) = (at / (maps * pixels), at / pixels % maps, at % pixels);
        let near = map.saturating_sub(2)..(map + 3).min(maps);
        let squares = near.map(|c| input[(image * maps + c) * pixels + pixel]);
        let squares = squares.fold(0.0_f32, |sum, v| v.mul_add(v, sum));
        let root = 1.0e-4_f32.mul_add(squares, 2.0).sqrt();
        input[at] / (root * root.sqrt())
    };
    (0..input.len()).map(value).collect()
}

/// Largest of 3 x 3 values, every second one; windows that do not fit are left out.
fn pool(input: &[f32], side: usize) -> Vec<f32> {
    let count = (side - 3) / 2 + 1;
    let plane = |plane: &[f32]| {
        let most = |at: usize| {
            let (y, x) = (at / count * 2, at % count * 2);
            let window = (0..9).map(|i| plane[(y + i / 3) * side + x + i % 3]);
            window.fold(0.0_f32, f32::max)
        };
        (0..count * count).map(most).collect::<Vec<f32>>()
    };
    input.chunks_exact(side * side).flat_map(plane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_and_neighbours_normalise() {
        let plane: Vec<f32> = (0..25).map(|v| v as f32).collect();
        assert_eq!(pool(&plane, 5), [12.0, 14.0, 22.0, 24.0]);
        let quiet = normalise(&[1.0], 1, 1)[0];
        assert!((quiet - 2.0001_f32.powf(-0.75)).abs() < 1e-6 && normalise(&[1.0, 100.0], 2, 1)[0] < quiet);
    }
}
