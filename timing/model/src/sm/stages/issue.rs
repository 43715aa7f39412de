//! Issue: each scheduler picks a ready warp, and every empty slot is attributed to its cause.

use crate::observe::record::Recorder;
use crate::program::{MemoryKind, Path, TimedInst};
use crate::sched::Waits;
use crate::sm::Sm;
use crate::sm::parts::WarpSet;
use crate::sm::parts::collectors::{Collecting, LOAD_STORE_QUEUE};
use crate::sm::parts::front::{Entry, HeadClass};
use crate::sm::parts::units::{CONTROL, count};
use crate::sm::parts::wheel::Event;
use crate::sm::stages::techniques::ResultRows;
use crate::source::{LaunchSource, WarpStream};
use crate::stats::Stall;
use crate::techniques::{
    Answered, Choice, Decision, InFlightId, InstView, IssueVerdict, Issuing, MicroId, OperandRead, ReadFrom,
    RegisterWrite, Rewritten, WriteTo,
};
use trace_format::isa::{ControlBits, Kind};

/// Result of an attempt to issue a warp's head.
enum Attempt {
    Issued {
        unit: u8,
        ends_run: bool,
        /// Whether it took half of the issue slot.
        half: bool,
    },
    /// A technique stalls the warp: its position, and its cause.
    Held(u8, u8),
    /// The head needs no issue slot.
    Nothing,
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// Warps that need only a free collector or unit to issue.
    #[inline]
    pub(in crate::sm) fn ready(&self) -> u64 {
        self.front.decoded()
            & !(self.scoreboard.held()
                | self.dependences.held()
                | self.front.awaits_branch()
                | self.waiting_for_others())
    }

    /// Warps that wait for the other warps of their block, for memory at a fence, or to begin.
    #[inline]
    pub(in crate::sm) fn waiting_for_others(&self) -> u64 {
        self.barriers.held() | self.load_store.fenced() | self.residents.starting()
    }

    /// Updates the state of a warp's new head: passes skipped instructions, then looks up hazards and class.
    pub(in crate::sm) fn refresh_head(&mut self, warp: usize) {
        self.asleep &= !(1 << warp);
        let mut head = self.front.head(warp);
        while let Some(Entry::Skipped(pc, by)) = head {
            self.front.set_head(warp, None);
            self.look_at(warp, None);
            if self.scoreboard.is_outstanding(warp, &self.machine.program.insts[pc as usize]) {
                // Techniques see results when they are written: an earlier one of the same register comes first.
                return;
            }
            self.front.pop(warp);
            self.pass_skipped(warp, pc, by);
            if self.residents.live() >> warp & 1 == 0 {
                return;
            }
            head = self.front.head(warp);
        }
        let machine = self.machine;
        let inst = head.map(|entry| &machine.program.insts[self.pc_of(entry) as usize]);
        let class = inst.map(|inst| match inst.path {
            Path::Alu | Path::Memory(_) => HeadClass::Collector(inst.pool),
            Path::Control | Path::Barrier | Path::Fence => HeadClass::Control,
        });
        self.front.set_head(warp, class);
        self.look_at(warp, inst);
        if let Some(inst) = inst {
            self.reads.look_at(warp, inst);
        }
    }

    /// Looks up what keeps a warp's next instruction: its control bits, or the scoreboard. With techniques a scoreboard stands
    /// behind the bits, because they look at a result when it is written: no later instruction may overwrite it before.
    #[inline]
    fn look_at(&mut self, warp: usize, next: Option<&TimedInst>) {
        let bits = next.and_then(|inst| inst.control.as_ref());
        let by_scoreboard = |bits: &ControlBits| self.has_techniques || bits.partial;
        self.scoreboard.look_at(warp, next.filter(|_| bits.is_none_or(by_scoreboard)));
        if self.has_control_bits {
            self.dependences.look_at(warp, bits);
        }
    }

    /// Looks up the hazards of a warp's head again; skipped instructions that waited for a result are passed.
    #[inline]
    pub(in crate::sm) fn refresh_hazard(&mut self, warp: usize) {
        if self.hooks().fetch && matches!(self.front.head(warp), Some(Entry::Skipped(..))) {
            self.refresh_head(warp);
            self.front.refresh(warp);
            return;
        }
        if self.front.decoded() >> warp & 1 != 0
            && let Some(entry) = self.front.head(warp)
        {
            let machine = self.machine;
            self.look_at(warp, Some(&machine.program.insts[self.pc_of(entry) as usize]));
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
    pub(in crate::sm) fn candidates(&self, scheduler: usize) -> u64 {
        let ready = self.ready() & self.of_scheduler[scheduler] & self.schedulers[scheduler].eligible();
        if ready == 0 || self.reads.holds(scheduler) {
            return 0;
        }
        let mut found = 0;
        if ready & self.front.control() != 0 && self.units.control_free(scheduler, self.now) {
            found |= ready & self.front.control();
        }
        let aside = self.hooks().aside;
        for (class, warps) in self.front.collector_classes().into_iter().enumerate() {
            if aside {
                found |= ready & warps;
            } else if ready & warps != 0 {
                found |= self.reads.with_room(ready & warps, scheduler, class);
            }
        }
        found
    }

    /// Whether a warp's head finds a free collector, if it needs one.
    fn has_collector(&self, warp: usize, scheduler: usize) -> bool {
        let bit = 1u64 << warp;
        let classes = self.front.collector_classes().into_iter().enumerate();
        let mut of_head = classes.filter(|(_, warps)| warps & bit != 0);
        of_head.all(|(class, _)| self.reads.with_room(bit, scheduler, class) != 0)
    }

    /// Schedulers with ready warps that wait for a control unit, one bit each.
    pub(in crate::sm) fn control_waiters(&self) -> u32 {
        let waiting = self.ready() & self.front.control();
        (0..self.schedulers.len())
            .filter(|s| waiting & self.of_scheduler[*s] != 0)
            .fold(0, |mask, s| mask | 1 << s)
    }

    /// Warps that will not issue for long: policies with an active set may replace them.
    fn long_waits(&self) -> Waits {
        Waits {
            memory: self.scoreboard.held_by_memory() | self.dependences.held_by_memory(),
            synchronisation: self.barriers.held() | self.load_store.fenced(),
            held: self.held | self.front.starved(),
            ended: !self.residents.live(),
        }
    }

    /// Whether a scheduler's active set would change in the next cycle.
    pub(in crate::sm) fn schedulers_will_change(&self) -> bool {
        if !self.has_active_sets {
            return false;
        }
        let long_waits = self.long_waits();
        self.schedulers.iter().any(|scheduler| scheduler.would_rebalance(&long_waits))
    }

    /// Issue stage.
    pub(in crate::sm) fn issue(&mut self) {
        if self.held != 0 {
            self.ask_held_again();
        }
        // An issue of one scheduler does not change the active sets of the others in this cycle.
        let long_waits = self.has_active_sets.then(|| self.long_waits());
        for scheduler in 0..self.schedulers.len() {
            if let Some(long_waits) = &long_waits {
                self.rebalance(scheduler, long_waits);
            }
            self.issue_from(scheduler);
        }
        self.observe_waits(1);
    }

    /// Updates the active set of a scheduler, and notifies techniques that order warps.
    fn rebalance(&mut self, scheduler: usize, long_waits: &Waits) {
        let before = self.schedulers[scheduler].active();
        if self.schedulers[scheduler].rebalance(long_waits) && self.hooks().order {
            self.tell_activity(before, self.schedulers[scheduler].active());
        }
    }

    /// Fills a scheduler's slots of a cycle, and attributes the empty ones.
    fn issue_from(&mut self, scheduler: usize) {
        let width = u64::from(self.machine.config.scheduler.issue_width);
        let mut candidates = self.candidates(scheduler);
        // A stall that lasts is not asked for again; it counts like one of this cycle.
        let mut stalled = candidates & self.asleep;
        candidates &= !self.asleep;
        let slept = stalled != 0;
        let mut held = None;
        // An instruction that began in the second half of the last cycle's slot takes the first half of this one.
        let mut halves = if S::TECHNIQUES && self.half_taken[scheduler] == self.now { 1 } else { 2 };
        let mut issued = false;
        while let Some(mut warp) = self.schedulers[scheduler].pick(candidates) {
            if self.hooks().order {
                let eligible = candidates & self.schedulers[scheduler].eligible();
                let choice = Choice::new(eligible, self.served(eligible), warp);
                warp = self.techniques.order(self.now, scheduler, choice);
            }
            if !self.reads.finds_constant(usize::from(warp), scheduler) {
                candidates &= self.candidates(scheduler) & !(1 << warp);
                continue;
            }
            match self.attempt(usize::from(warp), scheduler) {
                Attempt::Held(by, cause) => {
                    held.get_or_insert((by, cause));
                    self.note_held(usize::from(warp), by, cause);
                    candidates &= !(1 << warp);
                    stalled |= 1 << warp;
                }
                Attempt::Nothing => candidates &= !(1 << warp),
                Attempt::Issued { unit, ends_run, half } => {
                    self.schedulers[scheduler].issued(warp);
                    if std::mem::replace(&mut issued, true) {
                        self.stats.counters.shared_slots += 1;
                    } else {
                        self.count_slots(scheduler, 0, 1, Stall::Issued, 1);
                    }
                    self.last_issue = self.now;
                    if width > 1 {
                        self.issue_second(usize::from(warp), scheduler, unit, ends_run);
                        return;
                    }
                    halves -= if half { 1 } else { 2 };
                    if halves < 0 {
                        self.half_taken[scheduler] = self.now + 1;
                    }
                    if halves <= 0 {
                        return;
                    }
                    candidates = self.candidates(scheduler) & !self.asleep;
                }
            }
        }
        if issued {
            return;
        }
        if slept {
            held = self.schedulers[scheduler].pick(stalled).map(|warp| self.held_by[usize::from(warp)]);
        }
        let mut first = 0;
        if self.hooks().companion && self.issue_companion(scheduler) {
            self.count_slots(scheduler, 0, 1, Stall::Issued, 1);
            first = 1;
        }
        if width > first {
            let cause = if held.is_some() { Stall::Technique } else { self.stall_cause(scheduler) };
            self.count_slots(scheduler, first as usize, width - first, cause, 1);
            if cause == Stall::Technique {
                let own = self.of_scheduler[scheduler] & self.residents.resident();
                self.count_held(held.or_else(|| self.holder_among(own)), width - first);
            }
        }
    }

    /// Warps whose next instruction a technique would serve in place of memory, if there is a choice.
    fn served(&self, ready: u64) -> u64 {
        if !self.hooks().served || ready.count_ones() < 2 {
            return 0;
        }
        let is_served = |warp: &usize| {
            let Some(Entry::Program(pc)) = self.front.head(*warp) else { return false };
            let inst = &self.machine.program.insts[pc as usize];
            matches!(inst.path, Path::Memory(MemoryKind::Load(_))) && {
                let view = self.residents.slots[*warp].view(*warp);
                let inst = self.upcoming(*warp, pc, InFlightId::NONE);
                self.techniques.would_serve(self.now, &view, &inst)
            }
        };
        WarpSet(ready).filter(is_served).fold(0, |served, warp| served | 1 << warp)
    }

    /// Notes that a technique stalled a warp. Policies may replace the warp in the active set.
    fn note_held(&mut self, warp: usize, by: u8, cause: u8) {
        self.held_by[warp] = (by, cause);
        self.record(|recorder, now| recorder.stalled(warp, now));
        self.ask(|techniques, at, warps| techniques.stalled_warp(at, by, &warps[warp].view(warp), cause));
        if self.schedulers[0].replaces_held() {
            self.held |= 1 << warp;
        }
        if self.hooks().wakes && !self.every_cycle {
            self.asleep |= 1 << warp;
        }
    }

    /// Asks techniques again about the warps that they stall.
    #[inline(never)]
    fn ask_held_again(&mut self) {
        let unready = self.held & self.asleep & !self.ready();
        self.held &= !unready;
        self.asleep &= !unready;
        for warp in WarpSet(self.held & !self.asleep) {
            let decision = (self.ready() >> warp & 1 != 0).then(|| self.issue_verdict(warp)).flatten();
            match decision {
                Some(Decision { verdict: IssueVerdict::Stall(cause), by }) => {
                    self.held_by[warp] = (by, cause);
                }
                _ => self.held &= !(1 << warp),
            }
        }
    }

    /// Whether a technique would no longer stall one of the warps that it stalled.
    #[inline(never)]
    pub(in crate::sm) fn held_may_issue(&self) -> bool {
        let stalled = |decision: Option<Decision<IssueVerdict>>| {
            matches!(decision, Some(Decision { verdict: IssueVerdict::Stall(_), .. }))
        };
        WarpSet(self.held & self.ready() & !self.asleep).any(|warp| !stalled(self.issue_verdict(warp)))
    }

    /// Issues a micro-operation beside the warps, if a technique has one and its unit is free.
    #[inline(never)]
    fn issue_companion(&mut self, scheduler: usize) -> bool {
        let Some(op) = self.techniques.companion(self.now, scheduler) else { return false };
        let pc = self.machine.micro_pc(op.verdict);
        let inst = &self.machine.program.insts[pc as usize];
        let lanes = self.machine.micro_at(pc).map_or(0, |(_, _, op)| op.lanes);
        let initiation = u64::from(inst.initiation_cycles);
        if !self.units.take(usize::from(inst.unit), scheduler, self.now, initiation) {
            return false;
        }
        count(&mut self.stats.counters, inst.class, lanes);
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
        } else if self.ready() & bit == 0 {
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
                Attempt::Nothing if self.hooks().aside => self.cause_among(scheduler, bit),
                Attempt::Nothing => Stall::IBufferEmpty,
            }
        };
        self.count_slots(scheduler, 1, 1, cause, 1);
        if cause == Stall::Technique {
            self.count_held(holder.or_else(|| self.holder_among(bit)), 1);
        }
    }

    /// The techniques' verdict on a warp's head, if the head needs an issue slot.
    fn issue_verdict(&self, warp: usize) -> Option<Decision<IssueVerdict>> {
        let machine = self.machine;
        let view = self.residents.slots[warp].view(warp);
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
        let next = self.residents.slots[warp].next();
        let active = next.map_or(0, |next| next.active);
        InstView::new(pc, &self.machine.program.insts[pc as usize], active, active, id)
    }

    /// Tries to issue a warp's head.
    fn attempt(&mut self, warp: usize, scheduler: usize) -> Attempt {
        let mut decision = Decision { verdict: IssueVerdict::Issue, by: 0 };
        if self.hooks().issue {
            match self.issue_verdict(warp) {
                Some(Decision { verdict: IssueVerdict::Stall(cause), by }) => {
                    return Attempt::Held(by, cause);
                }
                Some(other) => decision = other,
                None => return Attempt::Nothing,
            }
        }
        let aside = matches!(decision.verdict, IssueVerdict::Aside { .. });
        if self.hooks().aside && !aside && !self.has_collector(warp, scheduler) {
            return Attempt::Nothing;
        }
        let pc = match self.front.head(warp) {
            Some(Entry::Program(pc)) => pc,
            Some(Entry::Micro(op)) => return self.issue_micro(warp, scheduler, op, decision),
            Some(Entry::Skipped(..)) | None => return Attempt::Nothing,
        };
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        if self.hooks().issue {
            let Decision { verdict, .. } = decision;
            let what = Issuing::Program(self.upcoming(warp, pc, InFlightId::NONE));
            self.ask(|techniques, at, warps| {
                techniques.issued(at, &warps[warp].view(warp), &what, verdict, None);
            });
        }
        self.record(|recorder, now| recorder.issue(warp, now));
        let (unit, ends_run) = (inst.unit, !matches!(inst.path, Path::Alu | Path::Memory(_)));
        if let Some(bits) = &inst.control {
            let memory = matches!(inst.path, Path::Memory(_));
            self.dependences.issued(warp, bits, !ends_run, memory, self.now);
        }
        match inst.path {
            Path::Alu | Path::Memory(_) => self.issue_collected(warp, scheduler, pc, decision),
            Path::Control | Path::Barrier | Path::Fence => {
                self.record(Recorder::done_at_issue);
                self.issue_control(warp, pc);
            }
        }
        // A micro-operation that a technique has just injected issues after this instruction.
        self.front.pop_entry(warp);
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.refresh_head(warp);
        self.front.refresh(warp);
        Attempt::Issued { unit, ends_run, half: aside }
    }

    /// Issues a micro-operation of a technique: it only takes an issue slot, or also goes through collector
    /// and unit.
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
        if self.hooks().issue
            && let Some((owner, op, described)) = machine.micro_at(pc)
        {
            let (what, verdict) = (Issuing::Micro(op, described), decision.verdict);
            self.ask(|techniques, at, warps| {
                techniques.issued(at, &warps[warp].view(warp), &what, verdict, Some(owner));
            });
        }
        if inst.path == Path::Control {
            self.record(Recorder::done_at_issue);
            self.units.take(CONTROL, warp, self.now, 1);
        } else {
            self.issue_micro_collected(warp, scheduler, pc);
        }
        self.stats.counters.inserted_instructions += 1;
        self.refresh_head(warp);
        self.front.refresh(warp);
        Attempt::Issued { unit: inst.unit, ends_run: true, half: false }
    }

    /// A micro-operation with registers or a unit enters its collector.
    fn issue_micro_collected(&mut self, warp: usize, scheduler: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let slot = self.flights.begin(pc, warp as u8, self.now);
        self.record(|recorder, _| recorder.fly(slot));
        let flight = &mut self.flights[slot];
        (flight.active, flight.exec) = (u32::MAX, u32::MAX);
        self.flights.enter(warp);
        self.scoreboard.reserve(warp, inst, false);
        self.collect_from_banks(warp, scheduler, slot);
    }

    /// Steps over an instruction that a technique skips, at its position in program order.
    #[inline(never)]
    fn pass_skipped(&mut self, warp: usize, pc: u32, by: u8) {
        let machine = self.machine;
        self.record(|recorder, now| recorder.skip(warp, now));
        let Some(step) = self.step(warp, pc) else { return };
        self.stats.counters.skipped_instructions += 1;
        let inst = &machine.program.insts[pc as usize];
        let view = InstView::new(pc, inst, step.active, step.exec, InFlightId::NONE);
        let outcome = self.ask(|techniques, at, warps| {
            let shown = ResultRows::new(warps[warp].rows(), inst.destinations(), step.exec);
            let results: Vec<RegisterWrite<'_>> = shown.writes(|_| WriteTo::Nowhere).collect();
            techniques.answered(at, by, &warps[warp].view(warp), &view, Answered::Skipped, &results)
        });
        if let Err(error) = outcome {
            self.fail(error);
        }
        if self.techniques.has_several() && step.exec != 0 {
            self.tell_rewritten(
                warp,
                usize::from(by),
                inst.destinations(),
                |_| WriteTo::Nowhere,
                Rewritten::Skipped,
            );
        }
        self.follow_path(warp, pc);
        self.hold_waiting_lanes(warp);
        self.front.refresh(warp);
    }

    /// Steps a warp's stream over the instruction that the pipeline believes to be next.
    pub(in crate::sm) fn step(&mut self, warp: usize, pc: u32) -> Option<crate::source::Step> {
        let slot = &mut self.residents.slots[warp];
        let stream = slot.stream.as_mut()?;
        match stream.step() {
            Ok(step) => {
                debug_assert_eq!(step.pc, pc, "the I-buffer follows the recorded path");
                slot.issued += 1;
                if S::TECHNIQUES {
                    slot.note_written(self.machine.program.insts[pc as usize].destinations(), step.exec);
                }
                self.stats.counters.warp_instructions += 1;
                self.stats.counters.thread_instructions += u64::from(step.exec.count_ones());
                if self.has_uniform_registers {
                    let [reads, writes] = self.machine.program.insts[pc as usize].uniform_operands;
                    self.stats.counters.uniform_reads += u64::from(reads);
                    self.stats.counters.uniform_writes += u64::from(writes);
                }
                self.record(|recorder, _| recorder.stepped(step.exec));
                Some(step)
            }
            Err(why) => {
                let (block, index) = (slot.block, slot.warp);
                let error = self.recording_error(block, index, why);
                self.end_path(warp);
                self.fail(error);
                None
            }
        }
    }

    /// Issues an instruction that collects operands.
    fn issue_collected(&mut self, warp: usize, scheduler: usize, pc: u32, decision: Decision<IssueVerdict>) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let slot = self.flights.begin(pc, warp as u8, self.now);
        self.record(|recorder, _| recorder.fly(slot));
        let reused = matches!(decision.verdict, IssueVerdict::Reuse { .. } | IssueVerdict::Aside { .. });
        // Techniques supply operands before the step, while the rows still hold the instruction's sources.
        let asked = self.hooks().collect && !reused;
        if asked {
            self.ask_collect(warp, slot);
        }
        let Some(step) = self.step(warp, pc) else {
            self.flights.end(slot);
            return;
        };
        let flight = &mut self.flights[slot];
        (flight.active, flight.exec) = (step.active, step.exec);
        let memory = if let Path::Memory(kind) = inst.path {
            self.load_store.begin(slot, kind, warp as u8, inst.has_result());
            if self.hooks().access && !reused {
                let access = self.residents.slots[warp].stream.as_ref().and_then(WarpStream::mem);
                self.flights.keep_access(slot, access);
            } else if !reused {
                self.prepare_access(warp, slot);
            }
            true
        } else {
            false
        };
        self.flights.enter(warp);
        self.scoreboard.reserve(warp, inst, memory);
        match decision.verdict {
            IssueVerdict::Reuse { after_cycles } | IssueVerdict::Aside { after_cycles } => {
                self.flights[slot].aside = matches!(decision.verdict, IssueVerdict::Aside { .. });
                self.stats.counters.reused_instructions += 1;
                self.wheel.at(self.now + u64::from(after_cycles), Event::Complete(slot));
                self.ask_answer(slot, decision.by, Answered::Reused);
            }
            IssueVerdict::Issue | IssueVerdict::Stall(_) => {
                if !asked {
                    return self.collect_from_banks(warp, scheduler, slot);
                }
                let operands = std::mem::take(&mut self.operands);
                self.enter_collector(warp, scheduler, slot, operands.iter().map(|operand| operand.from));
                self.operands = operands;
            }
        }
    }

    /// Collects an instruction's sources without techniques: each from its bank.
    #[inline]
    fn collect_from_banks(&mut self, warp: usize, scheduler: usize, slot: u16) {
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        self.stats.counters.operand_reads += u64::from(inst.src_count);
        let banks = inst.read_registers().iter().map(|reg| ReadFrom::Bank(machine.banks.bank(warp, *reg)));
        self.enter_collector(warp, scheduler, slot, banks);
    }

    #[inline]
    fn enter_collector(
        &mut self,
        warp: usize,
        scheduler: usize,
        slot: u16,
        operands: impl Iterator<Item = ReadFrom>,
    ) {
        let inst = &self.machine.program.insts[self.flights[slot].pc as usize];
        let leaves_for = if matches!(inst.path, Path::Memory(_)) { LOAD_STORE_QUEUE } else { inst.unit };
        let class = usize::from(inst.pool);
        let who = Collecting { id: self.flights.id(slot), warp, scheduler, class, leaves_for };
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        let collecting = self.reads.collect(who, inst, operands, self.now);
        self.scoreboard.begin_reads(warp, inst, collecting);
    }

    /// Asks techniques for the source of each operand of an instruction; the answers are left in
    /// `self.operands`.
    #[inline(never)]
    fn ask_collect(&mut self, warp: usize, slot: u16) {
        let view = self.upcoming(warp, self.flights[slot].pc, self.flights.id(slot));
        let mut operands = std::mem::take(&mut self.operands);
        let from_bank = |(reg, held_by): (&u8, &u8)| {
            OperandRead::from_bank(*reg, self.machine.banks.bank(warp, *held_by))
        };
        operands.clear();
        operands.extend(view.inst.sources().iter().zip(view.inst.read_registers()).map(from_bank));
        self.stats.counters.operand_reads += operands.len() as u64;
        let outcome = self.ask(|techniques, at, warps| {
            techniques.collect(at, &warps[warp].view(warp), &view, &mut operands)
        });
        if let Err(error) = outcome {
            self.fail(error);
        }
        self.operands = operands;
    }

    /// Issues a branch, exit, barrier or fence.
    fn issue_control(&mut self, warp: usize, pc: u32) {
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        self.units.take(usize::from(inst.unit), warp, self.now, u64::from(inst.initiation_cycles));
        count(&mut self.stats.counters, CONTROL as u8, 0);
        match inst.path {
            Path::Barrier => self.issue_barrier(warp, pc),
            Path::Fence => {
                self.step(warp, pc);
                self.load_store.fence(warp);
            }
            _ => {
                let Some(step) = self.step(warp, pc) else { return };
                match inst.inst.kind() {
                    Kind::Exit => self.threads_exit(warp, step.exec),
                    Kind::Branch | Kind::Call | Kind::Return => {
                        let wait = u64::from(machine.config.front_end.branch_resolve_cycles);
                        if wait > 0 {
                            self.front.await_branch(warp);
                            self.wheel.at(self.now + wait, Event::BranchResolved(warp as u8));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
