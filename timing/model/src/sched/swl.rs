//! Static wavefront limiting: greedy-then-oldest over the oldest warps alone, so that fewer warps share the
//! L1.
//!
//! Warps that wait at a barrier or a fence, or for a technique, do not count towards the limit: the warps
//! that they wait for may be younger.

use crate::config::GpuConfig;
use warplab_technique::params;
use warplab_technique::policy::{Policy, PolicyInfo, Waits, WarpPolicy, Warps};

params! {
    /// `[policy.swl]`.
    pub struct Params {
        /// Warps of a scheduler that may issue.
        warps: u32 = 8, 1..=64;
    }
}

#[derive(Clone, Debug)]
pub(super) struct Swl {
    active: u64,
    limit: usize,
}

impl Swl {
    fn among(&self, warps: &Warps, waits: &Waits) -> u64 {
        let counted = |warp: &&u8| (waits.synchronisation | waits.held | waits.ended) >> **warp & 1 == 0;
        warps.by_age.iter().filter(counted).take(self.limit).fold(0, |set, warp| set | 1 << warp)
    }
}

impl Policy for Swl {
    const INFO: PolicyInfo = PolicyInfo {
        name: "swl",
        summary: "static wavefront limiting: greedy, then oldest among the oldest warps of a fixed number",
        paper: "Rogers et al., MICRO 2012",
        gpgpusim: &[],
    };
    type Params = Params;

    fn new(_: &GpuConfig, params: Params) -> Swl {
        Swl { active: 0, limit: params.warps as usize }
    }
}

impl WarpPolicy for Swl {
    fn replaces_held(&self) -> bool {
        true
    }

    fn removed(&mut self, warp: u8) {
        self.active &= !(1 << warp);
    }

    fn rebalance(&mut self, warps: &Warps, waits: &Waits) -> bool {
        let active = self.among(warps, waits);
        std::mem::replace(&mut self.active, active) != active
    }

    fn would_rebalance(&self, warps: &Warps, waits: &Waits) -> bool {
        self.among(warps, waits) != self.active
    }

    #[inline]
    fn active(&self) -> Option<u64> {
        Some(self.active)
    }

    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.same_or_oldest(ready & self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::sched::WarpScheduler;
    use crate::sched::tests::run;

    #[test]
    fn only_the_oldest_issue_and_those_at_a_barrier_make_room() {
        let set = ["scheduler.policy=swl".to_owned(), "policy.swl.warps=2".to_owned()];
        let mut s = WarpScheduler::new(&load("gtx480", &set).expect("a configuration").config);
        for warp in [3, 0, 1, 2] {
            s.add(warp);
        }
        assert!(s.rebalance(&Waits::default()));
        assert_eq!(
            run(&mut s, &[0b1111, 0b1111, 0b0111, 0b1001, 0b0110]),
            [Some(3), Some(3), Some(0), Some(0), None]
        );
        // A warp that waits for memory stays in the set, one that waits at a barrier does not.
        assert!(!s.rebalance(&Waits { memory: 0b1001, ..Waits::default() }));
        assert!(s.rebalance(&Waits { synchronisation: 0b1000, ..Waits::default() }));
        assert_eq!(run(&mut s, &[0b0111, 0b0110]), [Some(0), Some(1)]);
        assert!(s.rebalance(&Waits::default()));
        assert_eq!(run(&mut s, &[0b1110]), [Some(3)]);
        s.remove(3);
        assert!(s.rebalance(&Waits::default()));
        assert_eq!(run(&mut s, &[0b0110]), [Some(1)]);
    }
}
