//! Memory: instructions enter the load/store unit, their accesses run, requests leave through the SM's port.

use crate::memory::LINE_BYTES;
use crate::sm::Sm;
use crate::sm::accesses::{Split, work_out};
use crate::sm::parts::early::EarlyLoads;
use crate::sm::parts::load_store::{Completions, LoadStore, Neighbours};
use crate::sm::parts::memory_port::MemoryPort;
use crate::sm::parts::wheel::{Event, Wheel};
use crate::source::{LaunchSource, MemAccess, WarpStream};
use crate::techniques::{AccessVerdict, Answered, Decision};

impl Completions for Wheel {
    #[inline]
    fn complete_at(&mut self, slot: u16, cycle: u64) {
        self.at(cycle, Event::Complete(slot));
    }
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// The load/store unit and what lies around it.
    #[inline]
    pub(in crate::sm) fn load_store_and_neighbours(
        &mut self,
    ) -> (&mut LoadStore<'a>, Neighbours<'_, MemoryPort, Wheel>) {
        let Sm { load_store, port, wheel, stats, now, .. } = self;
        let around =
            Neighbours { now: *now, requests: port, completions: wheel, counters: &mut stats.counters };
        (load_store, around)
    }

    /// Load/store stage.
    #[inline]
    pub(in crate::sm) fn run_load_store(&mut self) {
        if self.load_store.is_active(self.now) {
            let (load_store, mut around) = self.load_store_and_neighbours();
            load_store.run(&mut around);
        } else if self.load_store.is_refused() {
            self.stats.counters.l1_stall_cycles += 1;
        }
        if S::TECHNIQUES {
            if !self.early.is_empty() {
                self.run_early_loads();
            }
            if self.load_store.has_fates() {
                self.tell_fates();
            }
        }
    }

    /// The SM's port sends the oldest request, as far as credits allow.
    #[inline]
    pub(in crate::sm) fn send_requests(&mut self) {
        let Some(request) = self.port.transmit(self.now) else { return };
        self.load_store.retry();
        self.stats.counters.request_packets += 1;
        self.stats.counters.interconnect_flits += u64::from(request.flits);
        let home = self.machine.partitions.home(request.line);
        let slice = home.channel * self.machine.config.l2.slices_per_channel + home.slice;
        self.record(|recorder, now| recorder.sent(&request, slice as u16, now));
        let packets = &mut self.outbox[slice as usize];
        if packets.is_empty() {
            self.sent_to.push(slice as u16);
        }
        packets.push(request);
    }

    /// Works out the accesses of the memory instruction that a warp has just stepped over.
    #[inline]
    pub(in crate::sm) fn prepare_access(&mut self, warp: usize, slot: u16) {
        let Sm { residents, load_store, stats, machine, id, patterns, flights, .. } = self;
        let access = residents.slots[warp].stream.as_ref().and_then(WarpStream::mem);
        let split = Split { machine, sm: *id, warp, pc: flights[slot].pc, patterns };
        work_out(split, load_store.op_mut(slot), access, &mut stats.counters);
    }

    /// As [`Sm::prepare_access`], with kept addresses.
    fn prepare_kept(&mut self, warp: usize, slot: u16, access: MemAccess<'_>) {
        let Sm { load_store, stats, machine, id, patterns, flights, .. } = self;
        let split = Split { machine, sm: *id, warp, pc: flights[slot].pc, patterns };
        work_out(split, load_store.op_mut(slot), Some(access), &mut stats.counters);
    }

    /// A collected memory instruction leaves for the load/store queue, or a technique answers for it. False when
    /// the queue has no room.
    pub(in crate::sm) fn start_access(&mut self, slot: u16, warp: usize) -> bool {
        if !self.load_store.has_queue_room() {
            return false;
        }
        let kept = if S::TECHNIQUES { self.flights.take_access(slot) } else { None };
        let Some(kept) = kept else {
            self.load_store.push(slot);
            return true;
        };
        let view = self.in_flight(slot);
        let access = kept.view(u32::MAX);
        let outcome =
            self.ask(|techniques, at, warps| techniques.access(at, &warps[warp].view(warp), &view, &access));
        let Decision { verdict, by } = outcome.unwrap_or_else(|mismatch| {
            self.fail(mismatch.into());
            Decision { verdict: AccessVerdict::Access, by: 0 }
        });
        match verdict {
            AccessVerdict::Access => self.prepare_kept(warp, slot, access),
            AccessVerdict::Lanes(lanes) => {
                self.ask_answer(slot, by, Answered::Memory(!lanes));
                self.prepare_kept(warp, slot, kept.view(lanes));
            }
            AccessVerdict::Satisfied(done) => {
                self.satisfy(slot, by);
                self.wheel.at(done.ready_at().max(self.now + 1), Event::Complete(slot));
                return true;
            }
            AccessVerdict::After(leader, cycles) => {
                self.satisfy(slot, by);
                if self.flights.is_awaited(leader) {
                    self.followers.add(leader, slot, cycles);
                } else {
                    self.wheel.at(self.now + 1 + u64::from(cycles), Event::Complete(slot));
                }
                return true;
            }
        }
        self.load_store.push(slot);
        true
    }

    /// Completes a memory instruction for which a technique answers.
    fn satisfy(&mut self, slot: u16, by: u8) {
        self.stats.counters.satisfied_accesses += 1;
        self.ask_answer(slot, by, Answered::Memory(u32::MAX));
    }

    /// Completes the followers of a completed memory instruction, and their followers.
    #[cold]
    pub(in crate::sm) fn complete_followers(&mut self, slot: u16) {
        let mut done = vec![self.flights.id(slot)];
        while let Some(leader) = done.pop() {
            while let Some((slot, cycles)) = self.followers.take(leader) {
                match u64::from(cycles) {
                    0 => {
                        done.push(self.flights.id(slot));
                        self.complete_instruction(slot);
                    }
                    cycles => self.wheel.at(self.now + cycles, Event::Complete(slot)),
                }
            }
        }
    }

    /// Looks up one early load of a technique per cycle: a hit is locked at once, a miss is requested.
    #[inline(never)]
    fn run_early_loads(&mut self) {
        let Some(load) = self.early.next() else { return };
        let slot = self.flights.begin(EarlyLoads::PC, 0, self.now);
        let (load_store, mut around) = self.load_store_and_neighbours();
        if load.into_buffer {
            match load_store.prefetch(slot, &load, &mut around) {
                Some(true) => self.early.begin(slot),
                requested => {
                    if requested.is_some() {
                        self.early.drop_next();
                    }
                    self.flights.end(slot);
                }
            }
            return;
        }
        if load_store.load_early(slot, load.line / LINE_BYTES * LINE_BYTES, load.sectors, &mut around) {
            self.early.begin(slot);
        } else {
            self.flights.end(slot);
        }
    }

    /// Tells techniques what has become of their prefetches.
    #[inline(never)]
    fn tell_fates(&mut self) {
        for (tag, fate) in self.load_store.take_fates() {
            self.ask(|techniques, at, _| techniques.prefetched(at, tag, fate));
        }
    }

    /// Ends an early load: the line is locked if requested and if a way stays unlocked.
    #[cold]
    pub(in crate::sm) fn early_load_done(&mut self, slot: u16) {
        self.flights.end(slot);
        let Some(load) = self.early.end(slot).filter(|load| !load.into_buffer) else { return };
        let locked = load.lock && self.load_store.lock(load.line);
        self.ask(|techniques, at, _| techniques.loaded(at, load.tag, locked));
    }
}
