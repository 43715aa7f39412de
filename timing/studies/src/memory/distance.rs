//! LRU stack distances: how many different lines were accessed since the last access to a line.
//!
//! Every line has the time of its last access; a Fenwick tree over times counts the lines whose last access
//! is later. Only lines whose hash ends in zero bits are followed, and counts are multiplied accordingly
//! (SHARDS); the number of bits grows when there would be too many lines.

use crate::open_map::OpenMap;
use crate::sample::Seen;
use crate::values::Digest;

/// Maximum number of lines followed.
const MOST_LINES: usize = 1 << 17;

/// Distances of the accesses of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct Distances {
    level: u32,
    /// Time of the last access by line.
    last: OpenMap<u32>,
    /// Fenwick tree: 1 at every time that is the last access of a line.
    tree: Vec<u32>,
    /// The next access's time, from 1.
    now: u32,
}

impl Distances {
    /// Clears all lines; one of 2^level lines is followed from now on.
    pub(super) fn clear(&mut self, level: u32) {
        self.level = level;
        self.last.clear();
        self.tree.clear();
        self.tree.resize(1024, 0);
        self.now = 1;
    }

    /// Records an access to a line: returns its distance (none for a first access) and the number of accesses
    /// that it represents; `None` for a line that is not followed.
    pub(super) fn access(&mut self, line: u64) -> Option<(Option<u64>, u64)> {
        if !is_followed(line, self.level) {
            return None;
        }
        if self.now as usize == self.tree.len() {
            self.compact();
        }
        let weight = 1u64 << self.level;
        let before = self.last.insert(line, self.now);
        let distance = before.map(|time| {
            let later = self.last.len() as u64 - self.up_to(time);
            self.add(time, u32::MAX);
            later * weight
        });
        self.add(self.now, 1);
        self.now += 1;
        if self.last.len() > MOST_LINES {
            self.level += 1;
            let level = self.level;
            self.last.retain(|line, _| is_followed(line, level));
            self.compact();
        }
        Some((distance, weight))
    }

    /// Lines whose last access is at or before a time.
    fn up_to(&self, time: u32) -> u64 {
        let (mut at, mut sum) = (time as usize, 0);
        while at > 0 {
            sum += u64::from(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Adds to a time, modulo 2^32.
    fn add(&mut self, time: u32, count: u32) {
        let mut at = time as usize;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(count);
            at += at & at.wrapping_neg();
        }
    }

    /// Renumbers the last accesses to 1, 2, … in their order, and makes room for as many more.
    fn compact(&mut self) {
        let mut order: Vec<(u32, u64)> = self.last.iter().map(|(line, time)| (time, line)).collect();
        order.sort_unstable();
        self.tree.clear();
        self.tree.resize((2 * order.len() + 2).max(1024), 0);
        for (time, (_, line)) in (1..).zip(&order) {
            self.last.insert(*line, time);
            self.add(time, 1);
        }
        self.now = order.len() as u32 + 1;
    }
}

/// Whether a line is one of those that are followed at a level.
#[inline]
fn is_followed(line: u64, level: u32) -> bool {
    level == 0 || Seen::keeps(Digest::default().then(Digest::of_word(line)), level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_an_lru_stack() {
        let mut distances = Distances::default();
        distances.clear(0);
        let mut stack: Vec<u64> = Vec::new();
        for i in 0..20_000u64 {
            let line = (i * i % 977) * (1 + i % 3);
            let place = stack.iter().rev().position(|&other| other == line);
            stack.retain(|&other| other != line);
            stack.push(line);
            assert_eq!(distances.access(line), Some((place.map(|place| place as u64), 1)), "access {i}");
        }
    }

    #[test]
    fn too_many_lines_are_sampled() {
        let mut distances = Distances::default();
        distances.clear(0);
        let lines = 4 * MOST_LINES as u64;
        let mut cold = 0;
        for line in 0..lines {
            cold += distances.access(line).map_or(0, |(_, weight)| weight);
        }
        assert!(distances.level >= 2 && cold.abs_diff(lines) < lines / 50, "{cold}");
        let mut sum = (0, 0);
        for line in 0..lines {
            if let Some((Some(distance), weight)) = distances.access(line) {
                sum = (sum.0 + distance * weight, sum.1 + weight);
            }
        }
        let mean = sum.0 / sum.1;
        assert!(mean.abs_diff(lines) < lines / 50, "{mean}");
    }
}
