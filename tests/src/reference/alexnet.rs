//! Reference of alexnet: convolution, normalisation and pooling, or all layers.

use super::Case;
use super::inference::Inference;
use super::layers::{self, Convolution};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    if case.has_buffer("probabilities") {
        return inference(case);
    }
    let field = |name| case.buffer::<f32>(name);
    let [images, maps, side] = ["images", "maps", "side"].map(|name| case.size(name));
    let layer = first(side, maps);
    let convolved = layer.run(&field("input"), &field("filters"), &field("bias"), images);
    let out_side = layer.out_side();
    let normal = normalise(&convolved, maps, out_side * out_side);
    let pooled = layers::overlapping_pool(&normal, out_side);
    let outputs = [("convolved", convolved), ("normal", normal), ("pooled", pooled)];
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).into()
}

fn first(side: usize, filters: usize) -> Convolution {
    Convolution { channels: 3, side, filters, k: 11, stride: 4, rectify: true, ..Default::default() }
}

fn inference(case: &Case) -> Outputs {
    let [width, last] = ["width", "last"].map(|name| case.size(name));
    let sides = [32 * last + 35, 8 * last + 7, 4 * last + 3, 2 * last + 1];
    let deeper = |channels, filters, k, groups, side| Convolution {
        channels: channels * width,
        side,
        filters: filters * width,
        k,
        padding: k / 2,
        groups,
        rectify: true,
        ..Default::default()
    };
    let mut network = Inference::new(case);
    network.convolve("convolved1", &first(sides[0], 6 * width), "filters1", "bias1");
    network.layer("normal1", |values| normalise(values, 6 * width, sides[1].pow(2)));
    network.layer("pooled1", |values| layers::overlapping_pool(values, sides[1]));
    network.convolve("convolved2", &deeper(6, 16, 5, 2, sides[2]), "filters2", "bias2");
    network.layer("normal2", |values| normalise(values, 16 * width, sides[2].pow(2)));
    network.layer("pooled2", |values| layers::overlapping_pool(values, sides[2]));
    network.convolve("convolved3", &deeper(16, 24, 3, 1, sides[3]), "filters3", "bias3");
    network.convolve("convolved4", &deeper(24, 24, 3, 2, sides[3]), "filters4", "bias4");
    network.convolve("convolved5", &deeper(24, 16, 3, 2, sides[3]), "filters5", "bias5");
    network.layer("pooled5", |values| layers::overlapping_pool(values, sides[3]));
    network.connect("connected6", "weights6", "bias6", true);
    network.connect("connected7", "weights7", "bias7", true);
    network.connect("scores", "weights8", "bias8", false);
    network.classify()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_normalise() {
        let quiet = normalise(&[1.0], 1, 1)[0];
        assert!((quiet - 2.0001_f32.powf(-0.75)).abs() < 1e-6 && normalise(&[1.0, 100.0], 2, 1)[0] < quiet);
    }
}
