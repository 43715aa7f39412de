//! Reference of radixsort: a stable sort by the key, and by its lower twelve bits, which is the state before the
//! last pass; the last pass's counts are of the upper four bits.

use super::Case;
use crate::{Expected, Outputs};

const TILE: usize = 512;

pub(crate) fn expected(case: &Case) -> Outputs {
    let keys = case.buffer::<u32>("keys_a");
    let values = case.buffer::<u32>("values_a");
    let mut pairs: Vec<(u32, u32)> = keys.into_iter().zip(values).collect();
    pairs.sort_by_key(|pair| pair.0 & 0xfff);
    let before = pairs.clone();
    pairs.sort_by_key(|pair| pair.0);
    let keys = |pairs: &[(u32, u32)]| Expected::exact(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let values = |pairs: &[(u32, u32)]| Expected::exact(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    Outputs::from([
        ("keys_a".into(), keys(&pairs)),
        ("values_a".into(), values(&pairs)),
        ("keys_b".into(), keys(&before)),
        ("values_b".into(), values(&before)),
        ("counts".into(), Expected::exact(&offsets(&before))),
    ])
}

/// Where the keys of each digit and tile go.
fn offsets(pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut offset = 0;
    let mut offsets = Vec::new();
    for digit in 0..16 {
        for tile in pairs.chunks(TILE) {
            offsets.push(offset);
            offset += tile.iter().filter(|pair| pair.0 >> 12 & 15 == digit).count() as u32;
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn equal_keys_keep_their_order() {
        let setup =
            Setup::default().buffer("keys_a", &[7_u32, 0x1003, 7, 3]).buffer("values_a", &[0_u32, 1, 2, 3]);
        let outputs = setup.run(expected);
        assert_eq!(values::<u32>(&outputs, "values_a"), [3, 0, 2, 1]);
        assert_eq!(values::<u32>(&outputs, "values_b"), [1, 3, 0, 2]);
        assert_eq!(values::<u32>(&outputs, "counts")[..3], [0, 3, 4]);
    }
}
