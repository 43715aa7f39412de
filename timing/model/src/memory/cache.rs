//! Tags of a set-associative cache with four sectors per line.
//!
//! L1 allocates a line when its data arrive or a store writes it. L2 reserves it at the miss: the victim is
//! evicted then, so that a fill always has a way. [`super::mshr`] holds the accesses that wait for a line,
//! [`super::replacement`] chooses the evicted line.

use super::coalesce::full_sectors;
use super::hash::SetIndex;
use super::replacement::Replacement;
use crate::config::SetHash;
use std::ops::Range;

/// Bit of [`Line::reserved`] that marks a locked line; the lower four bits are its sectors.
const LOCKED: u8 = 0x80;

/// State of a resident line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    tag: u64,
    /// Sectors that can be read.
    valid: u8,
    /// Sectors that have to be written back.
    dirty: u8,
    /// Sectors in flight.
    reserved: u8,
    /// Words that were written, one bit each; a sector of which all are can be read.
    words: u32,
}

/// An evicted line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evicted {
    /// Line key, as it was inserted.
    pub line: u64,
    /// Sectors that have to be written back.
    pub dirty: u8,
}

/// A way for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The line is resident.
    Resident(usize),
    /// An empty way, or a way whose line must be evicted.
    Free(usize, Option<Evicted>),
    /// Every way waits for sectors.
    None,
}

/// Tag array over opaque line numbers (an address divided by the line size).
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    ways: usize,
    index: SetIndex,
    lines: Vec<Line>,
    /// Ways without a line.
    empty: usize,
    replacement: Replacement,
}

impl Tags {
    /// An empty cache.
    #[must_use]
    pub(crate) fn new(sets: u32, ways: u32, hash: SetHash, mut replacement: Replacement) -> Tags {
        let empty = Line { tag: u64::MAX, ..Line::default() };
        let lines = vec![empty; (sets * ways) as usize];
        replacement.reset(lines.len());
        Tags { ways: ways as usize, index: SetIndex::new(sets, hash), empty: lines.len(), lines, replacement }
    }

    /// An empty cache of the same sets and replacement, with another number of ways.
    #[must_use]
    pub(crate) fn with_ways(&self, ways: u32) -> Tags {
        let sets = self.lines.len() / self.ways;
        let lines = vec![Line { tag: u64::MAX, ..Line::default() }; sets * ways as usize];
        let mut replacement = self.replacement.clone();
        replacement.reset(lines.len());
        Tags { ways: ways as usize, index: self.index.clone(), empty: lines.len(), lines, replacement }
    }

    /// Ways of a set.
    #[must_use]
    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    /// Invalidates every line; dirty data are lost.
    pub(crate) fn clear(&mut self) {
        for line in &mut self.lines {
            *line = Line { tag: u64::MAX, ..Line::default() };
        }
        self.empty = self.lines.len();
        self.replacement.reset(self.lines.len());
    }

    #[inline]
    fn set(&self, line: u64) -> Range<usize> {
        let first = self.index.of(line) * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        self.find_in(self.set(line), line)
    }

    #[inline]
    fn find_in(&self, set: Range<usize>, line: u64) -> Option<usize> {
        let first = set.start;
        self.lines[set].iter().position(|entry| entry.tag == line).map(|way| first + way)
    }

    /// Sectors of a line that can be read; a resident line counts as used.
    #[inline]
    pub(crate) fn probe(&mut self, line: u64) -> u8 {
        self.find_readable(line).map_or(0, |index| self.lines[index].valid)
    }

    /// The way of a line that can be read, at least in part; a resident line counts as used.
    #[inline]
    pub(crate) fn find_readable(&mut self, line: u64) -> Option<usize> {
        let index = self.find(line)?;
        self.replacement.used(index);
        (self.lines[index].valid != 0).then_some(index)
    }

    /// Marks the line in a way that [`Tags::find_readable`] found as used; no line was inserted since.
    #[inline]
    pub(crate) fn use_again(&mut self, way: usize) {
        self.replacement.used(way);
    }

    /// Sectors of a line that can be read, without marking it as used: for a lookup that may be refused and repeated.
    #[must_use]
    pub(crate) fn valid(&self, line: u64) -> u8 {
        self.find(line).map_or(0, |index| self.lines[index].valid)
    }

    /// Whether the line is resident, without marking it as used.
    #[must_use]
    pub(crate) fn contains(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// What [`Tags::insert`] would evict for a line.
    #[must_use]
    pub(crate) fn victim(&self, line: u64) -> Option<Evicted> {
        let set = self.set(line);
        if self.find_in(set.clone(), line).is_some() { None } else { self.evicted(self.place_in(set)) }
    }

    fn evicted(&self, index: usize) -> Option<Evicted> {
        let entry = &self.lines[index];
        (entry.tag != u64::MAX).then_some(Evicted { line: entry.tag, dirty: entry.dirty })
    }

    /// The way of a resident line, or the line to evict for it.
    #[must_use]
    pub(crate) fn way(&self, line: u64) -> Way {
        let set = self.set(line);
        if let Some(index) = self.find_in(set.clone(), line) {
            return Way::Resident(index);
        }
        let index = self.place_in(set);
        if self.lines[index].reserved != 0 { Way::None } else { Way::Free(index, self.evicted(index)) }
    }

    /// Puts a line without valid sectors into a way that [`Tags::way`] has found.
    pub(crate) fn occupy(&mut self, index: usize, line: u64) {
        self.occupy_in(self.set(line), index, line);
    }

    fn occupy_in(&mut self, set: Range<usize>, index: usize, line: u64) {
        if self.lines[index].tag != u64::MAX {
            self.replacement.evicted(set.clone(), index);
        } else {
            self.empty -= 1;
        }
        self.replacement.placed(set, index);
        self.lines[index] = Line { tag: line, ..Line::default() };
    }

    /// Makes sectors of the line in a way readable and dirty.
    pub(crate) fn put(&mut self, index: usize, valid: u8, dirty: u8) {
        let entry = &mut self.lines[index];
        // The store that allocates a line does not count as a use of it.
        if dirty != 0 && entry.valid | entry.dirty != 0 {
            self.replacement.used(index);
        } else {
            self.replacement.filled(index);
        }
        entry.valid |= valid;
        entry.dirty |= dirty;
        entry.reserved &= !valid;
    }

    /// Writes words of sectors of the line in a way. A sector can be read when stores have written all of it, also
    /// several stores one after the other.
    pub(crate) fn write(&mut self, index: usize, sectors: u8, words: u32) {
        self.lines[index].words |= words;
        self.put(index, full_sectors(self.lines[index].words), sectors);
    }

    /// If more than `most` lines of the set of a way are dirty, cleans the one among the others that would be evicted
    /// first: it stays, and its dirty sectors have to be written back.
    pub(crate) fn clean_beyond(&mut self, index: usize, most: usize) -> Option<Evicted> {
        let set = index / self.ways * self.ways..(index / self.ways + 1) * self.ways;
        let lines = &self.lines;
        if lines[set.clone()].iter().filter(|line| line.dirty != 0).count() <= most {
            return None;
        }
        let oldest = self.replacement.victim(set, |way| way != index && lines[way].dirty != 0)?;
        let line = &mut self.lines[oldest];
        Some(Evicted { line: line.tag, dirty: std::mem::take(&mut line.dirty) })
    }

    /// Marks sectors of the line in a way as in flight: the line stays until they have arrived.
    pub(crate) fn reserve(&mut self, index: usize, sectors: u8) {
        self.lines[index].reserved |= sectors;
    }

    /// A way of a set for a line that is not resident: an empty one, else that of a line that may be evicted; a
    /// line that waits for sectors only if all lines do.
    fn place_in(&self, set: Range<usize>) -> usize {
        let first = set.start;
        let lines = &self.lines[set.clone()];
        if self.empty > 0
            && let Some(empty) = lines.iter().position(|entry| entry.tag == u64::MAX)
        {
            return first + empty;
        }
        self.replacement.victim(set, |way| lines[way - first].reserved == 0).unwrap_or(first)
    }

    /// Makes sectors readable and dirty, allocating the line if it is not resident.
    pub(crate) fn insert(&mut self, line: u64, valid: u8, dirty: u8) -> Option<Evicted> {
        let set = self.set(line);
        let (index, evicted) = match self.find_in(set.clone(), line) {
            Some(index) => (index, None),
            None => {
                let index = self.place_in(set.clone());
                let evicted = self.evicted(index);
                self.occupy_in(set, index, line);
                (index, evicted)
            }
        };
        self.put(index, valid, dirty);
        evicted
    }

    /// Locks a resident line; false if it is not resident, or if its set would have no replaceable way left.
    pub(crate) fn lock(&mut self, line: u64) -> bool {
        let Some(index) = self.find(line) else { return false };
        let others = self.lines[self.set(line)].iter();
        let held = others.filter(|entry| entry.reserved != 0 && entry.tag != line).count();
        if held + 1 >= self.ways {
            return false;
        }
        self.lines[index].reserved |= LOCKED;
        true
    }

    /// Unlocks a line.
    pub(crate) fn unlock(&mut self, line: u64) {
        if let Some(index) = self.find(line) {
            self.lines[index].reserved &= !LOCKED;
        }
    }

    /// Drops a line.
    pub(crate) fn remove(&mut self, line: u64) {
        if let Some(index) = self.find(line) {
            self.lines[index] = Line { tag: u64::MAX, ..Line::default() };
            self.empty += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn lru(sets: u32, ways: u32, hash: SetHash) -> Tags {
        let config = load("gtx480", &[]).expect("built-in").config;
        Tags::new(sets, ways, hash, Replacement::new(&config, "lru"))
    }

    #[test]
    fn the_least_recently_used_line_leaves() {
        let mut tags = lru(1, 2, SetHash::Linear);
        assert_eq!(tags.insert(1, 0b1, 0), None);
        assert_eq!(tags.insert(2, 0b1, 0b1), None);
        assert_eq!(tags.probe(1), 0b1);
        assert_eq!(tags.insert(3, 0b1, 0), Some(Evicted { line: 2, dirty: 0b1 }));
        assert_eq!((tags.probe(1), tags.probe(2), tags.probe(3)), (0b1, 0, 0b1));
    }

    #[test]
    fn sectors_accumulate_and_removal_forgets_them() {
        let mut tags = lru(4, 2, SetHash::Xor);
        tags.insert(9, 0b0001, 0);
        tags.insert(9, 0b0100, 0b0100);
        assert_eq!(tags.probe(9), 0b0101);
        tags.remove(9);
        assert_eq!(tags.probe(9), 0);
        assert!(!tags.contains(9));
    }

    #[test]
    fn reserved_ways_stay_until_their_sectors_come() {
        let mut tags = lru(1, 2, SetHash::Linear);
        let reserve = |tags: &mut Tags, line, sectors, left| {
            let Way::Free(index, evicted) = tags.way(line) else { panic!("a way is free") };
            assert_eq!(evicted, left);
            tags.occupy(index, line);
            tags.reserve(index, sectors);
        };
        reserve(&mut tags, 1, 0b11, None);
        tags.insert(2, 0b1, 0);
        // The reserved line is older, but the other one is evicted.
        reserve(&mut tags, 3, 0b1, Some(Evicted { line: 2, dirty: 0 }));
        assert_eq!(tags.way(4), Way::None);
        assert!(matches!(tags.way(1), Way::Resident(_)));
        tags.insert(1, 0b01, 0);
        assert_eq!(tags.way(4), Way::None);
        tags.insert(1, 0b10, 0);
        assert!(matches!(tags.way(4), Way::Free(_, Some(Evicted { line: 1, dirty: 0 }))));
        assert_eq!((tags.probe(1), tags.probe(3)), (0b11, 0));
    }

    #[test]
    fn the_dirty_line_that_would_leave_first_is_cleaned() {
        let mut tags = lru(1, 4, SetHash::Linear);
        for (line, dirty) in [(1, 0b1), (2, 0), (3, 0b11), (4, 0b1)] {
            tags.insert(line, 0b11, dirty);
        }
        let Way::Resident(last) = tags.way(4) else { panic!("resident") };
        assert_eq!(tags.clean_beyond(last, 3), None);
        assert_eq!(tags.clean_beyond(last, 2), Some(Evicted { line: 1, dirty: 0b1 }));
        assert_eq!(tags.clean_beyond(last, 2), None);
        assert_eq!(tags.clean_beyond(last, 1), Some(Evicted { line: 3, dirty: 0b11 }));
        assert_eq!(tags.clean_beyond(last, 0), None, "the line that was just written stays dirty");
        assert_eq!([1, 3].map(|line| tags.probe(line)), [0b11, 0b11], "cleaned lines stay");
    }

    #[test]
    fn a_working_set_of_the_cache_size_stays() {
        let mut tags = lru(8, 4, SetHash::Ipoly);
        for round in 0..3 {
            for line in 0..32 {
                let hit = tags.probe(line) != 0;
                assert_eq!(hit, round > 0, "line {line} in round {round}");
                tags.insert(line, 0b1111, 0);
            }
        }
    }
}
