//! Allocates ranges of numbers: addresses, or offsets in a file. It takes the smallest hole that fits, the
//! lowest of several, so that results depend only on the order of calls. A call takes time that grows with
//! the logarithm of the number of holes.

use std::collections::{BTreeMap, BTreeSet};

/// Holes in a range.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Start and length.
    holes: BTreeMap<u64, u64>,
    /// Length and start.
    by_length: BTreeSet<(u64, u64)>,
}

impl Ranges {
    /// A range, all of which is free.
    #[must_use]
    pub(crate) fn new(start: u64, length: u64) -> Ranges {
        let mut ranges = Ranges::default();
        ranges.insert(start, length);
        ranges
    }

    fn insert(&mut self, start: u64, length: u64) {
        if length > 0 {
            self.holes.insert(start, length);
            self.by_length.insert((length, start));
        }
    }

    fn remove(&mut self, start: u64, length: u64) {
        self.holes.remove(&start);
        self.by_length.remove(&(length, start));
    }

    /// Takes a range; `None` when no hole is so long.
    pub(crate) fn take(&mut self, length: u64) -> Option<u64> {
        let &(room, start) = self.by_length.range((length, 0)..).next()?;
        self.remove(start, room);
        self.insert(start + length, room - length);
        Some(start)
    }

    /// Gives a range back that was taken.
    pub(crate) fn give(&mut self, mut start: u64, mut length: u64) {
        if let Some((&before, &room)) = self.holes.range(..start).next_back()
            && before + room == start
        {
            self.remove(before, room);
            (start, length) = (before, room + length);
        }
        if let Some(&room) = self.holes.get(&(start + length)) {
            self.remove(start + length, room);
            length += room;
        }
        self.insert(start, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_taken_and_join() {
        let mut ranges = Ranges::new(100, 100);
        let [a, b, c] = [10, 20, 30].map(|n| ranges.take(n).unwrap());
        assert_eq!([a, b, c], [100, 110, 130]);
        assert_eq!(ranges.take(41), None);
        ranges.give(b, 20);
        assert_eq!(ranges.take(21), Some(160), "the hole is too small");
        assert_eq!(ranges.take(20), Some(b), "the smallest that fits");
        ranges.give(160, 21);
        ranges.give(a, 10);
        ranges.give(c, 30);
        ranges.give(b, 20);
        assert_eq!(ranges.take(100), Some(100), "all joined");
        assert_eq!((ranges.take(1), ranges.take(0)), (None, None));
    }
}
