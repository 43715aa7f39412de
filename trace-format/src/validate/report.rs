//! The report of a check, and its progress.

use std::sync::atomic::AtomicU64;

/// Maximum number of listed problems; the others are only counted.
pub const MAX_PROBLEMS: usize = 100;

/// A problem of a trace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// Section, frame, launch, block, warp and step, as far as they apply.
    pub place: String,
    /// Description.
    pub what: String,
}

/// Result of the check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Problems in file order, at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Total number of problems.
    pub problem_count: u64,
    /// Records read, frames included.
    pub records: u64,
    /// Frames unpacked.
    pub frames: u64,
    /// Thread blocks regenerated.
    pub blocks: u64,
    /// Warps regenerated.
    pub warps: u64,
    /// Warp instructions regenerated.
    pub warp_instructions: u64,
    /// Thread instructions regenerated.
    pub thread_instructions: u64,
}

impl Report {
    /// Whether there are no problems.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    pub(super) fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { place: place.into(), what: what.into() });
        }
    }

    pub(super) fn merge(&mut self, other: Report) {
        self.problem_count += other.problem_count;
        self.problems.extend(other.problems);
        self.blocks += other.blocks;
        self.warps += other.warps;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
    }
}

/// Progress of the check.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Warp instructions regenerated so far.
    pub done: AtomicU64,
    /// Warp instructions in the trace.
    pub total: AtomicU64,
}
