//! What the load/store unit does with L1 and the texture cache ([`super::sectored_cache`]): lookups of loads, stores by
//! write policy, and fills that complete waiting instructions.
//!
//! Global stores always reach L2 (L1s are not coherent); only local memory, which is private to a thread, may
//! be kept in L1 and written back at eviction.

use super::load_store::{Completions, LoadStore, Neighbours, Route, answer};
use super::lookup::Lookup;
use super::memory_port::Requests;
use crate::memory::cache::Evicted;
use crate::memory::coalesce::{LineAccess, words_of};
use crate::memory::write::LineStore;
use crate::memory::{LINE_BYTES, Reply, RequestKind, Token};
use crate::techniques::{EarlyLoad, Prefetched};

impl LoadStore<'_> {
    /// Loads a line, by its route.
    pub(super) fn load<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        access: LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> Lookup {
        let in_buffer =
            self.prefetched.exists() && self.op(slot).route != Route::Texture && !self.op(slot).local;
        if in_buffer && self.take_prefetched(&access, around) {
            return Lookup::Hit(self.l1.hit_at(around.now));
        }
        let Neighbours { now, requests, counters, .. } = around;
        let (lookup, hit_at) = match self.op(slot).route {
            Route::Cached => {
                let l1 = &mut self.l1;
                let lookup = l1.look_up(slot, access.line, access.sectors, *now, *requests, counters);
                if lookup == Lookup::Miss && self.prefetched.exists() {
                    self.prefetched.want(access.line / LINE_BYTES);
                }
                (lookup, self.l1.hit_at(*now))
            }
            Route::Texture => {
                if !self.has_room_for_fragment() {
                    return Lookup::Refused;
                }
                let texture = &mut self.texture;
                let lookup = texture.look_up(slot, access.line, access.sectors, *now, *requests, counters);
                let hit_at = texture.hit_at(*now);
                if lookup != Lookup::Refused {
                    self.add_fragment();
                }
                (lookup, hit_at)
            }
            Route::Bypass => {
                if !requests.has_room() {
                    return Lookup::Refused;
                }
                counters.l1_bypasses += 1;
                requests.send(access.line, access.sectors, RequestKind::Read, Token::Instruction(slot), slot);
                return Lookup::Miss;
            }
        };
        if lookup == Lookup::Miss {
            let op = self.op_mut(slot);
            op.ready_at = op.ready_at.max(hit_at);
        }
        lookup
    }

    /// Takes the line of a load that misses in L1 out of the prefetch buffer, into L1; false if it is not there.
    fn take_prefetched<R: Requests, C>(
        &mut self,
        access: &LineAccess,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        let line = access.line / LINE_BYTES;
        let bypasses = self.config.l1.bypass_global;
        let held = if bypasses { 0 } else { self.l1.tags.valid(line) };
        let missing = access.sectors & !held;
        // Its place in L1 may be that of a dirty line, which has to be written back.
        if missing == 0 || !self.prefetched.holds(line, missing) || !around.requests.has_room() {
            return false;
        }
        let sectors = self.prefetched.take(line);
        around.counters.prefetch_hits += 1;
        if !bypasses {
            around.counters.l1_accesses += 1;
            around.counters.l1_hits += 1;
            let evicted = self.l1.tags.insert(line, sectors, 0);
            self.write_evicted(evicted, around);
        }
        true
    }

    /// Prefetches sectors of a line into the buffer. Tells whether they were requested, which they are not if L1 or the
    /// buffer has them, or if they are on their way; none when the prefetch is refused.
    pub(crate) fn prefetch<R: Requests, C>(
        &mut self,
        slot: u16,
        load: &EarlyLoad,
        around: &mut Neighbours<'_, R, C>,
    ) -> Option<bool> {
        let line = load.line / LINE_BYTES;
        if self.prefetched.knows(line)
            || self.l1.is_expected(line)
            || load.sectors & !self.l1.tags.valid(line) == 0
        {
            self.prefetched.note(load.tag, Prefetched::Redundant);
            return Some(false);
        }
        let ready_at = self.l1.hit_at(around.now);
        let requested = self.l1.request(slot, line, load.sectors, around.requests)?;
        self.prefetched.request(line, requested, load.tag);
        around.counters.prefetch_requests += 1;
        let op = self.slot_mut(slot);
        op.begin(crate::program::MemoryKind::Load(trace_format::isa::space::Space::Global), 0, false);
        (op.all_sent, op.waiting, op.ready_at) = (true, 1, ready_at);
        Some(true)
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
        let RequestKind::Write { words } = kind else { return self.reduction(slot, access, kind, around) };
        let local = config.caches_local && self.op(slot).local;
        let policy = if local { &self.local_write_policy } else { &self.write_policy };
        let cached = local || !config.bypass_global;
        let allocate = config.write_allocate && cached;
        if !has_room_for_store(around.requests, policy.inserts(allocate)) {
            return false;
        }
        around.counters.l1_writes += u64::from(cached);
        let line = access.line / LINE_BYTES;
        if self.prefetched.exists() {
            self.prefetched.change(line);
        }
        let store = LineStore { line, sectors: access.sectors, full: access.full(), allocate };
        let stored = policy.store(&mut self.l1.tags, &store);
        if let Some(kept) = stored.kept {
            let evicted = self.l1.tags.insert(line, kept.valid, kept.dirty);
            self.write_evicted(evicted, around);
        }
        if stored.through != 0 {
            let through = LineAccess { sectors: stored.through, ..access };
            let kind = RequestKind::Write { words: words & words_of(stored.through) };
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
        self.l1.tags.remove(access.line / LINE_BYTES);
        self.prefetched.change(access.line / LINE_BYTES);
        self.write_through(slot, access, kind, around.requests);
        true
    }

    /// Writes an evicted line of L1 to L2 if it is dirty; there must be room for it.
    fn write_evicted<R: Requests, C>(&mut self, evicted: Option<Evicted>, around: &mut Neighbours<'_, R, C>) {
        if let Some(Evicted { line, dirty }) = evicted
            && dirty != 0
        {
            around.counters.l1_writeback_sectors += u64::from(dirty.count_ones());
            self.write_back(line * LINE_BYTES, dirty, around.requests);
        }
    }

    /// Whether a reply can be accepted: a fill of L1 that evicts a dirty line needs an entry of the miss
    /// queue.
    #[must_use]
    pub(crate) fn has_room_for_fill(&self, reply: &Reply, requests: &impl Requests) -> bool {
        !self.local_write_policy.keeps()
            || reply.token != Token::L1Fill
            || requests.has_room()
            || self.l1.tags.victim(reply.line / LINE_BYTES).is_none_or(|line| line.dirty == 0)
    }

    /// Fills sectors of L1.
    pub(super) fn fill_l1<R: Requests, C: Completions>(
        &mut self,
        reply: &Reply,
        around: &mut Neighbours<'_, R, C>,
    ) {
        let to_l1 = !self.prefetched.exists() || self.prefetched.arrive(reply.line / LINE_BYTES);
        let LoadStore { l1, ops, .. } = self;
        let wake = |slot| answer(ops, slot, reply.served, around);
        if to_l1 {
            let evicted = l1.fill(reply, wake);
            self.write_evicted(evicted, around);
        } else {
            l1.pass(reply, wake);
        }
    }

    /// Fills sectors of the texture cache; the rest of the texture latency follows.
    pub(super) fn fill_texture<R: Requests, C: Completions>(
        &mut self,
        reply: &Reply,
        around: &mut Neighbours<'_, R, C>,
    ) {
        let LoadStore { texture, ops, .. } = self;
        texture.fill(reply, |slot| answer(ops, slot, reply.served, around));
        self.complete_fetches(around, around.now);
    }

    /// Looks up an early load, for which no instruction waits: its slot completes when the sectors are in L1.
    /// False when it is refused.
    pub(crate) fn load_early<R: Requests, C: Completions>(
        &mut self,
        slot: u16,
        address: u64,
        sectors: u8,
        around: &mut Neighbours<'_, R, C>,
    ) -> bool {
        self.retry();
        let Neighbours { now, requests, counters, completions } = around;
        match self.l1.look_up(slot, address, sectors, *now, *requests, counters) {
            Lookup::Refused => return false,
            Lookup::Hit(at) => completions.complete_at(slot, at),
            Lookup::Miss => {
                let ready_at = self.l1.hit_at(*now);
                let op = self.slot_mut(slot);
                op.begin(crate::program::MemoryKind::Load(trace_format::isa::space::Space::Global), 0, false);
                (op.all_sent, op.waiting, op.ready_at) = (true, 1, ready_at);
            }
        }
        counters.early_loads += 1;
        true
    }

    /// Whether techniques have to be told what has become of prefetches.
    #[must_use]
    #[inline]
    pub(crate) fn has_fates(&self) -> bool {
        self.prefetched.has_fates()
    }

    /// What has become of prefetches since the last call.
    pub(crate) fn take_fates(&mut self) -> Vec<(u32, Prefetched)> {
        self.prefetched.take_fates()
    }

    /// Locks a line in L1; false when its set would have no unlocked way left.
    pub(crate) fn lock(&mut self, address: u64) -> bool {
        self.retry();
        self.l1.tags.lock(address / LINE_BYTES)
    }

    /// Unlocks a line of L1.
    pub(crate) fn unlock(&mut self, address: u64) {
        self.retry();
        self.l1.tags.unlock(address / LINE_BYTES);
    }
}

/// Whether the miss queue has room for a store; a store that allocates its line may evict a dirty one.
fn has_room_for_store(requests: &impl Requests, inserts: bool) -> bool {
    if inserts { requests.has_room_for_two() } else { requests.has_room() }
}
