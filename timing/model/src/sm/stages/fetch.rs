//! Fetch: the front end, the I-cache and the techniques that decide what is fetched.

use crate::observe::record::{Origin, Recorder};
use crate::sm::Sm;
use crate::sm::machine::Machine;
use crate::sm::parts::first_level::CodePath;
use crate::sm::parts::front::{Entry, FetchNeighbours, Fetched};
use crate::sm::parts::memory_port::MemoryPort;
use crate::sm::parts::small_caches::CodeFetch;
use crate::sm::parts::warps::WarpSlot;
use crate::sm::parts::wheel::Event;
use crate::source::{LaunchSource, WarpStream};
use crate::stats::Counters;
use crate::techniques::{At, Decision, FetchVerdict, MicroId, Stack};

/// The neighbours of the front end. With `TECHNIQUES`, they are called.
struct Neighbours<'n, W, const TECHNIQUES: bool> {
    now: u64,
    machine: &'n Machine,
    code: &'n mut CodePath,
    port: &'n mut MemoryPort,
    slots: &'n [WarpSlot<W>],
    techniques: &'n mut Stack,
    at: At<'n>,
    recorder: Option<&'n mut Recorder>,
}

impl<W: WarpStream, const TECHNIQUES: bool> FetchNeighbours for Neighbours<'_, W, TECHNIQUES> {
    #[inline]
    fn read_code(&mut self, line: u64, warp: usize, counters: &mut Counters) -> CodeFetch {
        self.code.fetch(line, warp, self.now, self.port, counters)
    }

    fn verdict(&self, warp: usize, pc: u32) -> Decision<FetchVerdict> {
        self.techniques.fetch(self.now, &self.slots[warp].view(warp), pc)
    }

    fn held(&mut self, warp: usize, pc: u32, by: u8, cause: u8) {
        self.techniques.fetch_stalled(&mut self.at, by, &self.slots[warp].view(warp), pc, cause);
    }

    fn passes_over(&mut self, warp: usize, op: MicroId) -> bool {
        let Some((owner, ..)) = self.machine.micro_at(self.machine.micro_pc(op)) else { return false };
        let view = self.slots[warp].view(warp);
        let passed_over = self.techniques.passes_over(self.now, &view, op, owner);
        if passed_over {
            self.techniques.inserted_fetched(&mut self.at, &view, op, owner, true);
        }
        passed_over
    }

    #[inline]
    fn fetched(&mut self, fetched: Fetched) {
        let Fetched { warp, pc, entry, ready_at } = fetched;
        if let Some(recorder) = &mut self.recorder {
            let origin = if matches!(entry, Entry::Micro(_)) { Origin::Inserted } else { Origin::Program };
            recorder.fetch(warp, pc, origin, self.now, ready_at);
        }
        if !TECHNIQUES {
            return;
        }
        let view = self.slots[warp].view(warp);
        match entry {
            Entry::Micro(op) => {
                if let Some((owner, ..)) = self.machine.micro_at(self.machine.micro_pc(op)) {
                    self.techniques.inserted_fetched(&mut self.at, &view, op, owner, false);
                }
            }
            Entry::Program(_) => self.techniques.fetched(&mut self.at, &view, pc, false),
            Entry::Skipped(..) => self.techniques.fetched(&mut self.at, &view, pc, true),
        }
    }
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Fetch stage.
    #[inline]
    pub(in crate::sm) fn fetch(&mut self) {
        if self.front.may_fetch() == 0 {
            return;
        }
        if self.hooks().fetch || S::TECHNIQUES && self.machine.inserts_operations() {
            self.fetch_with::<true>();
            if !self.effects.is_empty() {
                self.carry_out_effects();
            }
        } else {
            self.fetch_with::<false>();
        }
    }

    fn fetch_with<const TECHNIQUES: bool>(&mut self) {
        let Sm {
            front,
            code,
            port,
            residents,
            techniques,
            effects,
            machine,
            observer,
            stats,
            now,
            scouts,
            ..
        } = self;
        let machine: &Machine = machine;
        let mut neighbours = Neighbours::<_, TECHNIQUES> {
            now: *now,
            machine,
            code,
            port,
            slots: &residents.slots,
            techniques,
            at: At { cycle: *now, program: &machine.program, effects, scouts: Some(scouts) },
            recorder: observer.recorder::<S>(),
        };
        front.run::<TECHNIQUES>(*now, &mut neighbours, &mut stats.counters);
    }

    /// Discards a warp's fetched entries and continues at `resume`, if its path continues.
    fn redirect(&mut self, warp: usize, resume: Option<u32>, via: u32) {
        let discarded = self.front.restart(warp, resume.unwrap_or(0), via);
        self.stats.counters.flushed_instructions += u64::from(discarded);
        self.record(|recorder, now| recorder.flush(warp, now));
        if self.hooks().fetch {
            self.ask(|techniques, at, warps| techniques.flushed(at, &warps[warp].view(warp), resume));
        }
    }

    /// Redirects a warp's fetch if its recorded path does not continue at the next instruction in order.
    pub(in crate::sm) fn follow_path(&mut self, warp: usize, issued_pc: u32) {
        match self.residents.slots[warp].next() {
            None => {
                self.redirect(warp, None, issued_pc);
                self.end_path(warp);
                let slot = &mut self.residents.slots[warp];
                if let Some(Err(why)) = slot.stream.as_mut().map(WarpStream::finish) {
                    let (block, index) = (slot.block, slot.warp);
                    let error = self.recording_error(block, index, why);
                    self.fail(error);
                }
            }
            Some(next) if next.pc != issued_pc + 1 => {
                self.redirect(warp, Some(next.pc), issued_pc);
                self.wait_for_lanes(warp, next.pc);
                if next.pc >= self.machine.program_insts {
                    let slot = &self.residents.slots[warp];
                    let error = crate::error::ReplayError::PathLeavesKernel {
                        kernel: self.machine.program.name.clone(),
                        block: slot.block,
                        warp: slot.warp,
                        pc: next.pc,
                    };
                    self.fail(error);
                }
            }
            Some(next) => self.wait_for_lanes(warp, next.pc),
        }
    }

    /// Makes a warp wait in front of an instruction where lanes meet, behind the branch that it came by.
    #[inline]
    fn wait_for_lanes(&mut self, warp: usize, pc: u32) {
        if self.machine.meets_at(pc) {
            let front = &self.machine.config.front_end;
            let branch = if self.front.is_at_branch(warp) { front.branch_resolve_cycles } else { 0 };
            self.front.await_branch(warp);
            let until = self.now + u64::from(branch + front.converge_cycles);
            self.wheel.at(until, Event::BranchResolved(warp as u8));
        }
    }
}
