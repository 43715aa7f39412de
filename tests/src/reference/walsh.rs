//! Reference of walsh: radix-2 steps from the widest; a radix-4 step is two of them, with the same sums.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let data: Vec<f32> = case.buffer("data");
    let n = data.len();
    let narrow = 1 << 11;
    let wide = transform(data, n, narrow);
    let all = transform(wide.clone(), narrow, 1);
    Outputs::from([("data".into(), Expected::exact(&wide)), ("transformed".into(), Expected::exact(&all))])
}

/// Steps with strides below `from` down to `to`.
fn transform(mut data: Vec<f32>, from: usize, to: usize) -> Vec<f32> {
    let mut stride = from / 2;
    while stride >= to {
        for i in (0..data.len()).filter(|i| i & stride == 0) {
            let (a, b) = (data[i], data[i + stride]);
            (data[i], data[i + stride]) = (a + b, a - b);
        }
        stride /= 2;
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_is_a_multiple_of_the_input() {
        let data: Vec<f32> = (0..8).map(|v| (v * v) as f32).collect();
        let twice = transform(transform(data.clone(), 8, 1), 8, 1);
        assert!(data.iter().zip(twice).all(|(a, b)| 8.0 * a == b));
    }
}
