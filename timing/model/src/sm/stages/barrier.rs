//! Barriers and exits: lanes of a warp arrive at barriers and are released.

use crate::sm::Sm;
use crate::sm::parts::WarpSet;
use crate::sm::parts::barriers::{Arrival, BARRIERS};
use crate::sm::parts::wheel::Event;
use crate::source::LaunchSource;
use trace_format::isa::{BarMode, Inst, Op, Operand};

impl<S: LaunchSource> Sm<'_, S> {
    /// Value of a barrier's operand in a lane.
    fn barrier_operand(&self, warp: usize, inst: &Inst, index: usize, lane: usize) -> u32 {
        match inst.src[index].operand {
            Operand::Imm(value) => value,
            Operand::Reg(reg) if !reg.is_zero() => {
                let rows = self.residents.slots[warp].rows();
                rows.get(reg.index()).map_or(0, |row| row.0[lane & 31])
            }
            _ => 0,
        }
    }

    /// Issues BAR: the active lanes arrive, each at the barrier that it names, and wait unless they only
    /// signal.
    pub(in crate::sm) fn issue_barrier(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        // Read the operands before the step, which may change their registers.
        let of_lane = |lane| {
            let barrier = self.barrier_operand(warp, &inst.inst, 0, lane) % BARRIERS as u32;
            (barrier, self.barrier_operand(warp, &inst.inst, 1, lane))
        };
        let same =
            inst.inst.src[..2].iter().all(|src| !matches!(src.operand, Operand::Reg(r) if !r.is_zero()));
        let named = if same { [of_lane(0); 32] } else { std::array::from_fn(of_lane) };
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.barrier_arrivals += 1;
        if step.exec == 0 {
            return;
        }
        let waits = !matches!(inst.inst.op, Op::Bar { mode: BarMode::Arrive });
        if waits {
            self.barriers.hold(warp, step.exec, self.now);
        }
        let block = usize::from(self.residents.slots[warp].block_slot);
        let first = named[step.exec.trailing_zeros() as usize & 31];
        let of = |what| {
            if same {
                return step.exec;
            }
            (0..32).filter(|&l| step.exec >> l & 1 != 0 && named[l] == what).fold(0, |m, l| m | 1 << l)
        };
        let whole = step.exec == self.barriers.live(warp) && of(first) == step.exec;
        if inst.has_result() {
            let flight = self.flights.begin(pc, warp as u8, self.now);
            self.record(|recorder, _| recorder.fly(flight));
            (self.flights[flight].active, self.flights[flight].exec) = (step.active, step.exec);
            self.flights.enter(warp);
            self.scoreboard.reserve(warp, inst, false);
            if let Some(bits) = &inst.control {
                self.dependences.awaits_barrier(warp, bits);
            }
            if whole {
                self.barriers.await_result(block, first.0 as usize, flight);
            } else {
                // Other lanes of the warp may still arrive and write the same register at the same barrier.
                self.wheel.at(self.now + u64::from(inst.latency_cycles), Event::Complete(flight));
            }
        }
        let mut left = step.exec;
        while left != 0 {
            let (barrier, expected) = named[left.trailing_zeros() as usize & 31];
            let lanes = of((barrier, expected));
            left &= !lanes;
            let arrival = Arrival { block, warp, barrier: barrier as usize, expected, lanes, waits };
            self.barriers.arrive(arrival);
        }
        self.release();
        let next = self.residents.slots[warp].next().map(|next| next.active);
        self.barriers.let_others_run(warp, next);
    }

    /// Holds a warp again when its path returns to waiting lanes.
    #[inline]
    pub(in crate::sm) fn hold_waiting_lanes(&mut self, warp: usize) {
        let next = self.residents.slots[warp].next().map(|next| next.active);
        self.barriers.hold_waiting(warp, next);
    }

    /// Removes exited threads from the barriers' counts.
    pub(in crate::sm) fn threads_exit(&mut self, warp: usize, lanes: u32) {
        let block = usize::from(self.residents.slots[warp].block_slot);
        self.residents.slots[warp].alive &= !lanes;
        self.barriers.exit(block, warp, lanes);
        self.release();
    }

    /// Released warps continue in the next cycle and get the results of their barriers.
    fn release(&mut self) {
        let Some(released) = self.barriers.take_released() else { return };
        for warp in WarpSet(released.warps) {
            self.stats.latency.barrier_wait.record(self.now + 1 - self.barriers.since(warp));
            self.wheel.at(self.now + 1, Event::BarrierLeft(warp as u8));
        }
        for flight in released.results {
            let latency = self.machine.program.insts[self.flights[flight].pc as usize].latency_cycles;
            self.wheel.at(self.now + u64::from(latency), Event::Complete(flight));
        }
    }
}
