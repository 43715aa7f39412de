//! First in, first out: evicts the line that was placed first, however often it is used.

use crate::config::GpuConfig;
use std::ops::Range;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, Replace};

#[derive(Clone, Debug)]
pub(super) struct Fifo {
    /// When the line of each way was placed.
    placed: Vec<u64>,
    clock: u64,
}

impl Policy for Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        summary: "evicts the line that was placed first",
        paper: "Mattson et al., IBM Systems Journal 1970",
        gpgpusim: &["F"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Fifo {
        Fifo { placed: Vec::new(), clock: 0 }
    }
}

impl Replace for Fifo {
    fn reset(&mut self, ways: usize) {
        self.placed = vec![0; ways];
    }

    #[inline]
    fn used(&mut self, _: usize) {}

    #[inline]
    fn placed(&mut self, _: Range<usize>, way: usize) {
        self.clock += 1;
        self.placed[way] = self.clock;
    }

    #[inline]
    fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        set.filter(|way| may_leave(*way)).min_by_key(|way| self.placed[*way])
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::replacement::tests::{load_lines, one_set};

    #[test]
    fn use_does_not_keep_a_line() {
        let mut tags = one_set("fifo", 2);
        assert_eq!(load_lines(&mut tags, &[1, 2, 1, 3, 1]), [None, None, None, Some(1), Some(2)]);
    }
}
