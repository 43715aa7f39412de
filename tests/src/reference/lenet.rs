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
    let f1 = connect(&p2, &field("weights3"), &field("bias3"), 256, true);
    let f2 = connect(&f1, &field("weights4"), &field("bias4"), 120, false);
    let outputs = [("c1", c1), ("p1", p1), ("c2", c2), ("p2", p2), ("f1", f1), ("f2", f2)];
    outputs.map(|(name, values)| (name.to_owned(), Expected::exact(&values))).into()
}

fn connect(input: &[f32], weights: &[f32], bias: &[f32], inputs: usize, rectify: bool) -> Vec<f32> {
    let neuron = |image: &[f32], weights: &[f32], bias: f32| {
        let mut lanes: Vec<f32> = (0..32)
            .map(|lane| (lane..inputs).step_by(32).fold(0.0_f32, |sum, i| image[i].mul_add(weights[i], sum)))
            .collect();
        for distance in [16, 8, 4, 2, 1] {
            lanes = (0..32).map(|lane| lanes[lane] + lanes[lane ^ distance]).collect();
        }
        let sum = lanes[0] + bias;
        if rectify { sum.max(0.0) } else { sum }
    };
    let neurons = |image| weights.chunks_exact(inputs).zip(bias).map(move |(w, b)| neuron(image, w, *b));
    input.chunks_exact(inputs).flat_map(neurons).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neurons_sum_all_inputs() {
        assert_eq!(connect(&[1.0; 70], &[2.0; 70], &[3.0], 70, true), [143.0]);
        assert_eq!(connect(&[1.0; 70], &[-2.0; 70], &[3.0], 70, true), [0.0]);
    }
}
