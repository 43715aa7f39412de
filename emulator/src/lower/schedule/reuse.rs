//! Orders a window so that instructions come soon after the last access of the registers that they read.
//!
//! Operands that were read or written a few instructions before need not come from the register file in designs that
//! keep them at hand (operand windows, register file caches). Of the instructions whose operands are available the one
//! goes first that reads most of what was just accessed, together with what the next one would read if it came
//! directly after it. Latencies are not considered.

use super::graph::Scheduler;
use super::live::{Item, each_def, each_use};
use rustc_hash::FxHashMap;

/// Instructions after an access of a register within which another counts.
const NEAR: usize = 7;
/// Live values below the most that are allowed, from which on freeing registers has priority.
const MARGIN: i32 = 4;

/// Position of the last access of each value, in instructions of the order.
type Accessed = FxHashMap<Item, usize>;

impl Scheduler<'_> {
    /// The order by reuse, or the one by latency if that one needs more than `most` registers and more than this one.
    pub(super) fn by_reuse(&mut self, most: i32) -> Vec<usize> {
        let start = self.pressure;
        let found = self.near(most - MARGIN);
        self.rewind(start);
        let cost = self.cost(&found);
        self.rewind(start);
        if cost.registers <= most {
            return found;
        }
        let (others, other) = self.by_latency(most, true, self.nodes.len() >= super::WINDOW);
        if others < cost { other } else { found }
    }

    fn near(&mut self, most: i32) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut accessed = Accessed::default();
        let mut candidates: Vec<usize> =
            (0..self.nodes.len()).filter(|&n| self.nodes[n].waiting == 0).collect();
        while !candidates.is_empty() {
            let at = order.len();
            let tight = self.pressure.0 >= most;
            let mut key = |n: usize| {
                let (registers, predicates) = self.delta(n);
                let freed = if tight { -registers } else { 0 };
                (freed, self.value(n, at, &accessed), -registers, -predicates, std::cmp::Reverse(n))
            };
            let chosen = (0..candidates.len()).max_by_key(|&i| key(candidates[i])).unwrap_or(0);
            let n = candidates.swap_remove(chosen);
            self.issue(n, 0);
            let id = self.nodes[n].id;
            let mut access = |item: Item| {
                accessed.insert(item, at);
            };
            each_use(self.f, id, &mut access);
            each_def(self.f, id, &mut access);
            order.push(n);
            for i in 0..self.nodes[n].succs.len() {
                let s = self.nodes[n].succs[i].0;
                if self.nodes[s].waiting == 0 && !std::mem::replace(&mut self.nodes[s].queued, true) {
                    candidates.push(s);
                }
            }
        }
        order
    }

    /// What a node reads that was just accessed, and what the best of the nodes that can come directly after it would.
    fn value(&self, n: usize, at: usize, accessed: &Accessed) -> usize {
        let own = self.reads(n, at, accessed, None);
        let next = self.nodes[n].succs.iter().filter(|&&(s, _)| self.nodes[s].waiting == 1);
        own + next.map(|&(s, _)| self.reads(s, at + 1, accessed, Some(n))).max().unwrap_or(0)
    }

    /// The sum over the registers that a node reads at a place of how short ago they were accessed; `before` is the
    /// node directly before it, whose accesses are not in `accessed`.
    fn reads(&self, n: usize, at: usize, accessed: &Accessed, before: Option<usize>) -> usize {
        let mut last: Vec<Item> = Vec::new();
        if let Some(before) = before {
            each_use(self.f, self.nodes[before].id, |u| last.push(u));
            each_def(self.f, self.nodes[before].id, |d| last.push(d));
        }
        let mut sum = 0;
        each_use(self.f, self.nodes[n].id, |u| {
            let distance = if last.contains(&u) { Some(1) } else { accessed.get(&u).map(|then| at - then) };
            if u < self.f.defs.len() && distance.is_some_and(|d| d <= NEAR) {
                sum += 1 << (NEAR - distance.unwrap_or(NEAR));
            }
        });
        sum
    }
}
