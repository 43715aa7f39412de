//! Calls of technique hooks from stages, and the effects that hooks request.

use crate::program::MAX_DST;
use crate::sm::Sm;
use crate::sm::parts::warps::WarpSlot;
use crate::source::{LaunchSource, Row};
use crate::techniques::{
    Answered, At, Hooks, RegisterWrite, Rewritten, Scouting, Stack, WriteTo, noise_outside,
};

/// The rows of an instruction's results as techniques see them: lanes in which the instruction had no effect hold noise, so that
/// a technique that takes them for old values of the register is found.
pub(in crate::sm) struct ResultRows<'a> {
    registers: &'a [u8],
    recorded: &'a [Row],
    /// What is shown in place of the recorded rows if some lanes had no effect.
    shown: Option<[Row; MAX_DST]>,
}

impl<'a> ResultRows<'a> {
    /// The recorded rows of these registers after an instruction that took effect in the lanes of `exec`; none if it took
    /// effect in no lane.
    #[inline]
    pub(in crate::sm) fn new(recorded: &'a [Row], registers: &'a [u8], exec: u32) -> ResultRows<'a> {
        let registers = if exec == 0 { &[] } else { registers };
        let with_noise = || {
            let mut shown = [Row::ZERO; MAX_DST];
            for (row, reg) in shown.iter_mut().zip(registers) {
                *row = noise_outside(&recorded[usize::from(*reg)], exec);
            }
            shown
        };
        ResultRows { registers, recorded, shown: (exec != u32::MAX).then(with_noise) }
    }

    /// The row of the result at a position.
    #[inline]
    pub(in crate::sm) fn row(&self, position: usize) -> &Row {
        match &self.shown {
            None => &self.recorded[usize::from(self.registers[position])],
            Some(rows) => &rows[position],
        }
    }

    /// The results, each with the place that it goes to.
    pub(in crate::sm) fn writes(
        &self,
        to: impl Fn(usize) -> WriteTo,
    ) -> impl Iterator<Item = RegisterWrite<'_>> {
        let numbered = self.registers.iter().enumerate();
        numbered.map(move |(i, reg)| RegisterWrite::new(*reg, to(i), self.row(i)))
    }
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// The hooks that techniques request; none, at compile time, for a source without techniques.
    #[inline(always)]
    pub(in crate::sm) fn hooks(&self) -> Hooks {
        if S::TECHNIQUES { self.techniques.hooks() } else { Hooks::default() }
    }

    /// Calls techniques with the SM's clock and warps, and carries out the requested effects.
    #[inline]
    pub(in crate::sm) fn ask<R>(
        &mut self,
        call: impl FnOnce(&mut Stack, &mut At<'_>, &[WarpSlot<S::Warp<'a>>]) -> R,
    ) -> R {
        let Sm { techniques, effects, machine, now, residents, scouts, .. } = self;
        let at = &mut At { cycle: *now, program: &machine.program, effects, scouts: Some(scouts) };
        let result = call(techniques, at, &residents.slots);
        if !self.effects.is_empty() {
            self.carry_out_effects();
        }
        result
    }

    /// Carries out the effects that hooks requested.
    #[inline(never)]
    pub(in crate::sm) fn carry_out_effects(&mut self) {
        for (bank, write) in self.effects.bank_accesses.drain(..) {
            self.reads.access(bank);
            let counters = &mut self.stats.counters;
            *(if write { &mut counters.rf_writes } else { &mut counters.rf_reads }) += 1;
        }
        self.early.extend(self.effects.early_loads.drain(..));
        for address in self.effects.unlocked.drain(..) {
            self.load_store.unlock(address);
        }
        self.asleep &= !std::mem::take(&mut self.effects.woken);
        for (warp, op) in std::mem::take(&mut self.effects.micro_ops) {
            let index = usize::from(warp);
            if self.residents.live() >> warp & 1 != 0 {
                let pc = self.residents.slots[index].next().map_or(0, |next| next.pc);
                self.front.inject(index, op);
                self.record(|recorder, now| recorder.inject(index, pc, now));
                self.refresh_head(index);
            }
        }
    }

    /// Tells the other techniques of registers of a warp that one has rewritten, and writes those that go to banks.
    #[inline(never)]
    pub(in crate::sm) fn tell_rewritten(
        &mut self,
        warp: usize,
        by: usize,
        registers: &[u8],
        to: impl Fn(u8) -> WriteTo,
        how: Rewritten,
    ) {
        let Sm { residents, techniques, effects, now, machine, reads, stats, .. } = self;
        let mut at = At { cycle: *now, program: &machine.program, effects, scouts: None };
        let view = residents.slots[warp].view(warp);
        // A micro-operation may have registers that the program does not name.
        let row = |reg: u8| view.rows.get(usize::from(reg)).unwrap_or(&Row::ZERO);
        let mut writes: Vec<RegisterWrite<'_>> =
            registers.iter().map(|reg| RegisterWrite::new(*reg, to(*reg), row(*reg))).collect();
        let outcome = techniques.rewritten(&mut at, by, &view, &mut writes, how);
        for write in &writes {
            if let WriteTo::Bank(bank) = write.to {
                reads.access(bank);
                stats.counters.rf_writes += 1;
            }
        }
        drop(writes);
        self.carry_out_effects();
        if let Err(mismatch) = outcome {
            self.fail(mismatch.into());
        }
    }

    /// Gets a technique's results for an instruction in flight that does not execute, at least in some lanes.
    pub(in crate::sm) fn ask_answer(&mut self, slot: u16, by: u8, how: Answered) {
        let warp = usize::from(self.flights[slot].warp);
        let mut view = self.in_flight(slot);
        if let Answered::Memory(lanes) = how {
            view.exec &= lanes;
        }
        let Sm { residents, techniques, effects, now, machine, .. } = self;
        let mut at = At { cycle: *now, program: &machine.program, effects, scouts: None };
        // No later instruction has written these registers: the scoreboard holds it back.
        let shown = ResultRows::new(residents.slots[warp].rows(), view.inst.destinations(), view.exec);
        let results: Vec<RegisterWrite<'_>> = shown.writes(|_| WriteTo::Nowhere).collect();
        let warp_view = residents.slots[warp].view(warp);
        let outcome = techniques.answered(&mut at, by, &warp_view, &view, how, &results);
        drop(results);
        self.carry_out_effects();
        if let Err(error) = outcome {
            self.fail(error);
        }
    }

    /// The techniques' own stage, and the admission of warps that are set up.
    #[inline]
    pub(in crate::sm) fn run_techniques(&mut self) {
        if self.hooks().tick {
            self.ask(|techniques, at, _| techniques.tick(at));
        }
        if self.machine.plan.scouting != Scouting::None {
            self.check_scouts();
        }
        if self.residents.unadmitted() != 0 {
            self.admit_warps();
        }
    }

    /// Ends the replay if a scout met damage in the recording.
    fn check_scouts(&mut self) {
        let Some((warp, why)) = self.scouts.take_failure() else { return };
        let slot = &self.residents.slots[warp];
        let error = self.recording_error(slot.block, slot.warp, why);
        self.fail(error);
    }

    /// Notifies techniques of warps that have entered or left the active set.
    #[inline(never)]
    pub(in crate::sm) fn tell_activity(&mut self, before: u64, after: u64) {
        for warp in crate::sm::parts::WarpSet((before ^ after) & self.residents.resident()) {
            let active = after >> warp & 1 != 0;
            self.ask(|techniques, at, warps| techniques.activity(at, &warps[warp].view(warp), active));
        }
    }
}
