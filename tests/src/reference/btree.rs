//! Reference of btree: keys are multiples of four, so that searches are divisions.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let records = case.buffer::<i32>("records");
    let count = case.scalar("fan").pow(3) as i32;
    let answers: Vec<i32> =
        case.buffer::<i32>("queries").iter().map(|&query| find(&records, query)).collect();
    let ranges = case.buffer::<i32>("starts").into_iter().zip(case.buffer::<i32>("lengths"));
    let (firsts, counts): (Vec<i32>, Vec<i32>) =
        ranges.map(|(start, length)| range(count, start, length)).unzip();
    Outputs::from([
        ("answers".into(), Expected::exact(&answers)),
        ("firsts".into(), Expected::exact(&firsts)),
        ("counts".into(), Expected::exact(&counts)),
    ])
}

/// The record with a key, or 0.
fn find(records: &[i32], key: i32) -> i32 {
    if key % 4 == 0 { records[(key / 4) as usize] } else { 0 }
}

/// First of the records with keys from `start` to `start + length`, and their number.
fn range(records: i32, start: i32, length: i32) -> (i32, i32) {
    let first = (start + 3) / 4;
    let last = ((start + length) / 4).min(records - 1);
    (first, last - first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_between_records_have_none() {
        assert_eq!((find(&[7, 8, 9], 8), find(&[7, 8, 9], 5)), (9, 0));
        assert_eq!(range(10, 5, 10), (2, 2));
        assert_eq!(range(10, 8, 0), (2, 1));
        assert_eq!(range(3, 0, 100), (0, 3));
    }
}
