//! Barriers and exits: lanes arrive, wait and leave together.
//!
//! Arrivals are counted in threads. A warp whose other lanes run on is only held where its next instruction
//! belongs to lanes that wait.

use super::Sm;
use super::wheel::Event;
use crate::source::{LaunchSource, WarpStream};
use trace_format::isa::{BarMode, Inst, Op, Operand};

impl<S: LaunchSource> Sm<'_, S> {
    /// Value of a barrier's operand for the lanes that arrive; they agree on it.
    fn barrier_operand(&self, warp: usize, inst: &Inst, index: usize, active: u32) -> u32 {
        match inst.src[index].operand {
            Operand::Imm(value) => value,
            Operand::Reg(reg) if !reg.is_zero() => {
                let lane = (active.trailing_zeros() & 31) as usize;
                let rows = self.warps[warp].stream.as_ref().map_or(&[][..], WarpStream::rows);
                rows.get(reg.index()).map_or(0, |row| row.0[lane])
            }
            _ => 0,
        }
    }

    /// Issues BAR: the active lanes arrive, and wait unless they only signal.
    pub(super) fn issue_barrier(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let path = self.warps[warp].stream.as_ref().and_then(WarpStream::peek).map_or(0, |next| next.active);
        let barrier = self.barrier_operand(warp, &inst.inst, 0, path) as usize % 16;
        let expected = self.barrier_operand(warp, &inst.inst, 1, path);
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.barrier_arrivals += 1;
        if step.exec == 0 {
            return;
        }
        let waits = !matches!(inst.inst.op, Op::Bar { mode: BarMode::Arrive });
        let slot = usize::from(self.warps[warp].block_slot);
        let mut arrived = step.exec.count_ones();
        if expected != 0 {
            // Explicit counts are multiples of the warp size: lanes that were never launched count as there.
            arrived += 32 - self.warps[warp].threads.count_ones();
        }
        let state = &mut self.blocks[slot].barriers[barrier];
        state.arrived += arrived;
        state.expected = expected;
        if waits {
            state.warps |= 1 << warp;
            self.warps[warp].at_barrier |= step.exec;
            self.masks.barrier |= 1 << warp;
        }
        if inst.has_result() {
            let flight = self.flights.begin(pc, warp as u8, self.now);
            (self.flights[flight].active, self.flights[flight].exec) = (step.active, step.exec);
            self.flights[flight].mem.shared_cycles = 1;
            self.keep_results(warp, flight);
            self.warps[warp].in_flight += 1;
            self.scoreboard.reserve(warp, inst, false);
            self.blocks[slot].barriers[barrier].results.push(flight);
        }
        self.release_barrier(slot, barrier);
        // Lanes that do not wait may run on.
        let state = &self.warps[warp];
        let next = state.stream.as_ref().and_then(WarpStream::peek);
        if state.at_barrier != 0 && next.is_some_and(|next| next.active & state.at_barrier == 0) {
            self.masks.barrier &= !(1 << warp);
        }
    }

    /// Holds a warp again when its path comes back to lanes that wait.
    pub(super) fn hold_waiting_lanes(&mut self, warp: usize) {
        let state = &self.warps[warp];
        if state.at_barrier != 0 {
            let next = state.stream.as_ref().and_then(WarpStream::peek);
            if next.is_some_and(|next| next.active & state.at_barrier != 0) {
                self.masks.barrier |= 1 << warp;
            }
        }
    }

    /// Lets everyone go if the last thread has arrived.
    fn release_barrier(&mut self, block_slot: usize, barrier: usize) {
        let block = &mut self.blocks[block_slot];
        let state = &mut block.barriers[barrier];
        let expected = if state.expected == 0 { block.live_threads } else { state.expected };
        if state.arrived == 0 || state.arrived < expected {
            return;
        }
        state.arrived = 0;
        let mut warps = std::mem::take(&mut state.warps);
        let results = std::mem::take(&mut state.results);
        while warps != 0 {
            let warp = warps.trailing_zeros() as usize;
            warps &= warps - 1;
            self.warps[warp].at_barrier = 0;
            if self.masks.barrier >> warp & 1 != 0 {
                self.wheel.at(self.now + 1, Event::BarrierLeft(warp as u8));
            }
        }
        for flight in results {
            let latency = self.machine.program.insts[self.flights[flight].pc as usize].latency_cycles;
            self.wheel.at(self.now + u64::from(latency), Event::Complete(flight));
        }
    }

    /// Threads have exited: barriers no longer wait for them.
    pub(super) fn threads_exit(&mut self, warp: usize, lanes: u32) {
        let slot = usize::from(self.warps[warp].block_slot);
        self.blocks[slot].live_threads = self.blocks[slot].live_threads.saturating_sub(lanes.count_ones());
        for barrier in 0..16 {
            if self.blocks[slot].barriers[barrier].arrived > 0 {
                self.release_barrier(slot, barrier);
            }
        }
    }
}
