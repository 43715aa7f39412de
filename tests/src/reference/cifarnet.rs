//! Reference of cifarnet: two convolutions and two poolings, or all layers.

use super::Case;
use super::inference::Inference;
use super::layers::{self, Convolution};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    if case.has_buffer("probabilities") {
        return inference(case);
    }
    let field = |name| case.buffer::<f32>(name);
    let (images, maps) = (case.size("images"), case.size("maps"));
    let c1 = padded(3, 32, maps).run(&field("input"), &field("filters1"), &field("bias1"), images);
    let p1 = pool_most(&c1, 32);
    let c2 = padded(maps, 16, maps).run(&p1, &field("filters2"), &field("bias2"), images);
    let p2 = pool_mean(&c2, 16);
    let outputs = [("c1", c1), ("p1", p1), ("c2", c2), ("p2", p2)];
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).into()
}

fn padded(channels: usize, side: usize, filters: usize) -> Convolution {
    Convolution { channels, side, filters, k: 5, padding: 2, ..Default::default() }
}

/// Largest values of windows; negative ones become zero.
fn pool_most(input: &[f32], side: usize) -> Vec<f32> {
    layers::windows(input, side, 3, 2, |window| window.iter().fold(0.0_f32, |most, &v| most.max(v)))
}

/// Means of windows; negative values count as zero.
fn pool_mean(input: &[f32], side: usize) -> Vec<f32> {
    let mean = |window: &[f32]| window.iter().fold(0.0_f32, |sum, v| sum + v.max(0.0)) / window.len() as f32;
    layers::windows(input, side, 3, 2, mean)
}

fn inference(case: &Case) -> Outputs {
    let maps = case.size("maps");
    let mut network = Inference::new(case);
    network.convolve("c1", &padded(3, 32, maps), "filters1", "bias1");
    network.layer("p1", |values| pool_most(values, 32));
    network.convolve("c2", &padded(maps, 16, maps), "filters2", "bias2");
    network.layer("p2", |values| pool_mean(values, 16));
    network.convolve("c3", &padded(maps, 8, 2 * maps), "filters3", "bias3");
    network.layer("p3", |values| pool_mean(values, 8));
    // A thread per neuron sums as for a pixel of a convolution.
    let connected = |channels, filters| Convolution { channels, filters, ..Default::default() };
    network.convolve("hidden", &connected(32 * maps, 2 * maps), "weights4", "bias4");
    network.convolve("scores", &connected(2 * maps, 10), "weights5", "bias5");
    network.classify()
}
