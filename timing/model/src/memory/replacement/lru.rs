//! Least recently used: evicts the line whose last use is longest ago.

use crate::config::GpuConfig;
use std::ops::Range;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, Replace};

#[derive(Clone, Debug)]
pub(super) struct Lru {
    /// Time of each way's last use.
    touched: Vec<u64>,
    clock: u64,
}

impl Policy for Lru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lru",
        summary: "evicts the least recently used line",
        paper: "Mattson et al., IBM Systems Journal 1970",
        gpgpusim: &["L"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Lru {
        Lru { touched: Vec::new(), clock: 0 }
    }
}

impl Replace for Lru {
    fn reset(&mut self, ways: usize) {
        self.touched = vec![0; ways];
    }

    #[inline]
    fn used(&mut self, way: usize) {
        self.clock += 1;
        self.touched[way] = self.clock;
    }

    #[inline]
    fn placed(&mut self, _: Range<usize>, way: usize) {
        self.used(way);
    }

    #[inline]
    fn filled(&mut self, way: usize) {
        self.used(way);
    }

    #[inline]
    fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        let touched = &self.touched[set.clone()];
        let candidates = set.zip(touched).filter(|(way, _)| may_leave(*way));
        candidates.min_by_key(|(_, touched)| **touched).map(|(way, _)| way)
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::replacement::tests::{load_lines, one_set};

    #[test]
    fn the_line_that_was_touched_longest_ago_leaves() {
        let mut tags = one_set("lru", 3);
        assert_eq!(
            load_lines(&mut tags, &[1, 2, 3, 1, 4, 1, 5]),
            [None, None, None, None, Some(2), None, Some(3)]
        );
    }
}
