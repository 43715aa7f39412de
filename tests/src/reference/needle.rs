//! Reference of needle: the whole matrix, row by row.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = 16 * case.size("tiles") + 1;
    let [table, vertical, horizontal] =
        ["table", "vertical", "horizontal"].map(|name| case.buffer::<i32>(name));
    let pair = |row: usize, column: usize| table[(vertical[row] * 24 + horizontal[column]) as usize];
    let mut pairs = vec![0; side * side];
    for row in 1..side {
        for column in 1..side {
            pairs[row * side + column] = pair(row, column);
        }
    }
    let scores = align(&pairs, side, case.scalar("penalty") as i32);
    Outputs::from([("pairs".into(), Expected::exact(&pairs)), ("scores".into(), Expected::exact(&scores))])
}

fn align(pairs: &[i32], side: usize, penalty: i32) -> Vec<i32> {
    let mut scores = vec![0; side * side];
    for row in 0..side {
        for column in 0..side {
            let at = row * side + column;
            scores[at] = if row == 0 || column == 0 {
                -((row + column) as i32) * penalty
            } else {
                let gap = scores[at - 1].max(scores[at - side]) - penalty;
                gap.max(scores[at - side - 1] + pairs[at])
            };
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sequences_align_without_gaps() {
        let pairs: Vec<i32> = (0..25).map(|at| if at / 5 == at % 5 { 4 } else { -1 }).collect();
        assert_eq!(align(&pairs, 5, 3)[24], 16);
    }
}
