//! What a group of kernels has counted: kernel by kernel, and together.

use crate::stats::Stats;
use crate::view::{Recording, Series};

/// What one kernel has counted.
#[derive(Clone, Debug, Default)]
pub struct JobOutcome {
    /// Statistics; without those of L2 and DRAM where kernels ran together, because these serve all of them.
    pub stats: Stats,
    /// By SM, where asked for.
    pub per_sm: Vec<Stats>,
    /// What observed SMs have recorded, by SM.
    pub recordings: Vec<Recording>,
    /// Cycle of the launch, since the beginning of the replay.
    pub launched_at: u64,
    /// Cycle after the end of the last block.
    pub ended_at: u64,
}

/// What a group of kernels has counted.
#[derive(Clone, Debug, Default)]
pub struct GroupOutcome {
    /// The kernels in order.
    pub jobs: Vec<JobOutcome>,
    /// All together; cycles are those from the first launch to the last end.
    pub total: Stats,
    /// Samples of the counters, where asked for.
    pub series: Option<Series>,
    /// Cycle of the first launch, since the beginning of the replay.
    pub launched_at: u64,
}
