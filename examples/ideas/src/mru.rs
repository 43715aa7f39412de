//! Most recently used: evicts the line that was used last, so that the head of a stream stays when it is longer than the cache.

use std::ops::Range;
use warplab_technique::config::GpuConfig;
use warplab_technique::params;
use warplab_technique::policy::{Policy, PolicyInfo, Replace};

params! {
    /// `[policy.mru]`.
    pub struct Params {
        /// Whether a hit counts as a use; if not, the line that was placed last leaves.
        hits: bool = true;
    }
}

/// The state of a cache.
#[derive(Clone, Debug)]
pub struct Mru {
    params: Params,
    /// Time of each way's last use.
    touched: Vec<u64>,
    clock: u64,
}

impl Mru {
    fn touch(&mut self, way: usize) {
        self.clock += 1;
        self.touched[way] = self.clock;
    }
}

impl Policy for Mru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "mru",
        summary: "evicts the most recently used line",
        paper: "Chou and DeWitt, VLDB 1985",
        gpgpusim: &[],
    };
    type Params = Params;

    fn new(_: &GpuConfig, params: Params) -> Mru {
        Mru { params, touched: Vec::new(), clock: 0 }
    }
}

impl Replace for Mru {
    fn reset(&mut self, ways: usize) {
        self.touched = vec![0; ways];
    }

    fn used(&mut self, way: usize) {
        if self.params.hits {
            self.touch(way);
        }
    }

    fn placed(&mut self, _: Range<usize>, way: usize) {
        self.touch(way);
    }

    fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        set.filter(|way| may_leave(*way)).max_by_key(|way| self.touched[*way])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_was_used_last_leaves() {
        for hits in [true, false] {
            let mut mru = Mru { params: Params { hits }, touched: Vec::new(), clock: 0 };
            mru.reset(4);
            (0..4).for_each(|way| mru.placed(0..4, way));
            mru.used(1);
            assert_eq!(mru.victim(0..4, &|_| true), Some(if hits { 1 } else { 3 }));
            assert_eq!(mru.victim(0..4, &|way| way < 1), Some(0), "locked lines stay");
            assert_eq!(mru.victim(0..4, &|_| false), None);
        }
    }
}
