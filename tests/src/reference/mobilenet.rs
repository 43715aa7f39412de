//! Reference of mobilenet: both halves of a separable block.

use super::{Case, layers};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let field = |name| case.buffer::<f32>(name);
    let [images, channels, side, filters] =
        ["images", "channels", "side", "filters"].map(|name| case.size(name));
    let clip = |values: Vec<f32>| values.into_iter().map(|v| v.clamp(0.0, 6.0)).collect::<Vec<f32>>();
    let (input, kernels, bias) = (field("input"), field("depth_filters"), field("depth_bias"));
    // One channel at a time.
    let single = layers::Convolution { side, k: 3, padding: 1, ..Default::default() };
    let planes = input.chunks_exact(side * side).enumerate();
    let depth = planes.flat_map(|(at, plane)| {
        let channel = at % channels;
        single.run(plane, &kernels[9 * channel..9 * channel + 9], &bias[channel..=channel], 1)
    });
    let depth = clip(depth.collect());
    let mixed = layers::Convolution { channels, side, filters, ..Default::default() };
    let points = clip(mixed.run(&depth, &field("point_weights"), &field("point_bias"), images));
    Outputs::from([("depth".into(), Expected::exact(&depth)), ("points".into(), Expected::exact(&points))])
}
