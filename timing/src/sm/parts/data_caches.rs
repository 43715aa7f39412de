//! L1 and the texture cache: lookups of loads, stores by write policy, and fills that complete waiting
//! instructions.
//!
//! Global stores always reach L2 (L1s are not coherent); only local memory, which is private to a thread, may
//! be kept in L1 and written back at eviction.

use super::load_store::{Completions, LoadStore, Neighbours, Route, answer};
use super::lookup::Lookup;
use super::memory_port::Requests;
use crate::memory::coalesce::LineAccess;
use crate::memory::write::LineStore;
use crate::memory::{ALL_SECTORS, LINE_BYTES, Reply, RequestKind, Token};

impl LoadStore<'_> {
    /// Loads a line, by its route.
    pub(super) fn load<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> Lookup {
        match self.op(slot).route {
            Route::Cached => self.cached_load(slot, access, around),
            Route::Texture => self.texture_load(slot, access, around),
            Route::Bypass => {
                if !around.requests.has_room() {
                    return Lookup::Refused;
                }
                around.counters.l1_bypasses += 1;
                around.requests.send(
                    access.line,
                    access.sectors,
                    RequestKind::Read,
                    Token::Instruction(slot),
                );
                Lookup::Miss
            }
        }
    }

    /// Stores a line, or performs an atomic without result; false when it is refused.
    pub(super) fn store<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        kind: RequestKind,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        let config = &self.config.l1;
        let RequestKind::Write { full } = kind else { return self.reduction(slot, access, kind, around) };
        let local = config.caches_local && self.op(slot).local;
        let policy = if local { &self.local_write_policy } else { &self.write_policy };
        let cached = local || !config.bypass_global;
        let allocate = config.write_allocate && cached;
        if !has_room_for_store(around.requests, policy.inserts(allocate)) {
            return false;
        }
        around.counters.l1_writes += u64::from(cached);
        let line = access.line / LINE_BYTES;
        let store = LineStore { line, sectors: access.sectors, full, allocate };
        let stored = policy.store(&mut self.l1, &store);
        if let Some(kept) = stored.kept {
            self.bring_in(line, kept.valid, kept.dirty, around);
        }
        if stored.through != 0 {
            let through = LineAccess { sectors: stored.through, ..access };
            let kind = RequestKind::Write { full: full & stored.through };
            self.write_through(slot, through, kind, around.requests);
        }
        true
    }

    /// An atomic without result on a line: L2 performs it, and L1 drops the line. False when it is refused.
    fn reduction<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        kind: RequestKind,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        let config = &self.config.l1;
        let cached = !config.bypass_global;
        let inserts = self.write_policy.inserts(config.write_allocate && cached);
        if !has_room_for_store(around.requests, inserts) {
            return false;
        }
        around.counters.l1_writes += u64::from(cached);
        self.l1.remove(access.line / LINE_BYTES);
        self.write_through(slot, access, kind, around.requests);
        true
    }

    /// Puts sectors into L1; an evicted dirty line is written to L2, for which there must be room.
    fn bring_in<R: Requests, C: Completions>(
        &mut self,
        line: u64,
        valid: u8,
        dirty: u8,
        around: &mut Neighbours<'_, R, C>,
    ) {
        let Some(victim) = self.l1.insert(line, valid, dirty) else { return };
        if victim.dirty != 0 {
            around.counters.l1_writeback_sectors += u64::from(victim.dirty.count_ones());
            self.write_back(victim.line * LINE_BYTES, victim.dirty, around.requests);
        }
    }

    fn cached_load<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> Lookup {
        let lookup = self.look_up_l1(slot, access.line, access.sectors, around);
        if lookup == Lookup::Miss {
            // A miss is known after the lookup; its data never arrive earlier than those of a hit.
            let hit_at = around.now + u64::from(self.config.l1.hit_latency_cycles);
            let op = self.op_mut(slot);
            op.ready_at = op.ready_at.max(hit_at);
        }
        lookup
    }

    /// Looks sectors of a line up in L1; missing sectors are requested, and the slot waits for them.
    fn look_up_l1<R: Requests, C>(
        &mut self,
        slot: u16,
        address: u64,
        sectors: u8,
        around: &mut Neighbours<'_, R, C>,
    ) -> Lookup {
        let config = &self.config.l1;
        let line = address / LINE_BYTES;
        let wanted = if config.sector_bytes == config.line_bytes { ALL_SECTORS } else { sectors };
        let missing = wanted & !self.l1.probe(line);
        if missing == 0 {
            around.counters.l1_accesses += 1;
            around.counters.l1_hits += 1;
            return Lookup::Hit(around.now + u64::from(config.hit_latency_cycles));
        }
        let Ok(to_request) = self.mshrs.check(line, missing) else { return Lookup::Refused };
        if to_request != 0 && !around.requests.has_room() {
            return Lookup::Refused;
        }
        around.counters.l1_accesses += 1;
        if to_request == 0 {
            around.counters.l1_merges += 1;
        } else {
            around.counters.l1_misses += 1;
            around.requests.send(line * LINE_BYTES, to_request, RequestKind::Read, Token::L1Fill);
        }
        self.mshrs.add(line, missing, slot);
        Lookup::Miss
    }

    fn texture_load<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> Lookup {
        let config = &self.config.texture_cache;
        let line = access.line / LINE_BYTES;
        let wanted = if config.sector_bytes == config.line_bytes { ALL_SECTORS } else { access.sectors };
        let missing = wanted & !self.texture.probe(line);
        let hit_at = around.now + u64::from(config.hit_latency_cycles);
        if missing == 0 {
            around.counters.texture_accesses += 1;
            return Lookup::Hit(hit_at);
        }
        let Ok(to_request) = self.texture_mshrs.check(line, missing) else { return Lookup::Refused };
        if to_request != 0 {
            if !around.requests.has_room() {
                return Lookup::Refused;
            }
            around.counters.texture_misses += 1;
            around.requests.send(access.line, to_request, RequestKind::Read, Token::TextureFill);
        }
        self.texture_mshrs.add(line, missing, slot);
        around.counters.texture_accesses += 1;
        let op = self.op_mut(slot);
        op.ready_at = op.ready_at.max(hit_at);
        Lookup::Miss
    }

    /// Whether a reply can be accepted: a fill of L1 that evicts a dirty line needs an entry of the miss
    /// queue.
    #[must_use]
    pub fn has_room_for_fill(&self, reply: &Reply, requests: &impl Requests) -> bool {
        !self.local_write_policy.keeps()
            || reply.token != Token::L1Fill
            || requests.has_room()
            || self.l1.victim(reply.line / LINE_BYTES).is_none_or(|line| line.dirty == 0)
    }

    /// Fills sectors of L1.
    pub(super) fn fill_l1<R: Requests, C: Completions>(
        &mut self,
        reply: &Reply,
        around: &mut Neighbours<'_, R, C>,
    ) {
        let line = reply.line / LINE_BYTES;
        self.bring_in(line, reply.sectors, 0, around);
        let LoadStore { mshrs, ops, .. } = self;
        mshrs.fill(line, reply.sectors, |slot| answer(ops, slot, reply.served, around));
    }

    /// Fills sectors of the texture cache; the rest of the texture latency follows.
    pub(super) fn fill_texture<R: Requests, C: Completions>(
        &mut self,
        reply: &Reply,
        around: &mut Neighbours<'_, R, C>,
    ) {
        let line = reply.line / LINE_BYTES;
        let LoadStore { texture, texture_mshrs, ops, .. } = self;
        texture.insert(line, reply.sectors, 0);
        texture_mshrs.fill(line, reply.sectors, |slot| answer(ops, slot, reply.served, around));
    }

    /// Looks up an early load, for which no instruction waits: its slot completes when the sectors are in L1.
    /// False when it is refused.
    pub fn load_early<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        address: u64,
        sectors: u8,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        match self.look_up_l1(slot, address, sectors, around) {
            Lookup::Refused => return false,
            Lookup::Hit(at) => around.completions.complete_at(slot, at),
            Lookup::Miss => {
                let ready_at = around.now + u64::from(self.config.l1.hit_latency_cycles);
                let op = self.slot_mut(slot);
                op.begin(crate::program::MemoryKind::Load(trace_format::isa::space::Space::Global), 0, false);
                (op.all_sent, op.waiting, op.ready_at) = (true, 1, ready_at);
            }
        }
        around.counters.early_loads += 1;
        true
    }

    /// Locks a line in L1; false when its set would have no unlocked way left.
    pub fn lock(&mut self, address: u64) -> bool {
        self.l1.lock(address / LINE_BYTES)
    }

    /// Unlocks a line of L1.
    pub fn unlock(&mut self, address: u64) {
        self.l1.unlock(address / LINE_BYTES);
    }
}

/// Whether the miss queue has room for a store; a store that allocates its line may evict a dirty one.
fn has_room_for_store(requests: &impl Requests, inserts: bool) -> bool {
    if inserts { requests.has_room_for_two() } else { requests.has_room() }
}
