//! Natural loops of a machine kernel, their constant trip counts, and the expected number of executions of
//! each block.
//!
//! A loop is found by its back edge to a dominating header; edges into the middle of a cycle (irreducible
//! flow) form no loop. `trips` finds constant trip counts.

mod graph;
mod trips;

pub use graph::Loop;

use graph::Graph;
use trace_format::isa::{BlockId, Flow, MachineKernel};

/// The loops of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    loops: Vec<Loop>,
    /// Loops around each block, by index.
    around: Vec<Vec<u32>>,
}

impl Loops {
    /// Finds the loops of a kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow) -> Loops {
        let graph = Graph::of(kernel, flow);
        let mut loops: Vec<Loop> = Vec::new();
        for (tail, heads) in graph.succs.iter().enumerate() {
            for &head in heads.iter().filter(|head| graph.dominates(**head, tail)) {
                let header = BlockId(head as u32);
                let body = graph.body(head, tail);
                match loops.iter_mut().find(|found| found.header == header) {
                    Some(found) => {
                        found.blocks.extend(body);
                        found.blocks.sort_unstable();
                        found.blocks.dedup();
                    }
                    None => loops.push(Loop { header, blocks: body, trips: None }),
                }
            }
        }
        let mut around = vec![Vec::new(); graph.succs.len()];
        for (index, found) in loops.iter_mut().enumerate() {
            found.trips = trips::trips(kernel, flow, &graph, found);
            for block in &found.blocks {
                around[block.0 as usize].push(index as u32);
            }
        }
        Loops { loops, around }
    }

    /// Every loop, in the order of its first back edge.
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// Expected executions of a block per run of its function: the product of the trip counts of the loops
    /// around it, `unknown_trips` for loops without constant trip count.
    #[must_use]
    pub fn weight(&self, block: BlockId, unknown_trips: u64) -> u64 {
        let trips = |index: &u32| self.loops[*index as usize].trips.unwrap_or(unknown_trips).max(1);
        self.around[block.0 as usize].iter().map(trips).fold(1, u64::saturating_mul)
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::kernel;
    use super::*;

    fn loops(text: &str) -> Loops {
        let kernel = kernel(text);
        Loops::of(&kernel, &kernel.flow())
    }

    #[test]
    fn a_counted_loop_has_its_trip_count_and_a_data_dependent_one_has_none() {
        let found = loops(
            "
            mov r0 0
            mov r1 0
            # outer, header 2: 7 trips
            mov r2 40
            # inner, header 3: counts down 40, 36, ..., 4
            iadd r3 r3 1
            iadd r2 r2 -4
            isetp.ne p0 r2 0
            @p0 bra 3
            iadd r1 r1 1
            isetp.lt p1 r1 7
            @p1 bra 2
            # header 10: bound in a register
            iadd r4 r4 1
            isetp.lt p0 r4 r3
            @p0 bra 10
            exit",
        );
        let trips: Vec<_> = found.all().iter().map(|l| (l.blocks.len(), l.trips)).collect();
        assert_eq!(trips, [(1, Some(10)), (3, Some(7)), (1, None)]);
        let weights: Vec<_> = (0..6).map(|b| found.weight(BlockId(b), 100)).collect();
        assert_eq!(weights, [1, 7, 70, 7, 100, 1]);
    }

    #[test]
    fn a_test_at_the_top_counts_the_headers_runs() {
        let found = loops(
            "
            mov r0 0
            isetp.ge p0 r0 5
            @p0 bra 6
            fadd r5 r5 r6
            iadd r0 r0 1
            bra 1
            exit",
        );
        assert_eq!(found.all().len(), 1);
        // Five iterations, and the sixth run of the header leaves.
        assert_eq!(found.all()[0].trips, Some(6));
    }

    #[test]
    fn a_step_between_the_test_and_a_later_comparison_comes_after_the_test() {
        let found = loops(
            "
            mov r0 0
            isetp.lt p0 r0 5
            iadd r0 r0 1
            isetp.lt p1 r5 3
            @p0 bra 1
            exit",
        );
        // The test sees 0 to 5.
        assert_eq!(found.all()[0].trips, Some(6));
    }

    #[test]
    fn a_loop_with_a_second_exit_or_a_second_step_states_no_count() {
        let two_exits = loops(
            "
            mov r0 0
            iadd r0 r0 1
            isetp.eq p1 r5 3
            @p1 bra 7
            nop
            isetp.lt p0 r0 5
            @p0 bra 1
            exit",
        );
        assert_eq!(two_exits.all()[0].trips, None);
        let two_steps = loops(
            "
            mov r0 0
            iadd r0 r0 1
            @p2 iadd r0 r0 1
            isetp.lt p0 r0 5
            @p0 bra 1
            exit",
        );
        assert_eq!(two_steps.all()[0].trips, None);
        let endless = loops("mov r0 0\n iadd r0 r0 2\n isetp.ne p0 r0 5\n @p0 bra 1\n exit");
        assert_eq!(endless.all()[0].trips, None);
    }

    #[test]
    fn straight_code_and_unreachable_code_have_no_loops() {
        assert!(loops("mov r0 1\n exit").all().is_empty());
        assert!(loops("exit\n nop\n bra 1").all().is_empty());
    }
}
