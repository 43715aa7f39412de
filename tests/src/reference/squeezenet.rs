//! Reference of squeezenet: one fire module.

use super::{Case, layers};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let field = |name| case.buffer::<f32>(name);
    let [images, channels, side, squeezed, expanded] =
        ["images", "channels", "side", "squeezed", "expanded"].map(|name| case.size(name));
    let layer = |channels, filters, k| layers::Convolution {
        channels,
        side,
        filters,
        k,
        padding: k / 2,
        rectify: true,
        ..Default::default()
    };
    let squeeze =
        layer(channels, squeezed, 1).run(&field("input"), &field("weights_s"), &field("bias_s"), images);
    let points = layer(squeezed, expanded, 1).run(&squeeze, &field("weights_1"), &field("bias_1"), images);
    let windows = layer(squeezed, expanded, 3).run(&squeeze, &field("weights_3"), &field("bias_3"), images);
    let half = expanded * side * side;
    let output: Vec<f32> = points
        .chunks_exact(half)
        .zip(windows.chunks_exact(half))
        .flat_map(|(a, b)| [a, b].concat())
        .collect();
    Outputs::from([
        ("squeeze".into(), Expected::exact(&squeeze)),
        ("output".into(), Expected::exact(&output)),
    ])
}
