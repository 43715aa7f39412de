//! Resident blocks and warps: placing a block, ending warps, and freeing slots.
//!
//! The engine chooses the next block; this file places it and reports free slots.

use crate::config::FirstWarp;
use crate::error::ReplayError;
use crate::sm::Sm;
use crate::sm::parts::WarpSet;
use crate::sm::parts::warps::WarpSlot;
use crate::sm::parts::wheel::Event;
use crate::source::{LaunchSource, SourceError, WarpStream};
use crate::techniques::Scouting;

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// Blocks that could be placed now.
    #[must_use]
    pub(crate) fn free_blocks(&self) -> u32 {
        self.residents.free_blocks(self.machine.warps_per_block) - self.new_blocks.len() as u32
    }

    /// Whether techniques let a block be placed.
    #[must_use]
    pub(crate) fn admits(&self, block: u32) -> bool {
        !self.hooks().admission || self.techniques.admits_block(self.now, block)
    }

    /// Asks techniques which of the warps that are set up may begin.
    pub(in crate::sm) fn admit_warps(&mut self) {
        for warp in WarpSet(self.residents.unadmitted()) {
            if self.techniques.admits_warp(self.now, &self.residents.slots[warp].view(warp)) {
                self.begin_warp(warp);
            }
        }
    }

    /// Begins a warp that is set up.
    pub(in crate::sm) fn begin_warp(&mut self, warp: usize) {
        self.residents.begin(warp);
        self.front.begin(warp);
    }

    /// Ends a warp's path.
    pub(in crate::sm) fn end_path(&mut self, warp: usize) {
        self.residents.end_path(warp);
        self.front.end(warp);
    }

    /// Gives the SM a block, for which there must be room. The SM sets it up when it runs next.
    pub(crate) fn place(&mut self, block: u32) {
        self.new_blocks.push(block);
        (self.wake_at, self.sleeps_until) = (self.now, self.now);
    }

    /// Sets a block up.
    ///
    /// # Errors
    /// The recording does not hold one of its warps.
    pub(in crate::sm) fn set_up(&mut self, block: u32) -> Result<(), ReplayError> {
        let slot = self.residents.take_block().expect("the engine asked for room");
        let machine = self.machine;
        self.barriers.start_block(slot, machine.threads_per_block);
        let source: &'a S = self.source;
        if !self.techniques.is_empty() {
            self.ask(|techniques, at, _| techniques.start_block(at, slot, block));
        }
        self.record(|recorder, now| recorder.block_begins(slot, block, now));
        let schedulers = machine.config.scheduler.count;
        let turns = (machine.config.sm.first_warp == FirstWarp::Turns).then_some(self.next_first);
        self.next_first = (self.next_first + 1) % schedulers;
        for warp in 0..machine.warps_per_block {
            let index =
                self.residents.free_warp(turns.map(|first| ((first + warp) % schedulers, schedulers)));
            let used = self.residents.take_spare();
            let stream =
                source.open(block, warp, used).map_err(|why| self.recording_error(block, warp, why))?;
            if machine.plan.scouting != Scouting::None {
                let values = machine.plan.scouting == Scouting::Values;
                let used = self.scouts.take(index);
                let scout = source.open_scout(block, warp, values, used);
                self.scouts.place(index, scout.map_err(|why| self.recording_error(block, warp, why))?);
            }
            let first = stream.peek();
            let threads = machine.launched_lanes(warp);
            let (stream, block_slot) = (Some(stream), slot as u8);
            let alive = threads;
            // Techniques answer for the lanes that the program has written.
            let registers = if self.techniques.is_empty() { 0 } else { machine.program.registers_per_thread };
            let written = vec![0; registers as usize];
            let placed = WarpSlot { stream, block_slot, block, warp, threads, alive, issued: 0, written };
            self.residents.place(index, placed);
            self.barriers.start_warp(index, threads);
            self.schedulers[index % machine.config.scheduler.count as usize].add(index as u8);
            self.front.place(index, first.map_or(0, |next| next.pc));
            self.held &= !(1 << index);
            self.asleep &= !(1 << index);
            self.record(|recorder, now| recorder.warp_begins(index, block, warp, now));
            if first.is_none() {
                continue;
            }
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

    pub(in crate::sm) fn recording_error(&self, block: u32, warp: u32, why: SourceError) -> ReplayError {
        ReplayError::Recording { kernel: self.machine.program.name.clone(), block, warp, why }
    }

    /// Frees the slots of ended warps with no instruction in flight, and of blocks without warps. Stores that L2 has not
    /// acknowledged hold a slot if the configuration says so; else the slot's next warp takes them over, and waits for them at a
    /// fence.
    pub(in crate::sm) fn retire_blocks(&mut self) {
        let stores = if self.machine.config.sm.stores_hold_warps { self.load_store.busy_warps() } else { 0 };
        let holding = self.flights.busy_warps() | stores;
        let ended = self.residents.resident() & !self.residents.live() & !holding;
        for warp in WarpSet(ended) {
            let (block_slot, block_ended) = self.residents.remove(warp);
            self.schedulers[warp % self.machine.config.scheduler.count as usize].remove(warp as u8);
            self.stats.counters.warps += 1;
            self.record(|recorder, now| recorder.leave(warp, block_ended.then_some(block_slot), now + 1));
            if block_ended {
                self.ended_at = self.now + 1;
                self.stats.counters.blocks += 1;
            }
            if !self.techniques.is_empty() {
                self.ask(|techniques, at, _| {
                    techniques.end_warp(at, warp);
                    if block_ended {
                        techniques.end_block(at, block_slot);
                    }
                });
            }
        }
    }

    /// One line per barrier at which threads of a resident block wait, for the watchdog's report.
    pub(in crate::sm) fn describe_blocks(&self) -> String {
        self.residents.block_slots().map(|slot| self.barriers.describe(slot)).collect()
    }

    /// One line per resident warp, for the watchdog's report.
    pub(in crate::sm) fn describe_warps(&self) -> String {
        let mut text = String::new();
        for (index, warp) in self.residents.slots.iter().enumerate() {
            if let Some(stream) = &warp.stream {
                let next =
                    stream.peek().map_or("ended".to_owned(), |next| format!("PC {:#06x}", next.pc * 8));
                text += &format!(
                    "  warp slot {index}: block {}, warp {}, {next}, {} in flight, {} in memory, lanes at a barrier {:#x}, \
                     outstanding {}, {}\n",
                    warp.block,
                    warp.warp,
                    self.flights.of_warp(index),
                    self.load_store.outstanding(index),
                    self.barriers.waiting_lanes(index),
                    self.scoreboard.describe(index),
                    self.dependences.describe(index)
                );
            }
        }
        text
    }
}
