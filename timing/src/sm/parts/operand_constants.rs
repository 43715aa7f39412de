//! The cache of the constants that arithmetic instructions name as operands, one in each sub-core of the organisation with
//! control bits (Huerta et al., MICRO 2025, sections 5.1.1 and 5.4). Loads of constants go to another cache.
//!
//! It is looked up at issue. After a miss the scheduler waits for the line; if it is not there some cycles later, other warps
//! may issue, and the warp that missed waits until it is. What a miss costs does not depend on where the line is [model].

use crate::config::SubCore;
use trace_format::isa::{Inst, Operand};

/// Place of a constant: bank and byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    bank: u8,
    offset: u16,
}

impl Place {
    /// The constant that an instruction names, if it names one.
    pub(super) fn of(inst: &Inst) -> Option<Place> {
        inst.src.iter().find_map(|src| match src.operand {
            Operand::Const { bank, offset } => Some(Place { bank, offset }),
            _ => None,
        })
    }
}

/// A line of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    bank: u8,
    number: u16,
}

/// The cache of one sub-core.
#[derive(Clone, Debug)]
pub(super) struct OperandConstants {
    /// By set: the lines, the latest used first.
    sets: Vec<Vec<Line>>,
    ways: usize,
    line_bytes: u16,
    /// Lines on their way, with the cycles in which they are there.
    coming: Vec<(Line, u64)>,
    /// Cycle before which the scheduler waits for a line.
    held_until: u64,
    miss_cycles: u64,
    hold_cycles: u64,
}

impl OperandConstants {
    pub(super) fn new(config: &SubCore) -> OperandConstants {
        OperandConstants {
            sets: vec![Vec::new(); config.constant_sets as usize],
            ways: config.constant_ways as usize,
            line_bytes: config.constant_line_bytes as u16,
            coming: Vec::new(),
            held_until: 0,
            miss_cycles: config.constant_miss_cycles.into(),
            hold_cycles: config.constant_hold_cycles.into(),
        }
    }

    fn line(&self, place: Place) -> Line {
        Line { bank: place.bank, number: place.offset / self.line_bytes }
    }

    /// Takes in the lines that have arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        if self.coming.is_empty() {
            return;
        }
        let mut index = 0;
        while let Some((line, at)) = self.coming.get(index).copied() {
            if at > now {
                index += 1;
                continue;
            }
            self.coming.remove(index);
            let set = usize::from(line.number) % self.sets.len();
            self.sets[set].truncate(self.ways - 1);
            self.sets[set].insert(0, line);
            self.held_until = self.held_until.min(now);
        }
    }

    /// Whether the scheduler waits for a line.
    #[inline]
    pub(super) fn holds(&self, now: u64) -> bool {
        self.held_until > now
    }

    /// Whether a constant is on its way.
    #[inline]
    pub(super) fn is_coming(&self, place: Place) -> bool {
        !self.coming.is_empty() && self.coming.iter().any(|(line, _)| *line == self.line(place))
    }

    /// Looks up the constant of an instruction that is about to issue; a miss asks for its line. Returns whether it is there.
    pub(super) fn look_up(&mut self, place: Place, now: u64) -> bool {
        let line = self.line(place);
        let set = usize::from(line.number) % self.sets.len();
        let set = &mut self.sets[set];
        if let Some(at) = set.iter().position(|kept| *kept == line) {
            set[..=at].rotate_right(1);
            return true;
        }
        if self.is_coming(place) {
            return false;
        }
        self.coming.push((line, now + self.miss_cycles));
        self.held_until = now + self.hold_cycles.min(self.miss_cycles);
        false
    }

    /// The next cycle in which it lets an instruction issue that it keeps now.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        let arrivals = self.coming.iter().map(|(_, at)| *at);
        arrivals.chain([self.held_until]).filter(|cycle| *cycle > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bank: u8, offset: u16) -> Place {
        Place { bank, offset }
    }

    #[test]
    fn a_miss_holds_the_scheduler_for_a_while_and_the_warp_until_the_line_is_there() {
        let mut cache = OperandConstants::new(&SubCore::default());
        assert!(!cache.look_up(at(0, 0x160), 100));
        assert!(cache.holds(103) && !cache.holds(104));
        assert!(cache.is_coming(at(0, 0x17C)), "a line of 64 bytes");
        assert!(!cache.is_coming(at(0, 0x180)) && !cache.is_coming(at(3, 0x160)));
        assert_eq!(cache.next_event(100), Some(104));
        assert_eq!(cache.next_event(104), Some(179));
        cache.advance(178);
        assert!(cache.is_coming(at(0, 0x160)));
        cache.advance(179);
        assert!(!cache.is_coming(at(0, 0x160)));
        assert!(cache.look_up(at(0, 0x17C), 179));
        assert_eq!(cache.next_event(179), None);
    }

    #[test]
    fn a_set_keeps_the_lines_that_were_used_last() {
        let mut cache = OperandConstants::new(&SubCore::default());
        let mut now = 0;
        let mut misses = |offset: u16| {
            now += 1000;
            cache.advance(now);
            let hit = cache.look_up(at(0, offset), now);
            cache.advance(now + 999);
            !hit
        };
        // Four sets of two lines of 64 bytes: 256 bytes further is the same set.
        assert!(misses(0) && misses(256) && !misses(0) && !misses(256));
        assert!(!misses(0), "the latest is kept");
        assert!(misses(512), "in place of that at 256");
        assert!(!misses(0) && misses(256));
        assert!(misses(64), "another set");
        assert!(!misses(256), "which takes nothing from this one");
    }

    #[test]
    fn a_line_that_arrives_early_ends_the_wait() {
        let mut config = SubCore::default();
        config.constant_miss_cycles = 2;
        let mut cache = OperandConstants::new(&config);
        assert!(!cache.look_up(at(0, 0), 10));
        cache.advance(11);
        assert!(cache.holds(11));
        cache.advance(12);
        assert!(!cache.holds(12) && cache.look_up(at(0, 0), 12));
    }
}
