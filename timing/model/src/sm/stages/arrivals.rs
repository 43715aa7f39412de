//! Stages that handle arrivals of a cycle: events, replies, decoded instructions and operands.

use crate::memory::{Reply, Token};
use crate::program::Path;
use crate::sm::Sm;
use crate::sm::parts::WarpSet;
use crate::sm::parts::wheel::Event;
use crate::source::LaunchSource;

impl<S: LaunchSource> Sm<'_, S> {
    /// Handles the events of this cycle.
    pub(in crate::sm) fn take_events(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.advance(self.now, &mut due);
        for event in due.drain(..) {
            match event {
                Event::Complete(slot) => self.complete(slot),
                Event::Written(slot) => self.bus.push(slot, self.now),
                Event::BranchResolved(warp) => self.front.branch_resolved(usize::from(warp)),
                Event::GuardsReady(warp, predicates) => {
                    self.scoreboard.open_guards(usize::from(warp), predicates);
                    self.refresh_hazard(usize::from(warp));
                }
                Event::BarrierLeft(warp) => self.barriers.leave(usize::from(warp)),
                Event::WarpReady(warp) if self.hooks().admission => {
                    self.residents.await_admission(usize::from(warp));
                }
                Event::WarpReady(warp) => self.begin_warp(usize::from(warp)),
            }
        }
        self.due = due;
    }

    /// Decode stage: instructions whose decoding ends enter their I-buffers.
    #[inline]
    pub(in crate::sm) fn decode(&mut self) {
        while let Some(warp) = self.front.take_decoded(self.now) {
            self.refresh_head(warp);
        }
    }

    /// Operands arrive in their collectors; an instruction with all its operands is collected.
    #[inline]
    pub(in crate::sm) fn receive_operands(&mut self) {
        if self.reads.next_arrival().is_none_or(|cycle| cycle > self.now) {
            return;
        }
        let mut collected = std::mem::take(&mut self.collected);
        let mut read = 0u64;
        self.reads.take_operands(self.now, &mut collected);
        for collected in collected.drain(..) {
            let flight = &self.flights[collected.slot];
            let waited = self.now - flight.issued_at;
            self.stats.counters.collected_instructions += 1;
            self.stats.counters.operand_collection_cycles += waited;
            let inst = &self.machine.program.insts[flight.pc as usize];
            let latency = &mut self.stats.latency;
            latency.operand_collection.record(waited);
            match inst.path {
                _ if !inst.has_result() => {}
                Path::Memory(_) => latency.memory_operand_collection.record(waited),
                _ => latency.alu_operand_collection.record(waited),
            }
            if let Some(bits) = inst.control.as_ref().filter(|_| !inst.keeps_sources()) {
                let (warp, memory) = (usize::from(flight.warp), matches!(inst.path, Path::Memory(_)));
                self.dependences.read(warp, bits, memory);
                if bits.read_counter.is_some() {
                    read |= 1 << warp;
                }
            }
            if collected.operands != 0 {
                self.scoreboard.end_reads(usize::from(flight.warp), inst, collected.operands);
            }
            self.record(|recorder, now| recorder.collected(collected.slot, now));
        }
        self.collected = collected;
        WarpSet(read).for_each(|warp| self.refresh_hazard(warp));
    }

    /// Replies that pass the SM's port in this cycle.
    #[inline]
    pub(in crate::sm) fn take_replies(&mut self) {
        loop {
            let Sm { port, load_store, now, .. } = self;
            let has_room = |reply: &_, port: &_| load_store.has_room_for_fill(reply, port);
            let Some(reply) = port.receive(*now, has_room) else { break };
            self.stats.latency.memory_round_trip.record(self.now - reply.sent_at);
            self.record(|recorder, now| recorder.answered(&reply, now));
            if !self.port.keep_nearby(&reply) {
                self.take_reply(&reply);
            }
        }
        while let Some(reply) = self.port.answer_nearby(self.now) {
            self.take_reply(&reply);
        }
        let Sm { code, port, stats, now, .. } = self;
        let woken = code.advance(*now, port, &mut stats.counters);
        if woken != 0 {
            self.front.code_arrived(woken);
        }
    }

    /// A reply reaches the cache or the instruction that asked.
    fn take_reply(&mut self, reply: &Reply) {
        if reply.token == Token::InstructionCache {
            let warps = self.code.fill(reply, self.now);
            if warps != 0 {
                self.front.code_arrived(warps);
            }
        } else {
            if matches!(reply.token, Token::StoreDone(_)) {
                // The warp may have left; the launch has not ended before its stores have.
                self.ended_at = self.now + 1;
            }
            let (load_store, mut around) = self.load_store_and_neighbours();
            load_store.take_reply(reply, &mut around);
        }
    }
}
