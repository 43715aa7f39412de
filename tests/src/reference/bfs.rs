//! Reference of bfs: a queue of nodes, as deep as the manifest's pairs of launches go.

use super::Case;
use crate::{Expected, Outputs};
use std::collections::VecDeque;

const DEGREES: [usize; 8] = [2, 5, 1, 8, 3, 6, 4, 11];

pub(crate) fn expected(case: &Case) -> Outputs {
    let (nodes, source) = (case.size("nodes"), case.size("source"));
    let levels = i32::try_from(case.scalar("levels")).expect("a few levels");
    let modulus = u32::try_from(nodes).expect("nodes are numbered in 32 bits");
    let edges: Vec<u32> = case.buffer::<u32>("edges").iter().map(|edge| edge % modulus).collect();
    let offsets: Vec<usize> = std::iter::once(0)
        .chain((0..nodes).scan(0, |end, node| {
            *end += DEGREES[node % DEGREES.len()];
            Some(*end)
        }))
        .collect();

    let mut level = vec![-1_i32; nodes];
    level[source] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        if level[node] == levels {
            break;
        }
        for &neighbour in &edges[offsets[node]..offsets[node + 1]] {
            if level[neighbour as usize] < 0 {
                level[neighbour as usize] = level[node] + 1;
                queue.push_back(neighbour as usize);
            }
        }
    }

    let visited: Vec<u8> = level.iter().map(|&level| u8::from(level >= 0)).collect();
    let frontier: Vec<u8> = level.iter().map(|&level| u8::from(level == levels)).collect();
    let mut sizes = vec![0_i32; levels as usize + 1];
    level.iter().filter(|&&level| level > 0).for_each(|&level| sizes[level as usize] += 1);
    let row_offsets: Vec<i32> = offsets.iter().map(|&offset| offset as i32).collect();
    Outputs::from([
        ("row_offsets".into(), Expected::exact(&row_offsets)),
        ("edges".into(), Expected::exact(&edges)),
        ("level".into(), Expected::exact(&level)),
        ("visited".into(), Expected::exact(&visited)),
        ("frontier".into(), Expected::exact(&frontier)),
        ("next".into(), Expected::exact(&vec![0_u8; nodes])),
        ("frontier_sizes".into(), Expected::exact(&sizes)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn four_nodes_by_hand() {
        // Node 0 has edges 0..2, node 1 2..7, node 2 7..8, node 3 8..16; targets are taken modulo 4.
        let mut edges = [0_u32; 40];
        edges[..8].copy_from_slice(&[0, 6, 1, 1, 1, 1, 1, 3]);
        edges[8..16].copy_from_slice(&[3; 8]);
        let setup = Setup::scalars([("nodes", 4), ("source", 0), ("levels", 12)]).buffer("edges", &edges);
        let outputs = setup.run(expected);
        assert_eq!(values::<i32>(&outputs, "row_offsets"), [0, 2, 7, 8, 16]);
        assert_eq!(values::<i32>(&outputs, "level"), [0, -1, 1, 2]);
        assert_eq!(values::<u8>(&outputs, "visited"), [1, 0, 1, 1]);
        assert_eq!(values::<u8>(&outputs, "frontier"), [0; 4]);
        assert_eq!(values::<i32>(&outputs, "frontier_sizes")[..4], [0, 1, 1, 0]);
    }
}
