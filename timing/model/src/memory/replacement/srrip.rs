//! Static re-reference interval prediction: a line is predicted to be reused soon only after its first reuse.

use crate::config::GpuConfig;
use std::ops::Range;
use warplab_technique::params;
use warplab_technique::policy::{Policy, PolicyInfo, Replace};

params! {
    /// `[policy.srrip]`.
    pub struct Params {
        /// Bits of a line's prediction.
        bits: u32 = 2, 1..=7;
    }
}

#[derive(Clone, Debug)]
pub(super) struct Srrip {
    /// Predicted reuse of each way: 0 is immediate, `distant` is never.
    predicted: Vec<u8>,
    distant: u8,
}

impl Policy for Srrip {
    const INFO: PolicyInfo = PolicyInfo {
        name: "srrip",
        summary: "re-reference interval prediction: evicts new lines before lines that were used again",
        paper: "Jaleel et al., ISCA 2010 (SRRIP with hit priority)",
        gpgpusim: &[],
    };
    type Params = Params;

    fn new(_: &GpuConfig, params: Params) -> Srrip {
        Srrip { predicted: Vec::new(), distant: ((1u32 << params.bits) - 1) as u8 }
    }
}

impl Replace for Srrip {
    fn reset(&mut self, ways: usize) {
        self.predicted = vec![self.distant; ways];
    }

    #[inline]
    fn used(&mut self, way: usize) {
        self.predicted[way] = 0;
    }

    #[inline]
    fn placed(&mut self, _: Range<usize>, way: usize) {
        self.predicted[way] = self.distant - 1;
    }

    #[inline]
    fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        // The first of the lines with the most distant prediction: it would reach `distant` first if all
        // aged.
        let farthest = set.clone().filter(|way| may_leave(*way)).map(|way| self.predicted[way]).max()?;
        set.into_iter().find(|way| may_leave(*way) && self.predicted[*way] == farthest)
    }

    fn evicted(&mut self, set: Range<usize>, way: usize) {
        let older = self.distant - self.predicted[way];
        for predicted in &mut self.predicted[set] {
            *predicted = (*predicted + older).min(self.distant);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::replacement::tests::{load_lines, one_set};

    #[test]
    fn lines_that_were_used_again_outlast_a_scan() {
        let mut tags = one_set("srrip", 4);
        load_lines(&mut tags, &[1, 2, 2, 1, 10, 11, 12, 13]);
        assert!(tags.contains(1) && tags.contains(2));
        assert_eq!(load_lines(&mut tags, &[1, 2]), [None, None]);
        // A longer scan ages them until they are evicted too.
        load_lines(&mut tags, &[20, 21, 22, 23, 24, 25, 26]);
        assert!(!tags.contains(1) && !tags.contains(2));
    }

    #[test]
    fn the_line_predicted_farthest_leaves_and_the_others_age() {
        let mut tags = one_set("srrip", 2);
        // 1 is at 2 and 2 at 0: 1 leaves, 2 ages by one to 1.
        assert_eq!(load_lines(&mut tags, &[1, 2, 2, 3]), [None, None, None, Some(1)]);
        // 3 at 2 leaves, 2 ages to 2; then both are at 2, and the first way's line leaves.
        assert_eq!(load_lines(&mut tags, &[4, 5]), [Some(3), Some(4)]);
    }
}
