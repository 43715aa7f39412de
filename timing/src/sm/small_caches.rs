//! The instruction and constant caches: small, read-only, and filled from L2 line by line.
//!
//! A line may be part of a 128-byte line of L2 or span several; a miss is complete when all its parts are there.

use super::Sm;
use super::load_store::{Access, LoadStore, reply_for};
use super::machine::Machine;
use crate::memory::coalesce::LineAccess;
use crate::memory::{LINE_BYTES, Reply, RequestKind, Token};
use crate::source::LaunchSource;
use crate::stats::Counters;

/// Base address of constant banks in memory.
const CONSTANT_BASE: u64 = 0xFFFC_0000_0000_0000;

/// Answer of the I-cache to a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeFetch {
    Hit,
    /// The warp waits for the line.
    Miss,
    /// No miss register is free.
    Busy,
}

/// A line on its way to one of the small caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallMiss {
    pub line: u64,
    /// Replies still to come.
    pub parts: u8,
    /// Warps that wait.
    pub warps: u64,
}

impl LoadStore {
    /// Looks an instruction's line up in the I-cache; a miss asks L2.
    pub fn fetch_code(
        &mut self,
        line: u64,
        warp: usize,
        machine: &Machine,
        counters: &mut Counters,
        sm: usize,
    ) -> CodeFetch {
        let answer = self.look_up_code(line, 1 << warp, machine, counters, sm);
        if line != self.last_code_line && answer != CodeFetch::Busy {
            self.last_code_line = line;
            let last = machine.last_code_line();
            for ahead in 1..=u64::from(machine.config.front_end.icache_prefetch_lines) {
                if line + ahead <= last {
                    self.look_up_code(line + ahead, 0, machine, counters, sm);
                }
            }
        }
        answer
    }

    /// Looks a line up for the warps of a mask; without one it is a prefetch.
    fn look_up_code(
        &mut self,
        line: u64,
        warps: u64,
        machine: &Machine,
        counters: &mut Counters,
        sm: usize,
    ) -> CodeFetch {
        let cache = &machine.config.front_end.icache;
        if self.caches.code.probe(line) != 0 {
            return CodeFetch::Hit;
        }
        if let Some(miss) = self.code_misses.iter_mut().find(|miss| miss.line == line) {
            miss.warps |= warps;
            return CodeFetch::Miss;
        }
        if self.code_misses.len() >= cache.mshrs as usize || !self.has_miss_room() {
            return CodeFetch::Busy;
        }
        counters.icache_misses += 1;
        let parts = self.request_small(line, cache.line_bytes, 0, Token::InstructionCache, machine, sm);
        self.code_misses.push(SmallMiss { line, parts, warps });
        CodeFetch::Miss
    }

    /// Asks L2 for a line of a small cache, which may be part of a 128-byte line or several of them.
    fn request_small(
        &mut self,
        line: u64,
        line_bytes: u32,
        base: u64,
        token: Token,
        machine: &Machine,
        sm: usize,
    ) -> u8 {
        let start = base + line * u64::from(line_bytes);
        let mut parts = 0;
        let mut at = start;
        while at < start + u64::from(line_bytes) {
            let whole = at & !(LINE_BYTES - 1);
            let end = (start + u64::from(line_bytes)).min(whole + LINE_BYTES);
            let (first, last) = ((at - whole) / 32, (end - whole).div_ceil(32));
            let sectors = (((1u32 << last) - 1) & !((1u32 << first) - 1)) as u8;
            self.send(sm, whole, sectors, RequestKind::Read, token, machine);
            parts += 1;
            at = end;
        }
        parts
    }
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Looks the line of an LDC up in the constant cache.
    pub(super) fn constant_load(&mut self, slot: u16, access: LineAccess) -> Access {
        let config = &self.machine.config.constant_cache;
        // The sectors that are used lie in the first small line that holds one of them.
        let offset = u64::from(access.sectors.trailing_zeros() & 3) * 32;
        let line = (access.line + offset) / u64::from(config.line_bytes);
        if self.load_store.caches.constants.probe(line) != 0 {
            let mem = self.flights.mem_mut(slot);
            mem.ready_at = mem.ready_at.max(self.now + u64::from(config.hit_latency_cycles));
            return Access::Done;
        }
        let Ok(to_request) = self.load_store.constant_mshrs.check(line, 1) else { return Access::Stalled };
        if to_request != 0 {
            if !self.load_store.has_miss_room() {
                return Access::Stalled;
            }
            self.stats.counters.constant_misses += 1;
            let parts = self.load_store.request_small(
                line,
                config.line_bytes,
                CONSTANT_BASE,
                Token::ConstantCache,
                self.machine,
                self.id,
            );
            self.load_store.constant_parts.push(SmallMiss { line, parts, warps: 0 });
        }
        self.load_store.constant_mshrs.add(line, 1, slot);
        self.flights.mem_mut(slot).waiting += 1;
        Access::Done
    }

    /// Part of a line of code has come; warps that waited for the line go on when it is complete.
    pub(super) fn code_line_arrived(&mut self, reply: &Reply) {
        let bytes = u64::from(self.machine.config.front_end.icache.line_bytes);
        let misses = &mut self.load_store.code_misses;
        if let Some((line, warps)) = small_arrived(misses, reply, bytes, 0) {
            self.load_store.caches.code.insert(line, 1, 0);
            self.code_arrived(warps);
        }
    }

    /// Part of a line of constants has come; loads that waited for it go on when it is complete.
    pub(super) fn constant_line_arrived(&mut self, reply: &Reply) {
        let bytes = u64::from(self.machine.config.constant_cache.line_bytes);
        let misses = &mut self.load_store.constant_parts;
        if let Some((line, _)) = small_arrived(misses, reply, bytes, CONSTANT_BASE) {
            let Sm { load_store, flights, wheel, now, .. } = self;
            load_store.caches.constants.insert(line, 1, 0);
            load_store
                .constant_mshrs
                .fill(line, 1, |slot| reply_for(flights, wheel, *now, (slot, reply.served)));
        }
    }
}

/// Notes a reply for a small cache; returns the line and its waiting warps when it is complete.
fn small_arrived(
    misses: &mut Vec<SmallMiss>,
    reply: &Reply,
    line_bytes: u64,
    base: u64,
) -> Option<(u64, u64)> {
    let start = reply.line + u64::from(reply.sectors.trailing_zeros() & 3) * 32;
    let line = (start - base) / line_bytes;
    let index = misses.iter().position(|miss| miss.line == line)?;
    misses[index].parts -= 1;
    if misses[index].parts > 0 {
        return None;
    }
    let miss = misses.swap_remove(index);
    Some((miss.line, miss.warps))
}
