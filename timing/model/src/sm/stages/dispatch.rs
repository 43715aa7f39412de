//! Dispatch and operand read: collected instructions leave for units and for the load/store queue, banks are read.

use crate::program::Path;
use crate::sm::Sm;
use crate::sm::parts::collectors::LOAD_STORE_QUEUE;
use crate::sm::parts::units::count;
use crate::sm::parts::wheel::Event;
use crate::source::LaunchSource;
use crate::techniques::{Answered, Decision, InstView};

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// Dispatch stage.
    #[inline]
    pub(in crate::sm) fn dispatch(&mut self) {
        if !self.reads.has_ready() {
            return;
        }
        let mut offers = self.reads.offers();
        while let Some(slot) = self.reads.offer(&mut offers) {
            if self.start(slot) {
                self.reads.taken(&mut offers);
            } else {
                self.reads.refused(&mut offers);
            }
        }
    }

    /// Earliest cycle in which a collected instruction of a warp can leave for a unit class or the load/store queue;
    /// `u64::MAX` for a full queue.
    pub(in crate::sm) fn takes_from(&self, warp: usize, leaves_for: u8) -> u64 {
        match leaves_for {
            LOAD_STORE_QUEUE if self.load_store.has_queue_room() => self.now,
            LOAD_STORE_QUEUE => u64::MAX,
            class => self.units.free_at(usize::from(class), warp),
        }
    }

    /// Operand-read stage.
    #[inline]
    pub(in crate::sm) fn read_banks(&mut self) {
        self.reads.serve_banks(self.now, &mut self.stats.counters);
    }

    /// Starts a collected instruction if its unit or queue takes it.
    fn start(&mut self, slot: u16) -> bool {
        let flight = &self.flights[slot];
        let (pc, warp) = (flight.pc, usize::from(flight.warp));
        // An instruction without latency is still in flight here: it completes in a later cycle.
        let asked = self.hooks().execute && self.machine.micro_at(pc).is_none();
        let started =
            if self.is_memory(pc) { self.start_access(slot, warp) } else { self.execute(slot, warp, asked) };
        if !started {
            return false;
        }
        self.record(|recorder, now| recorder.started(slot, now));
        if asked {
            let view = self.in_flight(slot);
            self.ask(|techniques, at, warps| techniques.dispatched(at, &warps[warp].view(warp), &view));
        }
        true
    }

    /// Whether an instruction goes to the load/store unit.
    #[inline]
    fn is_memory(&self, pc: u32) -> bool {
        matches!(self.machine.program.insts[pc as usize].path, Path::Memory(_))
    }

    /// Sends a collected instruction to a unit, if one is free; with a technique that supplies its results it needs none.
    #[inline]
    fn execute(&mut self, slot: u16, warp: usize, asked: bool) -> bool {
        let inst = &self.machine.program.insts[self.flights[slot].pc as usize];
        let mut initiation = inst.initiation_cycles;
        let mut lanes = self.flights[slot].exec.count_ones();
        if asked {
            let view = self.in_flight(slot);
            let warp_view = self.residents.slots[warp].view(warp);
            if let Some(Decision { verdict: after, by }) = self.techniques.reuse(self.now, &warp_view, &view)
            {
                self.stats.counters.reused_instructions += 1;
                self.wheel.at(self.now + u64::from(after.max(1)), Event::Complete(slot));
                self.ask_answer(slot, by, Answered::Reused);
                return true;
            }
            initiation = self.techniques.initiation(self.now, &warp_view, &view, initiation);
            lanes = self.techniques.lanes(self.now, &warp_view, &view, lanes);
        }
        if !self.units.take(usize::from(inst.unit), warp, self.now, u64::from(initiation)) {
            return false;
        }
        count(&mut self.stats.counters, inst.class, lanes);
        self.wheel.at(self.now + u64::from(inst.latency_cycles), Event::Complete(slot));
        true
    }

    /// The view of an instruction in flight that techniques get.
    #[inline]
    pub(in crate::sm) fn in_flight(&self, slot: u16) -> InstView<'a> {
        let flight = &self.flights[slot];
        let (pc, active, exec) = (flight.pc, flight.active, flight.exec);
        InstView::new(pc, &self.machine.program.insts[pc as usize], active, exec, self.flights.id(slot))
    }
}
