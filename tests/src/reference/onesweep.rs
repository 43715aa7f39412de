//! Reference of onesweep: stable sorts by the lower digit and by both, and where each digit begins.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let keys = case.buffer::<u32>("keys");
    let mut half = keys.clone();
    half.sort_by_key(|key| key & 255);
    let mut sorted = keys;
    sorted.sort_unstable();
    let starts: Vec<u32> = [0, 8].iter().flat_map(|shift| starts(&sorted, *shift)).collect();
    Outputs::from([
        ("half_sorted".into(), Expected::exact(&half)),
        ("sorted".into(), Expected::exact(&sorted)),
        ("histograms".into(), Expected::exact(&starts)),
    ])
}

/// Keys with smaller digits, for each digit.
fn starts(keys: &[u32], shift: u32) -> [u32; 256] {
    let mut counts = [0_u32; 256];
    keys.iter().for_each(|key| counts[(key >> shift & 255) as usize] += 1);
    let mut start = 0;
    counts.map(|count| {
        start += count;
        start - count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_begin_where_smaller_ones_end() {
        let starts = starts(&[0x100, 0x203, 0x1ff, 0x003], 8);
        assert_eq!((starts[0], starts[1], starts[2], starts[3]), (0, 1, 3, 4));
    }
}
