//! Reference of floydwarshall: the three nested loops.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let nodes = 16 * case.size("tiles");
    let (distances, via) = paths(&case.buffer("distances"), nodes);
    let (blocked, _) = paths(&case.buffer("blocked"), nodes);
    Outputs::from([
        ("distances".into(), Expected::exact(&distances)),
        ("via".into(), Expected::exact(&via)),
        ("blocked".into(), Expected::exact(&blocked)),
    ])
}

fn paths(distances: &[i32], nodes: usize) -> (Vec<i32>, Vec<i32>) {
    let mut distances = distances.to_vec();
    let mut via = vec![0; distances.len()];
    for middle in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                let around = distances[from * nodes + middle] + distances[middle * nodes + to];
                if around < distances[from * nodes + to] {
                    distances[from * nodes + to] = around;
                    via[from * nodes + to] = middle as i32;
                }
            }
        }
    }
    (distances, via)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_may_be_shorter() {
        let (distances, via) = paths(&[0, 1, 9, 9, 0, 2, 9, 9, 0], 3);
        assert_eq!((distances[2], via[2]), (3, 1));
    }
}
