//! Statistics of a group of kernels: of each kernel, and of all together.

use crate::observe::Recording;
use crate::stats::{Series, Stats};

/// Statistics of one kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobOutcome {
    /// Statistics; without those of L2 and DRAM where kernels ran together, because these serve all of them.
    pub stats: Stats,
    /// Statistics of each SM, if requested.
    pub per_sm: Vec<Stats>,
    /// Recordings of observed SMs, by SM.
    pub recordings: Vec<Recording>,
    /// Cycle of the launch, since the beginning of the replay.
    pub launched_at: u64,
    /// Cycle after the end of the last block.
    pub ended_at: u64,
}

/// Statistics of a group of kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupOutcome {
    /// The kernels in order.
    pub jobs: Vec<JobOutcome>,
    /// Sum over the kernels; cycles run from the first launch to the last end.
    pub total: Stats,
    /// Samples of the counters, if requested.
    pub series: Option<Series>,
}
