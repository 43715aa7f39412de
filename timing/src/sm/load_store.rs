//! The load/store unit: its queue, shared memory, and the SM's ports to the crossbar.
//!
//! The access at the head goes line by line to its cache ([`super::data_caches`], [`super::small_caches`]); what
//! finds no MSHR or no place in the miss queue waits and holds back what is behind it.

use super::Sm;
use super::flight::Route;
use super::machine::Machine;
use super::small_caches::SmallMiss;
use super::wheel::Event;
use crate::config::{SetHash, SmallCache};
use crate::memory::cache::Tags;
use crate::memory::coalesce::LineAccess;
use crate::memory::mshr::Mshrs;
use crate::memory::port::Port;
use crate::memory::replacement::Replacement;
use crate::memory::{
    ALL_SECTORS, LINE_BYTES, Reply, Request, RequestKind, Served, Token, flits, sector_bytes,
};
use crate::program::{MemoryKind, Path};
use crate::source::LaunchSource;
use crate::techniques::{AccessVerdict, Answered, Decision, InFlightId, InstView};
use std::collections::VecDeque;
use trace_format::isa::space::Space;

/// Caches that outlive a kernel.
#[derive(Clone, Debug)]
pub struct SmCaches {
    pub(super) l1: Tags,
    pub(super) texture: Tags,
    pub(super) code: Tags,
    pub(super) constants: Tags,
}

impl SmCaches {
    /// Empty caches of a configuration.
    #[must_use]
    pub fn new(config: &crate::config::GpuConfig) -> SmCaches {
        let tags = |sets, ways, hash, replacement: &str| {
            Tags::new(sets, ways, hash, Replacement::new(config, replacement))
        };
        let small = |cache: &SmallCache| tags(cache.sets, cache.ways, SetHash::Linear, &cache.replacement);
        let (l1, texture) = (&config.l1, &config.texture_cache);
        SmCaches {
            l1: tags(l1.sets, l1.ways, l1.set_hash, &l1.replacement),
            texture: tags(texture.sets, texture.ways, texture.set_hash, &texture.replacement),
            code: small(&config.front_end.icache),
            constants: small(&config.constant_cache),
        }
    }

    /// Empties L1 and the texture cache, as between kernels. What L1 has not written back is local memory, which
    /// ends with its kernel.
    pub fn flush_l1(&mut self) {
        self.l1.clear();
        self.texture.clear();
    }
}

/// The load/store side of an SM.
#[derive(Clone, Debug)]
pub(super) struct LoadStore {
    queue: VecDeque<u16>,
    capacity: usize,
    busy_until: u64,
    pub(super) caches: SmCaches,
    pub(super) mshrs: Mshrs<u16>,
    pub(super) texture_mshrs: Mshrs<u16>,
    pub(super) code_misses: Vec<SmallMiss>,
    pub(super) last_code_line: u64,
    pub(super) constant_mshrs: Mshrs<u16>,
    pub(super) constant_parts: Vec<SmallMiss>,
    miss_queue: VecDeque<Request>,
    miss_capacity: usize,
    out_port: Port,
    in_port: Port,
    credits: u32,
    all_credits: u32,
    pub(super) stores_outstanding: u32,
}

impl LoadStore {
    pub fn new(machine: &Machine, mut caches: SmCaches) -> LoadStore {
        let config = &machine.config;
        if caches.l1.ways() != machine.l1_ways as usize {
            // Another split of the array empties it.
            caches.l1 = caches.l1.with_ways(machine.l1_ways);
        }
        LoadStore {
            queue: VecDeque::new(),
            capacity: config.load_store.queue_entries as usize,
            busy_until: 0,
            caches,
            mshrs: Mshrs::new(config.l1.mshrs, config.l1.mshr_merges),
            texture_mshrs: Mshrs::new(config.texture_cache.mshrs, config.texture_cache.mshr_merges),
            code_misses: Vec::new(),
            last_code_line: u64::MAX,
            constant_mshrs: Mshrs::new(config.constant_cache.mshrs, 64),
            constant_parts: Vec::new(),
            miss_queue: VecDeque::new(),
            miss_capacity: config.load_store.miss_queue_entries as usize,
            out_port: Port::new(machine.net_clock),
            in_port: Port::new(machine.net_clock),
            credits: config.interconnect.sm_credits,
            all_credits: config.interconnect.sm_credits,
            stores_outstanding: 0,
        }
    }

    pub fn into_caches(self) -> SmCaches {
        self.caches
    }

    /// Whether the queue has room.
    #[inline]
    pub fn has_queue_room(&self) -> bool {
        self.queue.len() < self.capacity
    }

    /// Takes a collected memory instruction, for which there is room.
    pub fn push(&mut self, slot: u16) {
        self.queue.push_back(slot);
    }

    /// Whether the unit or the port will do something in this cycle.
    pub fn is_active(&self, now: u64, credit_on_the_way: bool) -> bool {
        let works = !self.queue.is_empty() && self.busy_until <= now;
        let sends = !self.miss_queue.is_empty() && self.out_port.is_free(now) && self.credits > 0;
        // A head that waits for a full miss queue looks again when a credit comes.
        works && !(self.miss_queue.len() >= self.miss_capacity && self.credits == 0 && credit_on_the_way)
            || sends
    }

    /// Next cycle at which the unit or the port is free for what waits.
    pub fn next_event(&self) -> Option<u64> {
        let unit = (!self.queue.is_empty()).then_some(self.busy_until);
        let port = (!self.miss_queue.is_empty() && self.credits > 0).then(|| self.out_port.free_at_core());
        match (unit, port) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Cycle at which the reply port is free.
    pub fn reply_port_free_at(&self) -> u64 {
        self.in_port.free_at_core()
    }

    /// Whether nothing of this SM is outstanding in the memory system.
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
            && self.miss_queue.is_empty()
            && self.stores_outstanding == 0
            && self.mshrs.is_empty()
            && self.texture_mshrs.is_empty()
            && self.code_misses.is_empty()
            && self.constant_parts.is_empty()
            && self.credits == self.all_credits
    }

    pub(super) fn has_miss_room(&self) -> bool {
        self.miss_queue.len() < self.miss_capacity
    }

    /// Whether the miss queue takes two requests at once; one of capacity 1 does when it is empty.
    pub(super) fn has_room_for_two(&self) -> bool {
        self.miss_queue.is_empty() || self.miss_queue.len() + 2 <= self.miss_capacity
    }

    pub(super) fn send(
        &mut self,
        sm: usize,
        line: u64,
        sectors: u8,
        kind: RequestKind,
        token: Token,
        machine: &Machine,
    ) {
        let net = &machine.config.interconnect;
        let data = if kind == RequestKind::Read { 0 } else { sector_bytes(sectors) };
        let flits = flits(data, net.header_bytes, net.flit_bytes);
        let request = Request {
            arrival: 0,
            sm: sm as u16,
            line,
            sectors,
            flits,
            kind,
            token,
            served: Served::L2,
            sent_at: 0,
        };
        self.miss_queue.push_back(request);
    }

    /// What the unit holds, for the report of a stuck machine.
    pub fn describe(&self) -> String {
        format!(
            "  load/store: {} queued (busy until {}), {} L1 misses, {} texture misses, {} I-cache misses, {} constant misses, {} in the \
             miss queue, {} of {} credits, {} stores outstanding\n",
            self.queue.len(),
            self.busy_until,
            self.mshrs.len(),
            self.texture_mshrs.len(),
            self.code_misses.len(),
            self.constant_mshrs.len(),
            self.miss_queue.len(),
            self.credits,
            self.all_credits,
            self.stores_outstanding
        )
    }
}

/// What stands for the instruction of an early load's flight.
pub(super) const EARLY_LOAD: u32 = u32::MAX;

/// A memory instruction that completes some cycles after another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessFollower {
    leader: InFlightId,
    slot: u16,
    cycles: u32,
}

/// What became of one line access.
pub(super) enum Access {
    Done,
    Stalled,
}

impl<S: LaunchSource> Sm<'_, S> {
    /// A collected memory instruction leaves for the load/store queue, or a technique answers for it. False when
    /// the queue has no room.
    pub(super) fn start_access(&mut self, slot: u16, warp: usize) -> bool {
        if !self.load_store.has_queue_room() {
            return false;
        }
        let Some(kept) = self.flights.take_access(slot) else {
            self.load_store.push(slot);
            return true;
        };
        let machine = self.machine;
        let flight = &self.flights[slot];
        let (pc, active, exec) = (flight.pc, flight.active, flight.exec);
        let view = InstView {
            pc,
            inst: &machine.program.insts[pc as usize],
            active,
            exec,
            id: self.flights.id(slot),
        };
        let access = kept.view(u32::MAX);
        let Decision { verdict, by } =
            self.ask(|techniques, at, warps| techniques.access(at, &warps[warp].view(warp), &view, &access));
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
                if self.flights.is_in_flight(leader) {
                    self.access_followers.push(AccessFollower { leader, slot, cycles });
                } else {
                    self.wheel.at(self.now + 1 + u64::from(cycles), Event::Complete(slot));
                }
                return true;
            }
        }
        self.load_store.push(slot);
        true
    }

    /// A technique answers for a memory instruction.
    fn satisfy(&mut self, slot: u16, by: u8) {
        self.stats.counters.satisfied_accesses += 1;
        self.ask_answer(slot, by, Answered::Memory(u32::MAX));
    }

    /// Lets the memory instructions complete that waited for one that does, and those that waited for them.
    #[cold]
    pub(super) fn complete_followers(&mut self, slot: u16) {
        let mut done = vec![self.flights.id(slot)];
        while let Some(leader) = done.pop() {
            let mut index = 0;
            while let Some(follower) = self.access_followers.get(index).copied() {
                if follower.leader != leader {
                    index += 1;
                    continue;
                }
                self.access_followers.remove(index);
                match u64::from(follower.cycles) {
                    0 => {
                        done.push(self.flights.id(follower.slot));
                        self.complete_instruction(follower.slot);
                    }
                    cycles => self.wheel.at(self.now + cycles, Event::Complete(follower.slot)),
                }
            }
        }
    }

    /// Looks up one early load of a technique per cycle: a hit is locked at once, a miss is asked for.
    #[inline(never)]
    pub(super) fn run_early_loads(&mut self) {
        let Some(load) = self.early.front().copied() else { return };
        let config = &self.machine.config.l1;
        let line = load.line / LINE_BYTES;
        let wanted = if config.sector_bytes == config.line_bytes { ALL_SECTORS } else { load.sectors };
        let missing = wanted & !self.load_store.caches.l1.probe(line);
        let mut to_request = 0;
        if missing != 0 {
            match self.load_store.mshrs.check(line, missing) {
                Ok(sectors) if sectors == 0 || self.load_store.has_miss_room() => to_request = sectors,
                _ => return,
            }
        }
        self.early.pop_front();
        self.stats.counters.early_loads += 1;
        self.stats.counters.l1_accesses += 1;
        let slot = self.flights.begin(EARLY_LOAD, 0, self.now);
        self.early_flights.push((slot, load));
        let mem = self.flights.mem_mut(slot);
        mem.clear();
        mem.all_sent = true;
        mem.ready_at = self.now + u64::from(config.hit_latency_cycles);
        if missing == 0 {
            self.stats.counters.l1_hits += 1;
            self.wheel.at(mem.ready_at, Event::Complete(slot));
            return;
        }
        mem.waiting = 1;
        if to_request == 0 {
            self.stats.counters.l1_merges += 1;
        } else {
            self.stats.counters.l1_misses += 1;
            self.send(line * LINE_BYTES, to_request, RequestKind::Read, Token::L1Fill);
        }
        self.load_store.mshrs.add(line, missing, slot);
    }

    /// The sectors of an early load are there: the line is locked if that was wanted and a way stays free.
    #[cold]
    pub(super) fn early_load_done(&mut self, slot: u16) {
        self.flights.end(slot);
        let Some(at) = self.early_flights.iter().position(|(held, _)| *held == slot) else { return };
        let (_, load) = self.early_flights.swap_remove(at);
        let locked = load.lock && self.load_store.caches.l1.lock(load.line / LINE_BYTES);
        self.ask(|techniques, at, _| techniques.loaded(at, load.tag, locked));
    }

    /// Load/store stage.
    pub(super) fn run_load_store(&mut self) {
        if self.load_store.busy_until > self.now {
            return;
        }
        let Some(slot) = self.load_store.queue.front().copied() else { return };
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        let Path::Memory(kind) = inst.path else { return };
        let shared_cycles = self.flights.mem(slot).shared_cycles;
        // An access that could not go on is looked at again; it takes the unit's time once.
        if !std::mem::replace(&mut self.flights.mem_mut(slot).begun, true) {
            if shared_cycles > 0 {
                let latency = machine.config.shared_memory.latency_cycles + shared_cycles - 1;
                self.flights.mem_mut(slot).ready_at = self.now + u64::from(latency);
                self.load_store.busy_until = self.now + u64::from(shared_cycles);
            }
            if self.flights.mem(slot).route == Route::Texture {
                let lanes = machine.config.texture_cache.lanes_per_cycle;
                self.load_store.busy_until = self.now + u64::from(32 / lanes);
            }
        }
        for _ in 0..machine.config.load_store.accesses_per_cycle {
            let next = usize::from(self.flights.mem(slot).next);
            let Some(access) = self.flights.mem(slot).accesses.as_slice().get(next).copied() else { break };
            match self.access(slot, kind, access) {
                Access::Done => self.flights.mem_mut(slot).next += 1,
                Access::Stalled => {
                    self.stats.counters.l1_stall_cycles += 1;
                    return;
                }
            }
        }
        let mem = self.flights.mem(slot);
        if usize::from(mem.next) == mem.accesses.as_slice().len() {
            self.load_store.queue.pop_front();
            super::units::count(&mut self.stats.counters, 4);
            self.accesses_sent(slot);
        }
    }

    /// Every line of an instruction has been accessed: it completes now, or when its last reply comes.
    fn accesses_sent(&mut self, slot: u16) {
        let mem = self.flights.mem_mut(slot);
        mem.all_sent = true;
        if mem.waiting == 0 {
            self.wheel.at(mem.ready_at.max(self.now + 1), Event::Complete(slot));
        }
    }

    fn access(&mut self, slot: u16, kind: MemoryKind, access: LineAccess) -> Access {
        match kind {
            MemoryKind::Load(Space::Const) => self.constant_load(slot, access),
            MemoryKind::Load(_) => self.load(slot, access),
            MemoryKind::Store(_) => self.store(slot, access, RequestKind::Write { full: access.full }),
            MemoryKind::Atomic(_) => {
                let kind = RequestKind::Atomic { collisions: self.flights.mem(slot).collisions };
                let has_result = self.machine.program.insts[self.flights[slot].pc as usize].has_result();
                if !has_result {
                    return self.store(slot, access, kind);
                }
                if !self.load_store.has_miss_room() {
                    return Access::Stalled;
                }
                self.load_store.caches.l1.remove(access.line / LINE_BYTES);
                self.flights.mem_mut(slot).waiting += 1;
                self.send(access.line, access.sectors, kind, Token::Instruction(slot));
                Access::Done
            }
        }
    }

    pub(super) fn send(&mut self, line: u64, sectors: u8, kind: RequestKind, token: Token) {
        self.load_store.send(self.id, line, sectors, kind, token, self.machine);
    }

    /// The SM's port sends the oldest request, as far as credits allow.
    pub(super) fn send_requests(&mut self) {
        while self.credits.front().is_some_and(|credit| credit.arrival <= self.now) {
            self.credits.pop_front();
            self.load_store.credits += 1;
        }
        let load_store = &mut self.load_store;
        if load_store.miss_queue.is_empty()
            || load_store.credits == 0
            || !load_store.out_port.is_free(self.now)
        {
            return;
        }
        let Some(mut request) = load_store.miss_queue.pop_front() else { return };
        load_store.credits -= 1;
        request.sent_at = self.now;
        let sent = load_store.out_port.send(self.now, request.flits);
        request.arrival = sent + u64::from(self.machine.config.interconnect.request_latency_cycles);
        self.stats.counters.request_packets += 1;
        self.stats.counters.interconnect_flits += u64::from(request.flits);
        let home = self.machine.partitions.home(request.line);
        let slice = home.channel * self.machine.config.l2.slices_per_channel + home.slice;
        self.record(|recorder, now| recorder.sent(&request, now));
        self.outbox[slice as usize].push(request);
    }

    /// Replies that pass the SM's port in this cycle.
    pub(super) fn take_replies(&mut self) {
        while let Some(reply) = self.replies.front().copied() {
            if reply.arrival > self.now || !self.load_store.in_port.is_free(self.now) {
                break;
            }
            if !self.has_room_for_fill(&reply) {
                break;
            }
            self.replies.pop_front();
            self.load_store.in_port.send(self.now, reply.flits);
            self.stats.latency.memory_round_trip.record(self.now - reply.sent_at);
            self.record(|recorder, now| recorder.answered(&reply, now));
            self.take_reply(&reply);
        }
    }

    fn take_reply(&mut self, reply: &Reply) {
        match reply.token {
            Token::L1Fill => self.fill_l1(reply),
            Token::TextureFill => self.fill_texture(reply),
            Token::Instruction(slot) => {
                let Sm { flights, wheel, now, .. } = self;
                reply_for(flights, wheel, *now, (slot, reply.served));
            }
            Token::StoreDone(warp) => {
                self.load_store.stores_outstanding -= 1;
                self.memory_done(usize::from(warp));
            }
            Token::WriteBack => self.load_store.stores_outstanding -= 1,
            Token::InstructionCache => self.code_line_arrived(reply),
            Token::ConstantCache => self.constant_line_arrived(reply),
        }
    }
}

/// One of the replies that an instruction waits for has come.
pub(super) fn reply_for(
    flights: &mut super::flight::Flights,
    wheel: &mut super::wheel::Wheel,
    now: u64,
    (slot, served): (u16, Served),
) {
    let mem = flights.mem_mut(slot);
    mem.served = mem.served.max(served);
    mem.waiting -= 1;
    mem.ready_at = mem.ready_at.max(now);
    if mem.waiting == 0 && mem.all_sent {
        wheel.at(mem.ready_at, Event::Complete(slot));
    }
}
