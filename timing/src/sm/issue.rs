//! Issue: each scheduler picks a ready warp, and every slot that stays empty is attributed to its cause.

use super::Sm;
use super::front::Entry;
use super::scoreboard::Hazard;
use super::wheel::Event;
use crate::program::{MAX_SRC, Path, TimedInst};
use crate::sched::Waits;
use crate::source::{LaunchSource, WarpStream};
use crate::stats::Stall;
use crate::techniques::{
    Answered, At, Decision, InFlightId, InstView, IssueVerdict, Issuing, MicroId, OperandRead, ReadFrom,
    RegisterWrite, WriteTo,
};
use crate::view::record::Recorder;
use trace_format::isa::Kind;

/// What came of an attempt to issue a warp's head.
enum Attempt {
    Issued {
        unit: u8,
        ends_run: bool,
    },
    /// A technique holds the warp back: its position, and its cause.
    Held(u8, u8),
    /// The head was none that issues.
    Nothing,
}

impl<'a, S: LaunchSource> Sm<'a, S> {
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
                Some(Entry::Skipped(pc, by)) => {
                    self.front.pop(warp);
                    self.pass_skipped(warp, pc, by);
                    if self.masks.live & bit == 0 {
                        return;
                    }
                }
                Some(entry) => {
                    let inst = &self.machine.program.insts[self.pc_of(entry) as usize];
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
        if let Some(entry) = self.front.head(warp) {
            match self.scoreboard.hazard(warp, &self.machine.program.insts[self.pc_of(entry) as usize]) {
                Hazard::Clear => {}
                Hazard::Alu => self.masks.hazard |= bit,
                Hazard::Memory => {
                    self.masks.hazard |= bit;
                    self.masks.memory_hazard |= bit;
                }
            }
        }
    }

    /// Position of an I-buffer entry in the machine's list of instructions.
    #[inline]
    fn pc_of(&self, entry: Entry) -> u32 {
        match entry {
            Entry::Program(pc) | Entry::Skipped(pc, _) => pc,
            Entry::Micro(op) => self.machine.micro_pc(op),
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

    /// Warps that will not issue for long: policies with an active set may put others in their place.
    fn long_waits(&self) -> Waits {
        let m = &self.masks;
        Waits { memory: m.memory_hazard, synchronisation: m.barrier | m.fence, held: m.held, ended: !m.live }
    }

    /// Whether a scheduler's active set would change in the next cycle.
    pub(super) fn schedulers_will_change(&self) -> bool {
        let long_waits = self.long_waits();
        self.schedulers.iter().any(|scheduler| scheduler.would_rebalance(&long_waits))
    }

    /// Issue stage.
    pub(super) fn issue(&mut self) {
        if self.masks.held != 0 {
            self.ask_held_again();
        }
        let long_waits = self.long_waits();
        let told = self.techniques.hooks().order;
        for scheduler in 0..self.schedulers.len() {
            let before = self.schedulers[scheduler].active();
            if self.schedulers[scheduler].rebalance(&long_waits) && told {
                self.tell_activity(before, self.schedulers[scheduler].active());
            }
            self.issue_from(scheduler);
        }
    }

    fn issue_from(&mut self, scheduler: usize) {
        let width = u64::from(self.machine.config.scheduler.issue_width);
        let mut candidates = self.candidates(scheduler);
        let mut held = None;
        while let Some(mut warp) = self.schedulers[scheduler].pick(candidates) {
            if self.techniques.hooks().order {
                let eligible = candidates & self.schedulers[scheduler].eligible();
                warp = self.techniques.order(self.now, scheduler, eligible, warp);
            }
            match self.attempt(usize::from(warp), scheduler) {
                Attempt::Held(by, cause) => {
                    held.get_or_insert((by, cause));
                    self.note_held(usize::from(warp), by, cause);
                    candidates &= !(1 << warp);
                }
                Attempt::Nothing => candidates &= !(1 << warp),
                Attempt::Issued { unit, ends_run } => {
                    self.schedulers[scheduler].issued(warp);
                    self.count_slots(scheduler, 0, 1, Stall::Issued, 1);
                    self.last_issue = self.now;
                    if width > 1 {
                        self.issue_second(usize::from(warp), scheduler, unit, ends_run);
                    }
                    return;
                }
            }
        }
        let mut first = 0;
        if self.techniques.hooks().companion && self.issue_companion(scheduler) {
            self.count_slots(scheduler, 0, 1, Stall::Issued, 1);
            first = 1;
        }
        if width > first {
            let cause = if held.is_some() { Stall::Technique } else { self.stall_cause(scheduler) };
            self.count_slots(scheduler, first as usize, width - first, cause, 1);
            if cause == Stall::Technique {
                let own = self.of_scheduler[scheduler] & self.masks.resident;
                self.count_held(held.or_else(|| self.holder_among(own)), width - first);
            }
        }
    }

    /// Attributes slots of a scheduler, from `first` on, in each of `cycles` cycles.
    pub(super) fn count_slots(
        &mut self,
        scheduler: usize,
        first: usize,
        slots: u64,
        cause: Stall,
        cycles: u64,
    ) {
        self.stats.stalls.add(cause, slots * cycles);
        self.record(|recorder, now| recorder.slots(scheduler, first, slots, cause, now, cycles));
    }

    /// Tells techniques which warps have entered or left the active set.
    #[inline(never)]
    fn tell_activity(&mut self, before: u64, after: u64) {
        let mut changed = (before ^ after) & self.masks.resident;
        while changed != 0 {
            let warp = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let active = after >> warp & 1 != 0;
            self.ask(|techniques, at, warps| techniques.activity(at, &warps[warp].view(warp), active));
        }
    }

    /// Attributes slots to the technique that held a warp back, and to its cause.
    pub(super) fn count_held(&mut self, holder: Option<(u8, u8)>, slots: u64) {
        if let Some((by, cause)) = holder {
            self.techniques.stalled(by, cause, slots);
            self.record(|recorder, _| recorder.held(Some((by, cause))));
        }
    }

    /// A technique has held a warp back. Policies may put another one in its place in the active set.
    fn note_held(&mut self, warp: usize, by: u8, cause: u8) {
        self.held_by[warp] = (by, cause);
        if self.schedulers[0].replaces_held() {
            self.masks.held |= 1 << warp;
        }
    }

    /// Asks for the warps that techniques hold back whether they still do.
    #[inline(never)]
    fn ask_held_again(&mut self) {
        let mut held = self.masks.held;
        while held != 0 {
            let warp = held.trailing_zeros() as usize;
            held &= held - 1;
            let decision = (self.masks.ready() >> warp & 1 != 0).then(|| self.issue_verdict(warp)).flatten();
            match decision {
                Some(Decision { verdict: IssueVerdict::Stall(cause), by }) => {
                    self.held_by[warp] = (by, cause);
                }
                _ => self.masks.held &= !(1 << warp),
            }
        }
    }

    /// Issues a micro-operation beside the warps, if a technique has one and its unit is free.
    #[inline(never)]
    fn issue_companion(&mut self, scheduler: usize) -> bool {
        let Some(op) = self.techniques.companion(self.now, scheduler) else { return false };
        let inst = &self.machine.program.insts[self.machine.micro_pc(op.verdict) as usize];
        let initiation = u64::from(inst.initiation_cycles);
        if !self.units.take(usize::from(inst.unit), scheduler, self.now, initiation) {
            return false;
        }
        super::units::count(&mut self.stats.counters, inst.class);
        self.stats.counters.companion_instructions += 1;
        self.last_issue = self.now;
        let done_at = self.now + u64::from(inst.latency_cycles);
        self.ask(|techniques, at, _| techniques.companion_issued(at, op, scheduler, done_at));
        true
    }

    /// Second slot of a dual issue: the next instruction of the same warp.
    fn issue_second(&mut self, warp: usize, scheduler: usize, first_unit: u8, ends_run: bool) {
        let distinct = self.machine.config.scheduler.dual_issue_distinct_units;
        let same_unit = |sm: &Self| match sm.front.head(warp) {
            Some(Entry::Program(pc)) => sm.machine.program.insts[pc as usize].unit == first_unit,
            _ => false,
        };
        let bit = 1u64 << warp;
        let mut holder = None;
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
                Attempt::Held(by, cause) => {
                    holder = Some((by, cause));
                    Stall::Technique
                }
                Attempt::Nothing => Stall::IBufferEmpty,
            }
        };
        self.count_slots(scheduler, 1, 1, cause, 1);
        if cause == Stall::Technique {
            self.count_held(holder.or_else(|| self.holder_among(bit)), 1);
        }
    }

    /// Why a scheduler issues nothing.
    pub(super) fn stall_cause(&self, scheduler: usize) -> Stall {
        let own = self.of_scheduler[scheduler] & self.masks.resident;
        if own == 0 { Stall::NoWarp } else { self.cause_among(scheduler, own) }
    }

    /// The technique that holds back one of some warps, and its cause: at issue, else at fetch.
    pub(super) fn holder_among(&self, warps: u64) -> Option<(u8, u8)> {
        let at_issue = self.masks.ready() & self.masks.held & warps;
        if at_issue != 0 {
            return Some(self.held_by[at_issue.trailing_zeros() as usize]);
        }
        let at_fetch = self.masks.fetch_held & warps;
        (at_fetch != 0).then(|| self.front.held_by(at_fetch.trailing_zeros() as usize))
    }

    /// Cause of the warp that comes closest to issuing, among some of a scheduler's. The order is a policy: what lies
    /// later in the pipeline counts first, because it would issue if that alone were mended.
    fn cause_among(&self, scheduler: usize, warps: u64) -> Stall {
        let m = &self.masks;
        let ready = m.ready() & warps;
        if ready != 0 {
            let active = ready & self.schedulers[scheduler].eligible();
            return match active {
                0 if ready & m.held != 0 => Stall::Technique,
                0 => Stall::Inactive,
                active => self.structural_cause(scheduler, active),
            };
        }
        let free = m.live & warps & !(m.barrier | m.fence | m.branch | m.starting);
        let blocked = free & m.decoded & m.hazard;
        let empty = free & !m.decoded & !m.icache;
        if blocked & !m.memory_hazard != 0 {
            Stall::AluDependency
        } else if blocked != 0 {
            Stall::MemoryDependency
        } else if m.live & warps & m.branch != 0 {
            Stall::Branch
        } else if empty & !m.fetch_held != 0 {
            Stall::IBufferEmpty
        } else if empty != 0 {
            Stall::Technique
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

    /// What ready warps lack.
    fn structural_cause(&self, scheduler: usize, ready: u64) -> Stall {
        for (class, pool) in self.masks.pool.iter().enumerate() {
            let waiting = ready & pool;
            if waiting != 0 {
                return self.collectors.cause(waiting.trailing_zeros() as usize, scheduler, class);
            }
        }
        Stall::UnitBusy
    }

    /// What techniques say of a warp's head, if that is something that issues.
    fn issue_verdict(&self, warp: usize) -> Option<Decision<IssueVerdict>> {
        let machine = self.machine;
        let view = self.warps[warp].view(warp);
        match self.front.head(warp)? {
            Entry::Program(pc) => {
                let what = Issuing::Program(self.upcoming(warp, pc, InFlightId::NONE));
                Some(self.techniques.issue(self.now, &view, &what, None))
            }
            Entry::Micro(op) => {
                let (owner, op, described) = machine.micro_at(machine.micro_pc(op))?;
                let what = Issuing::Micro(op, described);
                Some(self.techniques.issue(self.now, &view, &what, Some(owner)))
            }
            Entry::Skipped(..) => None,
        }
    }

    /// The instruction that a warp is about to issue, before it has been stepped.
    fn upcoming(&self, warp: usize, pc: u32, id: InFlightId) -> InstView<'a> {
        let next = self.warps[warp].stream.as_ref().and_then(WarpStream::peek);
        let active = next.map_or(0, |next| next.active);
        InstView { pc, inst: &self.machine.program.insts[pc as usize], active, exec: active, id }
    }

    /// Tries to issue a warp's head.
    fn attempt(&mut self, warp: usize, scheduler: usize) -> Attempt {
        let mut decision = Decision { verdict: IssueVerdict::Issue, by: 0 };
        if self.techniques.hooks().issue {
            match self.issue_verdict(warp) {
                Some(Decision { verdict: IssueVerdict::Stall(cause), by }) => {
                    return Attempt::Held(by, cause);
                }
                Some(other) => decision = other,
                None => return Attempt::Nothing,
            }
        }
        let pc = match self.front.head(warp) {
            Some(Entry::Program(pc)) => pc,
            Some(Entry::Micro(op)) => return self.issue_micro(warp, scheduler, op, decision),
            Some(Entry::Skipped(..)) | None => return Attempt::Nothing,
        };
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        if self.techniques.hooks().issue {
            let Decision { verdict, .. } = decision;
            let what = Issuing::Program(self.upcoming(warp, pc, InFlightId::NONE));
            self.ask(|techniques, at, warps| {
                techniques.issued(at, &warps[warp].view(warp), &what, verdict, None);
            });
        }
        self.record(|recorder, now| recorder.issue(warp, now));
        let (unit, ends_run) = (inst.unit, !matches!(inst.path, Path::Alu | Path::Memory(_)));
        match inst.path {
            Path::Alu | Path::Memory(_) => self.issue_collected(warp, scheduler, pc, decision),
            Path::Control | Path::Barrier | Path::Fence => {
                self.record(Recorder::done_at_issue);
                self.issue_control(warp, pc);
            }
        }
        // What a technique has just put before the next instruction stays behind this one.
        self.front.pop_entry(warp);
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.refresh_head(warp);
        self.refresh_fetch(warp);
        Attempt::Issued { unit, ends_run }
    }

    /// Issues a micro-operation of a technique: it passes this stage alone, or goes through collector and unit.
    #[inline(never)]
    fn issue_micro(
        &mut self,
        warp: usize,
        scheduler: usize,
        op: MicroId,
        decision: Decision<IssueVerdict>,
    ) -> Attempt {
        let machine = self.machine;
        let pc = machine.micro_pc(op);
        let inst = &machine.program.insts[pc as usize];
        self.record(|recorder, now| recorder.issue(warp, now));
        self.front.pop(warp);
        if self.techniques.hooks().issue
            && let Some((owner, op, described)) = machine.micro_at(pc)
        {
            let (what, verdict) = (Issuing::Micro(op, described), decision.verdict);
            self.ask(|techniques, at, warps| {
                techniques.issued(at, &warps[warp].view(warp), &what, verdict, Some(owner));
            });
        }
        if inst.path == Path::Control {
            self.record(Recorder::done_at_issue);
            self.units.take(super::units::CONTROL, warp, self.now, 1);
        } else {
            self.issue_micro_collected(warp, scheduler, pc);
        }
        self.stats.counters.inserted_instructions += 1;
        self.refresh_head(warp);
        self.refresh_fetch(warp);
        Attempt::Issued { unit: inst.unit, ends_run: true }
    }

    /// A micro-operation with registers or a unit enters its collector.
    fn issue_micro_collected(&mut self, warp: usize, scheduler: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let slot = self.flights.begin(pc, warp as u8, self.now);
        self.record(|recorder, _| recorder.fly(slot));
        let flight = &mut self.flights[slot];
        (flight.active, flight.exec) = (u32::MAX, u32::MAX);
        self.warps[warp].in_flight += 1;
        self.masks.holding |= 1 << warp;
        self.scoreboard.reserve(warp, inst, false);
        let operands = self.operands_of(warp, inst);
        self.enter_collector(warp, scheduler, slot, &operands[..usize::from(inst.src_count)]);
    }

    /// The sources of an instruction as the plain machine reads them, which counts them.
    #[inline]
    fn operands_of(&mut self, warp: usize, inst: &TimedInst) -> [OperandRead; MAX_SRC] {
        let mut operands = [OperandRead { reg: 0, from: ReadFrom::Bank(0) }; MAX_SRC];
        for (operand, reg) in operands.iter_mut().zip(inst.sources()) {
            *operand = OperandRead { reg: *reg, from: ReadFrom::Bank(self.machine.banks.bank(warp, *reg)) };
        }
        self.stats.counters.operand_reads += u64::from(inst.src_count);
        operands
    }

    /// An instruction that a technique skips has reached its place in program order.
    #[inline(never)]
    fn pass_skipped(&mut self, warp: usize, pc: u32, by: u8) {
        let machine = self.machine;
        self.record(|recorder, now| recorder.skip(warp, now));
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.skipped_instructions += 1;
        let inst = &machine.program.insts[pc as usize];
        let view = InstView { pc, inst, active: step.active, exec: step.exec, id: InFlightId::NONE };
        let outcome = self.ask(|techniques, at, warps| {
            let rows = warps[warp].stream.as_ref().map_or(&[][..], WarpStream::rows);
            let result = |reg: &u8| RegisterWrite::new(*reg, WriteTo::Nowhere, &rows[usize::from(*reg)]);
            let results: Vec<RegisterWrite<'_>> =
                inst.destinations().iter().filter(|_| step.exec != 0).map(result).collect();
            techniques.answered(at, by, &warps[warp].view(warp), &view, Answered::Skipped, &results)
        });
        if let Err(error) = outcome {
            self.fail(error);
        }
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.refresh_fetch(warp);
    }

    /// Has a technique answer for an instruction in flight that does not execute, or not in some lanes.
    pub(super) fn ask_answer(&mut self, slot: u16, by: u8, how: Answered) {
        let machine = self.machine;
        let flight = &self.flights[slot];
        let (pc, warp, active) = (flight.pc, usize::from(flight.warp), flight.active);
        let exec = if let Answered::Memory(lanes) = how { flight.exec & lanes } else { flight.exec };
        let inst = &machine.program.insts[pc as usize];
        let view = InstView { pc, inst, active, exec, id: self.flights.id(slot) };
        let Sm { warps, techniques, effects, now, flights, .. } = self;
        let mut at = At { cycle: *now, program: &machine.program, effects };
        let rows = flights.rows(slot).iter();
        let results: Vec<RegisterWrite<'_>> = inst
            .destinations()
            .iter()
            .zip(rows)
            .filter(|_| exec != 0)
            .map(|(reg, row)| RegisterWrite::new(*reg, WriteTo::Nowhere, row))
            .collect();
        let outcome = techniques.answered(&mut at, by, &warps[warp].view(warp), &view, how, &results);
        drop(results);
        self.carry_out_effects();
        if let Err(error) = outcome {
            self.fail(error);
        }
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
    fn issue_collected(&mut self, warp: usize, scheduler: usize, pc: u32, decision: Decision<IssueVerdict>) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let memory = matches!(inst.path, Path::Memory(_));
        let slot = self.flights.begin(pc, warp as u8, self.now);
        self.record(|recorder, _| recorder.fly(slot));
        let mut operands = [OperandRead { reg: 0, from: ReadFrom::Bank(0) }; MAX_SRC];
        let count = usize::from(inst.src_count);
        let reused = matches!(decision.verdict, IssueVerdict::Reuse { .. });
        if !reused {
            operands = self.operands_of(warp, inst);
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
            self.warps[warp].in_memory += 1;
            if reused {
                self.flights.mem_mut(slot).clear();
            } else if self.techniques.hooks().access {
                let access = self.warps[warp].stream.as_ref().and_then(WarpStream::mem);
                self.flights.keep_access(slot, access);
                self.flights.mem_mut(slot).clear();
            } else {
                self.prepare_access(warp, slot);
            }
        }
        self.warps[warp].in_flight += 1;
        self.masks.holding |= 1 << warp;
        self.scoreboard.reserve(warp, inst, memory);
        match decision.verdict {
            IssueVerdict::Reuse { after_cycles } => {
                self.stats.counters.reused_instructions += 1;
                self.wheel.at(self.now + u64::from(after_cycles), Event::Complete(slot));
                self.ask_answer(slot, decision.by, Answered::Reused);
            }
            IssueVerdict::Issue | IssueVerdict::Stall(_) => {
                self.enter_collector(warp, scheduler, slot, &operands[..count]);
            }
        }
    }

    #[inline]
    fn enter_collector(&mut self, warp: usize, scheduler: usize, slot: u16, operands: &[OperandRead]) {
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        let Sm { collectors, flights, now, .. } = self;
        let place = (warp, scheduler, usize::from(inst.pool));
        collectors.collect(flights, slot, place, operands, *now);
        let operands = flights[slot].missing;
        flights[slot].collecting = operands;
        self.scoreboard.begin_reads(warp, inst, operands);
    }

    #[inline(never)]
    fn ask_collect(&mut self, warp: usize, slot: u16, operands: &mut [OperandRead]) {
        let view = self.upcoming(warp, self.flights[slot].pc, self.flights.id(slot));
        let outcome = self
            .ask(|techniques, at, warps| techniques.collect(at, &warps[warp].view(warp), &view, operands));
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
        super::units::count(&mut self.stats.counters, super::units::CONTROL as u8);
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
