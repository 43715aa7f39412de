//! Reference of nqueens: recursive backtracking from every placement of three queens.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = case.size("n");
    let solutions: Vec<u32> =
        (0..n.pow(3)).map(|at| count(&mut vec![], &[at / (n * n), at / n % n, at % n], n)).collect();
    let sums: Vec<u32> = solutions.chunks(96).map(|block| block.iter().sum()).collect();
    Outputs::from([
        ("solutions".into(), Expected::exact(&solutions)),
        ("sums".into(), Expected::exact(&sums)),
    ])
}

/// Ways to go on from the queens on the board when the next ones are given.
fn count(board: &mut Vec<usize>, given: &[usize], n: usize) -> u32 {
    if board.len() == n {
        return 1;
    }
    let fits = |board: &[usize], column: usize| {
        board.iter().rev().enumerate().all(|(i, &other)| other != column && other.abs_diff(column) != i + 1)
    };
    let columns = given.first().map_or(0..n, |&column| column..column + 1);
    let mut sum = 0;
    for column in columns {
        if fits(board, column) {
            board.push(column);
            sum += count(board, given.get(1..).unwrap_or_default(), n);
            board.pop();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_have_their_known_numbers_of_solutions() {
        assert_eq!([4, 5, 6, 7, 8].map(|n| count(&mut vec![], &[], n)), [2, 10, 4, 40, 92]);
    }
}
