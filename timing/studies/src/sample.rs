//! Sets of digests in bounded memory, to distinguish repeated executions from new ones.
//!
//! A set that would grow too large keeps only the digests whose low bits are zero, one more bit each time
//! (adaptive sampling). The kept digests depend only on the digests seen, not on their order, so that sets of
//! several threads can be merged in any order; a sum over the kept ones times 2^level estimates the sum over
//! all, and is exact at level 0.

use super::values::Digest;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Maximum number of digests in a set.
pub(crate) const MAX_KEPT: usize = 1 << 15;

/// Hasher for digests, which are uniformly distributed already.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Words(u64);

impl Hasher for Words {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.rotate_left(32) ^ word;
    }
}

/// A map by digests.
pub(crate) type Map<T> = HashMap<Digest, T, BuildHasherDefault<Words>>;

/// Counts of a digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kept {
    /// The first instruction of the kernel with this digest.
    pub pc: u32,
    /// Times that it was seen.
    pub times: u32,
    /// Blocks in which it was seen.
    pub blocks: u32,
    last_block: u64,
}

/// A set of digests.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    level: u32,
    most: usize,
    kept: Map<Kept>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen::new(MAX_KEPT)
    }
}

impl Seen {
    /// An empty set that keeps at most `most` digests.
    #[must_use]
    pub(crate) fn new(most: usize) -> Seen {
        Seen { level: 0, most, kept: Map::default() }
    }

    /// Digests of which one in 2^level is kept.
    #[must_use]
    pub(crate) const fn level(&self) -> u32 {
        self.level
    }

    /// An empty set for a launch with a number of warp instructions; if that is unknown (0), it keeps all
    /// digests.
    #[must_use]
    pub(crate) fn for_launch(warp_instructions: u64) -> Seen {
        Seen::new(if warp_instructions == 0 { usize::MAX } else { MAX_KEPT })
    }

    /// Keeps one in 2^level digests from the beginning; `executions` bounds the number of digests to come.
    pub(crate) fn begin_at(&mut self, level: u32, executions: u64) {
        self.rise(level);
        self.kept.reserve((executions >> level).min(self.most as u64) as usize);
    }

    /// The kept digests, in unspecified order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Digest, &Kept)> {
        self.kept.iter().map(|(digest, kept)| (*digest, kept))
    }

    /// Whether a digest is one of those kept.
    #[must_use]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        self.kept.contains_key(&digest)
    }

    /// Whether a set of a level keeps a digest.
    #[must_use]
    #[inline]
    pub(crate) fn keeps(digest: Digest, level: u32) -> bool {
        digest.words()[1] & ((1 << level) - 1) == 0
    }

    /// Adds the digest of an instruction's operands in a block.
    #[inline]
    pub(crate) fn see(&mut self, digest: Digest, pc: u32, block: u64) {
        if !Seen::keeps(digest, self.level) {
            return;
        }
        let kept = self.kept.entry(digest).or_insert(Kept { pc, times: 0, blocks: 0, last_block: u64::MAX });
        kept.times = kept.times.saturating_add(1);
        kept.pc = kept.pc.min(pc);
        if kept.last_block != block {
            kept.last_block = block;
            kept.blocks = kept.blocks.saturating_add(1);
        }
        if self.kept.len() > self.most {
            self.rise(self.level + 1);
        }
    }

    fn rise(&mut self, level: u32) {
        self.level = self.level.max(level);
        loop {
            let level = self.level;
            self.kept.retain(|digest, _| Seen::keeps(*digest, level));
            if self.kept.len() <= self.most {
                break;
            }
            self.level += 1;
        }
    }

    /// Merges a set of other blocks.
    pub(crate) fn merge(&mut self, other: Seen) {
        if self.kept.is_empty() && self.level <= other.level {
            *self = other;
            return;
        }
        self.rise(other.level);
        let level = self.level;
        for (digest, theirs) in other.kept.into_iter().filter(|(digest, _)| Seen::keeps(*digest, level)) {
            let mine = self.kept.entry(digest).or_insert(Kept { pc: theirs.pc, ..Kept::default() });
            mine.pc = mine.pc.min(theirs.pc);
            mine.times = mine.times.saturating_add(theirs.times);
            mine.blocks = mine.blocks.saturating_add(theirs.blocks);
        }
        self.rise(level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(n: u64) -> Digest {
        Digest::default().then(Digest::of_word(n))
    }

    #[test]
    fn order_and_partition_do_not_matter() {
        let numbers: Vec<u64> = (0..5000).map(|n| n * n % 1733).collect();
        let mut whole = Seen::new(100);
        numbers.iter().for_each(|&n| whole.see(digest(n), 0, 7));
        let mut parts = [Seen::new(100), Seen::new(100)];
        numbers.iter().rev().for_each(|&n| parts[n as usize % 2].see(digest(n), 0, n % 2));
        let [mut joined, other] = parts;
        joined.merge(other);
        assert_eq!(joined.level(), whole.level());
        let list = |seen: &Seen| {
            let mut list: Vec<_> = seen.iter().map(|(digest, kept)| (digest, kept.times)).collect();
            list.sort_unstable();
            list
        };
        assert_eq!(list(&joined), list(&whole));
        assert!(whole.level() > 0 && list(&whole).len() <= 100);
    }

    #[test]
    fn estimates_are_near_and_small_sets_exact() {
        let mut seen = Seen::new(1000);
        (0..100_000u64).for_each(|n| seen.see(digest(n % 20_000), 0, 0));
        let distinct = (seen.iter().count() as u64) << seen.level();
        assert!((18_000..22_000).contains(&distinct), "{distinct}");
        let mut seen = Seen::new(1000);
        (0..3000u64).for_each(|n| seen.see(digest(n % 500), 0, n / 1000));
        assert_eq!((seen.level(), seen.iter().count()), (0, 500));
        assert!(seen.iter().all(|(_, kept)| kept.times == 6 && kept.blocks == 3));
    }
}
