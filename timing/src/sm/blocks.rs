//! Resident blocks and warps: placing a block, ending warps, and giving slots back.
//!
//! Which block comes next is the engine's decision; this file only places it and says when there is room.

use super::Sm;
use super::wheel::Event;
use crate::error::ReplayError;
use crate::memory::LINE_BYTES;
use crate::source::{LaunchSource, WarpStream};
use crate::techniques::{At, Stack, WarpView};

/// A warp slot.
#[derive(Debug)]
pub(super) struct WarpSlot<W> {
    /// The warp's stream while it is resident.
    pub stream: Option<W>,
    /// Block slot.
    pub block_slot: u8,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lanes that hold threads.
    pub threads: u32,
    /// Lanes of these that have not exited.
    pub live: u32,
    /// Lanes that wait at a barrier.
    pub at_barrier: u32,
    /// Instructions in flight.
    pub in_flight: u16,
    /// Instructions stepped so far.
    pub issued: u64,
    /// Memory instructions in flight and stores that have not been acknowledged.
    pub in_memory: u32,
}

impl<W> Default for WarpSlot<W> {
    fn default() -> WarpSlot<W> {
        WarpSlot {
            stream: None,
            block_slot: 0,
            block: 0,
            warp: 0,
            threads: 0,
            live: 0,
            at_barrier: 0,
            in_flight: 0,
            issued: 0,
            in_memory: 0,
        }
    }
}

/// One of a block's named barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierState {
    /// Threads that have arrived; where a count is given, only those of whole warps.
    pub arrived: u32,
    /// Where a count is given: lanes that have arrived of warps that are not whole yet, by warp slot.
    pub parts: Vec<(u8, u32)>,
    /// Threads that the barrier waits for; 0 means all that live.
    pub expected: u32,
    /// Warps of which lanes wait.
    pub warps: u64,
    /// Instructions in flight that await the barrier's result.
    pub results: Vec<u16>,
}

/// A block slot.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockSlot {
    /// Whether a block is resident.
    pub occupied: bool,
    /// Warp slots of the block.
    pub warps: u64,
    /// Threads that have not exited.
    pub live_threads: u32,
    /// Named barriers.
    pub barriers: [BarrierState; 16],
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// Blocks that could be placed now.
    #[must_use]
    pub fn free_blocks(&self) -> u32 {
        let free_warps = self.warps.len() as u32 - self.masks.resident.count_ones();
        let free_slots = self.blocks.iter().filter(|block| !block.occupied).count() as u32;
        free_slots.min(free_warps / self.machine.warps_per_block) - self.new_blocks.len() as u32
    }

    /// Whether techniques let a block be placed.
    #[must_use]
    pub fn admits(&self, block: u32) -> bool {
        !self.techniques.hooks().admission || self.techniques.admits_block(self.now, block)
    }

    /// Lets the warps begin that have been set up and that techniques have not let begin yet.
    pub(super) fn admit_warps(&mut self) {
        let mut waiting = self.masks.unadmitted;
        while waiting != 0 {
            let index = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            if self.techniques.admits_warp(self.now, &self.warps[index].view(index)) {
                self.masks.unadmitted &= !(1 << index);
                self.masks.starting &= !(1 << index);
                self.refresh_fetch(index);
            }
        }
    }

    /// Gives the SM a block, for which there must be room. It is set up when the SM runs on, beside the others.
    pub fn place(&mut self, block: u32) {
        self.new_blocks.push(block);
        self.wake_at = self.now;
    }

    /// Sets a block up.
    ///
    /// # Errors
    /// When the recording does not hold one of its warps.
    pub(super) fn set_up(&mut self, block: u32) -> Result<(), ReplayError> {
        let slot = self.blocks.iter().position(|b| !b.occupied).expect("the engine asked for room");
        let machine = self.machine;
        self.blocks[slot] =
            BlockSlot { occupied: true, live_threads: machine.threads_per_block, ..BlockSlot::default() };
        let mut free = !self.masks.resident;
        let source: &'a S = self.source;
        if !self.techniques.is_empty() {
            self.ask(|techniques, at, _| techniques.start_block(at, slot, block));
        }
        self.record(|recorder, now| recorder.block_begins(slot, block, now));
        for warp in 0..machine.warps_per_block {
            let index = free.trailing_zeros() as usize;
            free &= free - 1;
            let used = self.spare.pop();
            let stream =
                source.open(block, warp, used).map_err(|why| self.recording_error(block, warp, why))?;
            let starts_at = stream.peek().map_or(0, |next| next.pc);
            let ended = stream.peek().is_none();
            self.warps[index] = WarpSlot {
                stream: Some(stream),
                block_slot: slot as u8,
                block,
                warp,
                threads: machine.launched_lanes(warp),
                live: machine.launched_lanes(warp),
                ..WarpSlot::default()
            };
            self.blocks[slot].warps |= 1 << index;
            self.masks.resident |= 1 << index;
            self.schedulers[index % machine.config.scheduler.count as usize].add(index as u8);
            self.front.begin(index, starts_at);
            self.masks.held &= !(1 << index);
            self.masks.fetch_held &= !(1 << index);
            self.record(|recorder, now| recorder.warp_begins(index, block, warp, now));
            if ended {
                continue;
            }
            self.masks.live |= 1 << index;
            self.masks.starting |= 1 << index;
            let ready = self.now + u64::from(machine.config.sm.block_launch_cycles);
            self.wheel.at(ready, Event::WarpReady(index as u8));
            self.start_warp(index);
        }
        Ok(())
    }

    fn start_warp(&mut self, index: usize) {
        if self.techniques.is_empty() {
            return;
        }
        self.ask(|techniques, at, warps| techniques.start_warp(at, &warps[index].view(index)));
    }

    /// Calls the techniques with the SM's clock and warps, and carries out what they want of the SM.
    #[inline]
    pub(super) fn ask<R>(
        &mut self,
        call: impl FnOnce(&mut Stack, &mut At<'_>, &[WarpSlot<S::Warp<'a>>]) -> R,
    ) -> R {
        let Sm { techniques, effects, machine, now, warps, .. } = self;
        let result = call(techniques, &mut At { cycle: *now, program: &machine.program, effects }, warps);
        if !self.effects.is_empty() {
            self.carry_out_effects();
        }
        result
    }

    /// Carries out what hooks wanted of the SM.
    #[inline(never)]
    pub(super) fn carry_out_effects(&mut self) {
        for (bank, write) in self.effects.bank_accesses.drain(..) {
            self.collectors.access(bank);
            let counters = &mut self.stats.counters;
            *(if write { &mut counters.rf_writes } else { &mut counters.rf_reads }) += 1;
        }
        self.early.extend(self.effects.early_loads.drain(..));
        for line in self.effects.unlocked.drain(..) {
            self.load_store.caches.l1.unlock(line / LINE_BYTES);
        }
        for (warp, op) in std::mem::take(&mut self.effects.micro_ops) {
            let index = usize::from(warp);
            if self.masks.live >> warp & 1 != 0 {
                let pc =
                    self.warps[index].stream.as_ref().and_then(WarpStream::peek).map_or(0, |next| next.pc);
                self.front.inject(index, op);
                self.record(|recorder, now| recorder.inject(index, pc, now));
                self.refresh_head(index);
            }
        }
    }

    pub(super) fn recording_error(
        &self,
        block: u32,
        warp: u32,
        why: crate::source::SourceError,
    ) -> ReplayError {
        ReplayError::Recording { kernel: self.machine.program.name.clone(), block, warp, why }
    }

    /// Gives back the slots of warps that have ended and hold nothing any more, and of blocks without warps.
    pub(super) fn retire_blocks(&mut self) {
        let mut ended = self.masks.resident & !self.masks.live & !self.masks.holding;
        while ended != 0 {
            let index = ended.trailing_zeros() as usize;
            ended &= ended - 1;
            let warp = &mut self.warps[index];
            debug_assert!(warp.in_flight == 0 && warp.in_memory == 0);
            self.spare.extend(warp.stream.take());
            let block_slot = usize::from(warp.block_slot);
            self.masks.resident &= !(1 << index);
            self.schedulers[index % self.machine.config.scheduler.count as usize].remove(index as u8);
            self.stats.counters.warps += 1;
            self.blocks[block_slot].warps &= !(1 << index);
            let block_ended = self.blocks[block_slot].warps == 0;
            self.record(|recorder, now| recorder.leave(index, block_ended.then_some(block_slot), now + 1));
            if block_ended {
                self.ended_at = self.now + 1;
                self.blocks[block_slot].occupied = false;
                self.stats.counters.blocks += 1;
            }
            if !self.techniques.is_empty() {
                self.ask(|techniques, at, _| {
                    techniques.end_warp(at, index);
                    if block_ended {
                        techniques.end_block(at, block_slot);
                    }
                });
            }
        }
    }

    /// One line per barrier at which threads of a resident block wait, for the report of a stuck machine.
    pub(super) fn describe_blocks(&self) -> String {
        let mut text = String::new();
        for (slot, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.occupied) {
            for (number, barrier) in block.barriers.iter().enumerate() {
                if barrier.warps != 0 || barrier.arrived > 0 || !barrier.parts.is_empty() {
                    let expected = if barrier.expected == 0 { block.live_threads } else { barrier.expected };
                    text += &format!(
                        "  block slot {slot}, barrier {number}: {} of {expected} threads, {} warps in part\n",
                        barrier.arrived,
                        barrier.parts.len()
                    );
                }
            }
        }
        text
    }

    /// One line per resident warp, for the report of a stuck machine.
    pub(super) fn describe_warps(&self) -> String {
        let mut text = String::new();
        for (index, warp) in self.warps.iter().enumerate() {
            if let Some(stream) = &warp.stream {
                let next =
                    stream.peek().map_or("ended".to_owned(), |next| format!("PC {:#06x}", next.pc * 8));
                text += &format!(
                    "  warp slot {index}: block {}, warp {}, {next}, {} in flight, {} in memory, lanes at a barrier {:#x}, \
                     outstanding {}\n",
                    warp.block,
                    warp.warp,
                    warp.in_flight,
                    warp.in_memory,
                    warp.at_barrier,
                    self.scoreboard.describe(index)
                );
            }
        }
        text
    }
}

impl<W: WarpStream> WarpSlot<W> {
    /// What techniques see of the warp.
    pub(super) fn view(&self, index: usize) -> WarpView<'_> {
        WarpView {
            slot: index,
            block_slot: usize::from(self.block_slot),
            block: self.block,
            warp: self.warp,
            threads: self.threads,
            issued: self.issued,
            rows: self.stream.as_ref().map_or(&[], WarpStream::rows),
        }
    }
}
