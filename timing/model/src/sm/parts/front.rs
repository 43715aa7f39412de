//! Fetch and decode: the I-cache, the fetch scheduler and the I-buffers.
//!
//! Fetch is loose round robin over warps whose I-buffer has room. Fetch runs ahead sequentially; when the
//! recorded path branches, issue redirects fetch and discards the fetched instructions. Techniques decide
//! before the I-cache access: a skipped instruction costs no access, and a stalled warp gives its turn to
//! another. In the organisation with control bits each sub-core fetches for itself, greedily as it issues.

use super::WarpSet;
use super::small_caches::CodeFetch;
use crate::config::Organisation;
use crate::sm::machine::Machine;
use crate::stats::{Counters, Stall};
use crate::techniques::{Decision, FetchVerdict, MicroId};
use std::collections::VecDeque;

/// Entries that an I-buffer holds at most, skipped instructions included.
const RING: usize = 16;

/// Predecessor of a warp's first instruction.
const NO_INSTRUCTION: u32 = u32::MAX;

/// An I-buffer entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An instruction of the program.
    Program(u32),
    /// A micro-operation of a technique.
    Micro(MicroId),
    /// An instruction that a technique skips, with the technique's position: it takes no I-buffer entry and
    /// no issue slot.
    Skipped(u32, u8),
}

/// What a warp fetches next.
#[derive(Clone, Copy, Debug)]
enum Fetching {
    Program(u32),
    Inserted { position: usize, op: MicroId, line: u64 },
}

impl Fetching {
    /// The line of code that holds it.
    fn line(self, machine: &Machine) -> u64 {
        match self {
            Fetching::Program(pc) => machine.code_line(pc),
            Fetching::Inserted { line, .. } => line,
        }
    }
}

#[derive(Clone, Debug)]
struct WarpFront {
    ring: [Entry; RING],
    head: u8,
    len: u8,
    /// Entries of the ring that occupy the I-buffer.
    held: u8,
    /// Entries in decode, and how many of them occupy the I-buffer.
    decoding: u8,
    decoding_held: u8,
    /// Next instruction to fetch, its predecessor on the path, and how many of the operations inserted before
    /// it have been fetched or belong to another edge.
    pc: u32,
    via: u32,
    inserted_done: usize,
    /// Number of redirections; fetches of an earlier number are dropped.
    epoch: u32,
}

/// The fetch of a sub-core: its warps, and the one for which it fetched last.
#[derive(Clone, Copy, Debug)]
struct SubCoreFetch {
    warps: u64,
    last: u64,
}

impl SubCoreFetch {
    fn new(core: u32, cores: u32, warps: u32) -> SubCoreFetch {
        let own = (core..warps).step_by(cores as usize).fold(0, |own, warp| own | 1 << warp);
        SubCoreFetch { warps: own, last: 0 }
    }
}

/// What a warp's head needs to issue, besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadClass {
    /// A collector of a class.
    Collector(u8),
    /// A control unit.
    Control,
}

/// An instruction or micro-operation that has been fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    /// Warp slot.
    pub warp: usize,
    /// Its position, or that of the instruction before which a micro-operation was inserted.
    pub pc: u32,
    /// What enters the I-buffer.
    pub entry: Entry,
    /// Cycle at which it is decoded.
    pub ready_at: u64,
}

/// Interface of fetch to its neighbours.
pub(crate) trait FetchNeighbours {
    /// Reads a line of code for a warp.
    fn read_code(&mut self, line: u64, warp: usize, counters: &mut Counters) -> CodeFetch;

    /// The techniques' verdict on an instruction that a warp is about to fetch.
    fn verdict(&self, warp: usize, pc: u32) -> Decision<FetchVerdict>;

    /// A technique's verdict has kept a warp from fetching; the technique is notified.
    fn held(&mut self, warp: usize, pc: u32, by: u8, cause: u8);

    /// Whether a warp passes over an inserted micro-operation without fetching it; its technique is notified.
    fn passes_over(&mut self, warp: usize, op: MicroId) -> bool;

    /// An instruction or micro-operation has been fetched.
    fn fetched(&mut self, fetched: Fetched);
}

/// Fetch state of an SM.
#[derive(Clone, Debug)]
pub(crate) struct Front<'a> {
    machine: &'a Machine,
    warps: Vec<WarpFront>,
    decoding: VecDeque<(u64, u8, u32, Entry)>,
    /// Micro-operations that issue before the I-buffer's entries, by warp, and the warps that have any.
    injected: Vec<VecDeque<MicroId>>,
    has_injected: u64,
    /// The technique that stalls each warp's fetch, and its cause.
    held_by: Vec<(u8, u8)>,
    last: u32,
    /// Each sub-core's fetch; none if the SM fetches for all its warps.
    sub_cores: Vec<SubCoreFetch>,
    /// By warp: how many warps had been placed before it, and how many have been in all.
    placed: Vec<u64>,
    placements: u64,
    capacity: u8,
    latency: u64,
    /// Warps that have begun and not ended.
    running: u64,
    /// Warps that may fetch, and those of them that a technique stalled in its last verdict.
    fetch: u64,
    held: u64,
    /// Warps that wait for an I-cache line.
    awaits_code: u64,
    /// Warps that wait for a branch, and how often each does.
    awaits_branch: u64,
    branches: Vec<u8>,
    /// Warps that have a decoded instruction, and what these heads need.
    decoded: u64,
    classes: [u64; 3],
    control: u64,
}

impl<'a> Front<'a> {
    /// A front end without warps.
    #[must_use]
    pub(crate) fn new(machine: &'a Machine) -> Front<'a> {
        let config = &machine.config;
        let empty = WarpFront {
            ring: [Entry::Program(0); RING],
            head: 0,
            len: 0,
            held: 0,
            decoding: 0,
            decoding_held: 0,
            pc: 0,
            via: NO_INSTRUCTION,
            inserted_done: 0,
            epoch: 0,
        };
        let warps = config.sm.max_warps as usize;
        Front {
            machine,
            warps: vec![empty; warps],
            decoding: VecDeque::new(),
            injected: vec![VecDeque::new(); warps],
            has_injected: 0,
            held_by: vec![(0, 0); warps],
            last: 63,
            sub_cores: match config.sm.organisation {
                Organisation::Collectors => Vec::new(),
                Organisation::ControlBits => (0..config.scheduler.count)
                    .map(|core| SubCoreFetch::new(core, config.scheduler.count, warps as u32))
                    .collect(),
            },
            placed: vec![0; warps],
            placements: 0,
            capacity: config.front_end.ibuffer_entries as u8,
            latency: u64::from(config.front_end.icache.hit_latency_cycles + config.front_end.decode_cycles),
            running: 0,
            fetch: 0,
            held: 0,
            awaits_code: 0,
            awaits_branch: 0,
            branches: vec![0; warps],
            decoded: 0,
            classes: [0; 3],
            control: 0,
        }
    }

    /// Places a new warp in a slot; it begins at an instruction.
    pub(crate) fn place(&mut self, warp: usize, pc: u32) {
        self.placed[warp] = self.placements;
        self.placements += 1;
        self.injected[warp].clear();
        self.has_injected &= !(1 << warp);
        self.held &= !(1 << warp);
        self.restart(warp, pc, NO_INSTRUCTION);
    }

    /// Lets a warp begin to fetch.
    pub(crate) fn begin(&mut self, warp: usize) {
        self.running |= 1 << warp;
        self.refresh(warp);
    }

    /// Ends the fetch of a warp whose path has ended.
    pub(crate) fn end(&mut self, warp: usize) {
        self.running &= !(1 << warp);
        self.fetch &= !(1 << warp);
    }

    /// Warps that may fetch.
    #[must_use]
    #[inline]
    pub(crate) fn may_fetch(&self) -> u64 {
        self.fetch
    }

    /// Warps whose fetch techniques stall.
    #[must_use]
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Warps whose fetch techniques stall and that have no instruction left, decoded or on its way.
    #[must_use]
    pub(crate) fn starved(&self) -> u64 {
        let has_none = |warp: &usize| {
            let warp = &self.warps[*warp];
            warp.len == 0 && warp.decoding == 0
        };
        let empty = WarpSet(self.held & self.running & !self.decoded).filter(has_none);
        empty.fold(0, |starved, warp| starved | 1 << warp)
    }

    /// Warps that wait for an I-cache line.
    #[must_use]
    pub(crate) fn awaits_code(&self) -> u64 {
        self.awaits_code
    }

    /// Warps that have a decoded instruction.
    #[must_use]
    #[inline]
    pub(crate) fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Warps whose head needs a collector, by its class.
    #[must_use]
    #[inline]
    pub(crate) fn collector_classes(&self) -> [u64; 3] {
        self.classes
    }

    /// Warps whose head needs a control unit.
    #[must_use]
    #[inline]
    pub(crate) fn control(&self) -> u64 {
        self.control
    }

    /// Warps that wait for a branch.
    #[must_use]
    #[inline]
    pub(crate) fn awaits_branch(&self) -> u64 {
        self.awaits_branch
    }

    /// Whether a warp waits for a branch.
    pub(crate) fn is_at_branch(&self, warp: usize) -> bool {
        self.awaits_branch >> warp & 1 != 0
    }

    /// Makes a warp wait for a branch, or where lanes meet.
    pub(crate) fn await_branch(&mut self, warp: usize) {
        self.awaits_branch |= 1 << warp;
        self.branches[warp] += 1;
    }

    /// Resolves a warp's branch.
    pub(crate) fn branch_resolved(&mut self, warp: usize) {
        self.branches[warp] -= 1;
        if self.branches[warp] == 0 {
            self.awaits_branch &= !(1 << warp);
        }
    }

    /// Stall cause of those of `warps`, all running, that wait for branches.
    #[must_use]
    pub(crate) fn refuses_at_branch(&self, warps: u64) -> Option<Stall> {
        (self.awaits_branch & warps != 0).then_some(Stall::Branch)
    }

    /// Stall cause of those of `warps`, all running, that have no decoded instruction: an empty I-buffer
    /// takes precedence over a technique that stalls fetch, and that over the I-cache.
    #[must_use]
    pub(crate) fn refuses(&self, warps: u64) -> Option<Stall> {
        let empty = warps & !self.decoded & !self.awaits_code;
        if empty & !self.held != 0 {
            Some(Stall::IBufferEmpty)
        } else if empty != 0 {
            Some(Stall::Technique)
        } else if warps & self.awaits_code != 0 {
            Some(Stall::ICacheMiss)
        } else {
            None
        }
    }

    /// Sets what a warp's new head needs.
    #[inline]
    pub(crate) fn set_head(&mut self, warp: usize, class: Option<HeadClass>) {
        let bit = 1u64 << warp;
        self.decoded &= !bit;
        self.control &= !bit;
        self.classes.iter_mut().for_each(|class| *class &= !bit);
        match class {
            None => return,
            Some(HeadClass::Collector(class)) => self.classes[usize::from(class)] |= bit,
            Some(HeadClass::Control) => self.control |= bit,
        }
        self.decoded |= bit;
    }

    /// Adds a micro-operation that issues before the entries of a warp's I-buffer.
    pub(crate) fn inject(&mut self, warp: usize, op: MicroId) {
        self.injected[warp].push_back(op);
        self.has_injected |= 1 << warp;
    }

    /// The technique that stalls a warp's fetch, and its cause.
    pub(crate) fn held_by(&self, warp: usize) -> (u8, u8) {
        self.held_by[warp]
    }

    /// Discards a warp's fetched entries and continues at `pc`, coming from `via`; returns the number of
    /// discarded entries.
    pub(crate) fn restart(&mut self, warp: usize, pc: u32, via: u32) -> u32 {
        let w = &mut self.warps[warp];
        let discarded = u32::from(w.held) + u32::from(w.decoding_held);
        *w = WarpFront {
            ring: w.ring,
            head: 0,
            len: 0,
            held: 0,
            decoding: 0,
            decoding_held: 0,
            pc,
            via,
            inserted_done: 0,
            epoch: w.epoch.wrapping_add(1),
        };
        discarded
    }

    /// The entry that issues next.
    #[inline]
    pub(crate) fn head(&self, warp: usize) -> Option<Entry> {
        if self.has_injected >> warp & 1 != 0 {
            return self.injected[warp].front().copied().map(Entry::Micro);
        }
        let w = &self.warps[warp];
        (w.len > 0).then(|| w.ring[usize::from(w.head)])
    }

    /// Removes the head.
    #[inline]
    pub(crate) fn pop(&mut self, warp: usize) {
        if self.has_injected >> warp & 1 != 0 {
            self.injected[warp].pop_front();
            self.has_injected &= !(u64::from(self.injected[warp].is_empty()) << warp);
            return;
        }
        let w = &mut self.warps[warp];
        if !matches!(w.ring[usize::from(w.head)], Entry::Skipped(..)) {
            w.held -= 1;
        }
        w.head = (w.head + 1) % RING as u8;
        w.len -= 1;
    }

    /// Removes the oldest entry of the I-buffer, even if injected micro-operations issue before it.
    #[inline]
    pub(crate) fn pop_entry(&mut self, warp: usize) {
        let injected = std::mem::take(&mut self.has_injected);
        self.pop(warp);
        self.has_injected = injected;
    }

    fn has_room(&self, warp: usize) -> bool {
        let w = &self.warps[warp];
        w.held + w.decoding_held < self.capacity && usize::from(w.len + w.decoding) < RING
    }

    /// Contents of some warps' I-buffers, for the watchdog's report.
    pub(crate) fn describe(&self, mut warps: u64) -> String {
        let mut text = "  I-buffers (held + in decode):".to_owned();
        while warps != 0 {
            let warp = warps.trailing_zeros() as usize;
            warps &= warps - 1;
            let w = &self.warps[warp];
            text += &format!(" w{warp} {}+{}", w.held, w.decoding_held);
        }
        text + "\n"
    }

    /// Cycle at which the next fetched instruction is decoded.
    pub(crate) fn next_decoded(&self) -> Option<u64> {
        self.decoding.front().map(|(cycle, ..)| *cycle)
    }

    /// Updates whether a warp may fetch.
    #[inline]
    pub(crate) fn refresh(&mut self, warp: usize) {
        let bit = 1 << warp;
        let inside = self.warps[warp].pc < self.machine.program_insts;
        if self.running & !self.awaits_code & bit != 0 && inside && self.has_room(warp) {
            self.fetch |= bit;
        } else {
            self.fetch &= !bit;
        }
    }

    /// Moves entries that are decoded in this cycle into their I-buffers; returns early with a warp that has
    /// a new head.
    #[inline]
    pub(crate) fn take_decoded(&mut self, now: u64) -> Option<usize> {
        while let Some((cycle, warp, epoch, entry)) = self.decoding.front().copied() {
            if cycle > now {
                break;
            }
            self.decoding.pop_front();
            let index = usize::from(warp);
            let w = &mut self.warps[index];
            if w.epoch != epoch {
                continue;
            }
            w.ring[usize::from((w.head + w.len) % RING as u8)] = entry;
            w.len += 1;
            w.decoding -= 1;
            if !matches!(entry, Entry::Skipped(..)) {
                w.decoding_held -= 1;
                w.held += 1;
            }
            if w.len == 1 {
                return Some(index);
            }
        }
        None
    }

    /// Fetch stage: round robin over warps, up to the fetch width. With `TECHNIQUES`, they insert operations and decide before
    /// the I-cache access; a stalled warp gives its turn to another.
    #[inline]
    pub(crate) fn run<const TECHNIQUES: bool>(
        &mut self,
        now: u64,
        neighbours: &mut impl FetchNeighbours,
        counters: &mut Counters,
    ) {
        if !self.sub_cores.is_empty() {
            return self.run_sub_cores::<TECHNIQUES>(now, neighbours, counters);
        }
        let mut left = self.machine.config.front_end.fetch_warps_per_cycle;
        let mut candidates = self.fetch;
        while left > 0 && candidates != 0 {
            let start = (self.last + 1) % 64;
            let warp = (candidates.rotate_right(start).trailing_zeros() + start) % 64;
            candidates &= !(1 << warp);
            if TECHNIQUES && self.is_held(warp as usize, neighbours) {
                continue;
            }
            self.last = warp;
            left -= 1;
            self.fetch_for::<TECHNIQUES>(warp as usize, now, neighbours, counters);
        }
    }

    /// Fetch stage of sub-cores: each fetches for the same warp while its I-buffer has room, then for the youngest warp (Huerta
    /// et al., MICRO 2025, section 5.2, who assume this).
    fn run_sub_cores<const TECHNIQUES: bool>(
        &mut self,
        now: u64,
        neighbours: &mut impl FetchNeighbours,
        counters: &mut Counters,
    ) {
        for core in 0..self.sub_cores.len() {
            let mut candidates = self.fetch & self.sub_cores[core].warps;
            while candidates != 0 {
                let same = candidates & self.sub_cores[core].last;
                let youngest = || WarpSet(candidates).max_by_key(|warp| self.placed[*warp]);
                let Some(warp) = WarpSet(same).next().or_else(youngest) else { break };
                candidates &= !(1 << warp);
                if TECHNIQUES && self.is_held(warp, neighbours) {
                    continue;
                }
                self.sub_cores[core].last = 1 << warp;
                self.fetch_for::<TECHNIQUES>(warp, now, neighbours, counters);
                break;
            }
        }
    }

    /// Whether a technique stalls a warp's fetch in this cycle; remembers which one.
    fn is_held(&mut self, warp: usize, neighbours: &mut impl FetchNeighbours) -> bool {
        let bit = 1u64 << warp;
        self.held &= !bit;
        if let Some(Fetching::Program(pc)) = self.next_to_fetch::<true>(warp)
            && let Decision { verdict: FetchVerdict::Stall(cause), by } = neighbours.verdict(warp, pc)
        {
            self.held_by[warp] = (by, cause);
            self.held |= bit;
            neighbours.held(warp, pc, by, cause);
        }
        self.held & bit != 0
    }

    /// The next instruction or micro-operation that a warp fetches, if any is left.
    #[inline(always)]
    fn next_to_fetch<const TECHNIQUES: bool>(&self, warp: usize) -> Option<Fetching> {
        let w = &self.warps[warp];
        if w.pc >= self.machine.program_insts {
            return None;
        }
        if TECHNIQUES
            && let Some((position, op, line)) = self.machine.next_inserted(w.pc, w.via, w.inserted_done)
        {
            return Some(Fetching::Inserted { position, op, line });
        }
        Some(Fetching::Program(w.pc))
    }

    fn fetch_for<const TECHNIQUES: bool>(
        &mut self,
        warp: usize,
        now: u64,
        neighbours: &mut impl FetchNeighbours,
        counters: &mut Counters,
    ) {
        let mut budget = self.machine.config.front_end.fetch_instructions;
        let ready_at = now + self.latency;
        let mut line = None;
        while budget > 0 && self.has_room(warp) {
            let Some(next) = self.next_to_fetch::<TECHNIQUES>(warp) else { break };
            let mut skipped_by = None;
            if TECHNIQUES
                && let Fetching::Inserted { position, op, .. } = next
                && neighbours.passes_over(warp, op)
            {
                self.warps[warp].inserted_done = position + 1;
                continue;
            }
            if TECHNIQUES && let Fetching::Program(pc) = next {
                match neighbours.verdict(warp, pc) {
                    Decision { verdict: FetchVerdict::Fetch, .. } => {}
                    Decision { verdict: FetchVerdict::Skip, by } => skipped_by = Some(by),
                    Decision { verdict: FetchVerdict::Stall(_), .. } => break,
                }
            }
            // One fetch reads from one line.
            if skipped_by.is_none() {
                let wanted = next.line(self.machine);
                match line {
                    Some(begun) if begun == wanted => {}
                    Some(_) => break,
                    None => {
                        line = Some(wanted);
                        counters.icache_accesses += 1;
                        match neighbours.read_code(wanted, warp, counters) {
                            CodeFetch::Hit => {}
                            CodeFetch::Miss => {
                                self.awaits_code |= 1 << warp;
                                break;
                            }
                            CodeFetch::Busy => break,
                        }
                    }
                }
            }
            let w = &mut self.warps[warp];
            let pc = w.pc;
            let entry = match next {
                Fetching::Inserted { position, op, .. } => {
                    w.inserted_done = position + 1;
                    Entry::Micro(op)
                }
                Fetching::Program(pc) => {
                    (w.pc, w.via, w.inserted_done) = (pc + 1, pc, 0);
                    skipped_by.map_or(Entry::Program(pc), |by| Entry::Skipped(pc, by))
                }
            };
            w.decoding += 1;
            if skipped_by.is_none() {
                w.decoding_held += 1;
                budget -= 1;
                counters.fetched_instructions += 1;
            }
            self.decoding.push_back((ready_at, warp as u8, w.epoch, entry));
            neighbours.fetched(Fetched { warp, pc, entry, ready_at });
        }
        self.refresh(warp);
    }

    /// Wakes the warps of a mask, whose I-cache line has arrived.
    pub(crate) fn code_arrived(&mut self, warps: u64) {
        self.awaits_code &= !warps;
        for warp in WarpSet(warps) {
            self.refresh(warp);
        }
    }
}

#[cfg(test)]
mod tests;
