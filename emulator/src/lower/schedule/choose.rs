//! The choice among orders of a window: the first that needs few registers, or the one that needs the fewest.

use super::graph::Scheduler;
use super::late::Late;

/// Numbers of live values above which freeing registers decides among equally ready instructions, and above
/// which it has priority over latency; each pair is tried if the one before takes too many registers.
const LIMITS: [(i32, i32); 4] = [(72, 88), (44, 52), (24, 32), (12, 18)];
/// Live values that cost no occupancy on any GPU: where an order needs no more, values are computed as early as
/// they can be.
const FREE: i32 = 20;
/// Live values below the most that a block may have at which freeing registers gets priority over latency.
const BEFORE_BUDGET: i32 = 8;
/// Live predicates above which allocation keeps some in registers.
const PREDICATES: i32 = 7;

/// What an order costs; the smaller is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// The most registers that are live at once, with those for predicates that do not fit.
    pub registers: i32,
    /// The most predicates that do not fit.
    pub predicates: i32,
}

impl Scheduler<'_> {
    /// An order of the window's nodes: with room for long latencies if at most `budget` registers are live in it,
    /// otherwise the order that needs the fewest, and what it costs. `few`: the kernel may not have more; `long`: there is time for one
    /// order only.
    pub(super) fn by_latency(&mut self, budget: i32, few: bool, long: bool) -> (Cost, Vec<usize>) {
        let start = self.pressure;
        let mut best: Option<(Cost, Vec<usize>)> = None;
        let limits = if long { &LIMITS[1..2] } else { &LIMITS[..] };
        // The last pair costs much latency: only where the kernel may not have more registers.
        let limits = if few { limits } else { &limits[..limits.len().min(3)] };
        for &limit in limits {
            self.limit = limit;
            let issued = self.forward();
            self.rewind(start);
            // The later, the fewer registers, but not always: many chains may end up beside each other.
            for late in [Late::Constants, Late::Alone, Late::WithOperands] {
                let order = self.delayed(&issued, late);
                let cost = self.cost(&order);
                self.rewind(start);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, order));
                }
                if cost.registers <= FREE && cost.predicates == 0 {
                    break;
                }
            }
            if best.as_ref().is_some_and(|(least, _)| least.registers <= budget) {
                break;
            }
        }
        if let Some(found) = best.take_if(|(least, _)| least.registers <= budget) {
            return found;
        }
        let source: Vec<usize> = (0..self.nodes.len()).collect();
        let cost = self.cost(&source);
        self.rewind(start);
        best.filter(|(least, _)| cost >= *least).unwrap_or((cost, source))
    }

    /// An order of the window's nodes with room for long latencies and at most `budget` live registers; the present one where
    /// none is found.
    pub(super) fn with_room(&mut self, budget: i32) -> Vec<usize> {
        let start = self.pressure;
        for spared in [BEFORE_BUDGET, 2 * BEFORE_BUDGET] {
            self.limit = (budget - 2 * spared, budget - spared);
            let issued = self.forward();
            self.rewind(start);
            let order = self.delayed(&issued, Late::Alone);
            let cost = self.cost(&order);
            self.rewind(start);
            if cost.registers <= budget && cost.predicates == 0 {
                return order;
            }
        }
        (0..self.nodes.len()).collect()
    }

    /// What an order costs.
    pub(super) fn cost(&mut self, order: &[usize]) -> Cost {
        let excess = |pressure: (i32, i32)| (pressure.1 - PREDICATES).max(0);
        let mut cost =
            Cost { registers: self.pressure.0 + excess(self.pressure), predicates: excess(self.pressure) };
        for &n in order {
            self.issue(n, 0);
            cost.registers = cost.registers.max(self.pressure.0 + excess(self.pressure));
            cost.predicates = cost.predicates.max(excess(self.pressure));
        }
        cost
    }
}
