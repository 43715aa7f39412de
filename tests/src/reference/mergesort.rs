//! Reference of mergesort: stable sorts of all keys, and of the halves before the last round.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let keys = case.buffer::<u32>("keys");
    let mut pairs: Vec<(u32, u32)> = keys.into_iter().zip(case.buffer::<u32>("values")).collect();
    // Two rounds per step of the loop, of which the second writes to buffer a.
    let spans = 512 << (2 * case.size("double_rounds") - 1);
    pairs.chunks_mut(spans).for_each(|span| span.sort_by_key(|pair| pair.0));
    let halves = pairs.clone();
    pairs.chunks_mut(2 * spans).for_each(|span| span.sort_by_key(|pair| pair.0));
    let split = |pairs: &[(u32, u32)]| -> (Vec<u32>, Vec<u32>) { pairs.iter().copied().unzip() };
    let ((keys_a, values_a), (keys_b, values_b)) = (split(&pairs), split(&halves));
    Outputs::from([
        ("keys_a".into(), Expected::exact(&keys_a)),
        ("values_a".into(), Expected::exact(&values_a)),
        ("keys_b".into(), Expected::exact(&keys_b)),
        ("values_b".into(), Expected::exact(&values_b)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn values_follow_their_keys() {
        let keys: Vec<u32> = (0..2048).map(|i| 3000 - i).collect();
        let indices: Vec<u32> = (0..2048).collect();
        let setup = Setup::scalars([("double_rounds", 1)]).buffer("keys", &keys).buffer("values", &indices);
        let outputs = setup.run(expected);
        assert_eq!(values::<u32>(&outputs, "values_a")[..2], [2047, 2046]);
        assert_eq!(values::<u32>(&outputs, "keys_b")[1023..1025], [3000, 953]);
    }
}
