//! Issues a window on an in-order model, the longest path first while registers are plentiful.

use super::graph::Scheduler;
use super::latency::interval;

/// Live predicates above which freeing some has priority.
const PREDICATE_LIMIT: i32 = 5;

impl Scheduler<'_> {
    /// Issues every node; the order in which it did, with cycles.
    pub(super) fn forward(&mut self) -> Vec<(usize, u32)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut candidates: Vec<usize> =
            (0..self.nodes.len()).filter(|&n| self.nodes[n].waiting == 0).collect();
        let mut cycle = 0;
        // Cycles in which the shared pipe and the tensor cores are free.
        let mut free = [0; 2];
        while !candidates.is_empty() {
            let n = candidates.swap_remove(self.pick(&candidates, cycle, free));
            let inst = self.f.inst(self.nodes[n].id);
            let pipe = self.nodes[n].pipe;
            let start = cycle.max(self.nodes[n].ready).max(pipe.map_or(0, |pipe| free[pipe as usize]));
            if let Some(pipe) = pipe {
                free[pipe as usize] = start + interval(inst);
            }
            let released: Vec<usize> = self.nodes[n].succs.iter().map(|s| s.0).collect();
            self.issue(n, start);
            cycle = start + 1;
            order.push((n, start));
            for s in released {
                if self.nodes[s].waiting == 0 && !std::mem::replace(&mut self.nodes[s].queued, true) {
                    candidates.push(s);
                }
            }
        }
        order
    }

    /// The index of the candidate to issue next.
    fn pick(&mut self, candidates: &[usize], cycle: u32, free: [u32; 2]) -> usize {
        // Subroutines run rarely, but their registers add to those of every caller.
        let slow = self.f.block(self.b).sub.is_some();
        let careful = slow || self.pressure.0 >= self.limit.0;
        let tight = slow || self.pressure.0 >= self.limit.1;
        let few_predicates = self.pressure.1 >= PREDICATE_LIMIT;
        let mut key = |n: usize| {
            let (regs, preds) = self.delta(n);
            let node = &self.nodes[n];
            let free = node.pipe.map_or(0, |pipe| free[pipe as usize]);
            let wait = node.ready.max(cycle).max(free) - cycle;
            // Few free registers: free some first; among equals prefer ready instructions, then the longest
            // path.
            let preds = if few_predicates { preds } else { 0 };
            let first = if tight { regs.max(-1) } else { 0 };
            let then = if careful { regs.max(-1) } else { 0 };
            let wait = if tight || few_predicates { wait.min(24) } else { wait };
            (preds, first, wait, then, u32::MAX - node.height, n)
        };
        (0..candidates.len()).min_by_key(|&at| key(candidates[at])).unwrap_or(0)
    }
}
