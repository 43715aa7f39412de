//! Writeback: results compete for the result bus, then for their banks; the scoreboard releases their
//! registers.

use crate::memory::Served;
use crate::program::{MAX_DST, MemoryKind, Path};
use crate::sm::Sm;
use crate::sm::parts::early::EarlyLoads;
use crate::sm::parts::flight::Flight;
use crate::sm::parts::load_store::MemOp;
use crate::sm::parts::wheel::Event;
use crate::sm::stages::techniques::ResultRows;
use crate::source::{LaunchSource, Row};
use crate::stats::Latencies;
use crate::techniques::{At, RegisterWrite, Rewritten, WriteTo};
use trace_format::isa::space::Space;

impl<S: LaunchSource> Sm<'_, S> {
    /// Completes a flight: an instruction with its followers, or an early load.
    #[inline]
    pub(in crate::sm) fn complete(&mut self, slot: u16) {
        if S::TECHNIQUES {
            if self.flights[slot].pc == EarlyLoads::PC {
                self.early_load_done(slot);
                return;
            }
            if !self.followers.is_empty() {
                self.complete_followers(slot);
            }
        }
        self.complete_instruction(slot);
    }

    /// Completes an instruction: with a result it waits for the bus, without one it ends.
    #[inline]
    pub(in crate::sm) fn complete_instruction(&mut self, slot: u16) {
        self.record(|recorder, now| recorder.completed(slot, now));
        if S::TECHNIQUES {
            self.flights[slot].completed = true;
            if self.flights[slot].aside {
                self.retire(slot);
                return;
            }
        }
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        if !inst.has_result() {
            self.retire(slot);
        } else if matches!(inst.path, Path::Memory(_))
            && let Some(at) = self.transfer(slot)
        {
            self.wheel.at(at, Event::Written(slot));
        } else {
            self.bus.push(slot, self.now);
        }
    }

    /// Cycle in which the data of a completed memory instruction are in the registers, if a port of its own decides that.
    #[inline]
    fn transfer(&mut self, slot: u16) -> Option<u64> {
        let machine = self.machine;
        let Flight { pc, warp, .. } = self.flights[slot];
        let scheduler = usize::from(warp) % self.schedulers.len();
        let passes = self.load_store.op(slot).shared_cycles;
        self.reads.transfer(scheduler, &machine.program.insts[pc as usize], passes, self.now)
    }

    /// Writeback stage.
    pub(in crate::sm) fn write_back_results(&mut self) {
        if !self.bus.is_active() {
            return;
        }
        let mut cycle = self.bus.cycle();
        loop {
            let Sm { bus, scoreboard, flights, machine, .. } = self;
            // The reader that holds a result is always an earlier instruction: a later one would itself wait
            // for this result.
            let is_held = |slot| {
                let flight = &flights[slot];
                scoreboard.is_read(usize::from(flight.warp), &machine.program.insts[flight.pc as usize])
            };
            let Some((since, slot)) = bus.take(&mut cycle, is_held) else { return };
            self.stats.counters.result_bus_wait_cycles += self.now - since;
            self.retire(slot);
        }
    }

    /// An instruction's results leave the bus; the instruction ends.
    fn retire(&mut self, slot: u16) {
        let machine = self.machine;
        let flight = &self.flights[slot];
        let inst = &machine.program.insts[flight.pc as usize];
        let warp = usize::from(flight.warp);
        let latency = self.now - flight.issued_at;
        let memory = matches!(inst.path, Path::Memory(_));
        let micro = S::TECHNIQUES && machine.micro_at(flight.pc).is_some();
        if inst.has_result() && !micro {
            match inst.path {
                Path::Memory(kind) => {
                    record_memory_latency(&mut self.stats.latency, kind, self.load_store.op(slot), latency);
                }
                _ => self.stats.latency.alu_issue_to_writeback.record(latency),
            }
        }
        let writes = inst.dst_count > 0 && flight.exec != 0;
        if self.hooks().write_back && !micro {
            self.write_through_techniques(slot, warp, writes);
        } else if S::TECHNIQUES && micro && writes && self.hooks().write_back && self.techniques.has_several()
        {
            let owner = machine.micro_at(flight.pc).map_or(usize::MAX, |(owner, ..)| owner);
            let bank = |reg| WriteTo::Bank(machine.banks.bank(warp, reg));
            self.stats.counters.operand_writes += u64::from(inst.dst_count);
            self.tell_rewritten(warp, owner, inst.written_registers(), bank, Rewritten::Moved);
        } else if writes {
            for reg in inst.written_registers() {
                self.reads.access(machine.banks.bank(warp, *reg));
            }
            let count = u64::from(inst.dst_count);
            self.stats.counters.operand_writes += count;
            self.stats.counters.rf_writes += count;
        }
        self.scoreboard.release(warp, inst);
        if let Some(bits) = &inst.control {
            if inst.keeps_sources() {
                self.dependences.read(warp, bits, memory);
            }
            self.dependences.written(warp, bits, memory);
        }
        let delay = u64::from(machine.config.register_file.guard_delay_cycles);
        if delay > 0 && inst.pred_writes != 0 && inst.control.is_none() {
            self.scoreboard.close_guards(warp, inst.pred_writes);
            self.wheel.at(self.now + delay, Event::GuardsReady(warp as u8, inst.pred_writes));
        }
        self.flights.end(slot);
        self.record(|recorder, now| recorder.retired(slot, now));
        self.flights.leave(warp);
        if memory {
            self.load_store.end(warp);
        }
        self.refresh_hazard(warp);
    }

    /// Lets techniques redirect the results of an instruction, and writes those that stay in the register file.
    /// Techniques are notified of every instruction, also of one that writes nothing.
    fn write_through_techniques(&mut self, slot: u16, warp: usize, writes: bool) {
        let machine = self.machine;
        let view = self.in_flight(slot);
        let inst = view.inst;
        let count = if writes { usize::from(inst.dst_count) } else { 0 };
        self.stats.counters.operand_writes += count as u64;
        let Sm { residents, techniques, stats, effects, now, reads, .. } = self;
        // The scoreboard holds back the next writer of each register, so that the warp still has the results.
        let shown = ResultRows::new(residents.slots[warp].rows(), &inst.dsts[..count], view.exec);
        let mut writes: [RegisterWrite<'_>; MAX_DST] = std::array::from_fn(|i| {
            let (reg, row) = match inst.dsts[..count].get(i) {
                Some(reg) => (*reg, shown.row(i)),
                None => (0, &Row::ZERO),
            };
            RegisterWrite::new(reg, WriteTo::Bank(machine.banks.bank(warp, inst.written_as[i])), row)
        });
        let mut at = At { cycle: *now, program: &machine.program, effects, scouts: None };
        let outcome =
            techniques.write_back(&mut at, &residents.slots[warp].view(warp), &view, &mut writes[..count]);
        for write in &writes[..count] {
            match write.to {
                WriteTo::Bank(bank) => {
                    reads.access(bank);
                    stats.counters.rf_writes += 1;
                }
                WriteTo::Lane(bank) => reads.access(bank),
                WriteTo::Nowhere => {}
            }
        }
        if !self.effects.is_empty() {
            self.carry_out_effects();
        }
        if let Err(mismatch) = outcome {
            self.fail(mismatch.into());
        }
    }
}

/// Records a memory instruction's latency in the distribution of its kind and serving level.
fn record_memory_latency(of: &mut Latencies, kind: MemoryKind, mem: &MemOp, cycles: u64) {
    if mem.shared_cycles > 0 {
        of.alu_issue_to_writeback.record(cycles);
        of.shared_issue_to_writeback.record(cycles);
        return;
    }
    of.load_issue_to_writeback.record(cycles);
    match (kind, mem.served) {
        (MemoryKind::Load(Space::Const), _) => of.constant_issue_to_writeback.record(cycles),
        (MemoryKind::Atomic(_), _) => of.atomic_issue_to_writeback.record(cycles),
        (_, Served::L1) => of.l1_load_issue_to_writeback.record(cycles),
        (_, Served::L2) => of.l2_load_issue_to_writeback.record(cycles),
        (_, Served::Dram) => of.dram_load_issue_to_writeback.record(cycles),
    }
}
