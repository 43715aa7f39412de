//! Reference of cifarnet: two convolutions and two poolings.

use super::{Case, layers};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let field = |name| case.buffer::<f32>(name);
    let (images, maps) = (case.size("images"), case.size("maps"));
    let padded = |channels, side| layers::Convolution {
        channels,
        side,
        filters: maps,
        k: 5,
        padding: 2,
        ..Default::default()
    };
    let c1 = padded(3, 32).run(&field("input"), &field("filters1"), &field("bias1"), images);
    let p1 = layers::windows(&c1, 32, 3, 2, |window| window.iter().fold(0.0_f32, |most, &v| most.max(v)));
    let c2 = padded(maps, 16).run(&p1, &field("filters2"), &field("bias2"), images);
    let mean = |window: &[f32]| window.iter().fold(0.0_f32, |sum, v| sum + v.max(0.0)) / window.len() as f32;
    let p2 = layers::windows(&c2, 16, 3, 2, mean);
    let outputs = [("c1", c1), ("p1", p1), ("c2", c2), ("p2", p2)];
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).into()
}
