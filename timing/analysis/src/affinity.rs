//! Register affinity: the registers that instructions read together, the expected number of such reads, and
//! the exclusive pairs that CORF packs (CORF, section 2.4.2).
//!
//! An edge joins registers of *different* source operands of one instruction; the halves of one 64-bit operand
//! are one operand. Weights are the static execution estimates of [`super::loops`].

use super::loops::Loops;
use std::collections::BTreeMap;
use trace_format::isa::{Flow, Inst, MachineKernel, Pc};

/// Two registers to be packed into one physical register, the lower number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The lower register.
    pub low: u8,
    /// The higher register.
    pub high: u8,
}

/// The register affinity graph of a kernel: expected number of reads in the same instruction, by pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    edges: BTreeMap<Pair, u64>,
}

impl Affinity {
    /// Builds the graph; loops without a constant trip count weigh `unknown_trips`.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow, unknown_trips: u64) -> Affinity {
        let loops = Loops::of(kernel, flow);
        let mut graph = Affinity::default();
        let mut pairs = Vec::new();
        for (pc, inst) in kernel.insts.iter().enumerate() {
            let weight = loops.weight(flow.block_of(Pc(pc as u32)), unknown_trips);
            pairs.clear();
            operand_pairs(inst, &mut pairs);
            for pair in &pairs {
                graph.add(*pair, weight);
            }
        }
        graph
    }

    /// Adds to the weight of an edge.
    pub fn add(&mut self, pair: Pair, weight: u64) {
        let edge = self.edges.entry(pair).or_insert(0);
        *edge = edge.saturating_add(weight);
    }

    /// The edges with their weights, ascending by registers.
    pub fn edges(&self) -> impl Iterator<Item = (Pair, u64)> + '_ {
        self.edges.iter().map(|(pair, weight)| (*pair, *weight))
    }

    /// Weight of an edge, 0 where there is none.
    #[cfg(test)]
    fn weight(&self, pair: Pair) -> u64 {
        self.edges.get(&pair).copied().unwrap_or(0)
    }

    /// The exclusive common pairs, ascending: while registers have several edges, the lightest of these edges
    /// is removed; afterwards, edges between registers without edges are restored, heaviest first. Among
    /// equal weights, pairs of higher registers are removed first.
    #[must_use]
    pub fn exclusive_pairs(&self) -> Vec<Pair> {
        let mut degree = [0u32; 256];
        for pair in self.edges.keys() {
            degree[usize::from(pair.low)] += 1;
            degree[usize::from(pair.high)] += 1;
        }
        let mut by_weight: Vec<(u64, Pair)> =
            self.edges.iter().map(|(pair, weight)| (*weight, *pair)).collect();
        by_weight.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        // Degrees only decrease, so an edge that is kept once stays kept: one pass suffices.
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        for (_, pair) in by_weight {
            let (low, high) = (usize::from(pair.low), usize::from(pair.high));
            if degree[low] > 1 || degree[high] > 1 {
                degree[low] -= 1;
                degree[high] -= 1;
                removed.push(pair);
            } else {
                kept.push(pair);
            }
        }
        for pair in removed.into_iter().rev() {
            let (low, high) = (usize::from(pair.low), usize::from(pair.high));
            if degree[low] == 0 && degree[high] == 0 {
                degree[low] = 1;
                degree[high] = 1;
                kept.push(pair);
            }
        }
        kept.sort_unstable();
        kept
    }
}

/// Every pair of distinct registers that different operands of an instruction read, once each.
pub fn operand_pairs(inst: &Inst, pairs: &mut Vec<Pair>) {
    for (first, second) in [(0, 1), (0, 2), (1, 2)] {
        let (Some(a), Some(b)) = (inst.src_span(first), inst.src_span(second)) else { continue };
        for x in a.iter() {
            for y in b.iter() {
                let pair = Pair { low: x.0.min(y.0), high: x.0.max(y.0) };
                if x != y && !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::kernel;
    use super::*;
    use proptest::prelude::*;

    fn pair(a: u8, b: u8) -> Pair {
        Pair { low: a.min(b), high: a.max(b) }
    }

    fn graph(edges: &[(u8, u8, u64)]) -> Affinity {
        let mut graph = Affinity::default();
        edges.iter().for_each(|(a, b, weight)| graph.add(pair(*a, *b), *weight));
        graph
    }

    #[test]
    fn the_example_of_figure_2_5() {
        let figure = graph(&[(1, 2, 8), (1, 3, 10), (1, 4, 2), (2, 4, 5)]);
        assert_eq!(figure.exclusive_pairs(), [pair(1, 3), pair(2, 4)]);
    }

    #[test]
    fn weights_follow_loops_and_operands() {
        let kernel = kernel(
            "
            mov r9 0
            ffma r1 r1 r2 r3
            # header 2: 12 trips
            fadd r4 r4 r2
            dfma r10 r10 r12 r14
            iadd r9 r9 1
            isetp.lt p0 r9 12
            @p0 bra 2
            fadd r5 r5 r5
            ldg r6 r16
            exit",
        );
        let graph = Affinity::of(&kernel, &kernel.flow(), 10);
        assert_eq!(graph.weight(pair(1, 2)), 1);
        assert_eq!(graph.weight(pair(2, 3)), 1);
        assert_eq!(graph.weight(pair(2, 4)), 12);
        assert_eq!(graph.weight(pair(10, 13)), 12);
        assert_eq!(graph.weight(pair(10, 11)), 0, "the halves of one operand");
        assert_eq!(graph.weight(pair(16, 17)), 0, "the halves of an address");
        assert_eq!(graph.weight(pair(5, 5)), 0);
    }

    proptest! {
        /// The result is a matching of edges, and no edge can be added.
        #[test]
        fn pairs_are_a_maximal_matching(edges in prop::collection::vec((0u8..20, 0u8..20, 1u64..100), 0..60)) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b, _)| a != b).collect();
            let graph = graph(&edges);
            let pairs = graph.exclusive_pairs();
            let mut taken = [false; 20];
            for pair in &pairs {
                prop_assert!(graph.weight(*pair) > 0);
                for reg in [pair.low, pair.high] {
                    prop_assert!(!std::mem::replace(&mut taken[usize::from(reg)], true), "R{} is in two pairs", reg);
                }
            }
            for (a, b, _) in edges {
                prop_assert!(taken[usize::from(a)] || taken[usize::from(b)], "R{a}-R{b} could be restored");
            }
        }
    }
}
