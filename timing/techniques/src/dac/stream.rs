//! The affine warp: it executes the affine stream once for a batch of blocks, all of whose threads are lanes of one SIMT
//! stack (DAC, section 4.5).
//!
//! Which way threads go is read from scouts of their warps, never before the affine warp could know it: at a branch that
//! it has computed when the predicate has been expanded, at a branch on other data when the warps have executed it.
//! Of the places where threads are it goes on at the earliest in reverse post order, where threads wait for those behind
//! them as on a SIMT stack; at a barrier for the other warps of their block.

use super::decouple::Role;
use super::expansion::Expansion;
use super::lanes::{Comparison, Evaluator, Event, Lanes};
use crate::{Cx, MicroId, MicroOp, Plan};
use std::collections::VecDeque;
use trace_format::isa::space::Space;
use trace_format::isa::{Address, Kind, MemOrder, Pred, RegSpan, Unit};
use warplab_technique::Row;
use warplab_technique::program::{Path, Program};

/// Words of a tuple, each of which a lane of the affine warp computes: a base and an offset for each dimension.
const TUPLE_WORDS: u32 = 4;

/// A warp of a block, as the affine warp sees it.
#[derive(Clone, Debug)]
struct Warp {
    block: usize,
    lanes: Lanes,
    /// Instructions of the affine stream that the affine warp or the warp itself has still to pass.
    events: VecDeque<Event>,
    /// Their rows, and the number of the first of these.
    rows: VecDeque<Row>,
    first_row: u32,
    /// Number of the first event, and of those that the affine warp and the warp pass next.
    first: u64,
    affine_at: u64,
    warp_at: u64,
    at_barrier: bool,
    barriers: u32,
    /// Predicates computed so far, and the number of the latest one of each predicate register.
    predicates: u64,
    numbers: [u64; Pred::ALL],
}

/// An instruction of the affine stream that a warp passes, with its results or the words of its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed<'a> {
    pub event: &'a Event,
    pub rows: [&'a Row; 2],
}

/// The instruction that the affine warp executes next, for some warps.
#[derive(Clone, Copy, Debug)]
struct Next {
    pc: u32,
    warps: u64,
    /// Whether its enqueue instruction is next.
    enqueues: bool,
    ready_at: u64,
}

/// What is known of an instruction of the stream before the launch.
#[derive(Clone, Debug)]
struct Step {
    computes: Option<MicroId>,
    /// Registers that it reads and writes in the affine warp; uniform ones begin at `UNIFORM`.
    reads: Vec<u16>,
    writes: Vec<u16>,
    /// Predicates that it waits for, one bit each.
    waits_for: u16,
    /// Bytes of an access, its offset and scale, whether the register of its address is a pair and whether the sum has 64
    /// bits, and whether it is loaded early.
    bytes: u64,
    offset: i64,
    scale: u32,
    pair: bool,
    wide: bool,
    early: bool,
}

/// The first uniform register among the registers of the affine warp. Those are in no bank.
const UNIFORM: u16 = 256;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct AffineWarp {
    evaluator: Option<Evaluator>,
    steps: Vec<Option<Step>>,
    enqueue: Option<MicroId>,
    warps: Vec<Option<Warp>>,
    /// Warps that the affine warp serves, and those that wait for the next batch.
    batch: u64,
    waiting: u64,
    placed_at: u64,
    wait_cycles: u64,
    banks: u32,
    next: Option<Next>,
    /// Cycle at which each register of the affine warp is written.
    ready: Vec<u64>,
    pub executed: u64,
    pub enqueued: u64,
    pub batches: u64,
    pub batch_warps: u64,
}

impl AffineWarp {
    /// The affine warp of a kernel: warp slots, banks of the register file, whether data are loaded early, and cycles to
    /// wait for further blocks.
    pub(super) fn new(
        evaluator: Evaluator,
        program: &Program,
        roles: &[Role],
        plan: &mut Plan,
        (slots, banks, early, wait_cycles): (usize, u32, bool, u64),
    ) -> AffineWarp {
        let mut made: Vec<((u8, u32, u32), MicroId)> = Vec::new();
        let enqueue = plan.micro_op(MicroOp::marker("enqueue", 0));
        let mut steps = Vec::with_capacity(roles.len());
        for (timed, role) in program.insts.iter().zip(roles) {
            if !role.in_stream {
                steps.push(None);
                continue;
            }
            let inst = &timed.inst;
            let computes = (timed.path == Path::Alu).then(|| {
                let key = (timed.class, timed.latency_cycles, timed.initiation_cycles);
                match made.iter().find(|(known, _)| *known == key) {
                    Some((_, op)) => *op,
                    None => {
                        let unit = Unit::ALL[usize::from(timed.class)].name();
                        let mut op = MicroOp::in_unit("affine", 0, unit, timed.latency_cycles);
                        op.initiation_cycles = timed.initiation_cycles;
                        op.lanes = TUPLE_WORDS;
                        let op = plan.micro_op(op);
                        made.push((key, op));
                        op
                    }
                }
            });
            let is_memory = matches!(timed.path, Path::Memory(_));
            let memory = inst.info().memory;
            let uniform = |reg: trace_format::isa::UniformReg| UNIFORM + u16::from(reg.0);
            let reads: Vec<u16> = if is_memory {
                let address =
                    inst.src_span(0).into_iter().flat_map(RegSpan::iter).map(|reg| u16::from(reg.0));
                address.chain(inst.base_uniforms().map(uniform)).collect()
            } else {
                let own = timed.sources().iter().map(|reg| u16::from(*reg));
                own.chain(inst.src_uniforms().map(uniform)).collect()
            };
            let written = timed.destinations().iter().map(|reg| u16::from(*reg));
            let written = written.chain(inst.dst_uniforms().map(uniform));
            let global = matches!(inst.kind(), Kind::Load(Space::Global | Space::Generic));
            let weak = memory.is_some_and(|memory| memory.order == MemOrder::Weak);
            let (scale, pair, wide) = match memory.map(|memory| memory.address) {
                Some(Address::Wide) => (0, true, true),
                Some(Address::Offset) => (0, false, true),
                Some(Address::Narrow(scale)) => (scale.shift(), false, false),
                _ => (0, false, false),
            };
            let combines = role.predicate && inst.is_unguarded();
            let asked = inst.all_src_preds().fold(0u16, |all, pred| all | 1 << (pred.0 & 15));
            steps.push(Some(Step {
                computes,
                reads,
                writes: if is_memory { Vec::new() } else { written.collect() },
                // The predicate unit combines predicates; a branch on other data waits for the warps instead.
                waits_for: if combines || role.data_dependent { 0 } else { asked },
                bytes: memory.map_or(0, |memory| u64::from(memory.bytes())),
                offset: i64::from(inst.offset),
                scale,
                pair,
                wide,
                early: early && global && weak && role.address,
            }));
        }
        AffineWarp {
            evaluator: Some(evaluator),
            steps,
            enqueue: Some(enqueue),
            warps: (0..slots).map(|_| None).collect(),
            wait_cycles,
            banks,
            ready: vec![0; usize::from(UNIFORM) + 64],
            ..AffineWarp::default()
        }
    }

    /// The registers of a warp, for faults.
    #[cfg(test)]
    pub(super) fn lanes_mut(&mut self, slot: usize) -> &mut Lanes {
        &mut self.warps[slot].as_mut().expect("a warp").lanes
    }

    /// An instruction as the affine warp has it, for faults.
    #[cfg(test)]
    pub(super) fn inst_mut(&mut self, pc: usize) -> &mut trace_format::isa::Inst {
        self.evaluator.as_mut().expect("prepared").inst_mut(pc)
    }

    /// An event that a warp passes soon, for faults.
    #[cfg(test)]
    pub(super) fn event_mut(&mut self, slot: usize, ahead: usize) -> &mut Event {
        let warp = self.warps[slot].as_mut().expect("a warp");
        let at = (warp.warp_at - warp.first) as usize + ahead;
        warp.events.get_mut(at).expect("the affine warp is ahead")
    }

    /// A row of such an event, for faults.
    #[cfg(test)]
    pub(super) fn row_mut(&mut self, slot: usize, ahead: usize) -> &mut Row {
        let first_row = self.event_mut(slot, ahead).first_row;
        let warp = self.warps[slot].as_mut().expect("a warp");
        let at = first_row.wrapping_sub(warp.first_row) as usize;
        warp.rows.get_mut(at).expect("a row")
    }

    pub(super) fn evaluator(&self) -> Option<&Evaluator> {
        self.evaluator.as_ref()
    }

    /// Whether a load's data are loaded early.
    pub(super) fn loads_early(&self, pc: u32) -> bool {
        self.steps.get(pc as usize).and_then(Option::as_ref).is_some_and(|step| step.early)
    }

    /// Places a warp, which waits for the next batch.
    pub(super) fn place(&mut self, now: u64, slot: usize, block: usize, lanes: Lanes) {
        self.warps[slot] = Some(Warp {
            block,
            lanes,
            events: VecDeque::new(),
            rows: VecDeque::new(),
            first_row: 0,
            first: 0,
            affine_at: 0,
            warp_at: 0,
            at_barrier: false,
            barriers: 0,
            predicates: 0,
            numbers: [0; Pred::ALL],
        });
        self.waiting |= 1 << slot;
        self.placed_at = now;
    }

    /// The event of a warp with a number, read from its scout if it has not been yet.
    fn event(&mut self, cx: &mut Cx<'_>, roles: &[Role], slot: usize, number: u64) -> Option<&Event> {
        let AffineWarp { warps, evaluator, .. } = self;
        let (Some(warp), Some(evaluator)) = (warps[slot].as_mut(), evaluator.as_mut()) else { return None };
        while warp.first + warp.events.len() as u64 <= number {
            let step = cx.scouts()?.step(slot)?;
            if roles[step.pc as usize].in_stream {
                let first_row = warp.first_row.wrapping_add(warp.rows.len() as u32);
                let event = warp.lanes.step(evaluator, (step.pc, step.exec), &mut warp.rows);
                warp.events.push_back(Event { first_row, ..event });
            }
        }
        warp.events.get((number - warp.first) as usize)
    }

    /// The event of the instruction that a warp itself passes; it is kept until the warp passes the next one.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_>, roles: &[Role], slot: usize) -> Option<Passed<'_>> {
        let warp = self.warps[slot].as_mut()?;
        warp.trim();
        let number = warp.warp_at;
        self.event(cx, roles, slot, number)?;
        let warp = self.warps[slot].as_mut()?;
        warp.warp_at += 1;
        let event = warp.events.get((number - warp.first) as usize)?;
        Some(Passed { event, rows: warp.rows_of(event) })
    }

    /// Begins the next batch when the affine warp is idle and no further block has come for a while.
    pub(super) fn begin_batch(&mut self, cx: &mut Cx<'_>, roles: &[Role]) {
        if self.batch != 0 || self.waiting == 0 || cx.cycle < self.placed_at + self.wait_cycles {
            return;
        }
        self.batch = std::mem::take(&mut self.waiting);
        self.batches += 1;
        self.batch_warps += u64::from(self.batch.count_ones());
        self.ready.fill(0);
        self.choose(cx, roles);
    }

    /// Finds the place where the affine warp goes on.
    fn choose(&mut self, cx: &mut Cx<'_>, roles: &[Role]) {
        loop {
            let mut best: Option<(u32, u32, u64)> = None;
            let (mut held, mut free) = (0u64, 0u64);
            for slot in slots(self.batch) {
                let Some(warp) = &self.warps[slot] else { continue };
                let (number, at_barrier) = (warp.affine_at, warp.at_barrier);
                if at_barrier {
                    held |= 1 << slot;
                    continue;
                }
                let Some(pc) = self.event(cx, roles, slot, number).map(|event| event.pc) else {
                    self.batch &= !(1 << slot);
                    continue;
                };
                free |= 1 << slot;
                let place = (roles[pc as usize].order, pc);
                match &mut best {
                    Some((order, pc, warps)) if (*order, *pc) == place => *warps |= 1 << slot,
                    Some((order, pc, _)) if (*order, *pc) < place => {}
                    _ => best = Some((place.0, place.1, 1 << slot)),
                }
            }
            if self.release(held, free) {
                continue;
            }
            self.next =
                best.map(|(_, pc, warps)| Next { pc, warps, enqueues: false, ready_at: self.ready_at(pc) });
            return;
        }
    }

    /// Lets warps pass a barrier at which all of their block are.
    fn release(&mut self, held: u64, free: u64) -> bool {
        let mut released = false;
        for slot in slots(held) {
            let block = self.warps[slot].as_ref().map(|warp| warp.block);
            let misses = slots(free).any(|other| self.warps[other].as_ref().map(|warp| warp.block) == block);
            if !misses && let Some(warp) = self.warps[slot].as_mut() {
                warp.at_barrier = false;
                warp.affine_at += 1;
                warp.trim();
                released = true;
            }
        }
        released
    }

    fn ready_at(&self, pc: u32) -> u64 {
        let reads = self.steps[pc as usize].as_ref().map_or(&[][..], |step| &step.reads);
        reads.iter().map(|reg| self.ready[usize::from(*reg)]).max().unwrap_or(0)
    }

    /// Whether the next instruction waits for queues, for predicates or for other warps.
    fn is_blocked(&self, next: &Next, roles: &[Role], units: &Expansion) -> bool {
        let role = &roles[next.pc as usize];
        let Some(step) = &self.steps[next.pc as usize] else { return true };
        let enqueues = role.address || role.barrier || next.enqueues;
        if enqueues && !units.has_room() {
            return true;
        }
        if next.enqueues && role.dequeued && slots(next.warps).any(|slot| !units.takes_predicate(slot)) {
            return true;
        }
        if role.data_dependent || step.waits_for != 0 {
            return slots(next.warps).any(|slot| {
                let Some(warp) = &self.warps[slot] else { return false };
                if role.data_dependent {
                    return warp.warp_at <= warp.affine_at;
                }
                let expanded = units.expanded(slot);
                members(step.waits_for).any(|pred| warp.numbers[pred] > expanded)
            });
        }
        false
    }

    /// The micro-operation that can issue now.
    pub(super) fn ready(&self, now: u64, roles: &[Role], units: &Expansion) -> Option<MicroId> {
        let next = self.next.as_ref()?;
        if next.ready_at > now || self.is_blocked(next, roles, units) {
            return None;
        }
        let step = self.steps[next.pc as usize].as_ref()?;
        if next.enqueues { self.enqueue } else { step.computes.or(self.enqueue) }
    }

    /// The next cycle in which the affine warp may issue or begin.
    pub(super) fn next_event(&self, now: u64, roles: &[Role], units: &Expansion) -> Option<u64> {
        match &self.next {
            Some(next) if self.is_blocked(next, roles, units) => None,
            Some(next) => Some(next.ready_at.max(now)),
            None if self.batch == 0 && self.waiting != 0 => {
                Some((self.placed_at + self.wait_cycles).max(now))
            }
            None => None,
        }
    }

    /// The next instruction has issued; its result is there at `done_at`.
    pub(super) fn issued(&mut self, cx: &mut Cx<'_>, roles: &[Role], units: &mut Expansion, done_at: u64) {
        let Some(next) = self.next else { return };
        let role = &roles[next.pc as usize];
        self.executed += 1;
        let enqueues = role.address || role.barrier || next.enqueues;
        self.enqueued += u64::from(enqueues);
        if let Some(step) = &self.steps[next.pc as usize] {
            for reg in step.reads.iter().filter(|reg| !next.enqueues && **reg < UNIFORM) {
                cx.read_bank((u32::from(*reg) % self.banks) as u8);
            }
            for reg in &step.writes {
                if *reg < UNIFORM {
                    cx.write_bank((u32::from(*reg) % self.banks) as u8);
                }
                self.ready[usize::from(*reg)] = done_at;
            }
        }
        if role.predicate && !next.enqueues {
            self.next = Some(Next { enqueues: true, ready_at: done_at, ..next });
            return;
        }
        if role.address {
            self.enqueue_addresses(cx, units, &next);
        } else if role.barrier {
            self.enqueue_barrier(cx.cycle, units, &next);
        } else if role.predicate {
            self.enqueue_predicates(cx.cycle, role, units, &next);
        }
        for slot in slots(next.warps) {
            let Some(warp) = self.warps[slot].as_mut() else { continue };
            if role.barrier {
                warp.at_barrier = true;
            } else {
                warp.affine_at += 1;
                warp.trim();
            }
        }
        self.choose(cx, roles);
    }

    fn current(&self, slot: usize) -> Option<(&Warp, &Event)> {
        let warp = self.warps[slot].as_ref()?;
        Some((warp, warp.events.get((warp.affine_at - warp.first) as usize)?))
    }

    fn enqueue_addresses(&mut self, cx: &mut Cx<'_>, units: &mut Expansion, next: &Next) {
        let Some(step) = &self.steps[next.pc as usize] else { return };
        let in_effect = |slot: &usize| self.current(*slot).is_some_and(|(_, event)| event.exec != 0);
        let parts = slots(next.warps).filter(in_effect).count() as u32;
        let entry = units.enqueue(cx.cycle, parts);
        let mut begun = 0u64;
        for slot in slots(next.warps).filter(in_effect) {
            let Some((warp, event)) = self.current(slot) else { continue };
            let [low, high] = warp.rows_of(event);
            let start = event.base.wrapping_add(step.offset as u64);
            let addresses: [u64; 32] = std::array::from_fn(|lane| {
                let high = if step.pair { u64::from(high.0[lane]) << 32 } else { 0 };
                let address = (u64::from(low.0[lane]) << step.scale | high).wrapping_add(start);
                if step.wide { address } else { address & 0xFFFF_FFFF }
            });
            let lane = event.exec.trailing_zeros() as usize & 31;
            let early = step.early && Space::of_generic(addresses[lane]).0 == Space::Global;
            let starts = begun >> warp.block & 1 == 0;
            begun |= 1 << warp.block;
            units.push_address(
                entry,
                (warp.block, slot),
                next.pc,
                (&addresses, event.exec, step.bytes),
                (early, starts),
            );
        }
    }

    fn enqueue_barrier(&mut self, now: u64, units: &mut Expansion, next: &Next) {
        let mut blocks: Vec<(usize, u32)> = Vec::new();
        for slot in slots(next.warps) {
            let Some(warp) = self.warps[slot].as_mut() else { continue };
            warp.barriers += 1;
            if !blocks.iter().any(|(block, _)| *block == warp.block) {
                blocks.push((warp.block, warp.barriers));
            }
        }
        let entry = units.enqueue(now, blocks.len() as u32);
        for (block, number) in blocks {
            units.push_barrier(entry, block, number);
        }
    }

    fn enqueue_predicates(&mut self, now: u64, role: &Role, units: &mut Expansion, next: &Next) {
        let mut blocks: Vec<(usize, Vec<(u8, Comparison)>)> = Vec::new();
        for slot in slots(next.warps) {
            let Some((warp, event)) = self.current(slot) else { continue };
            let (block, of) = (warp.block, (slot as u8, event.comparison));
            match blocks.iter_mut().find(|(known, _)| *known == block) {
                Some((_, warps)) => warps.push(of),
                None => blocks.push((block, vec![of])),
            }
        }
        let entry = units.enqueue(now, blocks.len() as u32);
        for (block, warps) in blocks {
            units.push_predicate(entry, block, warps, role.dequeued);
        }
        let Some(evaluator) = &self.evaluator else { return };
        let written = evaluator.predicates_of(next.pc);
        for slot in slots(next.warps) {
            let Some(warp) = self.warps[slot].as_mut() else { continue };
            warp.predicates += 1;
            for pred in members(written) {
                warp.numbers[pred] = warp.predicates;
            }
        }
    }

    /// A warp has ended; the affine warp leaves out what was still to do for it.
    pub(super) fn end_warp(&mut self, cx: &mut Cx<'_>, roles: &[Role], slot: usize) {
        self.warps[slot] = None;
        self.batch &= !(1 << slot);
        self.waiting &= !(1 << slot);
        let Some(next) = &mut self.next else { return };
        next.warps &= !(1 << slot);
        // The others of its block may have waited for it at a barrier.
        let held = |slot: usize| self.warps[slot].as_ref().is_some_and(|warp| warp.at_barrier);
        if next.warps == 0 || self.batch == 0 || !next.enqueues && slots(self.batch).any(held) {
            self.choose(cx, roles);
        }
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("affine warp: batch {:#x}, waiting {:#x}", self.batch, self.waiting);
        if let Some(next) = &self.next {
            text += &format!(", PC {:#06x} for warps {:#x}", next.pc * 8, next.warps);
        }
        text
    }
}

impl Warp {
    /// Forgets events that both have passed.
    fn trim(&mut self) {
        while self.first < self.affine_at.min(self.warp_at)
            && let Some(event) = self.events.pop_front()
        {
            self.first += 1;
            self.first_row = self.first_row.wrapping_add(u32::from(event.rows));
            self.rows.drain(..usize::from(event.rows));
        }
    }

    /// The rows of an event; zeros where it has none.
    fn rows_of(&self, event: &Event) -> [&Row; 2] {
        let first = event.first_row.wrapping_sub(self.first_row) as usize;
        let row = |at: usize| if at < usize::from(event.rows) { self.rows.get(first + at) } else { None };
        [0, 1].map(|at| row(at).unwrap_or(&Row::ZERO))
    }
}

/// The predicates of a set, ascending.
pub(super) fn members(set: u16) -> impl Iterator<Item = usize> {
    slots(u64::from(set))
}

/// The members of a set, ascending.
fn slots(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (slot < 64).then_some(slot)
    })
}
