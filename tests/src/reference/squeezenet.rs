//! Reference of squeezenet: one fire module, or all layers.

use super::Case;
use super::inference::Inference;
use super::layers::{self, Convolution};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    if case.has_buffer("probabilities") {
        return inference(case);
    }
    let field = |name| case.buffer::<f32>(name);
    let [images, channels, side, squeezed, expanded] =
        ["images", "channels", "side", "squeezed", "expanded"].map(|name| case.size(name));
    let fire = Fire { channels, side, squeezed, expanded, images };
    let squeeze = fire.squeeze(&field("input"), &field("weights_s"), &field("bias_s"));
    let points = [&*field("weights_1"), &field("bias_1")];
    let windows = [&*field("weights_3"), &field("bias_3")];
    let output = fire.expand(&squeeze, points, windows);
    Outputs::from([
        ("squeeze".into(), Expected::exact(&squeeze)),
        ("output".into(), Expected::exact(&output)),
    ])
}

/// The shape of a fire module.
struct Fire {
    channels: usize,
    side: usize,
    squeezed: usize,
    /// Filters of each of the two expansions.
    expanded: usize,
    images: usize,
}

impl Fire {
    fn layer(&self, channels: usize, filters: usize, k: usize) -> Convolution {
        Convolution {
            channels,
            side: self.side,
            filters,
            k,
            padding: k / 2,
            rectify: true,
            ..Default::default()
        }
    }

    fn squeeze(&self, input: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
        self.layer(self.channels, self.squeezed, 1).run(input, weights, bias, self.images)
    }

    /// Both expansions side by side, each with its weights and bias.
    fn expand(&self, squeezed: &[f32], points: [&[f32]; 2], windows: [&[f32]; 2]) -> Vec<f32> {
        let run = |k, [weights, bias]: [&[f32]; 2]| {
            self.layer(self.squeezed, self.expanded, k).run(squeezed, weights, bias, self.images)
        };
        let half = self.expanded * self.side * self.side;
        let (points, windows) = (run(1, points), run(3, windows));
        points.chunks_exact(half).zip(windows.chunks_exact(half)).flat_map(|(a, b)| [a, b].concat()).collect()
    }
}

/// Fire modules 2 to 9: channels of the input and squeezed channels, both in widths.
const FIRES: [[usize; 2]; 8] = [[6, 1], [8, 1], [8, 2], [16, 2], [16, 3], [24, 3], [24, 4], [32, 4]];

fn inference(case: &Case) -> Outputs {
    let [images, width, last, classes] = ["images", "width", "last", "classes"].map(|name| case.size(name));
    let mut network = Inference::new(case);
    let windows = Convolution {
        channels: 3,
        side: 16 * last + 19,
        filters: 6 * width,
        k: 7,
        stride: 2,
        rectify: true,
        ..Default::default()
    };
    network.convolve("convolved1", &windows, "weights1", "bias1");
    let mut side = pool(&mut network, "pooled1", windows.out_side());
    for (number, [channels, squeezed]) in (2..).zip(FIRES) {
        let [channels, squeezed] = [channels * width, squeezed * width];
        let fire = Fire { channels, side, squeezed, expanded: 4 * squeezed, images };
        let field = |name| case.buffer::<f32>(&format!("{name}{number}"));
        let bias = field("bias");
        let (of_squeeze, rest) = bias.split_at(squeezed);
        let (of_points, of_windows) = rest.split_at(4 * squeezed);
        network.layer(&format!("squeezed{number}"), |values| {
            fire.squeeze(values, &field("squeeze_weights"), of_squeeze)
        });
        let (points, windows) = (field("point_weights"), field("window_weights"));
        network.layer(&format!("expanded{number}"), |values| {
            fire.expand(values, [&points, of_points], [&windows, of_windows])
        });
        if number == 4 || number == 8 {
            side = pool(&mut network, &format!("pooled{number}"), side);
        }
    }
    let points =
        Convolution { channels: 32 * width, side, filters: classes, rectify: true, ..Default::default() };
    network.convolve("convolved10", &points, "weights10", "bias10");
    network.layer("scores", |values| layers::average(values, side * side));
    network.classify()
}

/// Pools maps of a side into a buffer; returns the side of the result.
fn pool(network: &mut Inference, output: &str, side: usize) -> usize {
    network.layer(output, |values| layers::overlapping_pool(values, side));
    (side - 3) / 2 + 1
}
