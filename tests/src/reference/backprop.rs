//! Reference of backprop: weighted inputs of 16 hidden units, summed in blocks of 16 inputs as balanced trees,
//! and the momentum step on all weights, those of the bias included.

use super::Case;
use crate::{Expected, Outputs};

const HIDDEN: usize = 16;
const ROWS: usize = 16;
const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.25;

pub(crate) fn expected(case: &Case) -> Outputs {
    let inputs = case.size("inputs");
    let input = case.buffer::<f32>("input");
    let delta = case.buffer::<f32>("delta");
    let mut weights = case.buffer::<f32>("weights");
    let mut change = case.buffer::<f32>("change");

    let blocks = inputs.div_ceil(ROWS);
    let mut partial = vec![0.0_f32; blocks * HIDDEN];
    for block in 0..blocks {
        for hidden in 0..HIDDEN {
            let product = |row: usize| {
                let i = block * ROWS + row + 1;
                if i <= inputs { input[i] * weights[i * (HIDDEN + 1) + hidden + 1] } else { 0.0 }
            };
            let products: Vec<f32> = (0..ROWS).map(product).collect();
            partial[block * HIDDEN + hidden] = tree_sum(&products);
        }
    }

    for (i, &unit) in input.iter().enumerate() {
        for (j, &delta) in delta.iter().enumerate().skip(1) {
            let at = i * (HIDDEN + 1) + j;
            change[at] = (RATE * delta).mul_add(unit, MOMENTUM * change[at]);
            weights[at] += change[at];
        }
    }
    Outputs::from([
        ("partial".into(), Expected::exact(&partial)),
        ("weights".into(), Expected::exact(&weights)),
        ("change".into(), Expected::exact(&change)),
    ])
}

/// Neighbours are added first, then neighbouring pairs, and so on.
fn tree_sum(values: &[f32]) -> f32 {
    if let [value] = values {
        return *value;
    }
    let (left, right) = values.split_at(values.len() / 2);
    tree_sum(left) + tree_sum(right)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn seventeen_inputs_make_two_partial_sums_and_move_by_rate_and_momentum() {
        let setup = Setup::scalars([("inputs", 17)])
            .buffer("input", &[2.0_f32; 18])
            .buffer("delta", &[0.5_f32; 17])
            .buffer("weights", &[1.0_f32; 18 * 17])
            .buffer("change", &[4.0_f32; 18 * 17]);
        let outputs = setup.run(expected);
        let partial = values::<f32>(&outputs, "partial");
        assert_eq!(partial[..HIDDEN], [32.0; 16]);
        assert_eq!(partial[HIDDEN..], [2.0; 16]);
        let weights = values::<f32>(&outputs, "weights");
        // 0.3 * 0.5 * 2 + 0.25 * 4 = 1.3; column 0 belongs to no hidden unit.
        assert_eq!(weights[17], 1.0);
        assert!((weights[18] - 2.3).abs() < 1e-6 && (weights[1] - 2.3).abs() < 1e-6);
    }
}
