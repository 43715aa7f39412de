//! The instructions of a block that are ordered at once, with their dependences and the registers that are live while
//! they issue.

use super::effects::{Effect, conflicts, is_ordered};
use super::latency::{Pipe, latency, pipe};
use super::live::{Item, Liveness, each_def, each_use};
use crate::lower::vir::{Blk, Func, InstId, VOp};
use rustc_hash::FxHashMap;
use trace_format::isa::Op;

/// An instruction of the window.
pub(super) struct Node {
    pub(super) id: InstId,
    /// Nodes that depend on this one, with the cycles in between.
    pub(super) succs: Vec<(usize, u32)>,
    /// Predecessors not yet issued.
    pub(super) waiting: usize,
    /// Longest path to the end of the block.
    pub(super) height: u32,
    /// First cycle at which all operands are available.
    pub(super) ready: u32,
    /// The pipe in which it waits for the last one.
    pub(super) pipe: Option<Pipe>,
    /// It has been a candidate.
    pub(super) queued: bool,
    /// Change in the number of live registers and predicates when it issues, as far as that is known.
    pub(super) delta: Option<(i32, i32)>,
    /// Cycle in which it issues.
    pub(super) cycle: u32,
}

impl Node {
    pub(super) fn of(f: &Func, id: InstId) -> Node {
        Node {
            id,
            succs: Vec::new(),
            waiting: 0,
            height: 0,
            ready: 0,
            pipe: pipe(f.inst(id)),
            queued: false,
            delta: None,
            cycle: 0,
        }
    }

    /// Whether it only moves a literal or constant to a register.
    pub(super) fn is_constant(&self, f: &Func) -> bool {
        let inst = f.inst(self.id);
        inst.op == VOp::M(Op::Mov {}) && inst.src[0].v[0].reg().is_none()
    }
}

/// A block whose instructions are being ordered, and the window that is ordered now.
pub(super) struct Scheduler<'a> {
    pub(super) f: &'a Func,
    pub(super) live: &'a Liveness,
    pub(super) b: Blk,
    pub(super) nodes: Vec<Node>,
    /// Node of the window that makes each value.
    pub(super) makers: FxHashMap<Item, usize>,
    /// Nodes of the window that use each value, ascending.
    pub(super) users: FxHashMap<Item, Vec<usize>>,
    /// The loop variable that each value of the window becomes in the next iteration.
    pub(super) updates: FxHashMap<Item, Item>,
    /// Most uses of a node of the window.
    pub(super) most_uses: u32,
    /// Uses of each value in the block that are still to come.
    pub(super) left: FxHashMap<Item, u32>,
    /// Numbers of live registers above which freeing registers decides among equally ready instructions, and
    /// above which it has priority over latency.
    pub(super) limit: (i32, i32),
    /// Live registers and predicates.
    pub(super) pressure: (i32, i32),
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(f: &'a Func, live: &'a Liveness, b: Blk) -> Self {
        let mut left = FxHashMap::default();
        for &id in &f.block(b).insts {
            each_use(f, id, |u| *left.entry(u).or_default() += 1);
        }
        let (nodes, makers, users, updates) =
            (Vec::new(), FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let pressure = live.count_in(b);
        Scheduler {
            f,
            live,
            b,
            nodes,
            makers,
            users,
            updates,
            most_uses: 0,
            left,
            limit: (i32::MAX, i32::MAX),
            pressure,
        }
    }

    /// Takes the block's next instructions.
    pub(super) fn start(&mut self, window: &[InstId]) {
        self.nodes = window.iter().map(|&id| Node::of(self.f, id)).collect();
        self.data_edges();
        self.order_edges();
        self.update_edges();
        self.heights();
    }

    /// Ends the window with an order of its nodes; the instructions in this order.
    pub(super) fn finish(&mut self, order: &[usize]) -> Vec<InstId> {
        order.iter().for_each(|&n| self.issue(n, 0));
        order.iter().map(|&n| self.nodes[n].id).collect()
    }

    fn edge(&mut self, from: usize, to: usize, cycles: u32) {
        self.nodes[from].succs.push((to, cycles));
        self.nodes[to].waiting += 1;
    }

    fn data_edges(&mut self) {
        self.makers.clear();
        self.users.clear();
        self.most_uses = 0;
        for n in 0..self.nodes.len() {
            let id = self.nodes[n].id;
            let mut from: Vec<usize> = Vec::new();
            let mut uses = 0;
            each_use(self.f, id, |u| {
                uses += 1;
                from.extend(self.makers.get(&u).copied());
                let users = self.users.entry(u).or_default();
                if users.last() != Some(&n) {
                    users.push(n);
                }
            });
            self.most_uses = self.most_uses.max(uses);
            from.sort_unstable();
            from.dedup();
            each_def(self.f, id, |d| {
                self.makers.insert(d, n);
            });
            for d in from {
                let cycles = latency(self.f.inst(self.nodes[d].id));
                self.edge(d, n, cycles);
            }
        }
    }

    /// Keeps memory accesses that may conflict, and everything that must not be moved, in order.
    fn order_edges(&mut self) {
        let mut earlier: Vec<(usize, Effect)> = Vec::new();
        for n in 0..self.nodes.len() {
            let inst = self.f.inst(self.nodes[n].id);
            if !is_ordered(inst) {
                continue;
            }
            let effect = Effect::of(inst);
            for (e, before) in &earlier {
                if conflicts(before, &effect) {
                    self.nodes[*e].succs.push((n, 1));
                    self.nodes[n].waiting += 1;
                }
            }
            if matches!(effect, Effect::Fence) {
                // Whatever follows is ordered against the fence itself.
                earlier.clear();
            }
            earlier.push((n, effect));
        }
    }

    /// Orders the next value of a loop variable after the uses of the current one, so that both can share a
    /// register.
    fn update_edges(&mut self) {
        let f = self.f;
        let mut pairs: Vec<(Item, Item)> = Vec::new();
        for s in f.block(self.b).term.succs() {
            let target = f.block(s);
            for (edge, _) in target.preds.iter().enumerate().filter(|(_, p)| **p == self.b) {
                let regs =
                    target.phis.iter().filter_map(|p| Some((p.dst.index(), p.args[edge].reg()?.index())));
                pairs.extend(regs);
                let preds =
                    target.pphis.iter().filter_map(|p| Some((p.dst.index(), p.args[edge].pred?.index())));
                pairs.extend(preds.map(|(a, b)| (a + f.defs.len(), b + f.defs.len())));
            }
        }
        self.updates = pairs.iter().map(|&(current, next)| (next, current)).collect();
        for (current, next) in pairs {
            let Some(&update) = self.makers.get(&next) else { continue };
            let Some(users) = self.users.get(&current) else { continue };
            if users[..] == [update] {
                continue;
            }
            let below = self.reachable(update);
            let before: Vec<usize> = users
                .iter()
                .copied()
                .filter(|&n| n != update && !below[n] && !self.nodes[n].succs.iter().any(|s| s.0 == update))
                .collect();
            before.into_iter().for_each(|n| self.edge(n, update, 1));
        }
    }

    /// Nodes that depend on a node.
    fn reachable(&self, from: usize) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![from];
        while let Some(n) = stack.pop() {
            for &(s, _) in &self.nodes[n].succs {
                if !std::mem::replace(&mut seen[s], true) {
                    stack.push(s);
                }
            }
        }
        seen
    }

    fn heights(&mut self) {
        // Post-order: all successors before their predecessors (edges may point backwards in the old order).
        let mut done = vec![false; self.nodes.len()];
        for root in 0..self.nodes.len() {
            let mut stack = vec![(root, 0)];
            while let Some((n, i)) = stack.pop() {
                if done[n] {
                    continue;
                }
                if let Some(&(s, _)) = self.nodes[n].succs.get(i) {
                    stack.push((n, i + 1));
                    if !done[s] {
                        stack.push((s, 0));
                    }
                } else {
                    done[n] = true;
                    let own = latency(self.f.inst(self.nodes[n].id)).min(24);
                    let below = self.nodes[n].succs.iter().map(|&(s, c)| self.nodes[s].height + c).max();
                    self.nodes[n].height = below.unwrap_or(0).max(own);
                }
            }
        }
    }

    /// Change in the number of live registers and predicates when a node issues.
    pub(super) fn delta(&mut self, n: usize) -> (i32, i32) {
        if let Some(known) = self.nodes[n].delta {
            return known;
        }
        let found = self.count_delta(n);
        self.nodes[n].delta = Some(found);
        found
    }

    fn count_delta(&self, n: usize) -> (i32, i32) {
        let id = self.nodes[n].id;
        let registers = self.f.defs.len();
        let mut change = (0, 0);
        let mut count = |i: Item, by: i32| {
            if i < registers {
                change.0 += by;
            } else {
                change.1 += by;
            }
        };
        each_def(self.f, id, |d| {
            if self.left.contains_key(&d) || self.live.is_live_out(self.b, d) {
                count(d, 1);
            }
        });
        let mut used: Vec<Item> = Vec::with_capacity(8);
        each_use(self.f, id, |u| used.push(u));
        used.sort_unstable();
        let mut i = 0;
        while i < used.len() {
            let times = used[i..].iter().take_while(|r| **r == used[i]).count();
            if self.left.get(&used[i]).copied() == Some(times as u32)
                && !self.live.is_live_out(self.b, used[i])
            {
                count(used[i], -1);
            }
            i += times;
        }
        change
    }

    pub(super) fn issue(&mut self, n: usize, cycle: u32) {
        let delta = self.delta(n);
        self.pressure = (self.pressure.0 + delta.0, self.pressure.1 + delta.1);
        each_use(self.f, self.nodes[n].id, |u| {
            let Some(left) = self.left.get_mut(&u) else { return };
            *left = left.saturating_sub(1);
            // A node's change differs only if it may hold the last uses.
            if *left <= self.most_uses {
                for &user in self.users.get(&u).into_iter().flatten() {
                    self.nodes[user].delta = None;
                }
            }
        });
        self.nodes[n].cycle = cycle;
        for i in 0..self.nodes[n].succs.len() {
            let (s, cycles) = self.nodes[n].succs[i];
            let node = &mut self.nodes[s];
            node.waiting -= 1;
            node.ready = node.ready.max(cycle + cycles);
        }
    }

    /// Forgets that all of the window's instructions have been issued.
    pub(super) fn rewind(&mut self, pressure: (i32, i32)) {
        self.pressure = pressure;
        for node in &mut self.nodes {
            (node.waiting, node.ready, node.queued, node.delta) = (0, 0, false, None);
        }
        for n in 0..self.nodes.len() {
            for i in 0..self.nodes[n].succs.len() {
                let s = self.nodes[n].succs[i].0;
                self.nodes[s].waiting += 1;
            }
        }
        for n in 0..self.nodes.len() {
            each_use(self.f, self.nodes[n].id, |u| *self.left.entry(u).or_default() += 1);
        }
    }
}
