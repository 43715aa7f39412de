//! Writeback: results compete for the result bus, then for their banks; the scoreboard learns of them.

use super::Sm;
use super::flight::MemOp;
use super::load_store::EARLY_LOAD;
use crate::config::GpuConfig;
use crate::memory::Served;
use crate::program::{MAX_DST, MemoryKind, Path, TimedInst};
use crate::source::{LaunchSource, Row};
use crate::stats::Latencies;
use crate::techniques::{At, InstView, RegisterWrite, WriteTo};
use std::collections::VecDeque;
use trace_format::isa::space::Space;

/// Results that wait for the bus.
#[derive(Clone, Debug)]
pub(super) struct WriteBack {
    waiting: VecDeque<(u64, u16)>,
    width: usize,
}

impl WriteBack {
    pub fn new(config: &GpuConfig) -> WriteBack {
        WriteBack { waiting: VecDeque::new(), width: config.register_file.result_bus_width as usize }
    }

    /// A result is there.
    #[inline]
    pub fn push(&mut self, slot: u16, now: u64) {
        self.waiting.push_back((now, slot));
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What waits, for the report of a stuck machine.
    pub fn describe(&self) -> String {
        format!("  result bus: {} results waiting\n", self.waiting.len())
    }
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Something in flight is done: an instruction and what completes with it, or an early load.
    #[inline]
    pub(super) fn complete(&mut self, slot: u16) {
        if self.flights[slot].pc == EARLY_LOAD {
            self.early_load_done(slot);
            return;
        }
        if !self.access_followers.is_empty() {
            self.complete_followers(slot);
        }
        self.complete_instruction(slot);
    }

    /// An instruction is done: with a result it competes for the bus, without one it ends.
    #[inline]
    pub(super) fn complete_instruction(&mut self, slot: u16) {
        self.record(|recorder, now| recorder.completed(slot, now));
        if self.machine.program.insts[self.flights[slot].pc as usize].has_result() {
            self.write_back.push(slot, self.now);
        } else {
            self.retire(slot);
        }
    }

    /// Writeback stage.
    pub(super) fn write_back_results(&mut self) {
        let (mut width, mut index) = (self.write_back.width, 0);
        while width > 0 {
            let Some((since, slot)) = self.write_back.waiting.get(index).copied() else { break };
            let flight = &self.flights[slot];
            let inst = &self.machine.program.insts[flight.pc as usize];
            if self.scoreboard.is_read(usize::from(flight.warp), inst) {
                // No later instruction can be that reader: it would wait for this result.
                index += 1;
                continue;
            }
            width -= 1;
            if index == 0 {
                self.write_back.waiting.pop_front();
            } else {
                self.write_back.waiting.remove(index);
            }
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
        if inst.has_result() && machine.micro_at(flight.pc).is_none() {
            record_latency(&mut self.stats.latency, inst, self.flights.mem(slot), latency);
        }
        let writes = inst.dst_count > 0 && flight.exec != 0;
        if writes || self.techniques.hooks().write_back {
            self.write_registers(slot, warp, writes);
        }
        self.scoreboard.release(warp, inst);
        self.flights.end(slot);
        self.record(|recorder, now| recorder.retired(slot, now));
        let state = &mut self.warps[warp];
        state.in_flight -= 1;
        if memory {
            self.memory_done(warp);
        } else {
            self.refresh_holding(warp);
        }
        self.refresh_hazard(warp);
    }

    /// One memory instruction or store of a warp is done.
    pub(super) fn memory_done(&mut self, warp: usize) {
        let state = &mut self.warps[warp];
        state.in_memory -= 1;
        if state.in_memory == 0 {
            self.masks.fence &= !(1 << warp);
        }
        self.refresh_holding(warp);
    }

    /// Whether a warp whose path has ended still holds something, after something has ended.
    #[inline]
    fn refresh_holding(&mut self, warp: usize) {
        let state = &self.warps[warp];
        if state.in_flight == 0 && state.in_memory == 0 {
            self.masks.holding &= !(1 << warp);
        }
    }

    /// Writes the results of an instruction that takes effect somewhere; techniques are told of every one.
    fn write_registers(&mut self, slot: u16, warp: usize, writes: bool) {
        let machine = self.machine;
        let flight = &self.flights[slot];
        let (pc, active, exec) = (flight.pc, flight.active, flight.exec);
        let inst = &machine.program.insts[pc as usize];
        let count = if writes { usize::from(inst.dst_count) } else { 0 };
        self.stats.counters.operand_writes += count as u64;
        if !self.techniques.hooks().write_back || machine.micro_at(pc).is_some() {
            for reg in inst.destinations() {
                self.collectors.access(machine.banks.bank(warp, *reg));
            }
            self.stats.counters.rf_writes += count as u64;
            return;
        }
        let id = self.flights.id(slot);
        let Sm { warps, techniques, stats, effects, now, flights, collectors, .. } = self;
        let rows: &[Row; MAX_DST] = flights.rows(slot);
        let mut writes: [RegisterWrite<'_>; MAX_DST] = std::array::from_fn(|i| {
            let bank = machine.banks.bank(warp, inst.dsts[i]);
            RegisterWrite::new(inst.dsts[i], WriteTo::Bank(bank), &rows[i])
        });
        let view = InstView { pc, inst, active, exec, id };
        let mut at = At { cycle: *now, program: &machine.program, effects };
        let outcome = techniques.write_back(&mut at, &warps[warp].view(warp), &view, &mut writes[..count]);
        for write in &writes[..count] {
            if let WriteTo::Bank(bank) = write.to {
                collectors.access(bank);
                stats.counters.rf_writes += 1;
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

/// Puts an instruction's latency where it belongs, by what it waited for.
fn record_latency(of: &mut Latencies, inst: &TimedInst, mem: &MemOp, cycles: u64) {
    let Path::Memory(kind) = inst.path else {
        of.alu_issue_to_writeback.record(cycles);
        return;
    };
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
