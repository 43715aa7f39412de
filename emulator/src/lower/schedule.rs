//! List scheduling of each block before register allocation: long latencies start early, if registers allow.
//!
//! A block is issued cycle by cycle on a simple in-order model with the latencies of a current GPU. While
//! registers are plentiful the instruction with the longest path to the end of the block goes first; near
//! the limit the one that frees most registers does. Instructions that would then wait for their users are
//! issued later instead. A block that takes too many registers is ordered again with lower limits. Memory
//! accesses that may touch the same bytes, barriers and reads of clocks keep their order.

use std::collections::HashMap;

use super::liveness::Mentions;
use super::vir::{Blk, Def, Func, Inst, InstId, Term, VOp, Val};
use trace_format::isa::{Kind, LatencyClass, Op, space::Space};

/// Live 32-bit values per thread that are fine if the kernel may have that many registers.
const BUDGET: i32 = 60;
/// Registers that allocation may need beyond the values that are live at once.
const SPARE: i32 = 4;
/// Numbers of live values above which freeing registers decides among equally ready instructions, and above
/// which it has priority over latency; each pair is tried if the one before takes too many registers.
const LIMITS: [(i32, i32); 4] = [(72, 88), (44, 52), (24, 32), (12, 18)];
/// Live values that cost no occupancy on any GPU: where an order needs no more, values are computed as early as
/// they can be.
const FREE: i32 = 20;
/// Live predicates above which freeing some has priority.
const PREDICATE_LIMIT: i32 = 5;
/// Live predicates above which allocation keeps some in registers.
const PREDICATES: i32 = 7;

/// Instructions that are issued later for the sake of one at most.
const CONE: usize = 12;

/// Instructions of a block that are ordered at once: dependences among memory accesses grow with the square.
const WINDOW: usize = 2048;

/// Schedules all blocks for a number of registers.
pub(super) fn run(f: &mut Func, registers: u16) {
    let live = Liveness::of(f);
    let budget = BUDGET.min(i32::from(registers) - SPARE);
    for b in f.order.clone() {
        if f.block(b).insts.len() > 2 {
            let order = Scheduler::new(f, &live, b, budget).all();
            f.block_mut(b).insts = order;
        }
    }
}

/// Values and predicates live into and out of each block, before single assignment ends.
pub(super) struct Liveness {
    /// Ascending.
    live_in: Vec<Vec<u32>>,
    /// Ascending.
    live_out: Vec<Vec<u32>>,
    registers: usize,
}

/// A value of either kind, by dense index: registers first.
type Item = usize;

impl Liveness {
    /// Computes liveness.
    pub(super) fn of(f: &Func) -> Liveness {
        let registers = f.defs.len();
        let mut mentions = Mentions::new(registers + f.pdefs.len());
        for &b in &f.order {
            for &id in &f.block(b).insts {
                each_use(f, id, |u| mentions.read(b, u));
                each_def(f, id, |d| mentions.write(b, d));
            }
            each_use_at_end(f, b, |u| mentions.read(b, u));
        }
        let begins = |i: u32| {
            let i = i as usize;
            let def = if i < registers { f.defs[i] } else { f.pdefs[i - registers] };
            if let Def::Phi(b) = def { Some(b) } else { None }
        };
        let live_in = mentions.live_in(f, begins);
        let mut live_out = vec![Vec::new(); f.blocks.len()];
        for &b in &f.order {
            let out: &mut Vec<u32> = &mut live_out[b.index()];
            for s in f.block(b).term.succs() {
                out.extend(live_in[s.index()].iter().filter(|&&i| begins(i) != Some(s)));
            }
            each_use_at_end(f, b, |u| out.push(u as u32));
            out.sort_unstable();
            out.dedup();
        }
        Liveness { live_in, live_out, registers }
    }

    /// Whether a value (registers first, then predicates) is live into a block; a phi is live into its own block.
    pub(super) fn is_live_in(&self, b: Blk, i: Item) -> bool {
        self.live_in[b.index()].binary_search(&(i as u32)).is_ok()
    }

    /// Whether a value is live out of a block.
    fn is_live_out(&self, b: Blk, i: Item) -> bool {
        self.live_out[b.index()].binary_search(&(i as u32)).is_ok()
    }

    /// Number of registers and predicates live into a block.
    fn count_in(&self, b: Blk) -> (i32, i32) {
        let live = &self.live_in[b.index()];
        let regs = live.partition_point(|&i| (i as usize) < self.registers);
        (regs as i32, (live.len() - regs) as i32)
    }
}

/// Uses at the end of a block: its condition, the phi arguments of its successors, and the results of a
/// subroutine.
fn each_use_at_end(f: &Func, b: Blk, mut visit: impl FnMut(Item)) {
    let registers = f.defs.len();
    for s in f.block(b).term.succs() {
        let block = f.block(s);
        for (edge, _) in block.preds.iter().enumerate().filter(|(_, p)| **p == b) {
            let args = block.phis.iter().filter_map(|phi| phi.args[edge].reg());
            args.for_each(|r| visit(r.index()));
            let args = block.pphis.iter().filter_map(|phi| phi.args[edge].pred);
            args.for_each(|p| visit(registers + p.index()));
        }
    }
    match (f.block(b).term, f.block(b).sub) {
        (Term::Return, Some(sub)) => {
            let results = f.subs[sub.index()].results.iter().filter_map(|v| v.reg());
            results.for_each(|r| visit(r.index()));
        }
        (Term::If(p, _, _), _) => p.pred.into_iter().for_each(|p| visit(registers + p.index())),
        _ => {}
    }
}

fn each_def(f: &Func, id: InstId, mut visit: impl FnMut(Item)) {
    f.inst(id).dsts().for_each(|d| visit(d.index()));
    f.inst(id).pdsts().for_each(|p| visit(f.defs.len() + p.index()));
}

fn each_use(f: &Func, id: InstId, mut visit: impl FnMut(Item)) {
    let registers = f.defs.len();
    f.inst(id).for_each_val(|v| {
        if let Val::Reg(r) = v {
            visit(r.index());
        }
    });
    f.inst(id).for_each_psrc(|p| {
        if let Some(p) = p.pred {
            visit(registers + p.index());
        }
    });
}

/// Cycles until a dependent instruction can issue.
fn latency(inst: &Inst) -> u32 {
    let VOp::M(op) = inst.op else { return 8 };
    if let Op::S2r { .. } = op {
        return 20;
    }
    let info = op.info();
    match info.latency {
        LatencyClass::Memory => match info.kind {
            Kind::Load(Space::Shared) | Kind::Atomic(Space::Shared) => 24,
            Kind::Load(Space::Const) => 30,
            Kind::Load(_) | Kind::Atomic(_) => 200,
            _ => 1,
        },
        LatencyClass::Sfu | LatencyClass::Convert => 18,
        LatencyClass::IntMisc => 14,
        LatencyClass::Shuffle => 24,
        LatencyClass::Tensor => 32,
        LatencyClass::DpAdd | LatencyClass::DpMul | LatencyClass::DpFma | LatencyClass::DpMax => 16,
        LatencyClass::IntMul => 5,
        _ => 4,
    }
}

/// Cycles until the next instruction of the same pipe can issue.
fn interval(inst: &Inst) -> u32 {
    let VOp::M(op) = inst.op else { return 1 };
    let kind = op.info().kind;
    match op.info().latency {
        _ if kind.is_memory() => 2,
        LatencyClass::Sfu | LatencyClass::Convert | LatencyClass::Shuffle | LatencyClass::Tensor => 2,
        _ => 1,
    }
}

/// What an order costs; the smaller is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// The most registers that are live at once, with those for predicates that do not fit.
    registers: i32,
    /// The most predicates that do not fit.
    predicates: i32,
}

/// Which instructions are issued late.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    /// Those without operands.
    Constants,
    /// Those that shorten live ranges by themselves.
    Alone,
    /// Those that shorten live ranges together with instructions that compute their operands.
    WithOperands,
}

struct Node {
    id: InstId,
    /// Nodes that depend on this one, with the cycles in between.
    succs: Vec<(usize, u32)>,
    /// Predecessors not yet issued.
    waiting: usize,
    /// Longest path to the end of the block.
    height: u32,
    /// First cycle at which all operands are available.
    ready: u32,
    /// It waits for the last one that shares a pipe.
    pipe: bool,
    /// It has been a candidate.
    queued: bool,
    /// Change in the number of live registers and predicates when it issues, as far as that is known.
    delta: Option<(i32, i32)>,
    /// Cycle in which it issues.
    cycle: u32,
}

impl Node {
    fn of(f: &Func, id: InstId) -> Node {
        let pipe = interval(f.inst(id)) > 1;
        Node {
            id,
            succs: Vec::new(),
            waiting: 0,
            height: 0,
            ready: 0,
            pipe,
            queued: false,
            delta: None,
            cycle: 0,
        }
    }
}

impl Node {
    /// Whether it only moves a literal or constant to a register.
    fn is_constant(&self, f: &Func) -> bool {
        let inst = f.inst(self.id);
        inst.op == VOp::M(Op::Mov {}) && inst.src[0].v[0].reg().is_none()
    }
}

struct Scheduler<'a> {
    f: &'a Func,
    live: &'a Liveness,
    b: Blk,
    nodes: Vec<Node>,
    /// Node of the window that makes each value.
    makers: HashMap<Item, usize>,
    /// Nodes of the window that use each value, ascending.
    users: HashMap<Item, Vec<usize>>,
    /// The loop variable that each value of the window becomes in the next iteration.
    updates: HashMap<Item, Item>,
    /// Most uses of a node of the window.
    most_uses: u32,
    /// Uses of each value in the block that are still to come.
    left: HashMap<Item, u32>,
    /// Numbers of live registers above which freeing registers decides among equally ready instructions, and
    /// above which it has priority over latency.
    limit: (i32, i32),
    /// Live registers and predicates.
    pressure: (i32, i32),
    /// Live registers that are fine.
    budget: i32,
}

impl<'a> Scheduler<'a> {
    fn new(f: &'a Func, live: &'a Liveness, b: Blk, budget: i32) -> Self {
        let mut left = HashMap::new();
        for &id in &f.block(b).insts {
            each_use(f, id, |u| *left.entry(u).or_default() += 1);
        }
        let (nodes, makers, users, updates) = (Vec::new(), HashMap::new(), HashMap::new(), HashMap::new());
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
            limit: LIMITS[0],
            pressure,
            budget,
        }
    }

    /// Orders the block, a window at a time.
    fn all(mut self) -> Vec<InstId> {
        let insts = &self.f.block(self.b).insts;
        let mut order = Vec::with_capacity(insts.len());
        for window in insts.chunks(WINDOW) {
            self.nodes = window.iter().map(|&id| Node::of(self.f, id)).collect();
            self.data_edges();
            self.order_edges();
            self.update_edges();
            self.heights();
            self.run(&mut order);
        }
        order
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
    fn delta(&mut self, n: usize) -> (i32, i32) {
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

    fn issue(&mut self, n: usize, cycle: u32) {
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

    /// Orders the instructions of a window: with room for long latencies if the registers suffice, otherwise
    /// in the order that needs the fewest.
    fn run(&mut self, order: &mut Vec<InstId>) {
        let start = self.pressure;
        let mut best: Option<(Cost, Vec<usize>)> = None;
        // Time for one order only, if the code is very long.
        let limits = if self.f.block(self.b).insts.len() > WINDOW { &LIMITS[1..2] } else { &LIMITS[..] };
        // The last pair costs much latency: only where the kernel may not have more registers.
        let limits = if self.budget < BUDGET { limits } else { &limits[..limits.len().min(3)] };
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
            if best.as_ref().is_some_and(|(least, _)| least.registers <= self.budget) {
                break;
            }
        }
        let Some((least, mut found)) = best else { return };
        if least.registers > self.budget {
            let source: Vec<usize> = (0..self.nodes.len()).collect();
            if self.cost(&source) < least {
                found = source;
            }
            self.rewind(start);
        }
        found.iter().for_each(|&n| self.issue(n, 0));
        order.extend(found.into_iter().map(|n| self.nodes[n].id));
    }

    /// Forgets that all of the window's instructions have been issued.
    fn rewind(&mut self, pressure: (i32, i32)) {
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

    /// What an order costs.
    fn cost(&mut self, order: &[usize]) -> Cost {
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

    /// Moves instructions behind others where that shortens live ranges, as long as nothing that depends on them
    /// issues later: where the warp waits for memory, values would otherwise be computed long before their use.
    fn delayed(&mut self, issued: &[(usize, u32)], late: Late) -> Vec<usize> {
        let end = issued.last().map_or(0, |&(_, cycle)| cycle + 1);
        issued.iter().for_each(|&(n, cycle)| self.nodes[n].cycle = cycle);
        let mut last_use: HashMap<Item, u32> = HashMap::new();
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
    fn saves(&self, node: usize, cycle: u32, last_use: &HashMap<Item, u32>, late: Late) -> bool {
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

    /// Issues every node; the order in which it did, with cycles.
    fn forward(&mut self) -> Vec<(usize, u32)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut candidates: Vec<usize> =
            (0..self.nodes.len()).filter(|&n| self.nodes[n].waiting == 0).collect();
        let mut cycle = 0;
        let mut memory_free = 0;
        while !candidates.is_empty() {
            let n = candidates.swap_remove(self.pick(&candidates, cycle, memory_free));
            let inst = self.f.inst(self.nodes[n].id);
            let pipe = self.nodes[n].pipe;
            let start = cycle.max(self.nodes[n].ready).max(if pipe { memory_free } else { 0 });
            if pipe {
                memory_free = start + interval(inst);
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
    fn pick(&mut self, candidates: &[usize], cycle: u32, memory_free: u32) -> usize {
        // Subroutines run rarely, but their registers add to those of every caller.
        let slow = self.f.block(self.b).sub.is_some();
        let careful = slow || self.pressure.0 >= self.limit.0;
        let tight = slow || self.pressure.0 >= self.limit.1;
        let few_predicates = self.pressure.1 >= PREDICATE_LIMIT;
        let mut key = |n: usize| {
            let (regs, preds) = self.delta(n);
            let node = &self.nodes[n];
            let wait = node.ready.max(cycle).max(if node.pipe { memory_free } else { 0 }) - cycle;
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

/// Cycles by which an instruction issues earlier than its latency asks for: how long loads take varies.
fn lead(inst: &Inst) -> u32 {
    match inst.op.kind() {
        Kind::Load(Space::Shared) => 32,
        Kind::Load(_) => 300,
        _ => 0,
    }
}

/// Whether an instruction stays where it was issued.
fn is_fixed(inst: &Inst) -> bool {
    is_strong(inst) || (is_ordered(inst) && !matches!(inst.op.kind(), Kind::Load(_)))
}

/// Whether an instruction takes part in the order of effects.
fn is_ordered(inst: &Inst) -> bool {
    match inst.op.kind() {
        // Matrix products stay in their block, but nothing in it has to stay on one side of them.
        Kind::Pure => inst.op.crosses_lanes() && !inst.op.is_matrix_product(),
        Kind::Load(Space::Const) => false,
        _ => true,
    }
}

/// Whether nothing ordered may cross an instruction.
fn is_fence(inst: &Inst) -> bool {
    matches!(
        inst.op.kind(),
        Kind::Barrier | Kind::Fence | Kind::Sync | Kind::External | Kind::Call | Kind::Trap
    ) && !matches!(inst.op, VOp::M(Op::Txq { .. }))
        || is_strong(inst)
}

/// Whether a memory access is more than weak, so that others must not pass it.
fn is_strong(inst: &Inst) -> bool {
    use trace_format::isa::MemOrder;
    if inst.strong {
        return true;
    }
    let Some(memory) = inst.machine().and_then(|op| op.info().memory) else { return false };
    let order = memory.order;
    matches!(order, MemOrder::Acquire | MemOrder::Release | MemOrder::AcqRel)
        || (order == MemOrder::Strong && !matches!(inst.op.kind(), Kind::Atomic(_) | Kind::Reduction(_)))
}

/// Effect of an ordered instruction that others may observe.
enum Effect {
    /// Nothing ordered may cross it.
    Fence,
    Access(Access),
    /// It involves other lanes.
    Lanes,
}

impl Effect {
    fn of(inst: &Inst) -> Effect {
        match access(inst) {
            _ if is_fence(inst) => Effect::Fence,
            Some(access) => Effect::Access(access),
            None => Effect::Lanes,
        }
    }
}

/// Whether two ordered instructions must stay in order.
fn conflicts(a: &Effect, b: &Effect) -> bool {
    let (x, y) = match (a, b) {
        (Effect::Fence, _) | (_, Effect::Fence) => return true,
        // Operations across lanes keep their order among themselves.
        (Effect::Lanes, _) | (_, Effect::Lanes) => {
            return matches!((a, b), (Effect::Lanes, Effect::Lanes));
        }
        (Effect::Access(x), Effect::Access(y)) => (x, y),
    };
    if !(x.writes || y.writes) || x.read_only || y.read_only {
        return false;
    }
    // Surfaces and textures are in device memory at unknown addresses.
    if x.space.is_remote() || y.space.is_remote() {
        let in_device_memory = |s: Space| s.is_remote() || matches!(s, Space::Global | Space::Generic);
        return in_device_memory(x.space) && in_device_memory(y.space);
    }
    let generic = x.space == Space::Generic || y.space == Space::Generic;
    if !generic && x.space != y.space {
        return false;
    }
    let same_base = x.base == y.base && x.scale == y.scale;
    let apart = x.offset + i64::from(x.bytes) <= y.offset || y.offset + i64::from(y.bytes) <= x.offset;
    !(same_base && apart)
}

/// A memory access and its address.
struct Access {
    space: Space,
    writes: bool,
    read_only: bool,
    base: [Val; 2],
    scale: u32,
    offset: i64,
    bytes: u8,
}

fn access(inst: &Inst) -> Option<Access> {
    let VOp::M(op) = inst.op else { return None };
    let (space, writes) = match op.info().kind {
        Kind::Load(space) => (space, false),
        Kind::Store(space) | Kind::Atomic(space) | Kind::Reduction(space) => (space, true),
        _ => return None,
    };
    let memory = op.info().memory?;
    Some(Access {
        space,
        writes,
        read_only: memory.read_only,
        base: [inst.src[0].v[0], if op.info().src_regs[0] > 1 { inst.src[0].v[1] } else { Val::ZERO }],
        scale: memory.scale().shift(),
        offset: i64::from(inst.offset),
        bytes: memory.bytes(),
    })
}
