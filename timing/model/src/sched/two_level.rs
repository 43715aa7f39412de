//! Two-level scheduling: round robin over a small active set; warps that wait for long leave it and queue.

use crate::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, Waits, WarpPolicy, Warps};

#[derive(Clone, Debug)]
pub(super) struct TwoLevel {
    active: u64,
    capacity: u32,
    /// Warps outside the active set, in the order in which they enter it.
    pending: Vec<u8>,
}

impl Policy for TwoLevel {
    const INFO: PolicyInfo = PolicyInfo {
        name: "two_level",
        summary: "round robin over `scheduler.two_level_active_warps` warps; those that wait for long leave that set",
        paper: "Gebhart et al., ISCA 2011",
        gpgpusim: &["two_level_active"],
    };
    type Params = NoParams;

    fn new(config: &GpuConfig, _: NoParams) -> TwoLevel {
        TwoLevel { active: 0, capacity: config.scheduler.two_level_active_warps, pending: Vec::new() }
    }
}

impl WarpPolicy for TwoLevel {
    fn replaces_held(&self) -> bool {
        true
    }

    fn added(&mut self, warp: u8) {
        self.pending.push(warp);
    }

    fn removed(&mut self, warp: u8) {
        self.pending.retain(|w| *w != warp);
        self.active &= !(1 << warp);
    }

    fn rebalance(&mut self, _: &Warps, waits: &Waits) -> bool {
        let long = waits.any();
        let mut leaving = self.active & long;
        let mut changed = false;
        while leaving != 0 {
            let warp = leaving.trailing_zeros() as u8;
            leaving &= leaving - 1;
            self.active &= !(1 << warp);
            self.pending.push(warp);
            changed = true;
        }
        while self.active.count_ones() < self.capacity {
            let Some(position) = self.pending.iter().position(|warp| long >> warp & 1 == 0) else {
                break;
            };
            let warp = self.pending.remove(position);
            self.active |= 1 << warp;
            changed = true;
        }
        changed
    }

    fn would_rebalance(&self, _: &Warps, waits: &Waits) -> bool {
        let long = waits.any();
        self.active & long != 0
            || self.active.count_ones() < self.capacity
                && self.pending.iter().any(|warp| long >> warp & 1 == 0)
    }

    #[inline]
    fn active(&self) -> Option<u64> {
        Some(self.active)
    }

    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.next_after_last(ready & self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::tests::{run, with};

    #[test]
    fn it_issues_from_the_active_set_only() {
        let waits = |memory| Waits { memory, ..Waits::default() };
        let mut s = with("two_level", &[0, 1, 2, 3]);
        assert!(s.rebalance(&waits(0)));
        assert_eq!(run(&mut s, &[0b1111, 0b1111, 0b1100]), [Some(0), Some(1), None]);
        // Warp 0 waits for memory: warp 2 takes its place, warp 0 queues behind warp 3.
        assert!(s.rebalance(&waits(0b0001)));
        assert_eq!(run(&mut s, &[0b1110, 0b1110, 0b1110]), [Some(2), Some(1), Some(2)]);
        assert!(!s.rebalance(&waits(0)));
        assert!(s.rebalance(&waits(0b0110)));
        assert_eq!(run(&mut s, &[0b1111, 0b1111]), [Some(3), Some(0)]);
    }
}
