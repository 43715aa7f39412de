//! Issue: each scheduler picks a ready warp, and every slot that stays empty is attributed to its cause.

use super::Sm;
use super::front::Entry;
use super::scoreboard::Hazard;
use super::wheel::Event;
use crate::program::{MAX_SRC, Path};
use crate::source::{LaunchSource, WarpStream};
use crate::stats::Stall;
use crate::techniques::{Cx, InFlightId, InstView, IssueVerdict, Issuing, OperandRead, ReadFrom};
use crate::view::record::Recorder;
use trace_format::isa::Kind;

/// What came of an attempt to issue a warp's head.
enum Attempt {
    Issued { unit: u8, ends_run: bool },
    Held,
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Takes note of a warp's new head: skipped instructions pass, then hazards and class are looked up.
    pub(super) fn refresh_head(&mut self, warp: usize) {
        let bit = 1u64 << warp;
        let masks = &mut self.masks;
        masks.decoded &= !bit;
        masks.hazard &= !bit;
        masks.memory_hazard &= !bit;
        masks.control &= !bit;
        masks.pool.iter_mut().for_each(|pool| *pool &= !bit);
        loop {
            match self.front.head(warp) {
                None => return,
                Some(Entry::Skipped(pc)) => {
                    self.front.pop(warp);
                    self.pass_skipped(warp, pc);
                    if self.masks.live & bit == 0 {
                        return;
                    }
                }
                Some(Entry::Inserted(_)) => {
                    self.masks.control |= bit;
                    break;
                }
                Some(Entry::Program(pc)) => {
                    let inst = &self.machine.program.insts[pc as usize];
                    match inst.path {
                        Path::Alu | Path::Memory(_) => self.masks.pool[usize::from(inst.pool)] |= bit,
                        Path::Control | Path::Barrier | Path::Fence => self.masks.control |= bit,
                    }
                    break;
                }
            }
        }
        self.masks.decoded |= bit;
        self.refresh_hazard(warp);
    }

    /// Looks up the hazards of a warp's head again.
    #[inline]
    pub(super) fn refresh_hazard(&mut self, warp: usize) {
        let bit = 1u64 << warp;
        self.masks.hazard &= !bit;
        self.masks.memory_hazard &= !bit;
        if self.masks.decoded & bit == 0 {
            return;
        }
        if let Some(Entry::Program(pc)) = self.front.head(warp) {
            match self.scoreboard.hazard(warp, &self.machine.program.insts[pc as usize]) {
                Hazard::Clear => {}
                Hazard::Alu => self.masks.hazard |= bit,
                Hazard::Memory => {
                    self.masks.hazard |= bit;
                    self.masks.memory_hazard |= bit;
                }
            }
        }
    }

    /// Warps of a scheduler that could issue now.
    #[inline]
    pub(super) fn candidates(&self, scheduler: usize) -> u64 {
        let ready = self.masks.ready() & self.of_scheduler[scheduler] & self.schedulers[scheduler].eligible();
        if ready == 0 {
            return 0;
        }
        let mut found = 0;
        if ready & self.masks.control != 0 && self.units.control_free(scheduler, self.now) {
            found |= ready & self.masks.control;
        }
        for (class, pool) in self.masks.pool.iter().enumerate() {
            if ready & pool != 0 {
                found |= self.collectors.with_room(ready & pool, scheduler, class);
            }
        }
        found
    }

    /// Schedulers of which ready warps wait for a control unit, one bit each.
    pub(super) fn control_waiters(&self) -> u32 {
        let waiting = self.masks.ready() & self.masks.control;
        (0..self.schedulers.len())
            .filter(|s| waiting & self.of_scheduler[*s] != 0)
            .fold(0, |mask, s| mask | 1 << s)
    }

    /// Warps that will not issue for long: the two-level policy puts others in their place.
    fn long_waits(&self) -> u64 {
        let m = &self.masks;
        m.memory_hazard | m.barrier | m.fence | !m.live
    }

    /// Whether a scheduler's active set would change in the next cycle.
    pub(super) fn schedulers_will_change(&self) -> bool {
        let long_waits = self.long_waits();
        self.schedulers.iter().any(|scheduler| scheduler.would_rebalance(long_waits))
    }

    /// Issue stage.
    pub(super) fn issue(&mut self) {
        let long_waits = self.long_waits();
        for scheduler in 0..self.schedulers.len() {
            self.schedulers[scheduler].rebalance(long_waits);
            self.issue_from(scheduler);
        }
    }

    fn issue_from(&mut self, scheduler: usize) {
        let width = u64::from(self.machine.config.scheduler.issue_width);
        let mut candidates = self.candidates(scheduler);
        let mut held = false;
        while let Some(warp) = self.schedulers[scheduler].pick(candidates) {
            match self.attempt(usize::from(warp), scheduler) {
                Attempt::Held => {
                    held = true;
                    candidates &= !(1 << warp);
                }
                Attempt::Issued { unit, ends_run } => {
                    self.schedulers[scheduler].issued(warp);
                    self.last_issue = self.now;
                    self.stats.stalls.add(Stall::Issued, 1);
                    self.record(|recorder, now| recorder.slots(scheduler, 0, 1, Stall::Issued, now, 1));
                    if width > 1 {
                        self.issue_second(usize::from(warp), scheduler, unit, ends_run);
                    }
                    return;
                }
            }
        }
        let cause = if held { Stall::Technique } else { self.stall_cause(scheduler) };
        self.stats.stalls.add(cause, width);
        self.record(|recorder, now| recorder.slots(scheduler, 0, width, cause, now, 1));
    }

    /// Second slot of a dual issue: the next instruction of the same warp.
    fn issue_second(&mut self, warp: usize, scheduler: usize, first_unit: u8, ends_run: bool) {
        let distinct = self.machine.config.scheduler.dual_issue_distinct_units;
        let same_unit = |sm: &Self| match sm.front.head(warp) {
            Some(Entry::Program(pc)) => sm.machine.program.insts[pc as usize].unit == first_unit,
            _ => false,
        };
        let bit = 1u64 << warp;
        let cause = if ends_run {
            Stall::DualIssue
        } else if self.masks.ready() & bit == 0 {
            self.cause_among(scheduler, bit)
        } else if distinct && same_unit(self) {
            Stall::DualIssue
        } else if self.candidates(scheduler) & bit == 0 {
            self.cause_among(scheduler, bit)
        } else {
            match self.attempt(warp, scheduler) {
                Attempt::Issued { .. } => Stall::Issued,
                Attempt::Held => Stall::Technique,
            }
        };
        self.stats.stalls.add(cause, 1);
        self.record(|recorder, now| recorder.slots(scheduler, 1, 1, cause, now, 1));
    }

    /// Why a scheduler issues nothing.
    pub(super) fn stall_cause(&self, scheduler: usize) -> Stall {
        let own = self.of_scheduler[scheduler] & self.masks.resident;
        if own == 0 { Stall::NoWarp } else { self.cause_among(scheduler, own) }
    }

    /// Cause of the warp that comes closest to issuing, among some of a scheduler's.
    fn cause_among(&self, scheduler: usize, warps: u64) -> Stall {
        let m = &self.masks;
        let ready = m.ready() & warps;
        if ready != 0 {
            for (class, pool) in m.pool.iter().enumerate() {
                let waiting = ready & pool;
                if waiting != 0 {
                    return self.collectors.cause(waiting.trailing_zeros() as usize, scheduler, class);
                }
            }
            return Stall::UnitBusy;
        }
        let free = m.live & warps & !(m.barrier | m.fence | m.branch | m.starting);
        let blocked = free & m.decoded & m.hazard;
        if blocked & !m.memory_hazard != 0 {
            Stall::AluDependency
        } else if blocked != 0 {
            Stall::MemoryDependency
        } else if m.live & warps & m.branch != 0 {
            Stall::Branch
        } else if free & !m.decoded & !m.icache != 0 {
            Stall::IBufferEmpty
        } else if free & m.icache != 0 {
            Stall::ICacheMiss
        } else if m.live & warps & m.barrier != 0 {
            Stall::Barrier
        } else if m.live & warps & m.fence != 0 {
            Stall::Fence
        } else {
            Stall::Drain
        }
    }

    /// Tries to issue a warp's head.
    fn attempt(&mut self, warp: usize, scheduler: usize) -> Attempt {
        let pc = match self.front.head(warp) {
            Some(Entry::Program(pc)) => pc,
            Some(Entry::Inserted(inserted)) => return self.attempt_inserted(warp, inserted),
            Some(Entry::Skipped(_)) | None => return Attempt::Held,
        };
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let active =
            self.warps[warp].stream.as_ref().and_then(WarpStream::peek).map_or(0, |next| next.active);
        let id = InFlightId { slot: u16::MAX, generation: 0 };
        let mut verdict = IssueVerdict::Issue;
        if self.techniques.hooks().issue {
            let Sm { warps, techniques, stats, extra_writes, now, .. } = self;
            let mut cx =
                Cx { cycle: *now, program: &machine.program, stats: &mut stats.counters, extra_writes };
            let what = Issuing::Program(InstView { pc, inst, active, exec: active, id });
            verdict = techniques.issue(&mut cx, &warps[warp].view(warp), &what);
        }
        if verdict == IssueVerdict::Stall {
            return Attempt::Held;
        }
        self.record(|recorder, now| recorder.issue(warp, now));
        let (unit, ends_run) = (inst.unit, !matches!(inst.path, Path::Alu | Path::Memory(_)));
        match inst.path {
            Path::Alu | Path::Memory(_) => self.issue_collected(warp, scheduler, pc, verdict),
            Path::Control | Path::Barrier | Path::Fence => {
                self.record(Recorder::done_at_issue);
                self.issue_control(warp, pc);
            }
        }
        self.front.pop(warp);
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.refresh_head(warp);
        self.refresh_fetch(warp);
        Attempt::Issued { unit, ends_run }
    }

    fn attempt_inserted(&mut self, warp: usize, inserted: crate::techniques::Inserted) -> Attempt {
        let machine = self.machine;
        if self.techniques.hooks().issue {
            let Sm { warps, techniques, stats, extra_writes, now, .. } = self;
            let mut cx =
                Cx { cycle: *now, program: &machine.program, stats: &mut stats.counters, extra_writes };
            let view = warps[warp].view(warp);
            if techniques.issue(&mut cx, &view, &Issuing::Inserted(inserted)) == IssueVerdict::Stall {
                return Attempt::Held;
            }
        }
        self.record(|recorder, now| {
            recorder.issue(warp, now);
            recorder.done_at_issue(now);
        });
        self.units.take(5, warp, self.now, 1);
        self.stats.counters.inserted_instructions += 1;
        self.front.pop(warp);
        self.refresh_head(warp);
        self.refresh_fetch(warp);
        Attempt::Issued { unit: 5, ends_run: true }
    }

    /// An instruction that a technique skips has reached its place in program order.
    fn pass_skipped(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        self.record(|recorder, now| recorder.skip(warp, now));
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.skipped_instructions += 1;
        let inst = &machine.program.insts[pc as usize];
        let id = InFlightId { slot: u16::MAX, generation: 0 };
        let Sm { warps, techniques, stats, extra_writes, now, .. } = self;
        let mut cx = Cx { cycle: *now, program: &machine.program, stats: &mut stats.counters, extra_writes };
        let view = InstView { pc, inst, active: step.active, exec: step.exec, id };
        if let Err(mismatch) = techniques.skipped(&mut cx, &warps[warp].view(warp), &view) {
            self.fail(mismatch.into());
        }
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.refresh_fetch(warp);
    }

    /// Steps a warp's stream over the instruction that the pipeline believes to be next.
    pub(super) fn step(&mut self, warp: usize, pc: u32) -> Option<crate::source::Step> {
        let slot = &mut self.warps[warp];
        let stream = slot.stream.as_mut()?;
        match stream.step() {
            Ok(step) => {
                debug_assert_eq!(step.pc, pc, "the I-buffer follows the recorded path");
                slot.issued += 1;
                self.stats.counters.warp_instructions += 1;
                self.stats.counters.thread_instructions += u64::from(step.exec.count_ones());
                self.record(|recorder, _| recorder.stepped(step.exec));
                Some(step)
            }
            Err(why) => {
                let (block, index) = (slot.block, slot.warp);
                let error = self.recording_error(block, index, why);
                self.masks.live &= !(1 << warp);
                self.fail(error);
                None
            }
        }
    }

    /// Issues an instruction that collects operands.
    fn issue_collected(&mut self, warp: usize, scheduler: usize, pc: u32, verdict: IssueVerdict) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let memory = matches!(inst.path, Path::Memory(_));
        let slot = self.flights.begin(pc, warp as u8, self.now);
        self.record(|recorder, _| recorder.fly(slot));
        let mut operands = [OperandRead { reg: 0, from: ReadFrom::Forwarded }; MAX_SRC];
        let count = usize::from(inst.src_count);
        if verdict == IssueVerdict::Issue {
            for (operand, reg) in operands.iter_mut().zip(inst.sources()) {
                let bank = machine.banks.bank(warp, *reg);
                *operand = OperandRead { reg: *reg, from: ReadFrom::Bank(bank) };
            }
            self.stats.counters.operand_reads += count as u64;
            if self.techniques.hooks().collect {
                self.ask_collect(warp, slot, &mut operands[..count]);
            }
        }
        let Some(step) = self.step(warp, pc) else {
            self.flights.end(slot);
            return;
        };
        let flight = &mut self.flights[slot];
        (flight.active, flight.exec) = (step.active, step.exec);
        self.keep_results(warp, slot);
        if memory {
            self.prepare_access(warp, slot);
            self.warps[warp].in_memory += 1;
        }
        self.warps[warp].in_flight += 1;
        self.masks.holding |= 1 << warp;
        self.scoreboard.reserve(warp, inst, memory);
        match verdict {
            IssueVerdict::Reuse { after_cycles } => {
                self.stats.counters.reused_instructions += 1;
                self.wheel.at(self.now + u64::from(after_cycles), Event::Complete(slot));
            }
            IssueVerdict::Issue | IssueVerdict::Stall => {
                let Sm { collectors, flights, now, .. } = self;
                let place = (warp, scheduler, usize::from(inst.pool));
                collectors.collect(flights, slot, place, &operands[..count], *now);
                let operands = flights[slot].missing;
                flights[slot].collecting = operands;
                self.scoreboard.begin_reads(warp, inst, operands);
            }
        }
    }

    fn ask_collect(&mut self, warp: usize, slot: u16, operands: &mut [OperandRead]) {
        let machine = self.machine;
        let pc = self.flights[slot].pc;
        let id = self.flights.id(slot);
        let Sm { warps, techniques, stats, extra_writes, now, .. } = self;
        let slot = &warps[warp];
        let active = slot.stream.as_ref().and_then(WarpStream::peek).map_or(0, |next| next.active);
        let mut cx = Cx { cycle: *now, program: &machine.program, stats: &mut stats.counters, extra_writes };
        let view = InstView { pc, inst: &machine.program.insts[pc as usize], active, exec: active, id };
        let outcome = techniques.collect(&mut cx, &slot.view(warp), &view, operands);
        self.drain_extra_writes();
        if let Err(mismatch) = outcome {
            self.fail(mismatch.into());
        }
    }

    /// Keeps the rows that an instruction produces, for the techniques that see its writeback.
    pub(super) fn keep_results(&mut self, warp: usize, slot: u16) {
        if !self.flights.keeps_rows() {
            return;
        }
        let inst = &self.machine.program.insts[self.flights[slot].pc as usize];
        let Some(stream) = &self.warps[warp].stream else { return };
        let rows = stream.rows();
        for (kept, reg) in self.flights.rows_mut(slot).iter_mut().zip(inst.destinations()) {
            *kept = rows[usize::from(*reg)];
        }
    }

    /// Issues a branch, exit, barrier or fence.
    fn issue_control(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        self.units.take(usize::from(inst.unit), warp, self.now, u64::from(inst.initiation_cycles));
        super::units::count(&mut self.stats.counters, 5);
        match inst.path {
            Path::Barrier => self.issue_barrier(warp, pc),
            Path::Fence => {
                self.step(warp, pc);
                if self.warps[warp].in_memory > 0 {
                    self.masks.fence |= 1 << warp;
                }
            }
            _ => {
                let Some(step) = self.step(warp, pc) else { return };
                match inst.inst.kind() {
                    Kind::Exit => self.threads_exit(warp, step.exec),
                    Kind::Branch | Kind::Call | Kind::Return => {
                        let wait = u64::from(machine.config.front_end.branch_resolve_cycles);
                        if wait > 0 {
                            self.masks.branch |= 1 << warp;
                            self.wheel.at(self.now + wait, Event::BranchResolved(warp as u8));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
