//! The side of its physical register on which each register is stored, so that registers which instructions read together
//! lie on different sides (CORF++, section 2.5.1).
//!
//! The best assignment removes the least weight of edges that makes the affinity graph two-colourable: the bipartite edge
//! frustration problem, which is NP-hard. As in the paper, the edge with the least weight per odd cycle that it breaks
//! is removed until no odd cycle is left. Where a graph has more odd cycles than [`MAX_CYCLES`], which the paper does not
//! speak of, edges are kept from the heaviest on unless they close an odd cycle. At the end single registers change sides as
//! long as that saves weight.

use super::affinity::{Affinity, Pair};
use std::collections::BTreeMap;

/// Odd cycles that are listed at most.
const MAX_CYCLES: usize = 20_000;
/// Steps of the search for odd cycles; graphs that need more have too many.
const MAX_STEPS: usize = 2_000_000;

/// The side of a physical register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// No instruction reads it with another register: either side.
    #[default]
    Either,
    /// The most significant bytes.
    Left,
    /// The least significant bytes.
    Right,
}

/// The side of every register.
pub type Sides = [Side; 256];

/// The sides of the registers of a graph.
#[must_use]
pub fn sides(graph: &Affinity) -> Sides {
    let edges: Vec<(Pair, u64)> = graph.edges().collect();
    let kept = match odd_cycles(&edges) {
        Some(cycles) => without_odd_cycles(&edges, cycles),
        None => heaviest(&edges),
    };
    let mut sides = coloured(&edges, &kept);
    if kept.len() < edges.len() {
        improve(&edges, &mut sides);
    }
    sides
}

/// The weight of the edges whose registers lie on one side.
#[cfg(test)]
fn frustrated(edges: &[(Pair, u64)], sides: &Sides) -> u64 {
    edges.iter().filter(|(pair, _)| !apart(sides, *pair)).map(|(_, weight)| weight).sum()
}

#[cfg(test)]
fn apart(sides: &Sides, pair: Pair) -> bool {
    sides[usize::from(pair.low)] != sides[usize::from(pair.high)]
}

/// The neighbours of each register, with the position of the edge.
fn neighbours(edges: &[(Pair, u64)]) -> Vec<Vec<(u8, usize)>> {
    let mut list = vec![Vec::new(); 256];
    for (at, (pair, _)) in edges.iter().enumerate() {
        list[usize::from(pair.low)].push((pair.high, at));
        list[usize::from(pair.high)].push((pair.low, at));
    }
    list
}

/// Every odd cycle without repeated registers, as positions of its edges; none if there are too many.
fn odd_cycles(edges: &[(Pair, u64)]) -> Option<Vec<Vec<usize>>> {
    let near = neighbours(edges);
    let mut search =
        Search { near: &near, on_path: [false; 256], path: Vec::new(), found: Vec::new(), steps: 0 };
    for start in 0..=u8::MAX {
        search.on_path[usize::from(start)] = true;
        search.extend(start, start, None)?;
        search.on_path[usize::from(start)] = false;
    }
    Some(search.found)
}

/// A depth-first search of cycles from their lowest register.
struct Search<'a> {
    near: &'a [Vec<(u8, usize)>],
    on_path: [bool; 256],
    /// Edges of the path.
    path: Vec<usize>,
    found: Vec<Vec<usize>>,
    steps: usize,
}

impl Search<'_> {
    /// Follows all edges from the path's end; `second` is the path's second register. None if there are too many cycles.
    fn extend(&mut self, start: u8, end: u8, second: Option<u8>) -> Option<()> {
        for at in 0..self.near[usize::from(end)].len() {
            let (next, edge) = self.near[usize::from(end)][at];
            self.steps += 1;
            if self.steps > MAX_STEPS || self.found.len() > MAX_CYCLES {
                return None;
            }
            // Of a cycle's two directions, the one whose second register is the lower is counted.
            let closes = next == start && second.is_some_and(|second| second < end) && self.path.len() >= 2;
            if closes && self.path.len().is_multiple_of(2) {
                let mut cycle = self.path.clone();
                cycle.push(edge);
                self.found.push(cycle);
            }
            if next > start && !self.on_path[usize::from(next)] {
                self.on_path[usize::from(next)] = true;
                self.path.push(edge);
                self.extend(start, next, second.or(Some(next)))?;
                self.path.pop();
                self.on_path[usize::from(next)] = false;
            }
        }
        Some(())
    }
}

/// The edges that are left when, while there are odd cycles, the edge with the least weight per odd cycle is removed.
fn without_odd_cycles(edges: &[(Pair, u64)], mut cycles: Vec<Vec<usize>>) -> Vec<usize> {
    let mut removed = vec![false; edges.len()];
    while !cycles.is_empty() {
        let mut breaks: BTreeMap<usize, u64> = BTreeMap::new();
        cycles.iter().flatten().for_each(|edge| *breaks.entry(*edge).or_default() += 1);
        // Quotients are compared crosswise; among equal ones the edge of the lower registers goes.
        let cheaper = |a: &(usize, u64), b: &(usize, u64)| {
            let product = |edge: usize, breaks: u64| u128::from(edges[edge].1) * u128::from(breaks);
            product(a.0, b.1).cmp(&product(b.0, a.1)).then(a.0.cmp(&b.0))
        };
        let Some((edge, _)) = breaks.into_iter().min_by(cheaper) else { break };
        removed[edge] = true;
        cycles.retain(|cycle| !cycle.contains(&edge));
    }
    (0..edges.len()).filter(|edge| !removed[*edge]).collect()
}

/// The edges that are kept from the heaviest on, without those that close an odd cycle of kept ones.
fn heaviest(edges: &[(Pair, u64)]) -> Vec<usize> {
    // A forest of registers: each knows its parent and whether it lies on the parent's side.
    let mut parents: Vec<(u8, bool)> = (0..=u8::MAX).map(|reg| (reg, false)).collect();
    fn root(parents: &[(u8, bool)], mut reg: u8) -> (u8, bool) {
        let mut other = false;
        while parents[usize::from(reg)].0 != reg {
            other ^= parents[usize::from(reg)].1;
            reg = parents[usize::from(reg)].0;
        }
        (reg, other)
    }
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|edge| std::cmp::Reverse(edges[*edge].1));
    let mut kept: Vec<usize> = Vec::new();
    for edge in order {
        let (low, high) = (root(&parents, edges[edge].0.low), root(&parents, edges[edge].0.high));
        if low.0 != high.0 {
            parents[usize::from(high.0)] = (low.0, !(low.1 ^ high.1));
            kept.push(edge);
        } else if low.1 != high.1 {
            kept.push(edge);
        }
    }
    kept
}

/// Two colours for the kept edges; the lowest register of each part lies on the left.
fn coloured(edges: &[(Pair, u64)], kept: &[usize]) -> Sides {
    let of: Vec<(Pair, u64)> = kept.iter().map(|edge| edges[*edge]).collect();
    let (near, all) = (neighbours(&of), neighbours(edges));
    let mut sides = [Side::Either; 256];
    for start in 0..=u8::MAX {
        if all[usize::from(start)].is_empty() || sides[usize::from(start)] != Side::Either {
            continue;
        }
        sides[usize::from(start)] = Side::Left;
        let mut open = vec![start];
        while let Some(reg) = open.pop() {
            for (next, _) in &near[usize::from(reg)] {
                if sides[usize::from(*next)] == Side::Either {
                    sides[usize::from(*next)] = other(sides[usize::from(reg)]);
                    open.push(*next);
                }
            }
        }
    }
    sides
}

fn other(side: Side) -> Side {
    match side {
        Side::Left => Side::Right,
        Side::Right => Side::Left,
        Side::Either => Side::Either,
    }
}

/// Moves registers to the other side while that puts more weight apart.
fn improve(edges: &[(Pair, u64)], sides: &mut Sides) {
    let near = neighbours(edges);
    let mut moved = true;
    while moved {
        moved = false;
        for reg in 0..near.len() {
            let (mut together, mut apart) = (0u64, 0u64);
            for (next, edge) in &near[reg] {
                let sum = if sides[usize::from(*next)] == sides[reg] { &mut together } else { &mut apart };
                *sum = sum.saturating_add(edges[*edge].1);
            }
            if together > apart {
                sides[reg] = other(sides[reg]);
                moved = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(edges: &[(u8, u8, u64)]) -> Affinity {
        let mut graph = Affinity::default();
        for (a, b, weight) in edges {
            graph.add(Pair { low: *a.min(b), high: *a.max(b) }, *weight);
        }
        graph
    }

    /// The least weight of edges on one side, by trying everything.
    fn least(edges: &[(Pair, u64)], registers: u8) -> u64 {
        let side = |colours: u32, reg: u8| colours >> reg & 1;
        let cost = |colours: u32| -> u64 {
            let together = |pair: &Pair| side(colours, pair.low) == side(colours, pair.high);
            edges.iter().filter(|(pair, _)| together(pair)).map(|(_, weight)| weight).sum()
        };
        (0..1u32 << registers).map(cost).min().unwrap_or(0)
    }

    #[test]
    fn the_odd_cycles_of_figure_2_8() {
        // Its four odd cycles: (r1, r2, r3), (r3, r4, r6), (r2, r3, r4, r6, r5), (r1, r3, r6, r5, r2).
        let figure =
            graph(&[(1, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 6, 1), (4, 6, 1), (2, 5, 1), (5, 6, 1)]);
        let edges: Vec<(Pair, u64)> = figure.edges().collect();
        let cycles = odd_cycles(&edges).expect("few");
        let registers = |cycle: &Vec<usize>| {
            let mut all: Vec<u8> =
                cycle.iter().flat_map(|edge| [edges[*edge].0.low, edges[*edge].0.high]).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut found: Vec<Vec<u8>> = cycles.iter().map(registers).collect();
        found.sort();
        assert_eq!(found, [vec![1, 2, 3], vec![1, 2, 3, 5, 6], vec![2, 3, 4, 5, 6], vec![3, 4, 6]]);
    }

    #[test]
    fn registers_that_are_read_together_lie_on_different_sides() {
        let sides = sides(&graph(&[(1, 2, 8), (2, 3, 10), (3, 4, 2), (7, 9, 1)]));
        assert_eq!([1, 2, 3, 4].map(|reg| sides[reg]), [Side::Left, Side::Right, Side::Left, Side::Right]);
        assert_eq!([7, 9, 5].map(|reg| sides[reg]), [Side::Left, Side::Right, Side::Either]);
    }

    #[test]
    fn of_a_triangle_the_lightest_edge_is_given_up() {
        let sides = sides(&graph(&[(1, 2, 8), (2, 3, 10), (1, 3, 5)]));
        assert_eq!(sides[1], sides[3]);
        assert_ne!(sides[1], sides[2]);
    }

    #[test]
    fn a_graph_with_too_many_cycles_is_coloured_all_the_same() {
        let all: Vec<(u8, u8, u64)> =
            (0..40u8).flat_map(|a| (0..a).map(move |b| (a, b, u64::from(a) + 1))).collect();
        let full = graph(&all);
        let edges: Vec<(Pair, u64)> = full.edges().collect();
        assert!(odd_cycles(&edges).is_none());
        let whole: u64 = edges.iter().map(|(_, weight)| weight).sum();
        let lost = frustrated(&edges, &sides(&full));
        assert!(lost * 2 < whole, "{lost} of {whole}");
    }

    proptest! {
        /// A graph without odd cycles loses nothing; another one at most half its weight, and no register would do better
        /// on the other side.
        #[test]
        fn sides_separate_what_can_be_separated(
            edges in prop::collection::vec((0u8..9, 0u8..9, 1u64..100), 0..24),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b, _)| a != b).collect();
            let graph = graph(&edges);
            let edges: Vec<(Pair, u64)> = graph.edges().collect();
            let sides = sides(&graph);
            let (lost, best) = (frustrated(&edges, &sides), least(&edges, 9));
            prop_assert!(best <= lost);
            prop_assert!(best > 0 || lost == 0, "two colours suffice, and {lost} is lost");
            for reg in 0..9usize {
                let of = |same: bool| -> u64 {
                    let mine = edges.iter().filter(|(p, _)| usize::from(p.low) == reg || usize::from(p.high) == reg);
                    mine.filter(|(pair, _)| apart(&sides, *pair) != same).map(|(_, weight)| weight).sum()
                };
                prop_assert!(of(true) <= of(false), "R{} would rather be on the other side", reg);
                prop_assert!(sides[reg] == Side::Either || of(true) + of(false) > 0);
            }
        }
    }
}
