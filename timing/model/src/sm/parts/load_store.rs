//! The load/store unit: its queue, shared memory, L1 and the texture and constant caches.
//!
//! The instruction at the head goes line by line to its cache ([`super::data_caches`],
//! [`super::small_caches`]); an access that finds no MSHR or no entry of the miss queue is refused and
//! retried, and blocks the instructions behind it.

use super::lookup::Lookup;
use super::memory_port::Requests;
use super::prefetch_buffer::PrefetchBuffer;
use super::sectored_cache::{IsL1, IsTexture, SectoredCache};
use super::small_caches::ConstantCache;
use crate::config::{GpuConfig, SetHash};
use crate::memory::cache::Tags;
use crate::memory::coalesce::{LineAccess, LineAccesses, words_of};
use crate::memory::replacement::Replacement;
use crate::memory::write::WritePolicy;
use crate::memory::{LINE_BYTES, NO_FLIGHT, Reply, RequestKind, Served, Token};
use crate::program::MemoryKind;
use crate::stats::{Counters, Stall};
use std::collections::VecDeque;
use trace_format::isa::space::Space;

/// Caches of an SM that persist between kernels.
#[derive(Clone, Debug)]
pub(crate) struct SmCaches {
    pub l1: Tags,
    pub texture: Tags,
    pub code: Tags,
    pub constants: Tags,
    /// L1.5, if the GPU has it.
    pub second_level: Option<Tags>,
}

impl SmCaches {
    /// Empty caches for a configuration.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> SmCaches {
        let tags = |sets, ways, hash, replacement: &str| {
            Tags::new(sets, ways, hash, Replacement::new(config, replacement))
        };
        let (l1, texture) = (&config.l1, &config.texture_cache);
        let (code, constants, l15) = (&config.front_end.icache, &config.constant_cache, &config.l15);
        SmCaches {
            l1: tags(l1.sets, l1.ways, l1.set_hash, &l1.replacement),
            texture: tags(texture.sets, texture.ways, texture.set_hash, &texture.replacement),
            code: tags(code.sets, code.ways, SetHash::Linear, &code.replacement),
            constants: tags(constants.sets, constants.ways, SetHash::Linear, &constants.replacement),
            second_level: (l15.size_bytes > 0)
                .then(|| tags(l15.sets, l15.ways, SetHash::Linear, &l15.replacement)),
        }
    }

    /// Empties L1 and the texture cache, as between kernels. Dirty lines are dropped: they hold local memory,
    /// which ends with its kernel.
    pub(crate) fn flush_l1(&mut self) {
        self.l1.clear();
        self.texture.clear();
    }

    /// Empties the caches of code and constants.
    pub(crate) fn flush_code(&mut self) {
        self.code.clear();
        self.constants.clear();
        if let Some(second_level) = &mut self.second_level {
            second_level.clear();
        }
    }
}

/// The cache in which a load is looked up first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Route {
    /// In L1.
    #[default]
    Cached,
    /// In L2.
    Bypass,
    /// In the texture cache.
    Texture,
}

/// A memory instruction, from its addresses to its last reply.
#[derive(Clone, Debug)]
pub(crate) struct MemOp {
    /// Kind of access.
    pub kind: MemoryKind,
    /// Its warp slot.
    pub warp: u8,
    /// Whether an atomic returns the old values.
    pub returns: bool,
    /// Lines in global or local memory.
    pub accesses: LineAccesses,
    /// Next line to access.
    pub next: u8,
    /// Cycles that the access occupies shared memory; 0 without shared accesses.
    pub shared_cycles: u32,
    /// Maximum number of lanes of an atomic with the same address.
    pub collisions: u8,
    /// Different addresses of a load of constants.
    pub constants: u8,
    /// Cycles that each of them occupies the unit.
    pub constant_cycles: u32,
    /// Route of loads of these lines.
    pub route: Route,
    /// Whether all addresses are local.
    pub local: bool,
    /// Whether the unit has begun the instruction.
    pub begun: bool,
    /// Cycles that the data of a load take in L1's banks, where it has them.
    pub bank_cycles: u32,
    /// The cycle from which texture units, or banks of L1, are free of its lanes.
    pub lanes_until: u64,
    /// Whether every line has been accessed.
    pub all_sent: bool,
    /// Replies and fills to wait for.
    pub waiting: u16,
    /// The most distant level that served data.
    pub served: Served,
    /// Cycle at which the last hit delivers its data.
    pub ready_at: u64,
}

impl Default for MemOp {
    fn default() -> MemOp {
        MemOp {
            kind: MemoryKind::Load(Space::Global),
            warp: 0,
            returns: false,
            accesses: LineAccesses::default(),
            next: 0,
            shared_cycles: 0,
            collisions: 0,
            constants: 0,
            constant_cycles: 0,
            bank_cycles: 0,
            route: Route::default(),
            local: false,
            begun: false,
            lanes_until: 0,
            all_sent: false,
            waiting: 0,
            served: Served::default(),
            ready_at: 0,
        }
    }
}

impl MemOp {
    /// Resets the operation for a warp's instruction, still without addresses.
    pub(crate) fn begin(&mut self, kind: MemoryKind, warp: u8, returns: bool) {
        let MemOp {
            kind: own_kind,
            warp: own_warp,
            returns: own_returns,
            accesses,
            next,
            shared_cycles,
            collisions,
            constants,
            constant_cycles,
            bank_cycles,
            route,
            local,
            begun,
            lanes_until,
            all_sent,
            waiting,
            served,
            ready_at,
        } = self;
        accesses.clear();
        (*own_kind, *own_warp, *own_returns) = (kind, warp, returns);
        (*next, *shared_cycles, *collisions, *constants) = (0, 0, 0, 0);
        (*waiting, *ready_at, *constant_cycles) = (0, 0, 0);
        (*bank_cycles, *lanes_until) = (0, 0);
        (*route, *served) = (Route::default(), Served::default());
        (*local, *begun, *all_sent) = (false, false, false);
    }
}

/// Receiver of completions.
pub(crate) trait Completions {
    /// The instruction in a slot completes at a cycle.
    fn complete_at(&mut self, slot: u16, cycle: u64);
}

/// The unit's neighbours in a cycle.
pub(crate) struct Neighbours<'n, R, C> {
    /// The cycle.
    pub now: u64,
    /// Port towards L2.
    pub requests: &'n mut R,
    /// Receiver of completions.
    pub completions: &'n mut C,
    /// Counters to update.
    pub counters: &'n mut Counters,
}

/// The load/store unit of an SM.
#[derive(Clone, Debug)]
pub(crate) struct LoadStore<'a> {
    pub(super) config: &'a GpuConfig,
    /// Write policy of L1, for global and for local memory.
    pub(super) write_policy: WritePolicy,
    pub(super) local_write_policy: WritePolicy,
    queue: VecDeque<u16>,
    busy_until: u64,
    /// Whether the access at the head was refused, and nothing has changed since that could let it succeed.
    refused: bool,
    /// By slot of the instruction in flight.
    pub(super) ops: Vec<MemOp>,
    pub(super) l1: SectoredCache<IsL1>,
    pub(super) texture: SectoredCache<IsTexture>,
    /// Lines that techniques prefetched.
    pub(super) prefetched: PrefetchBuffer,
    /// Texture fetches in flight, which are answered in order.
    fetches: VecDeque<u16>,
    /// Accesses to lines of these fetches.
    fragments: u32,
    constants: ConstantCache,
    /// Stores and write-backs that L2 has not acknowledged.
    unacknowledged: u32,
    /// By warp: memory instructions in flight and stores that have not been acknowledged.
    outstanding: Vec<u32>,
    /// Warps with an outstanding instruction or store.
    busy_warps: u64,
    /// Warps that wait at a fence for their outstanding accesses.
    fenced: u64,
}

impl<'a> LoadStore<'a> {
    /// The unit, with the cache contents that earlier kernels left; `l1_ways` is the number of ways beside
    /// the kernel's shared memory.
    #[must_use]
    pub(crate) fn new(
        config: &'a GpuConfig,
        l1_ways: u32,
        l1: Tags,
        texture: Tags,
        constants: Tags,
    ) -> LoadStore<'a> {
        LoadStore {
            config,
            write_policy: WritePolicy::global(config),
            local_write_policy: WritePolicy::local(config),
            queue: VecDeque::new(),
            busy_until: 0,
            refused: false,
            ops: Vec::new(),
            l1: SectoredCache::l1(config, l1_ways, l1),
            texture: SectoredCache::texture(config, texture),
            prefetched: PrefetchBuffer::default(),
            fetches: VecDeque::new(),
            fragments: 0,
            constants: ConstantCache::new(config, constants),
            unacknowledged: 0,
            outstanding: vec![0; config.sm.max_warps as usize],
            busy_warps: 0,
            fenced: 0,
        }
    }

    /// The unit with a prefetch buffer of so many lines.
    #[must_use]
    pub(crate) fn with_prefetch_buffer(self, lines: u32) -> LoadStore<'a> {
        LoadStore { prefetched: PrefetchBuffer::new(lines), ..self }
    }

    /// The caches, for the next kernel, together with the I-cache and L1.5, which the unit does not own.
    #[must_use]
    pub(crate) fn into_caches(self, code: Tags, second_level: Option<Tags>) -> SmCaches {
        let LoadStore { l1, texture, constants, .. } = self;
        SmCaches { l1: l1.tags, texture: texture.tags, code, constants: constants.into_tags(), second_level }
    }

    /// Begins a memory instruction that a warp has issued. The caller stores its addresses in the returned
    /// operation.
    #[inline]
    pub(crate) fn begin(&mut self, slot: u16, kind: MemoryKind, warp: u8, returns: bool) -> &mut MemOp {
        self.outstanding[usize::from(warp)] += 1;
        self.busy_warps |= 1 << warp;
        let op = self.slot_mut(slot);
        op.begin(kind, warp, returns);
        op
    }

    /// The operation of a slot, created if the slot has none.
    pub(super) fn slot_mut(&mut self, slot: u16) -> &mut MemOp {
        let index = usize::from(slot);
        if index >= self.ops.len() {
            self.ops.resize_with(index + 1, MemOp::default);
        }
        &mut self.ops[index]
    }

    /// The operation of a slot that holds a memory instruction.
    #[must_use]
    #[inline]
    pub(crate) fn op(&self, slot: u16) -> &MemOp {
        &self.ops[usize::from(slot)]
    }

    /// The same, mutable.
    #[must_use]
    #[inline]
    pub(crate) fn op_mut(&mut self, slot: u16) -> &mut MemOp {
        &mut self.ops[usize::from(slot)]
    }

    /// Ends a warp's memory instruction, or its store of a line. A fence releases the warp after its last
    /// one.
    #[inline]
    pub(crate) fn end(&mut self, warp: usize) {
        self.outstanding[warp] -= 1;
        if self.outstanding[warp] == 0 {
            self.busy_warps &= !(1 << warp);
            self.fenced &= !(1 << warp);
        }
    }

    /// Makes a warp wait at a fence for its outstanding accesses.
    pub(crate) fn fence(&mut self, warp: usize) {
        self.fenced |= self.busy_warps & 1 << warp;
    }

    /// Warps that wait at fences.
    #[must_use]
    #[inline]
    pub(crate) fn fenced(&self) -> u64 {
        self.fenced
    }

    /// Stall cause of warps that wait at fences.
    #[must_use]
    pub(crate) fn refuses(&self, warps: u64) -> Option<Stall> {
        (self.fenced & warps != 0).then_some(Stall::Fence)
    }

    /// Warps with memory instructions or stores outstanding.
    #[must_use]
    #[inline]
    pub(crate) fn busy_warps(&self) -> u64 {
        self.busy_warps
    }

    /// Outstanding instructions and stores of a warp.
    #[must_use]
    pub(crate) fn outstanding(&self, warp: usize) -> u32 {
        self.outstanding[warp]
    }

    /// Whether the queue has room.
    #[must_use]
    #[inline]
    pub(crate) fn has_queue_room(&self) -> bool {
        self.queue.len() < self.config.load_store.queue_entries as usize
    }

    /// Takes a collected memory instruction, for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, slot: u16) {
        self.queue.push_back(slot);
    }

    /// Whether the unit is free in this cycle and an instruction waits whose access may succeed.
    #[must_use]
    #[inline]
    pub(crate) fn is_active(&self, now: u64) -> bool {
        !self.queue.is_empty() && self.busy_until <= now && !self.refused
    }

    /// Whether the access at the head is refused, until something changes.
    #[must_use]
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// The miss queue has more room than before: a refused access is tried again.
    #[inline]
    pub(crate) fn retry(&mut self) {
        self.refused = false;
    }

    /// Next cycle at which the unit is free, if an instruction waits whose access may succeed.
    #[must_use]
    pub(crate) fn next_event(&self) -> Option<u64> {
        (!self.queue.is_empty() && !self.refused).then_some(self.busy_until)
    }

    /// One cycle of the unit, on the instruction at the head.
    pub(crate) fn run<R: Requests, C: Completions>(&mut self, around: &mut Neighbours<'_, R, C>) {
        if self.busy_until > around.now {
            return;
        }
        let Some(slot) = self.queue.front().copied() else { return };
        self.begin_access(slot, around.now);
        let mut lookup = None;
        let mut sent = 0;
        loop {
            let accesses = &self.op(slot).accesses;
            let next = usize::from(self.op(slot).next);
            let Some(access) = accesses.as_slice().get(next).copied() else { break };
            if lookup != Some(accesses.lookup(next)) {
                if sent == self.config.load_store.accesses_per_cycle {
                    break;
                }
                (sent, lookup) = (sent + 1, Some(accesses.lookup(next)));
            }
            if !self.access(slot, access, around) {
                around.counters.l1_stall_cycles += 1;
                self.refused = true;
                return;
            }
            self.op_mut(slot).next += 1;
        }
        let op = self.op_mut(slot);
        if usize::from(op.next) == op.accesses.as_slice().len() {
            op.all_sent = true;
            let done = (op.waiting == 0).then_some(op.ready_at);
            let (texture, lanes_until) = (op.route == Route::Texture, op.lanes_until);
            self.busy_until = self.busy_until.max(lanes_until);
            self.queue.pop_front();
            around.counters.ldst_instructions += 1;
            // An instruction without outstanding replies completes now, any other with its last reply.
            if texture {
                self.complete_fetches(around, around.now + 1);
            } else if let Some(ready_at) = done {
                around.completions.complete_at(slot, ready_at.max(around.now + 1));
            }
        }
    }

    /// Occupies the unit for an access, once: a refused access is only retried.
    fn begin_access(&mut self, slot: u16, now: u64) {
        let config = self.config;
        let op = self.op_mut(slot);
        if std::mem::replace(&mut op.begun, true) {
            return;
        }
        if op.route == Route::Texture {
            // Addresses of later lanes are computed while the lines of earlier ones are looked up.
            op.lanes_until = now + u64::from(32 / config.texture_cache.lanes_per_cycle);
            self.fetches.push_back(slot);
            return;
        }
        if op.bank_cycles > 1 {
            let last = now + u64::from(op.bank_cycles) - 1;
            op.lanes_until = last + 1;
            op.ready_at = last + u64::from(config.l1.hit_latency_cycles);
        }
        let shared_cycles = op.shared_cycles;
        let cycles = u64::from(op.constants) * u64::from(op.constant_cycles);
        if cycles > 1 {
            // The last address is looked up when the others have been.
            let last = now + cycles - u64::from(op.constant_cycles);
            op.ready_at = last + u64::from(config.constant_cache.hit_latency_cycles);
            self.busy_until = now + cycles;
            return;
        }
        if shared_cycles > 0 {
            let latency = config.shared_memory.latency_cycles + shared_cycles - 1;
            op.ready_at = op.ready_at.max(now + u64::from(latency));
            self.busy_until = now + u64::from(shared_cycles);
        }
    }

    /// Completes the oldest texture fetches whose texels are there, in cycle `earliest` or later: a fetch never
    /// overtakes another.
    pub(super) fn complete_fetches<R, C: Completions>(
        &mut self,
        around: &mut Neighbours<'_, R, C>,
        earliest: u64,
    ) {
        while let Some(slot) = self.fetches.front().copied() {
            let op = &self.ops[usize::from(slot)];
            if op.waiting > 0 || !op.all_sent {
                break;
            }
            self.fetches.pop_front();
            self.fragments -= op.accesses.as_slice().len() as u32;
            around.completions.complete_at(slot, op.ready_at.max(earliest));
        }
    }

    /// Whether another access of a texture fetch may be in flight.
    pub(super) fn has_room_for_fragment(&self) -> bool {
        self.fragments < self.config.texture_cache.fragments
    }

    /// Counts an access of a texture fetch.
    pub(super) fn add_fragment(&mut self) {
        self.fragments += 1;
    }

    /// Accesses a line; false when it is refused.
    fn access<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        let op = self.op(slot);
        let lookup = match op.kind {
            MemoryKind::Load(Space::Const) => {
                let Neighbours { now, requests, counters, .. } = around;
                self.constants.load(slot, access, *now, *requests, counters)
            }
            MemoryKind::Load(_) => self.load(slot, access, around),
            MemoryKind::Store(_) => {
                return self.store(slot, access, RequestKind::Write { words: access.words }, around);
            }
            MemoryKind::Atomic(_) => {
                let kind = RequestKind::Atomic { collisions: op.collisions };
                if !op.returns {
                    return self.store(slot, access, kind, around);
                }
                if around.requests.has_room() {
                    self.l1.tags.remove(access.line / LINE_BYTES);
                    self.prefetched.change(access.line / LINE_BYTES);
                    around.requests.send(access.line, access.sectors, kind, Token::Instruction(slot), slot);
                    Lookup::Miss
                } else {
                    Lookup::Refused
                }
            }
        };
        let op = self.op_mut(slot);
        match lookup {
            Lookup::Hit(at) => op.ready_at = op.ready_at.max(at),
            Lookup::Miss => op.waiting += 1,
            Lookup::Refused => return false,
        }
        true
    }

    /// Takes a reply of the memory system, other than one for the I-cache.
    pub(crate) fn take_reply<R: Requests, C: Completions>(
        &mut self,
        reply: &Reply,
        around: &mut Neighbours<'_, R, C>,
    ) {
        self.retry();
        match reply.token {
            Token::L1Fill => self.fill_l1(reply, around),
            Token::TextureFill => self.fill_texture(reply, around),
            Token::Instruction(slot) => answer(&mut self.ops, slot, reply.served, around),
            Token::StoreDone(warp) => {
                self.unacknowledged -= 1;
                self.end(usize::from(warp));
            }
            Token::WriteBack => self.unacknowledged -= 1,
            Token::ConstantCache => {
                let LoadStore { constants, ops, .. } = self;
                constants.fill(reply, |slot| answer(ops, slot, reply.served, around));
            }
            Token::InstructionCache => {}
        }
    }

    /// Sends a line of a store to L2, for which there must be room.
    pub(super) fn write_through(
        &mut self,
        slot: u16,
        access: LineAccess,
        kind: RequestKind,
        requests: &mut impl Requests,
    ) {
        let warp = self.op(slot).warp;
        self.unacknowledged += 1;
        self.outstanding[usize::from(warp)] += 1;
        self.busy_warps |= 1 << warp;
        requests.send(access.line, access.sectors, kind, Token::StoreDone(warp), NO_FLIGHT);
    }

    /// Sends an evicted line from L1 to L2, for which there must be room.
    pub(super) fn write_back(&mut self, line: u64, sectors: u8, requests: &mut impl Requests) {
        self.unacknowledged += 1;
        let kind = RequestKind::Write { words: words_of(sectors) };
        requests.send(line, sectors, kind, Token::WriteBack, NO_FLIGHT);
    }

    /// Whether no instruction waits and no access is outstanding in the memory system.
    #[must_use]
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty()
            && self.unacknowledged == 0
            && self.l1.misses() == 0
            && self.texture.misses() == 0
            && self.constants.misses() == 0
    }

    /// State of the unit, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        format!(
            "  load/store: {} queued (busy until {}), {} L1 misses, {} texture misses, {} constant misses, {} stores \
             outstanding\n",
            self.queue.len(),
            self.busy_until,
            self.l1.misses(),
            self.texture.misses(),
            self.constants.misses(),
            self.unacknowledged
        )
    }
}

/// Handles one of the replies that an instruction waits for.
pub(super) fn answer<R, C: Completions>(
    ops: &mut [MemOp],
    slot: u16,
    served: Served,
    around: &mut Neighbours<'_, R, C>,
) {
    let op = &mut ops[usize::from(slot)];
    op.served = op.served.max(served);
    op.waiting -= 1;
    op.ready_at = op.ready_at.max(around.now);
    // Texture fetches complete in order, in [`LoadStore::complete_fetches`].
    if op.waiting == 0 && op.all_sent && op.route != Route::Texture {
        around.completions.complete_at(slot, op.ready_at);
    }
}

#[cfg(test)]
mod tests;
