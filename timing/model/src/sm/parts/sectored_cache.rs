//! A cache with four sectors per line: L1 and the texture cache both are one. A load hits when all of its sectors are
//! valid; it waits for the missing ones, each of which is requested once.

use super::lookup::Lookup;
use super::memory_port::Requests;
use crate::config::{GpuConfig, L1, TextureCache};
use crate::memory::cache::{Evicted, Tags};
use crate::memory::mshr::Mshrs;
use crate::memory::{ALL_SECTORS, LINE_BYTES, Reply, RequestKind, Token};
use crate::stats::Counters;
use std::marker::PhantomData;

/// Outcome of a lookup that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every sector was valid.
    Hit,
    /// The missing sectors were pending already.
    Merge,
    /// Missing sectors were requested.
    Miss,
}

/// Distinguishes L1 from the texture cache.
pub(super) trait Identity {
    /// Token of its requests and of the replies to them.
    const TOKEN: Token;

    /// Counts a lookup.
    fn count(counters: &mut Counters, outcome: Outcome);
}

/// L1.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsL1;

impl Identity for IsL1 {
    const TOKEN: Token = Token::L1Fill;

    #[inline]
    fn count(counters: &mut Counters, outcome: Outcome) {
        counters.l1_accesses += 1;
        match outcome {
            Outcome::Hit => counters.l1_hits += 1,
            Outcome::Merge => counters.l1_merges += 1,
            Outcome::Miss => counters.l1_misses += 1,
        }
    }
}

/// The texture cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsTexture;

impl Identity for IsTexture {
    const TOKEN: Token = Token::TextureFill;

    #[inline]
    fn count(counters: &mut Counters, outcome: Outcome) {
        counters.texture_accesses += 1;
        counters.texture_misses += u64::from(outcome == Outcome::Miss);
    }
}

/// Tags, MSHRs and latency of a cache.
#[derive(Clone, Debug)]
pub(super) struct SectoredCache<I> {
    /// Tags; stores change those of L1 by their write policy.
    pub tags: Tags,
    mshrs: Mshrs<u16>,
    /// Whether a miss requests its whole line.
    whole_lines: bool,
    hit_latency: u64,
    identity: PhantomData<I>,
}

impl SectoredCache<IsL1> {
    /// L1 with the contents that earlier kernels left; `ways` is what the kernel's shared memory leaves.
    #[must_use]
    pub(super) fn l1(config: &GpuConfig, ways: u32, tags: Tags) -> SectoredCache<IsL1> {
        let L1 { mshrs, mshr_merges, sector_bytes, line_bytes, hit_latency_cycles, .. } = config.l1;
        SectoredCache {
            // A different split between L1 and shared memory empties L1.
            tags: if tags.ways() == ways as usize { tags } else { tags.with_ways(ways) },
            mshrs: Mshrs::new(mshrs, mshr_merges),
            whole_lines: sector_bytes == line_bytes,
            hit_latency: u64::from(hit_latency_cycles),
            identity: PhantomData,
        }
    }
}

impl SectoredCache<IsTexture> {
    /// The texture cache with the contents that earlier kernels left.
    #[must_use]
    pub(super) fn texture(config: &GpuConfig, tags: Tags) -> SectoredCache<IsTexture> {
        let TextureCache { mshrs, fragments, sector_bytes, line_bytes, hit_latency_cycles, .. } =
            config.texture_cache;
        SectoredCache {
            tags,
            // Any access in flight may wait for a line.
            mshrs: Mshrs::new(mshrs, fragments),
            whole_lines: sector_bytes == line_bytes,
            hit_latency: u64::from(hit_latency_cycles),
            identity: PhantomData,
        }
    }
}

impl<I: Identity> SectoredCache<I> {
    /// Looks sectors of a line up; missing sectors are requested, and the slot waits for them.
    pub(super) fn look_up(
        &mut self,
        slot: u16,
        address: u64,
        sectors: u8,
        now: u64,
        requests: &mut impl Requests,
        counters: &mut Counters,
    ) -> Lookup {
        let line = address / LINE_BYTES;
        let wanted = if self.whole_lines { ALL_SECTORS } else { sectors };
        let missing = wanted & !self.tags.probe(line);
        if missing == 0 {
            I::count(counters, Outcome::Hit);
            return Lookup::Hit(self.hit_at(now));
        }
        let Ok(to_request) = self.mshrs.check(line, missing) else { return Lookup::Refused };
        if to_request == 0 {
            I::count(counters, Outcome::Merge);
        } else {
            if !requests.has_room() {
                return Lookup::Refused;
            }
            I::count(counters, Outcome::Miss);
            requests.send(line * LINE_BYTES, to_request, RequestKind::Read, I::TOKEN, slot);
        }
        self.mshrs.add(line, missing, slot);
        Lookup::Miss
    }

    /// Cycle at which a hit delivers. A miss is known after the lookup; its data never arrive earlier than those of a hit.
    #[must_use]
    #[inline]
    pub(super) fn hit_at(&self, now: u64) -> u64 {
        now + self.hit_latency
    }

    /// Whether sectors of a line are on their way.
    #[must_use]
    pub(super) fn is_expected(&self, line: u64) -> bool {
        self.mshrs.holds(line)
    }

    /// Requests sectors of a line that is not on its way, for a slot, without a lookup; returns the requested sectors, or
    /// none if the request is refused.
    pub(super) fn request(
        &mut self,
        slot: u16,
        line: u64,
        sectors: u8,
        requests: &mut impl Requests,
    ) -> Option<u8> {
        let wanted = if self.whole_lines { ALL_SECTORS } else { sectors };
        let to_request = self.mshrs.check(line, wanted).ok().filter(|_| requests.has_room())?;
        requests.send(line * LINE_BYTES, to_request, RequestKind::Read, I::TOKEN, slot);
        self.mshrs.add(line, wanted, slot);
        Some(wanted)
    }

    /// Wakes the slots that wait for a line, as [`SectoredCache::fill`], without filling the cache.
    pub(super) fn pass(&mut self, reply: &Reply, wake: impl FnMut(u16)) {
        self.mshrs.fill(reply.line / LINE_BYTES, reply.sectors, wake);
    }

    /// Fills sectors of a line and returns the evicted line. When no sector of the line is pending any more, calls `wake`
    /// with the slots that wait for it, in the order of their lookups.
    pub(super) fn fill(&mut self, reply: &Reply, wake: impl FnMut(u16)) -> Option<Evicted> {
        let line = reply.line / LINE_BYTES;
        let evicted = self.tags.insert(line, reply.sectors, 0);
        self.mshrs.fill(line, reply.sectors, wake);
        evicted
    }

    /// Outstanding lines.
    #[must_use]
    pub(super) fn misses(&self) -> usize {
        self.mshrs.len()
    }
}

#[cfg(test)]
mod tests;
