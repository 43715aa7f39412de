//! Reference of pathfinder: least cost of reaching each column, row after row. The manifest's four launches
//! leave the last row's costs in cost_b and those one launch earlier in cost_a.

use super::Case;
use crate::{Expected, Outputs};

const LAUNCHES: usize = 4;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (cols, steps) = (case.size("cols"), case.size("steps"));
    let wall = case.buffer::<i32>("wall");
    let mut rows = wall.chunks_exact(cols);
    let mut states = vec![rows.next().map_or_else(Vec::new, <[i32]>::to_vec)];
    for row in rows.take(LAUNCHES * steps) {
        let above = &states[states.len() - 1];
        let next = (0..cols).map(|col| row[col] + cheapest(above, col)).collect();
        states.push(next);
    }
    Outputs::from([
        ("cost_a".into(), Expected::exact(&states[(LAUNCHES - 1) * steps])),
        ("cost_b".into(), Expected::exact(&states[LAUNCHES * steps])),
    ])
}

fn cheapest(above: &[i32], col: usize) -> i32 {
    let reach = &above[col.saturating_sub(1)..(col + 2).min(above.len())];
    reach.iter().copied().min().expect("a column reaches at least itself")
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_cheapest_way_may_turn_at_every_row() {
        let wall = [[9, 1, 9], [9, 9, 1], [9, 1, 9], [1, 9, 9], [5, 5, 5]].concat();
        let setup = Setup::scalars([("cols", 3), ("steps", 1)]).buffer("wall", &wall);
        let outputs = setup.run(expected);
        assert_eq!(values::<i32>(&outputs, "cost_a"), [4, 12, 12]);
        assert_eq!(values::<i32>(&outputs, "cost_b"), [9, 9, 17]);
    }
}
