//! Warp scheduling policies: which of a scheduler's ready warps issues.
//!
//! A policy sees masks of warp slots and the order in which warps were placed; it does not see why a warp is
//! ready. The interface is [`WarpPolicy`], which policies of other crates implement as well.

mod gto;
mod gty;
mod lrr;
mod oldest;
mod swl;
mod two_level;

use crate::config::GpuConfig;
use crate::policy::policies;
use warplab_technique::policy::{WarpPolicy, Warps};

pub(crate) use warplab_technique::policy::Waits;

policies! {
    $ call_policy,
    /// The policy of a scheduler.
    enum Chosen { lrr::Lrr, gto::Gto, gty::Gty, oldest::Oldest, two_level::TwoLevel, swl::Swl }
    further schedulers: Box<dyn WarpPolicy>
}

/// One warp scheduler's state.
#[derive(Clone, Debug)]
pub(crate) struct WarpScheduler {
    warps: Warps,
    policy: Chosen,
    /// The active set of `policy`; all warps under a policy without one.
    eligible: u64,
}

impl WarpScheduler {
    /// A scheduler without warps, of a checked configuration.
    ///
    /// # Panics
    /// If `scheduler.policy` names no policy.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> WarpScheduler {
        let policy = Chosen::named(config, &config.scheduler.policy).expect("the configuration was checked");
        let mut scheduler = WarpScheduler { warps: Warps::default(), policy, eligible: 0 };
        scheduler.note_active_set();
        scheduler
    }

    /// Adds a placed warp.
    pub(crate) fn add(&mut self, warp: u8) {
        self.warps.by_age.push(warp);
        call_policy!(&mut self.policy, policy => policy.added(warp));
        self.note_active_set();
    }

    /// Removes an ended warp.
    pub(crate) fn remove(&mut self, warp: u8) {
        self.warps.by_age.retain(|w| *w != warp);
        if self.warps.last == Some(warp) {
            self.warps.last = None;
        }
        call_policy!(&mut self.policy, policy => policy.removed(warp));
        self.note_active_set();
    }

    /// Updates the active set of a policy that has one, once per cycle. True when it changed.
    pub(crate) fn rebalance(&mut self, waits: &Waits) -> bool {
        let changed = call_policy!(&mut self.policy, policy => policy.rebalance(&self.warps, waits));
        self.note_active_set();
        changed
    }

    fn note_active_set(&mut self) {
        self.eligible = call_policy!(&self.policy, policy => policy.active()).unwrap_or(u64::MAX);
    }

    /// Whether [`WarpScheduler::rebalance`] would change anything.
    #[must_use]
    pub(crate) fn would_rebalance(&self, waits: &Waits) -> bool {
        call_policy!(&self.policy, policy => policy.would_rebalance(&self.warps, waits))
    }

    /// Whether warps that a technique stalls are replaced in the active set.
    #[must_use]
    pub(crate) fn replaces_held(&self) -> bool {
        call_policy!(&self.policy, policy => policy.replaces_held())
    }

    /// Chooses among the ready warps.
    #[must_use]
    #[inline]
    pub(crate) fn pick(&self, ready: u64) -> Option<u8> {
        if ready == 0 {
            return None;
        }
        call_policy!(&self.policy, policy => policy.pick(&self.warps, ready))
    }

    /// Warps that the policy allows to issue.
    #[must_use]
    #[inline]
    pub(crate) fn eligible(&self) -> u64 {
        self.eligible
    }

    /// Whether the policy has an active set.
    #[must_use]
    pub(crate) fn has_active_set(&self) -> bool {
        call_policy!(&self.policy, policy => policy.active()).is_some()
    }

    /// The active set; empty under policies without one.
    #[must_use]
    pub(crate) fn active(&self) -> u64 {
        call_policy!(&self.policy, policy => policy.active()).unwrap_or(0)
    }

    /// Notes that a warp has issued.
    #[inline]
    pub(crate) fn issued(&mut self, warp: u8) {
        self.warps.last = Some(warp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    /// A scheduler with a policy, some warps placed in that order, and an active set of two.
    pub(super) fn with(policy: &str, warps: &[u8]) -> WarpScheduler {
        let set = [format!("scheduler.policy={policy}"), "scheduler.two_level_active_warps=2".to_owned()];
        let mut scheduler = WarpScheduler::new(&load("gtx480", &set).expect("a configuration").config);
        for warp in warps {
            scheduler.add(*warp);
        }
        scheduler
    }

    /// Runs some cycles with given ready warps; returns the warp that issues in each.
    pub(super) fn run(scheduler: &mut WarpScheduler, ready: &[u64]) -> Vec<Option<u8>> {
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
    fn every_policy_picks_a_ready_warp_and_forgets_those_that_ended() {
        for row in POLICIES {
            let mut s = with(row.info.name, &[5, 9, 63]);
            for ready in [1 << 5 | 1 << 63, 1 << 9 | 1 << 63, 1 << 63, 1 << 5 | 1 << 9, u64::MAX] {
                s.rebalance(&Waits { ended: !(1 << 5 | 1 << 9 | 1 << 63), ..Waits::default() });
                let ready = ready & s.eligible() & (1 << 5 | 1 << 9 | 1 << 63);
                let pick = run(&mut s, &[ready])[0];
                assert_eq!(pick.is_some(), ready != 0, "{}", row.info.name);
                assert!(pick.is_none_or(|warp| ready >> warp & 1 != 0), "{}: {pick:?}", row.info.name);
            }
            for warp in [5, 9, 63] {
                s.remove(warp);
            }
            s.add(7);
            s.rebalance(&Waits { ended: !(1 << 7), ..Waits::default() });
            assert_eq!(s.pick(1 << 7), Some(7), "{}", row.info.name);
        }
    }
}
