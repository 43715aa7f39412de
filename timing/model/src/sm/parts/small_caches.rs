//! The instruction and constant caches: small, read-only, and filled from L2 line by line.
//!
//! A line may be part of a 128-byte line of L2 or span several; a miss is complete when all its parts have
//! arrived.

use super::lookup::Lookup;
use super::memory_port::Requests;
use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use crate::memory::coalesce::LineAccess;
use crate::memory::mshr::Mshrs;
use crate::memory::{LINE_BYTES, NO_FLIGHT, Reply, RequestKind, Token};
use crate::stats::Counters;

/// Base address of constant banks in memory.
const CONSTANT_BASE: u64 = 0xFFFC_0000_0000_0000;

/// Maximum number of loads that wait for one line of constants.
const CONSTANT_MERGES: u32 = 64;

/// Lines of code whose ways are remembered.
const FOUND: usize = 8;

/// Answer of the I-cache to a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeFetch {
    /// The line is in the cache.
    Hit,
    /// The warp waits for the line.
    Miss,
    /// No MSHR is free.
    Busy,
}

/// An outstanding line.
#[derive(Clone, Copy, Debug)]
struct Miss {
    line: u64,
    /// Replies still to come.
    parts: u8,
    /// Warps that wait.
    warps: u64,
}

/// Asks L2 for a line of a small cache; returns the number of replies to wait for.
fn request(line: u64, line_bytes: u64, base: u64, token: Token, requests: &mut impl Requests) -> u8 {
    let start = base + line * line_bytes;
    let mut parts = 0;
    let mut at = start;
    while at < start + line_bytes {
        let whole = at & !(LINE_BYTES - 1);
        let end = (start + line_bytes).min(whole + LINE_BYTES);
        let (first, last) = ((at - whole) / 32, (end - whole).div_ceil(32));
        let sectors = (((1u32 << last) - 1) & !((1u32 << first) - 1)) as u8;
        requests.send(whole, sectors, RequestKind::Read, token, NO_FLIGHT);
        parts += 1;
        at = end;
    }
    parts
}

/// Notes a reply; returns the miss when it is complete.
fn arrived(misses: &mut Vec<Miss>, reply: &Reply, line_bytes: u64, base: u64) -> Option<Miss> {
    let start = reply.line + u64::from(reply.sectors.trailing_zeros() & 3) * 32;
    let line = (start - base) / line_bytes;
    let index = misses.iter().position(|miss| miss.line == line)?;
    misses[index].parts -= 1;
    (misses[index].parts == 0).then(|| misses.swap_remove(index))
}

/// The instruction cache.
#[derive(Clone, Debug)]
pub(crate) struct CodeCache {
    tags: Tags,
    misses: Vec<Miss>,
    line_bytes: u64,
    mshrs: usize,
    prefetched_lines: u64,
    /// The last line fetched from.
    last_line: u64,
    /// Lines that were found in the cache, with their ways, by the line's low bits; emptied by a fill.
    found: [Option<(u64, usize)>; FOUND],
    /// The line that holds the kernel's last instruction.
    end: u64,
}

impl CodeCache {
    /// The cache with the contents that earlier kernels left, for a kernel whose last instruction is in line
    /// `end`.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, tags: Tags, end: u64) -> CodeCache {
        let cache = &config.front_end.icache;
        CodeCache {
            tags,
            misses: Vec::new(),
            line_bytes: u64::from(cache.line_bytes),
            mshrs: cache.mshrs as usize,
            prefetched_lines: u64::from(config.front_end.icache_prefetch_lines),
            last_line: u64::MAX,
            found: [None; FOUND],
            end,
        }
    }

    /// The contents, for the next kernel.
    #[must_use]
    pub(crate) fn into_tags(self) -> Tags {
        self.tags
    }

    /// Looks up the line that a warp (or the L0 of a scheduler) fetches from. A miss is requested from L2, and a fetch from a new line
    /// triggers prefetches of the next lines.
    pub(crate) fn fetch(
        &mut self,
        line: u64,
        warp: usize,
        requests: &mut impl Requests,
        counters: &mut Counters,
    ) -> CodeFetch {
        let answer = self.look_up(line, 1 << warp, requests, counters);
        if line != self.last_line && answer != CodeFetch::Busy {
            self.last_line = line;
            for ahead in 1..=self.prefetched_lines {
                if line + ahead <= self.end {
                    self.look_up(line + ahead, 0, requests, counters);
                }
            }
        }
        answer
    }

    /// Looks a line up for the warps of a mask; without one it is a prefetch.
    fn look_up(
        &mut self,
        line: u64,
        warps: u64,
        requests: &mut impl Requests,
        counters: &mut Counters,
    ) -> CodeFetch {
        let found = &mut self.found[line as usize % FOUND];
        if let Some((own, way)) = *found
            && own == line
        {
            self.tags.use_again(way);
            return CodeFetch::Hit;
        }
        if let Some(way) = self.tags.find_readable(line) {
            *found = Some((line, way));
            return CodeFetch::Hit;
        }
        if let Some(miss) = self.misses.iter_mut().find(|miss| miss.line == line) {
            miss.warps |= warps;
            return CodeFetch::Miss;
        }
        if self.misses.len() >= self.mshrs || !requests.has_room() {
            return CodeFetch::Busy;
        }
        counters.icache_misses += 1;
        let parts = request(line, self.line_bytes, 0, Token::InstructionCache, requests);
        self.misses.push(Miss { line, parts, warps });
        CodeFetch::Miss
    }

    /// Accepts part of a line; if it is complete, returns the line and the warps (or L0s) that waited for it.
    pub(crate) fn fill(&mut self, reply: &Reply) -> Option<(u64, u64)> {
        let miss = arrived(&mut self.misses, reply, self.line_bytes, 0)?;
        self.tags.insert(miss.line, 1, 0);
        self.found = [None; FOUND];
        Some((miss.line, miss.warps))
    }

    /// Outstanding lines.
    #[must_use]
    pub(crate) fn misses(&self) -> usize {
        self.misses.len()
    }
}

/// The constant cache.
#[derive(Clone, Debug)]
pub(crate) struct ConstantCache {
    tags: Tags,
    mshrs: Mshrs<u16>,
    misses: Vec<Miss>,
    line_bytes: u64,
    hit_latency: u64,
}

impl ConstantCache {
    /// The cache with the contents that earlier kernels left.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, tags: Tags) -> ConstantCache {
        let cache = &config.constant_cache;
        ConstantCache {
            tags,
            mshrs: Mshrs::new(cache.mshrs, CONSTANT_MERGES),
            misses: Vec::new(),
            line_bytes: u64::from(cache.line_bytes),
            hit_latency: u64::from(cache.hit_latency_cycles),
        }
    }

    /// The contents, for the next kernel.
    #[must_use]
    pub(crate) fn into_tags(self) -> Tags {
        self.tags
    }

    /// Looks up the line of a load. Only the first line of this cache that holds a used sector is looked up.
    pub(crate) fn load(
        &mut self,
        slot: u16,
        access: LineAccess,
        now: u64,
        requests: &mut impl Requests,
        counters: &mut Counters,
    ) -> Lookup {
        let offset = u64::from(access.sectors.trailing_zeros() & 3) * 32;
        let line = (access.line + offset) / self.line_bytes;
        if self.tags.probe(line) != 0 {
            return Lookup::Hit(now + self.hit_latency);
        }
        let Ok(missing) = self.mshrs.check(line, 1) else { return Lookup::Refused };
        if missing != 0 {
            if !requests.has_room() {
                return Lookup::Refused;
            }
            counters.constant_misses += 1;
            let parts = request(line, self.line_bytes, CONSTANT_BASE, Token::ConstantCache, requests);
            self.misses.push(Miss { line, parts, warps: 0 });
        }
        self.mshrs.add(line, 1, slot);
        Lookup::Miss
    }

    /// Accepts part of a line; loads that waited for the line continue when it is complete.
    pub(crate) fn fill(&mut self, reply: &Reply, wake: impl FnMut(u16)) {
        if let Some(miss) = arrived(&mut self.misses, reply, self.line_bytes, CONSTANT_BASE) {
            self.tags.insert(miss.line, 1, 0);
            self.mshrs.fill(miss.line, 1, wake);
        }
    }

    /// Outstanding lines.
    #[must_use]
    pub(crate) fn misses(&self) -> usize {
        self.misses.len()
    }
}

#[cfg(test)]
mod tests;
