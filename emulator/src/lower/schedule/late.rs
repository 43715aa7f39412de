//! Instructions issue later where that shortens live ranges.

use super::effects::{is_fixed, is_ordered};
use super::graph::Scheduler;
use super::latency::{latency, lead};
use super::live::{Item, each_def, each_use};
use rustc_hash::FxHashMap;

/// Instructions that are issued later for the sake of one at most.
const CONE: usize = 12;

/// Which instructions are issued late.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// Those without operands.
    Constants,
    /// Those that shorten live ranges by themselves.
    Alone,
    /// Those that shorten live ranges together with instructions that compute their operands.
    WithOperands,
}

impl Scheduler<'_> {
    /// Moves instructions behind others where that shortens live ranges, as long as nothing that depends on them
    /// issues later: where the warp waits for memory, values would otherwise be computed long before their use.
    pub(super) fn delayed(&mut self, issued: &[(usize, u32)], late: Late) -> Vec<usize> {
        let end = issued.last().map_or(0, |&(_, cycle)| cycle + 1);
        issued.iter().for_each(|&(n, cycle)| self.nodes[n].cycle = cycle);
        let mut last_use: FxHashMap<Item, u32> = FxHashMap::default();
        for &(n, _) in issued.iter().rev() {
            let node = &self.nodes[n];
            let (id, own) = (node.id, node.cycle);
            let mut used: Vec<Item> = Vec::with_capacity(8);
            each_use(self.f, id, |u| used.push(u));
            used.retain(|&u| !self.live.is_live_out(self.b, u));
            used.sort_unstable();
            used.dedup();
            let inst = self.f.inst(id);
            let at = if is_fixed(inst) {
                own
            } else {
                let lead = lead(inst);
                let before = |cycle: u32, cycles: u32| cycle.saturating_sub(cycles + lead);
                let last = node.succs.iter().map(|&(s, cycles)| before(self.nodes[s].cycle, cycles)).min();
                let last = last.unwrap_or(before(end, latency(inst))).max(own);
                let until = |u: &Item| last_use.get(u).copied().unwrap_or(own);
                if last > own && self.saves(n, last, &last_use, late) {
                    last
                } else if late == Late::Constants {
                    own
                } else {
                    let kept = used.iter().filter(|&&u| !self.is_constant(u));
                    kept.map(until).min().unwrap_or(last).clamp(own, last)
                }
            };
            self.nodes[n].cycle = at;
            for u in used {
                let until = last_use.entry(u).or_insert(at);
                *until = at.max(*until);
            }
        }
        // Stable: of instructions with one cycle, the order stays.
        let mut order: Vec<usize> = issued.iter().map(|&(n, _)| n).collect();
        order.sort_by_key(|&n| self.nodes[n].cycle);
        order
    }

    /// Whether issuing a node in a later cycle shortens live ranges: more values are made later than are kept longer
    /// for it. Instructions that compute its operands, and whose results nothing else uses, can be issued later, too,
    /// so that what they read counts in their place. As many are enough if they are registers and in turn can be made
    /// later, or are the loop variable that the node updates.
    fn saves(&self, node: usize, cycle: u32, last_use: &FxHashMap<Item, u32>, late: Late) -> bool {
        let mut results = 0;
        // A loop variable shares the register of its next value.
        let mut shared: Vec<Item> = Vec::new();
        each_def(self.f, self.nodes[node].id, |d| {
            results += 1;
            shared.extend(self.updates.get(&d));
        });
        if late == Late::Constants {
            return self.nodes[node].is_constant(self.f);
        }
        let mut cone = vec![node];
        let mut inputs: Vec<Item> = Vec::with_capacity(16);
        each_use(self.f, self.nodes[node].id, |u| inputs.push(u));
        loop {
            inputs.sort_unstable();
            inputs.dedup();
            inputs.retain(|&u| {
                let until = last_use.get(&u).is_some_and(|&until| until >= cycle);
                !until && !self.live.is_live_out(self.b, u) && !self.is_constant(u)
            });
            let movable =
                |u: &Item| self.makers.get(u).filter(|&&m| !is_ordered(self.f.inst(self.nodes[m].id)));
            let later = |u: &Item| *u < self.f.defs.len() && (movable(u).is_some() || shared.contains(u));
            if results > inputs.len() || (results == inputs.len() && inputs.iter().all(later)) {
                return true;
            }
            if late != Late::WithOperands {
                return false;
            }
            let next = inputs.iter().filter_map(movable).copied().find(|&maker| {
                let mut inside = true;
                each_def(self.f, self.nodes[maker].id, |d| {
                    let used_inside = |users: &Vec<usize>| users.iter().all(|user| cone.contains(user));
                    inside &= !self.live.is_live_out(self.b, d) && self.users.get(&d).is_none_or(used_inside);
                });
                inside
            });
            let Some(maker) = next.filter(|_| cone.len() < CONE) else { return false };
            cone.push(maker);
            inputs.retain(|u| self.makers.get(u) != Some(&maker));
            each_use(self.f, self.nodes[maker].id, |u| inputs.push(u));
        }
    }

    /// Whether a value is a literal or constant in a register: one more live value, whatever waits for it.
    fn is_constant(&self, u: Item) -> bool {
        self.makers.get(&u).is_some_and(|&maker| self.nodes[maker].is_constant(self.f))
    }
}
