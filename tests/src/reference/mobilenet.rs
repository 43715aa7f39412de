//! Reference of mobilenet: both halves of a separable block, or all layers.

use super::Case;
use super::inference::Inference;
use super::layers::{self, Convolution};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    if case.has_buffer("probabilities") {
        return inference(case);
    }
    let field = |name| case.buffer::<f32>(name);
    let [images, channels, side, filters] =
        ["images", "channels", "side", "filters"].map(|name| case.size(name));
    let block = Block { channels, side, stride: 1, filters, images };
    let depth = block.depthwise(&field("input"), &field("depth_filters"), &field("depth_bias"));
    let points = block.pointwise(&depth, &field("point_weights"), &field("point_bias"));
    Outputs::from([("depth".into(), Expected::exact(&depth)), ("points".into(), Expected::exact(&points))])
}

/// The shape of a separable block.
struct Block {
    channels: usize,
    side: usize,
    stride: usize,
    filters: usize,
    images: usize,
}

impl Block {
    fn depthwise(&self, input: &[f32], filters: &[f32], bias: &[f32]) -> Vec<f32> {
        let Block { channels, side, stride, .. } = *self;
        let single = windows(channels, side, stride, channels);
        clip(Convolution { groups: channels, ..single }.run(input, filters, bias, self.images))
    }

    fn pointwise(&self, depth: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
        let Block { channels, filters, .. } = *self;
        let side = (self.side - 1) / self.stride + 1;
        let mixed = Convolution { channels, side, filters, ..Default::default() };
        clip(mixed.run(depth, weights, bias, self.images))
    }
}

fn windows(channels: usize, side: usize, stride: usize, filters: usize) -> Convolution {
    Convolution { channels, side, filters, k: 3, stride, padding: 1, ..Default::default() }
}

fn clip(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|v| v.clamp(0.0, 6.0)).collect()
}

/// Blocks 1 to 13: channels of the input and of the output, in widths, and the stride.
const BLOCKS: [[usize; 3]; 13] = [
    [1, 2, 1],
    [2, 4, 2],
    [4, 4, 1],
    [4, 8, 2],
    [8, 8, 1],
    [8, 16, 2],
    [16, 16, 1],
    [16, 16, 1],
    [16, 16, 1],
    [16, 16, 1],
    [16, 16, 1],
    [16, 32, 2],
    [32, 32, 1],
];

fn inference(case: &Case) -> Outputs {
    let [images, width, last] = ["images", "width", "last"].map(|name| case.size(name));
    let field = |name: &str| case.buffer::<f32>(name);
    let mut network = Inference::new(case);
    let first = windows(3, 32 * last, 2, width);
    let (filters, bias) = (field("filters0"), field("bias0"));
    network.layer("convolved", |values| clip(first.run(values, &filters, &bias, images)));
    let mut side = first.out_side();
    for (number, [channels, filters, stride]) in (1..).zip(BLOCKS) {
        let [channels, filters] = [channels * width, filters * width];
        let block = Block { channels, side, stride, filters, images };
        // Blocks 7 to 11 share buffers; their results follow those of block 6.
        let inner = (7..=11).contains(&number);
        let (shared, at) = if inner { (7, number - 7) } else { (number, 0) };
        let part =
            |name: &str, len: usize| field(&format!("{name}{shared}"))[at * len..(at + 1) * len].to_vec();
        let (own, bias) = (part("depth_filters", 9 * channels), part("depth_bias", channels));
        network.layer(&format!("depth{shared}"), |values| block.depthwise(values, &own, &bias));
        let (own, bias) = (part("point_weights", channels * filters), part("point_bias", filters));
        let output = format!("points{}", if inner { 6 } else { number });
        network.layer(&output, |values| block.pointwise(values, &own, &bias));
        side /= stride;
    }
    network.layer("means", |values| layers::average(values, side * side));
    network.connect("scores", "weights14", "bias14", false);
    network.classify()
}
