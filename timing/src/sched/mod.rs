//! Warp scheduling policies: which of a scheduler's ready warps issues.
//!
//! A policy sees masks of warp slots and the order in which warps were placed; it knows nothing of why a warp
//! is ready. A new policy is one variant here and one word in [`Policy`].

use crate::config::Policy;

/// One warp scheduler's state.
#[derive(Clone, Debug)]
pub struct WarpScheduler {
    policy: Policy,
    /// Warps of this scheduler in the order in which they were placed.
    by_age: Vec<u8>,
    /// The warp that issued last.
    last: Option<u8>,
    /// Two-level: the active set, its capacity, and the order of the pending warps.
    active: u64,
    active_capacity: u32,
    pending: Vec<u8>,
}

impl WarpScheduler {
    /// A scheduler without warps.
    #[must_use]
    pub fn new(policy: Policy, active_capacity: u32) -> WarpScheduler {
        WarpScheduler {
            policy,
            by_age: Vec::new(),
            last: None,
            active: 0,
            active_capacity,
            pending: Vec::new(),
        }
    }

    /// A warp has been placed.
    pub fn add(&mut self, warp: u8) {
        self.by_age.push(warp);
        self.pending.push(warp);
    }

    /// A warp has ended.
    pub fn remove(&mut self, warp: u8) {
        self.by_age.retain(|w| *w != warp);
        self.pending.retain(|w| *w != warp);
        self.active &= !(1 << warp);
        if self.last == Some(warp) {
            self.last = None;
        }
    }

    /// Two-level only: moves warps that wait long out of the active set and others in. True when it changed.
    pub fn rebalance(&mut self, long_waits: u64) -> bool {
        if self.policy != Policy::TwoLevel {
            return false;
        }
        let mut leaving = self.active & long_waits;
        let mut changed = false;
        while leaving != 0 {
            let warp = leaving.trailing_zeros() as u8;
            leaving &= leaving - 1;
            self.active &= !(1 << warp);
            self.pending.push(warp);
            changed = true;
        }
        while self.active.count_ones() < self.active_capacity {
            let Some(position) = self.pending.iter().position(|warp| long_waits >> warp & 1 == 0) else {
                break;
            };
            let warp = self.pending.remove(position);
            self.active |= 1 << warp;
            changed = true;
        }
        changed
    }

    /// Whether [`WarpScheduler::rebalance`] would change anything.
    #[must_use]
    pub fn would_rebalance(&self, long_waits: u64) -> bool {
        self.policy == Policy::TwoLevel
            && (self.active & long_waits != 0
                || self.active.count_ones() < self.active_capacity
                    && self.pending.iter().any(|warp| long_waits >> warp & 1 == 0))
    }

    /// Chooses among the ready warps.
    #[must_use]
    #[inline]
    pub fn pick(&self, ready: u64) -> Option<u8> {
        if ready == 0 {
            return None;
        }
        match self.policy {
            Policy::Lrr => Some(self.next_after_last(ready)),
            Policy::Gto => match self.last {
                Some(last) if ready >> last & 1 != 0 => Some(last),
                _ => self.oldest(ready),
            },
            Policy::Oldest => self.oldest(ready),
            Policy::TwoLevel => {
                let ready = ready & self.active;
                if ready == 0 { None } else { Some(self.next_after_last(ready)) }
            }
        }
    }

    /// Warps that the policy lets issue at all.
    #[must_use]
    #[inline]
    pub fn eligible(&self) -> u64 {
        if self.policy == Policy::TwoLevel { self.active } else { u64::MAX }
    }

    /// The active set of the two-level policy; empty under the others.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.active
    }

    /// A warp has issued.
    #[inline]
    pub fn issued(&mut self, warp: u8) {
        self.last = Some(warp);
    }

    fn next_after_last(&self, ready: u64) -> u8 {
        let start = self.last.map_or(0, |last| (u32::from(last) + 1) % 64);
        ((ready.rotate_right(start).trailing_zeros() + start) % 64) as u8
    }

    fn oldest(&self, ready: u64) -> Option<u8> {
        self.by_age.iter().copied().find(|warp| ready >> warp & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(policy: Policy, warps: &[u8]) -> WarpScheduler {
        let mut scheduler = WarpScheduler::new(policy, 2);
        for warp in warps {
            scheduler.add(*warp);
        }
        scheduler
    }

    fn run(scheduler: &mut WarpScheduler, ready: &[u64]) -> Vec<Option<u8>> {
        ready
            .iter()
            .map(|mask| {
                let pick = scheduler.pick(*mask);
                if let Some(warp) = pick {
                    scheduler.issued(warp);
                }
                pick
            })
            .collect()
    }

    #[test]
    fn lrr_goes_round_and_skips_those_that_are_not_ready() {
        let mut s = with(Policy::Lrr, &[0, 1, 2, 3]);
        let picks = run(&mut s, &[0b1111, 0b1111, 0b1001, 0b1111, 0, 0b0110]);
        assert_eq!(picks, [Some(0), Some(1), Some(3), Some(0), None, Some(1)]);
    }

    #[test]
    fn gto_stays_with_a_warp_and_then_takes_the_oldest() {
        let mut s = with(Policy::Gto, &[2, 0, 1]);
        let picks = run(&mut s, &[0b111, 0b111, 0b011, 0b111, 0b110, 0b111]);
        assert_eq!(picks, [Some(2), Some(2), Some(0), Some(0), Some(2), Some(2)]);
        s.remove(2);
        assert_eq!(run(&mut s, &[0b011]), [Some(0)]);
    }

    #[test]
    fn oldest_first_always_prefers_age() {
        let mut s = with(Policy::Oldest, &[3, 1, 2]);
        assert_eq!(run(&mut s, &[0b0110, 0b1110, 0b0110]), [Some(1), Some(3), Some(1)]);
    }

    #[test]
    fn two_level_issues_from_the_active_set_only() {
        let mut s = with(Policy::TwoLevel, &[0, 1, 2, 3]);
        assert!(s.rebalance(0));
        assert_eq!(run(&mut s, &[0b1111, 0b1111, 0b1100]), [Some(0), Some(1), None]);
        // Warp 0 waits for memory: warp 2 takes its place, warp 0 queues behind warp 3.
        assert!(s.rebalance(0b0001));
        assert_eq!(run(&mut s, &[0b1110, 0b1110, 0b1110]), [Some(2), Some(1), Some(2)]);
        assert!(!s.rebalance(0));
        assert!(s.rebalance(0b0110));
        assert_eq!(run(&mut s, &[0b1111, 0b1111]), [Some(3), Some(0)]);
    }
}
