//! Reference of lenet: layer after layer; neurons sum in the lanes of a warp and then across them.

use super::{Case, layers};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let field = |name| case.buffer::<f32>(name);
    let images = case.size("images");
    let plain =
        |channels, side, filters, k| layers::Convolution { channels, side, filters, k, ..Default::default() };
    let c1 = plain(1, 28, 6, 5).run(&field("input"), &field("filters1"), &field("bias1"), images);
    let p1 = layers::pool(&c1, 24, 2, 2);
    let c2 = plain(6, 12, 16, 5).run(&p1, &field("filters2"), &field("bias2"), images);
    let p2 = layers::pool(&c2, 8, 2, 2);
    let f1 = layers::connect(&p2, &field("weights3"), &field("bias3"), true);
    // The layer of 84 neurons is only in the whole inference.
    let whole = case.has_buffer("scores");
    let f2 = layers::connect(&f1, &field("weights4"), &field("bias4"), whole);
    let scores = whole.then(|| layers::connect(&f2, &field("weights5"), &field("bias5"), false));
    let outputs = [("c1", c1), ("p1", p1), ("c2", c2), ("p2", p2), ("f1", f1), ("f2", f2)];
    let outputs = outputs.into_iter().chain(scores.map(|scores| ("scores", scores)));
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).collect()
}
