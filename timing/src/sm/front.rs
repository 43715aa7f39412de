//! Fetch and decode: the I-cache, the fetch scheduler and the I-buffers.
//!
//! Fetch is loose round robin over warps whose I-buffer has room. It runs ahead sequentially; when the recorded
//! path leaves the sequence, issue redirects it and what was fetched is discarded. Techniques are asked before the
//! I-cache is touched: a skipped instruction costs no access, and a warp that is held leaves its turn to another.

use super::Sm;
use super::machine::Machine;
use super::small_caches::CodeFetch;
use crate::config::GpuConfig;
use crate::source::{LaunchSource, WarpStream};
use crate::techniques::{Decision, FetchVerdict, MicroId};
use crate::view::record::Origin;
use std::collections::VecDeque;

/// Entries that an I-buffer holds at most, skipped instructions included.
const RING: usize = 16;

/// Where a warp comes from that begins.
const NO_INSTRUCTION: u32 = u32::MAX;

/// An I-buffer entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// An instruction of the program.
    Program(u32),
    /// A micro-operation of a technique.
    Micro(MicroId),
    /// An instruction that a technique skips, by its position: it takes no place and no slot.
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
    /// Entries in the ring that take up a place.
    held: u8,
    /// Entries on their way through decode, and how many of them take up a place.
    decoding: u8,
    decoding_held: u8,
    /// Next instruction to fetch, the one from which the warp comes to it, and how many of the operations inserted
    /// before it have been fetched or lie on another way.
    pc: u32,
    via: u32,
    inserted_done: usize,
    /// Distinguishes fetches from before a redirection.
    epoch: u32,
}

/// Fetch state of an SM.
#[derive(Clone, Debug)]
pub(super) struct Front {
    warps: Vec<WarpFront>,
    decoding: VecDeque<(u64, u8, u32, Entry)>,
    /// Micro-operations that issue before what is in the I-buffer, by warp, and which warps have any.
    injected: Vec<VecDeque<MicroId>>,
    has_injected: u64,
    /// The technique that holds a warp's fetch back, and its cause.
    held_by: Vec<(u8, u8)>,
    last: u32,
    capacity: u8,
    latency: u64,
}

impl Front {
    pub fn new(config: &GpuConfig) -> Front {
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
            warps: vec![empty; warps],
            decoding: VecDeque::new(),
            injected: vec![VecDeque::new(); warps],
            has_injected: 0,
            held_by: vec![(0, 0); warps],
            last: 63,
            capacity: config.front_end.ibuffer_entries as u8,
            latency: u64::from(config.front_end.icache.hit_latency_cycles + config.front_end.decode_cycles),
        }
    }

    /// A new warp begins in a slot, at an instruction.
    pub fn begin(&mut self, warp: usize, pc: u32) {
        self.injected[warp].clear();
        self.has_injected &= !(1 << warp);
        self.restart(warp, pc, NO_INSTRUCTION);
    }

    /// Has a micro-operation issue before what is in a warp's I-buffer.
    pub fn inject(&mut self, warp: usize, op: MicroId) {
        self.injected[warp].push_back(op);
        self.has_injected |= 1 << warp;
    }

    /// The technique that holds a warp's fetch back, and its cause.
    pub fn held_by(&self, warp: usize) -> (u8, u8) {
        self.held_by[warp]
    }

    /// Discards what a warp has fetched and continues at an instruction, coming from another; returns how much was
    /// discarded.
    pub fn restart(&mut self, warp: usize, pc: u32, via: u32) -> u32 {
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
    pub fn head(&self, warp: usize) -> Option<Entry> {
        if self.has_injected >> warp & 1 != 0 {
            return self.injected[warp].front().copied().map(Entry::Micro);
        }
        let w = &self.warps[warp];
        (w.len > 0).then(|| w.ring[usize::from(w.head)])
    }

    /// Removes the head.
    #[inline]
    pub fn pop(&mut self, warp: usize) {
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

    /// Removes the oldest entry of the I-buffer, whatever issues before it.
    #[inline]
    pub fn pop_entry(&mut self, warp: usize) {
        let injected = std::mem::take(&mut self.has_injected);
        self.pop(warp);
        self.has_injected = injected;
    }

    fn has_room(&self, warp: usize) -> bool {
        let w = &self.warps[warp];
        w.held + w.decoding_held < self.capacity && usize::from(w.len + w.decoding) < RING
    }

    /// What the I-buffers of some warps hold, for the report of a stuck machine.
    pub fn describe(&self, mut warps: u64) -> String {
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
    pub fn next_decoded(&self) -> Option<u64> {
        self.decoding.front().map(|(cycle, ..)| *cycle)
    }
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Whether a warp may fetch, after something about it has changed.
    #[inline]
    pub(super) fn refresh_fetch(&mut self, warp: usize) {
        let bit = 1 << warp;
        let blocked = self.masks.icache | self.masks.starting;
        let inside = self.front.warps[warp].pc < self.machine.program_insts;
        if self.masks.live & !blocked & bit != 0 && inside && self.front.has_room(warp) {
            self.masks.fetch |= bit;
        } else {
            self.masks.fetch &= !bit;
        }
    }

    /// Fetched instructions whose decoding ends enter their I-buffers.
    pub(super) fn take_decoded(&mut self) {
        while let Some((cycle, warp, epoch, entry)) = self.front.decoding.front().copied() {
            if cycle > self.now {
                break;
            }
            self.front.decoding.pop_front();
            let index = usize::from(warp);
            let w = &mut self.front.warps[index];
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
                self.refresh_head(index);
            }
        }
    }

    /// Fetch stage.
    pub(super) fn fetch(&mut self) {
        let mut left = self.machine.config.front_end.fetch_warps_per_cycle;
        let mut candidates = self.masks.fetch;
        while left > 0 && candidates != 0 {
            let start = (self.front.last + 1) % 64;
            let warp = (candidates.rotate_right(start).trailing_zeros() + start) % 64;
            candidates &= !(1 << warp);
            if self.techniques.hooks().fetch && self.is_fetch_held(warp as usize) {
                continue;
            }
            self.front.last = warp;
            left -= 1;
            self.fetch_warp(warp as usize);
        }
    }

    /// Whether a technique holds a warp's fetch back in this cycle; it is remembered which.
    #[inline(never)]
    fn is_fetch_held(&mut self, warp: usize) -> bool {
        let bit = 1u64 << warp;
        self.masks.fetch_held &= !bit;
        if let Some(Fetching::Program(pc)) = self.next_to_fetch(warp)
            && let Decision { verdict: FetchVerdict::Stall(cause), by } = self.fetch_verdict(warp, pc)
        {
            self.front.held_by[warp] = (by, cause);
            self.masks.fetch_held |= bit;
        }
        self.masks.fetch_held & bit != 0
    }

    /// What a warp fetches next, if anything is left.
    #[inline]
    fn next_to_fetch(&mut self, warp: usize) -> Option<Fetching> {
        let machine = self.machine;
        let w = &mut self.front.warps[warp];
        if w.pc >= machine.program_insts {
            return None;
        }
        if let Some((position, op, line)) = machine.next_inserted(w.pc, w.via, w.inserted_done) {
            return Some(Fetching::Inserted { position, op, line });
        }
        Some(Fetching::Program(w.pc))
    }

    fn fetch_warp(&mut self, warp: usize) {
        let machine = self.machine;
        let mut budget = machine.config.front_end.fetch_instructions;
        let mut line = None;
        while budget > 0 && self.front.has_room(warp) {
            let Some(next) = self.next_to_fetch(warp) else { break };
            let mut skipped_by = None;
            if let Fetching::Program(pc) = next
                && self.techniques.hooks().fetch
            {
                match self.fetch_verdict(warp, pc) {
                    Decision { verdict: FetchVerdict::Fetch, .. } => {}
                    Decision { verdict: FetchVerdict::Skip, by } => skipped_by = Some(by),
                    Decision { verdict: FetchVerdict::Stall(_), .. } => break,
                }
            }
            if skipped_by.is_none() && !self.reads_line(warp, next.line(machine), &mut line) {
                break;
            }
            let pc = self.front.warps[warp].pc;
            let w = &mut self.front.warps[warp];
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
                self.stats.counters.fetched_instructions += 1;
            }
            let ready = self.now + self.front.latency;
            let origin = if matches!(entry, Entry::Micro(_)) { Origin::Inserted } else { Origin::Program };
            self.record(|recorder, now| recorder.fetch(warp, pc, origin, now, ready));
            let epoch = self.front.warps[warp].epoch;
            self.front.decoding.push_back((ready, warp as u8, epoch, entry));
            if self.techniques.hooks().fetch && matches!(next, Fetching::Program(_)) {
                let skipped = skipped_by.is_some();
                self.ask(|techniques, at, warps| {
                    techniques.fetched(at, &warps[warp].view(warp), pc, skipped);
                });
            }
        }
        self.refresh_fetch(warp);
    }

    /// Whether a warp reads a line of code in this cycle: the one that it has begun with, or the first, if it is in
    /// the I-cache. One fetch reads from one line.
    #[inline]
    fn reads_line(&mut self, warp: usize, wanted: u64, begun: &mut Option<u64>) -> bool {
        if begun.is_some() {
            return *begun == Some(wanted);
        }
        *begun = Some(wanted);
        self.stats.counters.icache_accesses += 1;
        let machine = self.machine;
        match self.load_store.fetch_code(wanted, warp, machine, &mut self.stats.counters, self.id) {
            CodeFetch::Hit => true,
            CodeFetch::Miss => {
                self.masks.icache |= 1 << warp;
                false
            }
            CodeFetch::Busy => false,
        }
    }

    fn fetch_verdict(&self, warp: usize, pc: u32) -> Decision<FetchVerdict> {
        self.techniques.fetch(self.now, &self.warps[warp].view(warp), pc)
    }

    /// Discards what a warp has fetched and continues where its path goes on, if it does.
    fn redirect(&mut self, warp: usize, resume: Option<u32>, via: u32) {
        let discarded = self.front.restart(warp, resume.unwrap_or(0), via);
        self.stats.counters.flushed_instructions += u64::from(discarded);
        self.record(|recorder, now| recorder.flush(warp, now));
        if self.techniques.hooks().fetch {
            self.ask(|techniques, at, warps| techniques.flushed(at, &warps[warp].view(warp), resume));
        }
    }

    /// An I-cache line has arrived for the warps of a mask.
    pub(super) fn code_arrived(&mut self, mut warps: u64) {
        self.masks.icache &= !warps;
        while warps != 0 {
            let warp = warps.trailing_zeros() as usize;
            warps &= warps - 1;
            self.refresh_fetch(warp);
        }
    }

    /// Continues a warp's fetch where its recorded path goes on, if that is not the next instruction in order.
    pub(super) fn follow_path(&mut self, warp: usize, issued_pc: u32) {
        let next = self.warps[warp].stream.as_ref().and_then(WarpStream::peek);
        match next {
            None => {
                self.redirect(warp, None, issued_pc);
                self.masks.live &= !(1 << warp);
                let slot = &mut self.warps[warp];
                if let Some(Err(why)) = slot.stream.as_mut().map(WarpStream::finish) {
                    let (block, index) = (slot.block, slot.warp);
                    let error = self.recording_error(block, index, why);
                    self.fail(error);
                }
            }
            Some(next) if next.pc != issued_pc + 1 => {
                self.redirect(warp, Some(next.pc), issued_pc);
                if next.pc >= self.machine.program_insts {
                    let slot = &self.warps[warp];
                    let error = crate::error::ReplayError::PathLeavesKernel {
                        kernel: self.machine.program.name.clone(),
                        block: slot.block,
                        warp: slot.warp,
                        pc: next.pc,
                    };
                    self.fail(error);
                }
            }
            Some(_) => {}
        }
    }
}
