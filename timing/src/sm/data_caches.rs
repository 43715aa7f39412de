//! L1 and the texture cache: loads that look up, stores by policy, fills that wake who waits.
//!
//! Global stores always reach L2 (L1s are not coherent); only local memory, which is a thread's own, may be kept
//! back and written when its line leaves.

use super::Sm;
use super::flight::Route;
use super::load_store::{Access, reply_for};
use crate::memory::coalesce::LineAccess;
use crate::memory::write::LineStore;
use crate::memory::{ALL_SECTORS, LINE_BYTES, Reply, RequestKind, Token};
use crate::source::LaunchSource;

impl<S: LaunchSource> Sm<'_, S> {
    /// A line of a load, by its way.
    pub(super) fn load(&mut self, slot: u16, access: LineAccess) -> Access {
        match self.flights.mem(slot).route {
            Route::Cached => self.cached_load(slot, access),
            Route::Texture => self.texture_load(slot, access),
            Route::Bypass => {
                if !self.load_store.has_miss_room() {
                    return Access::Stalled;
                }
                self.stats.counters.l1_bypasses += 1;
                self.flights.mem_mut(slot).waiting += 1;
                self.send(access.line, access.sectors, RequestKind::Read, Token::Instruction(slot));
                Access::Done
            }
        }
    }

    /// A line of a store, or of an atomic without result.
    pub(super) fn store(&mut self, slot: u16, access: LineAccess, kind: RequestKind) -> Access {
        let machine = self.machine;
        let config = &machine.config.l1;
        let RequestKind::Write { full } = kind else { return self.reduction(slot, access, kind) };
        let local = config.caches_local && self.flights.mem(slot).local;
        let policy = if local { &machine.local_write_policy } else { &machine.write_policy };
        let cached = local || !config.bypass_global;
        let allocate = config.write_allocate && cached;
        if !self.has_room_for_store(policy.inserts(allocate)) {
            return Access::Stalled;
        }
        self.stats.counters.l1_writes += u64::from(cached);
        let line = access.line / LINE_BYTES;
        let store = LineStore { line, sectors: access.sectors, full, allocate };
        let stored = policy.store(&mut self.load_store.caches.l1, &store);
        if let Some(kept) = stored.kept {
            self.bring_in(line, kept.valid, kept.dirty);
        }
        if stored.through != 0 {
            let through = LineAccess { sectors: stored.through, ..access };
            self.write_to_l2(slot, through, RequestKind::Write { full: full & stored.through });
        }
        Access::Done
    }

    /// A line of an atomic without result: L2 has the value, L1 has it no longer.
    fn reduction(&mut self, slot: u16, access: LineAccess, kind: RequestKind) -> Access {
        let config = &self.machine.config.l1;
        let cached = !config.bypass_global;
        if !self.has_room_for_store(self.machine.write_policy.inserts(config.write_allocate && cached)) {
            return Access::Stalled;
        }
        self.stats.counters.l1_writes += u64::from(cached);
        self.load_store.caches.l1.remove(access.line / LINE_BYTES);
        self.write_to_l2(slot, access, kind);
        Access::Done
    }

    /// Whether a store finds room on its way to L2; one that brings its line in may drive a dirty one out.
    fn has_room_for_store(&self, inserts: bool) -> bool {
        if inserts { self.load_store.has_room_for_two() } else { self.load_store.has_miss_room() }
    }

    fn write_to_l2(&mut self, slot: u16, access: LineAccess, kind: RequestKind) {
        let warp = self.flights[slot].warp;
        self.load_store.stores_outstanding += 1;
        self.warps[usize::from(warp)].in_memory += 1;
        self.masks.holding |= 1 << warp;
        self.send(access.line, access.sectors, kind, Token::StoreDone(warp));
    }

    /// Puts sectors into L1; a dirty line that must leave is written to L2, for which there must be room.
    fn bring_in(&mut self, line: u64, valid: u8, dirty: u8) {
        let Some(victim) = self.load_store.caches.l1.insert(line, valid, dirty) else { return };
        if victim.dirty != 0 {
            self.stats.counters.l1_writeback_sectors += u64::from(victim.dirty.count_ones());
            self.load_store.stores_outstanding += 1;
            let kind = RequestKind::Write { full: victim.dirty };
            self.send(victim.line * LINE_BYTES, victim.dirty, kind, Token::WriteBack);
        }
    }

    fn cached_load(&mut self, slot: u16, access: LineAccess) -> Access {
        let config = &self.machine.config.l1;
        let line = access.line / LINE_BYTES;
        let wanted = if config.sector_bytes == config.line_bytes { ALL_SECTORS } else { access.sectors };
        let missing = wanted & !self.load_store.caches.l1.probe(line);
        let hit_at = self.now + u64::from(config.hit_latency_cycles);
        if missing == 0 {
            let mem = self.flights.mem_mut(slot);
            mem.ready_at = mem.ready_at.max(hit_at);
            self.stats.counters.l1_accesses += 1;
            self.stats.counters.l1_hits += 1;
            return Access::Done;
        }
        let Ok(to_request) = self.load_store.mshrs.check(line, missing) else { return Access::Stalled };
        if to_request != 0 && !self.load_store.has_miss_room() {
            return Access::Stalled;
        }
        self.stats.counters.l1_accesses += 1;
        if to_request == 0 {
            self.stats.counters.l1_merges += 1;
        } else {
            self.stats.counters.l1_misses += 1;
            self.send(access.line, to_request, RequestKind::Read, Token::L1Fill);
        }
        self.load_store.mshrs.add(line, missing, slot);
        let mem = self.flights.mem_mut(slot);
        mem.waiting += 1;
        // A miss is known after the lookup; its data never come sooner than a hit's would.
        mem.ready_at = mem.ready_at.max(hit_at);
        Access::Done
    }

    fn texture_load(&mut self, slot: u16, access: LineAccess) -> Access {
        let config = &self.machine.config.texture_cache;
        let line = access.line / LINE_BYTES;
        let wanted = if config.sector_bytes == config.line_bytes { ALL_SECTORS } else { access.sectors };
        let missing = wanted & !self.load_store.caches.texture.probe(line);
        let hit_at = self.now + u64::from(config.hit_latency_cycles);
        if missing != 0 {
            let Ok(to_request) = self.load_store.texture_mshrs.check(line, missing) else {
                return Access::Stalled;
            };
            if to_request != 0 {
                if !self.load_store.has_miss_room() {
                    return Access::Stalled;
                }
                self.stats.counters.texture_misses += 1;
                self.send(access.line, to_request, RequestKind::Read, Token::TextureFill);
            }
            self.load_store.texture_mshrs.add(line, missing, slot);
            self.flights.mem_mut(slot).waiting += 1;
        }
        self.stats.counters.texture_accesses += 1;
        let mem = self.flights.mem_mut(slot);
        mem.ready_at = mem.ready_at.max(hit_at);
        Access::Done
    }

    /// Whether a reply can be taken: a fill of L1 that drives a dirty line out needs a place in the miss queue.
    pub(super) fn has_room_for_fill(&self, reply: &Reply) -> bool {
        !self.machine.local_write_policy.keeps()
            || reply.token != Token::L1Fill
            || self.load_store.has_miss_room()
            || self.load_store.caches.l1.victim(reply.line / LINE_BYTES).is_none_or(|line| line.dirty == 0)
    }

    /// Sectors have come for L1.
    pub(super) fn fill_l1(&mut self, reply: &Reply) {
        let line = reply.line / LINE_BYTES;
        self.bring_in(line, reply.sectors, 0);
        let Sm { load_store, flights, wheel, now, .. } = self;
        load_store
            .mshrs
            .fill(line, reply.sectors, |slot| reply_for(flights, wheel, *now, (slot, reply.served)));
    }

    /// Sectors have come for the texture cache; what is left of address calculation and filtering follows.
    pub(super) fn fill_texture(&mut self, reply: &Reply) {
        let line = reply.line / LINE_BYTES;
        let Sm { load_store, flights, wheel, now, .. } = self;
        load_store.caches.texture.insert(line, reply.sectors, 0);
        load_store
            .texture_mshrs
            .fill(line, reply.sectors, |slot| reply_for(flights, wheel, *now, (slot, reply.served)));
    }
}
