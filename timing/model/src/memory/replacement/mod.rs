//! Cache replacement: chooses the evicted line of a full set.
//!
//! A policy keeps what it needs per way, all sets in a row; tags, sectors and locks are handled by
//! [`super::cache`]. The interface is [`Replace`], which policies of other crates implement as well.

mod fifo;
mod lru;
mod srrip;

use crate::config::GpuConfig;
use crate::policy::policies;
use std::ops::Range;
use warplab_technique::policy::Replace;

policies! {
    $ call_policy,
    /// The policy of a cache.
    enum Chosen { lru::Lru, fifo::Fifo, srrip::Srrip }
    further replacement: Box<dyn Replace>
}

/// Replacement in one cache.
#[derive(Clone, Debug)]
pub(crate) struct Replacement(Chosen);

impl Replacement {
    /// The policy with a name, for a checked configuration.
    ///
    /// # Panics
    /// If no policy has that name.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, name: &str) -> Replacement {
        Replacement(Chosen::named(config, name).expect("the configuration was checked"))
    }

    pub(super) fn reset(&mut self, ways: usize) {
        call_policy!(&mut self.0, policy => policy.reset(ways));
    }

    #[inline]
    pub(super) fn used(&mut self, way: usize) {
        call_policy!(&mut self.0, policy => policy.used(way));
    }

    #[inline]
    pub(super) fn placed(&mut self, set: Range<usize>, way: usize) {
        call_policy!(&mut self.0, policy => policy.placed(set, way));
    }

    #[inline]
    pub(super) fn filled(&mut self, way: usize) {
        call_policy!(&mut self.0, policy => policy.filled(way));
    }

    #[inline]
    pub(super) fn victim(&self, set: Range<usize>, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        call_policy!(&self.0, policy => policy.victim(set, &may_leave))
    }

    #[inline]
    pub(super) fn evicted(&mut self, set: Range<usize>, way: usize) {
        call_policy!(&mut self.0, policy => policy.evicted(set, way));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SetHash, load};
    use crate::memory::cache::Tags;

    /// A cache of one set under a policy.
    pub(super) fn one_set(policy: &str, ways: u32) -> Tags {
        let config = load("gtx480", &[]).expect("built-in").config;
        Tags::new(1, ways, SetHash::Linear, Replacement::new(&config, policy))
    }

    /// Loads lines one after the other; returns the line that each evicts.
    pub(super) fn load_lines(tags: &mut Tags, lines: &[u64]) -> Vec<Option<u64>> {
        let load = |line: &u64| match tags.probe(*line) {
            0 => tags.insert(*line, 1, 0).map(|evicted| evicted.line),
            _ => None,
        };
        lines.iter().map(load).collect()
    }

    #[test]
    fn every_policy_fills_empty_ways_first_and_lets_one_of_the_set_leave() {
        for row in POLICIES {
            let name = row.info.name;
            let mut tags = one_set(name, 4);
            assert_eq!(load_lines(&mut tags, &[1, 2, 3, 4, 1, 2, 3, 4]), [None; 8], "{name}");
            for line in 5..200 {
                let victim = tags.victim(line);
                let evicted = tags.insert(line, 1, 0);
                assert_eq!(victim, evicted, "{name}: the question and what happens differ");
                assert!(evicted.is_some_and(|evicted| !tags.contains(evicted.line)), "{name}");
            }
            let locked = (1..200).find(|line| tags.lock(*line)).expect("a line is there");
            load_lines(&mut tags, &(200..300).collect::<Vec<_>>());
            assert!(tags.contains(locked), "{name}: a locked line leaves");
            tags.clear();
            assert_eq!(load_lines(&mut tags, &[1, 2, 3, 4]), [None; 4], "{name}");
        }
    }
}
