//! Reference of jacobi: four sweeps over the grid in double precision. The last state is in grid_a, the one
//! before it in grid_b, and the largest change of each sweep, as a bit pattern, in change.

use super::Case;
use crate::{Expected, Outputs};

const SWEEPS: usize = 4;
const ACROSS: f64 = 1.0;
const DOWN: f64 = 0.5;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (rows, cols) = (case.size("rows"), case.size("cols"));
    let source = case.buffer::<f64>("source");
    let mut states = vec![case.buffer::<f64>("grid_a")];
    let mut change = Vec::new();
    for sweep in 0..SWEEPS {
        let old = &states[sweep];
        let new = relax(old, &source, rows, cols);
        let largest = old.iter().zip(&new).map(|(old, new)| (new - old).abs()).fold(0.0, f64::max);
        change.push(largest.to_bits());
        states.push(new);
    }
    Outputs::from([
        ("grid_a".into(), Expected::exact(&states[SWEEPS])),
        ("grid_b".into(), Expected::exact(&states[SWEEPS - 1])),
        ("change".into(), Expected::exact(&change)),
    ])
}

fn relax(grid: &[f64], source: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    let mut next = grid.to_vec();
    for row in 1..rows - 1 {
        for col in 1..cols - 1 {
            let at = row * cols + col;
            let beside = grid[at - 1] + grid[at + 1];
            let above = (grid[at - cols] + grid[at + cols]) * DOWN;
            next[at] = (beside.mul_add(ACROSS, above) - source[at]) / (2.0 * (ACROSS + DOWN));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_linear_field_is_a_fixed_point() {
        let grid: Vec<f64> = (0..20).map(|i| f64::from(i % 5 + 3 * (i / 5))).collect();
        let outputs = Setup::scalars([("rows", 4), ("cols", 5)])
            .buffer("grid_a", &grid)
            .buffer("source", &[0.0_f64; 20])
            .run(expected);
        assert_eq!(values::<f64>(&outputs, "grid_a"), grid);
        assert_eq!(values::<u64>(&outputs, "change"), [0; 4]);
    }

    #[test]
    fn the_middle_of_three_by_three_by_hand() {
        let grid = [0.0, 2.0, 0.0, 4.0, 9.0, 6.0, 0.0, 8.0, 0.0];
        let mut source = [0.0; 9];
        source[4] = 3.0;
        // (4 + 6) * 1 + (2 + 8) * 0.5 - 3 = 12, over 3.
        assert_eq!(relax(&grid, &source, 3, 3)[4], 4.0);
    }
}
