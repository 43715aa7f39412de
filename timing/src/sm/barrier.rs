//! Barriers and exits: lanes arrive, wait and leave together.
//!
//! Arrivals are counted in threads. A warp whose other lanes run on is only held where its next instruction
//! belongs to lanes that wait.

use super::Sm;
use super::wheel::Event;
use crate::source::{LaunchSource, WarpStream};
use trace_format::isa::{BarMode, Inst, Op, Operand};

impl<S: LaunchSource> Sm<'_, S> {
    /// Value of a barrier's operand in a lane.
    fn barrier_operand(&self, warp: usize, inst: &Inst, index: usize, lane: usize) -> u32 {
        match inst.src[index].operand {
            Operand::Imm(value) => value,
            Operand::Reg(reg) if !reg.is_zero() => {
                let rows = self.warps[warp].stream.as_ref().map_or(&[][..], WarpStream::rows);
                rows.get(reg.index()).map_or(0, |row| row.0[lane & 31])
            }
            _ => 0,
        }
    }

    /// Issues BAR: the active lanes arrive, each at the barrier that it names, and wait unless they only signal.
    pub(super) fn issue_barrier(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let named: [(u32, u32); 32] = std::array::from_fn(|lane| {
            (
                self.barrier_operand(warp, &inst.inst, 0, lane) % 16,
                self.barrier_operand(warp, &inst.inst, 1, lane),
            )
        });
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.barrier_arrivals += 1;
        if step.exec == 0 {
            return;
        }
        let waits = !matches!(inst.inst.op, Op::Bar { mode: BarMode::Arrive });
        if waits {
            self.warps[warp].at_barrier |= step.exec;
            self.masks.barrier |= 1 << warp;
        }
        let slot = usize::from(self.warps[warp].block_slot);
        let first = named[step.exec.trailing_zeros() as usize & 31];
        let of = |what| {
            (0..32).filter(|&l| step.exec >> l & 1 != 0 && named[l] == what).fold(0, |m, l| m | 1 << l)
        };
        let whole = step.exec == self.warps[warp].live && of(first) == step.exec;
        if inst.has_result() {
            let flight = self.flights.begin(pc, warp as u8, self.now);
            self.record(|recorder, _| recorder.fly(flight));
            (self.flights[flight].active, self.flights[flight].exec) = (step.active, step.exec);
            self.flights.mem_mut(flight).shared_cycles = 1;
            self.keep_results(warp, flight);
            self.warps[warp].in_flight += 1;
            self.masks.holding |= 1 << warp;
            self.scoreboard.reserve(warp, inst, false);
            if whole {
                self.blocks[slot].barriers[first.0 as usize].results.push(flight);
            } else {
                // Other lanes of the warp may write the same register at the same barrier: they must be able to come.
                self.wheel.at(self.now + u64::from(inst.latency_cycles), Event::Complete(flight));
            }
        }
        let mut left = step.exec;
        while left != 0 {
            let (barrier, expected) = named[left.trailing_zeros() as usize & 31];
            let lanes = of((barrier, expected));
            left &= !lanes;
            self.arrive(warp, slot, barrier as usize, expected, lanes, waits);
        }
        // Lanes that do not wait may run on.
        let state = &self.warps[warp];
        let next = state.stream.as_ref().and_then(WarpStream::peek);
        if state.at_barrier != 0 && next.is_some_and(|next| next.active & state.at_barrier == 0) {
            self.masks.barrier &= !(1 << warp);
        }
    }

    /// Lanes of a warp arrive at a barrier.
    fn arrive(&mut self, warp: usize, slot: usize, barrier: usize, expected: u32, lanes: u32, waits: bool) {
        let state = &mut self.blocks[slot].barriers[barrier];
        state.expected = expected;
        if waits {
            state.warps |= 1 << warp;
        }
        if expected == 0 {
            state.arrived += lanes.count_ones();
        } else {
            // Counts are multiples of the warp size: a warp of which all living lanes are there counts as whole.
            let part = match state.parts.iter().position(|(w, _)| usize::from(*w) == warp) {
                Some(at) => at,
                None => {
                    state.parts.push((warp as u8, 0));
                    state.parts.len() - 1
                }
            };
            state.parts[part].1 |= lanes;
            if self.warps[warp].live & !state.parts[part].1 == 0 {
                state.parts.swap_remove(part);
                state.arrived += 32;
            }
        }
        self.release_barrier(slot, barrier);
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
        let part = |&(warp, lanes): &(u8, u32)| {
            let missing = self.warps[usize::from(warp)].live & !lanes;
            if missing == 0 { 32 } else { lanes.count_ones() }
        };
        let arrived = state.arrived + state.parts.iter().map(part).sum::<u32>();
        if arrived == 0 || arrived < expected {
            return;
        }
        state.arrived = 0;
        state.parts.clear();
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
        self.warps[warp].live &= !lanes;
        self.blocks[slot].live_threads = self.blocks[slot].live_threads.saturating_sub(lanes.count_ones());
        for barrier in 0..16 {
            let state = &self.blocks[slot].barriers[barrier];
            if state.arrived > 0 || !state.parts.is_empty() {
                self.release_barrier(slot, barrier);
            }
        }
    }
}
