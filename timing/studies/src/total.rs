//! Counts of every instruction that the pass keeps for all studies: executions and lanes.

use super::setting::Decoded;

/// Counts of one instruction, summed over its executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// Executions by all lanes of a warp that has all of them.
    full: u64,
    /// All other executions.
    other: u64,
    /// Lanes that hold threads, in these other executions.
    launched: u64,
    /// Lanes on the path.
    active: u64,
    /// Lanes in which the guard held.
    exec: u64,
    diverged: u64,
    /// Executions in which the guard held in no lane.
    idle: u64,
}

impl Total {
    /// An execution.
    #[inline(always)]
    pub(crate) fn count(&mut self, inst: &Decoded, launched: u32, active: u32, exec: u32) {
        if exec == u32::MAX {
            self.full += 1;
        } else {
            self.count_other(inst, launched, active, exec);
        }
    }

    #[inline(never)]
    fn count_other(&mut self, inst: &Decoded, launched: u32, active: u32, exec: u32) {
        self.other += 1;
        self.launched += u64::from(launched.count_ones());
        self.active += u64::from(active.count_ones());
        self.exec += u64::from(exec.count_ones());
        let effective = if inst.control { active } else { exec };
        self.diverged += u64::from(effective != launched);
        self.idle += u64::from(exec == 0);
    }

    /// Adds another thread's counts.
    pub(crate) fn add(&mut self, other: &Total) {
        self.full += other.full;
        self.other += other.other;
        self.launched += other.launched;
        self.active += other.active;
        self.exec += other.exec;
        self.diverged += other.diverged;
        self.idle += other.idle;
    }

    /// Warp instructions.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.full + self.other
    }

    /// Instructions that all 32 lanes executed.
    #[must_use]
    pub const fn full(&self) -> u64 {
        self.full
    }

    /// Instructions whose guard was true in at least one lane.
    #[must_use]
    pub const fn in_effect(&self) -> u64 {
        self.executed() - self.idle
    }

    /// Instructions that did not take effect in every launched lane.
    #[must_use]
    pub const fn diverged(&self) -> u64 {
        self.diverged
    }

    /// Lanes that hold threads.
    #[must_use]
    pub const fn launched_lanes(&self) -> u64 {
        32 * self.full + self.launched
    }

    /// Lanes on the path.
    #[must_use]
    pub const fn active_lanes(&self) -> u64 {
        32 * self.full + self.active
    }

    /// Lanes in which the guard held.
    #[must_use]
    pub const fn exec_lanes(&self) -> u64 {
        32 * self.full + self.exec
    }
}
