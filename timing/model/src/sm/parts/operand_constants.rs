//! The cache of the constants that arithmetic instructions name as operands, one in each sub-core of the organisation with
//! control bits (Huerta et al., MICRO 2025, sections 5.1.1 and 5.4). Loads of constants go to another cache.
//!
//! It is looked up at issue. After a miss the scheduler waits for the line; if it is not there some cycles later, other warps
//! may issue, and the warp that missed waits until it is. What a miss costs does not depend on where the line is [model].

use crate::config::{GpuConfig, SetHash};
use crate::memory::cache::Tags;
use crate::memory::replacement::Replacement;
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

/// The cache of one sub-core.
#[derive(Clone, Debug)]
pub(super) struct OperandConstants {
    tags: Tags,
    line_bytes: u64,
    /// Lines on their way, with the cycles in which they are there.
    coming: Vec<(u64, u64)>,
    /// Cycle before which the scheduler waits for a line.
    held_until: u64,
    miss_cycles: u64,
    hold_cycles: u64,
}

impl OperandConstants {
    pub(super) fn new(config: &GpuConfig) -> OperandConstants {
        let core = &config.sub_core;
        let replacement = Replacement::new(config, "lru");
        OperandConstants {
            tags: Tags::new(core.constant_sets, core.constant_ways, SetHash::Linear, replacement),
            line_bytes: core.constant_line_bytes.into(),
            coming: Vec::new(),
            held_until: 0,
            miss_cycles: core.constant_miss_cycles.into(),
            hold_cycles: core.constant_hold_cycles.into(),
        }
    }

    /// The line of a constant: banks follow each other.
    fn line(&self, place: Place) -> u64 {
        (u64::from(place.bank) << 16 | u64::from(place.offset)) / self.line_bytes
    }

    /// Takes in the lines that have arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        if self.coming.is_empty() {
            return;
        }
        let OperandConstants { tags, coming, held_until, .. } = self;
        coming.retain(|(line, at)| {
            let has_arrived = *at <= now;
            if has_arrived {
                tags.insert(*line, 1, 0);
                *held_until = (*held_until).min(now);
            }
            !has_arrived
        });
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
        if self.tags.probe(line) != 0 {
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
    use crate::testing::config;

    fn cache(set: &[&str]) -> OperandConstants {
        OperandConstants::new(&config("rtxa6000", set))
    }

    fn at(bank: u8, offset: u16) -> Place {
        Place { bank, offset }
    }

    #[test]
    fn a_miss_holds_the_scheduler_for_a_while_and_the_warp_until_the_line_is_there() {
        let mut cache = cache(&[]);
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
        let mut cache = cache(&[]);
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
        let mut cache = cache(&["sub_core.constant_miss_cycles=2"]);
        assert!(!cache.look_up(at(0, 0), 10));
        cache.advance(11);
        assert!(cache.holds(11));
        cache.advance(12);
        assert!(!cache.holds(12) && cache.look_up(at(0, 0), 12));
    }
}
