//! The interface of warp scheduling policies, and the state that they see.

use std::fmt;

/// Warps of an SM that cannot issue for long, by what they wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// For a result from memory.
    pub memory: u64,
    /// At a barrier or a fence.
    pub synchronisation: u64,
    /// For a technique that stalls their fetch, or their issue if the policy
    /// [replaces](WarpPolicy::replaces_held) such warps.
    pub held: u64,
    /// Warps that have ended, and slots without a warp.
    pub ended: u64,
}

impl Waits {
    /// Warps that wait for any reason.
    #[must_use]
    #[inline]
    pub fn any(&self) -> u64 {
        self.memory | self.synchronisation | self.held | self.ended
    }
}

/// The state that every policy sees: the warps of its scheduler.
#[derive(Clone, Debug, Default)]
pub struct Warps {
    /// Warps in order of placement.
    pub by_age: Vec<u8>,
    /// The warp that issued last.
    pub last: Option<u8>,
}

impl Warps {
    /// The first ready warp after the one that issued last, by slot number.
    #[must_use]
    #[inline]
    pub fn next_after_last(&self, ready: u64) -> Option<u8> {
        let start = self.last.map_or(0, |last| (u32::from(last) + 1) % 64);
        (ready != 0).then(|| ((ready.rotate_right(start).trailing_zeros() + start) % 64) as u8)
    }

    /// The ready warp that was placed first.
    #[must_use]
    #[inline]
    pub fn oldest(&self, ready: u64) -> Option<u8> {
        self.by_age.iter().copied().find(|warp| ready >> warp & 1 != 0)
    }

    /// The ready warp that was placed last.
    #[must_use]
    #[inline]
    pub fn youngest(&self, ready: u64) -> Option<u8> {
        self.by_age.iter().rev().copied().find(|warp| ready >> warp & 1 != 0)
    }

    /// The warp that issued last, if it is ready.
    #[must_use]
    #[inline]
    pub fn same(&self, ready: u64) -> Option<u8> {
        self.last.filter(|last| ready >> last & 1 != 0)
    }

    /// The warp that issued last if it is ready, else the oldest ready warp.
    #[must_use]
    #[inline]
    pub fn same_or_oldest(&self, ready: u64) -> Option<u8> {
        self.same(ready).or_else(|| self.oldest(ready))
    }
}

/// A warp scheduling policy. One value schedules the warps of one scheduler of an SM.
///
/// Warps are numbered by their slot in the SM, below 64; sets of warps are masks of slots.
pub trait WarpPolicy: ForkWarpPolicy + fmt::Debug + Send + Sync {
    /// Whether warps that a technique stalls are replaced in the active set.
    fn replaces_held(&self) -> bool {
        false
    }

    /// Called when a warp has been placed.
    fn added(&mut self, _warp: u8) {}

    /// Called when a warp has ended.
    fn removed(&mut self, _warp: u8) {}

    /// Called once per cycle: updates the active set; true when it changed.
    fn rebalance(&mut self, _warps: &Warps, _waits: &Waits) -> bool {
        false
    }

    /// Whether [`WarpPolicy::rebalance`] would change anything.
    fn would_rebalance(&self, _warps: &Warps, _waits: &Waits) -> bool {
        false
    }

    /// The warps that may issue; none if all may.
    #[inline]
    fn active(&self) -> Option<u64> {
        None
    }

    /// Chooses among ready warps, of which there is at least one.
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8>;
}

/// Copies a policy for another scheduler; every policy that is `Clone` does.
pub trait ForkWarpPolicy {
    /// A copy.
    fn fork(&self) -> Box<dyn WarpPolicy>;
}

impl<P: WarpPolicy + Clone + 'static> ForkWarpPolicy for P {
    fn fork(&self) -> Box<dyn WarpPolicy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn WarpPolicy> {
    fn clone(&self) -> Box<dyn WarpPolicy> {
        (**self).fork()
    }
}
