//! Tags of a set-associative cache with four sectors per line and LRU replacement.
//!
//! Lines are allocated when data arrive or when a store writes them, so no way is ever reserved. Misses in
//! flight are the business of [`super::mshr`].

/// State of a resident line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    tag: u64,
    /// Sectors that can be read.
    valid: u8,
    /// Sectors that have to be written back.
    dirty: u8,
    last_use: u64,
}

/// A line that had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Line key, as it was inserted.
    pub line: u64,
    /// Sectors that have to be written back.
    pub dirty: u8,
}

/// Tag array over opaque line numbers (an address divided by the line size).
#[derive(Clone, Debug)]
pub struct Tags {
    ways: usize,
    sets: u64,
    lines: Vec<Line>,
    clock: u64,
}

impl Tags {
    /// An empty cache.
    #[must_use]
    pub fn new(sets: u32, ways: u32) -> Tags {
        let empty = Line { tag: u64::MAX, ..Line::default() };
        Tags {
            ways: ways as usize,
            sets: u64::from(sets),
            lines: vec![empty; (sets * ways) as usize],
            clock: 0,
        }
    }

    /// Forgets every line; dirty data are lost with it.
    pub fn clear(&mut self) {
        for line in &mut self.lines {
            *line = Line { tag: u64::MAX, ..Line::default() };
        }
    }

    #[inline]
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        // Folding the upper part in keeps power-of-two strides from meeting in one set.
        let index = (line ^ (line / self.sets)) % self.sets;
        let first = index as usize * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        let set = self.set(line);
        let first = set.start;
        self.lines[set].iter().position(|entry| entry.tag == line).map(|way| first + way)
    }

    /// Sectors of a line that can be read; a resident line becomes the most recently used.
    #[inline]
    pub fn probe(&mut self, line: u64) -> u8 {
        self.clock += 1;
        let clock = self.clock;
        match self.find(line) {
            Some(index) => {
                self.lines[index].last_use = clock;
                self.lines[index].valid
            }
            None => 0,
        }
    }

    /// Whether the line is resident, without touching its age.
    #[must_use]
    pub fn contains(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// What [`Tags::insert`] would evict for a line.
    #[must_use]
    pub fn victim(&self, line: u64) -> Option<Evicted> {
        if self.find(line).is_some() {
            return None;
        }
        let entry = &self.lines[self.oldest(line)];
        (entry.tag != u64::MAX).then_some(Evicted { line: entry.tag, dirty: entry.dirty })
    }

    fn oldest(&self, line: u64) -> usize {
        let set = self.set(line);
        set.min_by_key(
            |index| if self.lines[*index].tag == u64::MAX { 0 } else { self.lines[*index].last_use },
        )
        .expect("a set has at least one way")
    }

    /// Makes sectors readable and dirty, allocating the line if it is not resident.
    pub fn insert(&mut self, line: u64, valid: u8, dirty: u8) -> Option<Evicted> {
        self.clock += 1;
        let (index, evicted) = match self.find(line) {
            Some(index) => (index, None),
            None => {
                let evicted = self.victim(line);
                let index = self.oldest(line);
                self.lines[index] = Line { tag: line, ..Line::default() };
                (index, evicted)
            }
        };
        let entry = &mut self.lines[index];
        entry.valid |= valid;
        entry.dirty |= dirty;
        entry.last_use = self.clock;
        evicted
    }

    /// Drops a line.
    pub fn remove(&mut self, line: u64) {
        if let Some(index) = self.find(line) {
            self.lines[index] = Line { tag: u64::MAX, ..Line::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_leaves() {
        let mut tags = Tags::new(1, 2);
        assert_eq!(tags.insert(1, 0b1, 0), None);
        assert_eq!(tags.insert(2, 0b1, 0b1), None);
        assert_eq!(tags.probe(1), 0b1);
        assert_eq!(tags.insert(3, 0b1, 0), Some(Evicted { line: 2, dirty: 0b1 }));
        assert_eq!((tags.probe(1), tags.probe(2), tags.probe(3)), (0b1, 0, 0b1));
    }

    #[test]
    fn sectors_accumulate_and_removal_forgets_them() {
        let mut tags = Tags::new(4, 2);
        tags.insert(9, 0b0001, 0);
        tags.insert(9, 0b0100, 0b0100);
        assert_eq!(tags.probe(9), 0b0101);
        tags.remove(9);
        assert_eq!(tags.probe(9), 0);
        assert!(!tags.contains(9));
    }

    #[test]
    fn a_working_set_of_the_cache_size_stays() {
        let mut tags = Tags::new(8, 4);
        for round in 0..3 {
            for line in 0..32 {
                let hit = tags.probe(line) != 0;
                assert_eq!(hit, round > 0, "line {line} in round {round}");
                tags.insert(line, 0b1111, 0);
            }
        }
    }
}
