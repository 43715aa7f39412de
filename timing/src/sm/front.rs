//! Fetch and decode: the I-cache, the fetch scheduler and the I-buffers.
//!
//! Fetch is loose round robin over warps whose I-buffer has room. It runs ahead sequentially; when the recorded
//! path leaves the sequence, issue redirects it and what was fetched is discarded.

use super::Sm;
use super::small_caches::CodeFetch;
use crate::config::GpuConfig;
use crate::source::{LaunchSource, WarpStream};
use crate::techniques::{Cx, FetchVerdict, Inserted};
use crate::view::record::Origin;
use std::collections::VecDeque;

/// Entries that an I-buffer holds at most, skipped instructions included.
const RING: usize = 16;

/// An I-buffer entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// An instruction of the program.
    Program(u32),
    /// An instruction that a technique inserted.
    Inserted(Inserted),
    /// An instruction that a technique skips: it takes no place and no slot.
    Skipped(u32),
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
    /// Next instruction to fetch, and how many of the instructions inserted before it have been.
    pc: u32,
    inserted_done: u8,
    /// Distinguishes fetches from before a redirection.
    epoch: u32,
}

/// Fetch state of an SM.
#[derive(Clone, Debug)]
pub(super) struct Front {
    warps: Vec<WarpFront>,
    decoding: VecDeque<(u64, u8, u32, Entry)>,
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
            inserted_done: 0,
            epoch: 0,
        };
        Front {
            warps: vec![empty; config.sm.max_warps as usize],
            decoding: VecDeque::new(),
            last: 63,
            capacity: config.front_end.ibuffer_entries as u8,
            latency: u64::from(config.front_end.icache.hit_latency_cycles + config.front_end.decode_cycles),
        }
    }

    /// Discards what a warp has fetched and continues at an instruction; returns how much was discarded.
    pub fn restart(&mut self, warp: usize, pc: u32) -> u32 {
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
            inserted_done: 0,
            epoch: w.epoch.wrapping_add(1),
        };
        discarded
    }

    /// The entry that issues next.
    #[inline]
    pub fn head(&self, warp: usize) -> Option<Entry> {
        let w = &self.warps[warp];
        (w.len > 0).then(|| w.ring[usize::from(w.head)])
    }

    /// Removes the head.
    #[inline]
    pub fn pop(&mut self, warp: usize) {
        let w = &mut self.warps[warp];
        if !matches!(w.ring[usize::from(w.head)], Entry::Skipped(_)) {
            w.held -= 1;
        }
        w.head = (w.head + 1) % RING as u8;
        w.len -= 1;
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
        let inside = (self.front.warps[warp].pc as usize) < self.machine.program.insts.len();
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
            if !matches!(entry, Entry::Skipped(_)) {
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
            self.front.last = warp;
            left -= 1;
            self.fetch_warp(warp as usize);
        }
    }

    fn fetch_warp(&mut self, warp: usize) {
        let machine = self.machine;
        let front_end = &machine.config.front_end;
        let mut budget = front_end.fetch_instructions;
        let mut line = None;
        while budget > 0 && self.front.has_room(warp) {
            let pc = self.front.warps[warp].pc;
            if pc as usize >= machine.program.insts.len() {
                break;
            }
            let line_of_pc = machine.code_line(pc);
            // One fetch reads from one line.
            if line.is_some_and(|line| line != line_of_pc) {
                break;
            }
            if line.is_none() {
                line = Some(line_of_pc);
                self.stats.counters.icache_accesses += 1;
                match self.load_store.fetch_code(line_of_pc, warp, machine, &mut self.stats.counters, self.id)
                {
                    CodeFetch::Hit => {}
                    CodeFetch::Miss => {
                        self.masks.icache |= 1 << warp;
                        break;
                    }
                    CodeFetch::Busy => break,
                }
            }
            let inserted = machine.inserted_before(pc);
            let done = usize::from(self.front.warps[warp].inserted_done);
            let entry = match inserted.get(done) {
                Some(inserted) => {
                    self.front.warps[warp].inserted_done += 1;
                    Entry::Inserted(*inserted)
                }
                None => match self.fetch_verdict(warp, pc) {
                    FetchVerdict::Fetch => Entry::Program(pc),
                    FetchVerdict::Skip => Entry::Skipped(pc),
                    FetchVerdict::Stall => break,
                },
            };
            let w = &mut self.front.warps[warp];
            if !matches!(entry, Entry::Inserted(_)) {
                w.pc += 1;
                w.inserted_done = 0;
            }
            w.decoding += 1;
            if !matches!(entry, Entry::Skipped(_)) {
                w.decoding_held += 1;
                budget -= 1;
                self.stats.counters.fetched_instructions += 1;
            }
            let ready = self.now + self.front.latency;
            let origin = if matches!(entry, Entry::Inserted(_)) { Origin::Inserted } else { Origin::Program };
            self.record(|recorder, now| recorder.fetch(warp, pc, origin, now, ready));
            let epoch = self.front.warps[warp].epoch;
            self.front.decoding.push_back((ready, warp as u8, epoch, entry));
        }
        self.refresh_fetch(warp);
    }

    fn fetch_verdict(&mut self, warp: usize, pc: u32) -> FetchVerdict {
        if !self.techniques.hooks().fetch {
            return FetchVerdict::Fetch;
        }
        let Sm { warps, techniques, stats, extra_writes, machine, now, .. } = self;
        let mut cx = Cx { cycle: *now, program: &machine.program, stats: &mut stats.counters, extra_writes };
        techniques.fetch(&mut cx, &warps[warp].view(warp), pc)
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
                let discarded = self.front.restart(warp, 0);
                self.stats.counters.flushed_instructions += u64::from(discarded);
                self.record(|recorder, now| recorder.flush(warp, now));
                self.masks.live &= !(1 << warp);
                let slot = &mut self.warps[warp];
                if let Some(Err(why)) = slot.stream.as_mut().map(WarpStream::finish) {
                    let (block, index) = (slot.block, slot.warp);
                    let error = self.recording_error(block, index, why);
                    self.fail(error);
                }
            }
            Some(next) if next.pc != issued_pc + 1 => {
                let discarded = self.front.restart(warp, next.pc);
                self.stats.counters.flushed_instructions += u64::from(discarded);
                self.record(|recorder, now| recorder.flush(warp, now));
                if next.pc as usize >= self.machine.program.insts.len() {
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
