//! The kernels that the engine is given to run, and the options of a run.

#[cfg(test)]
use super::disorder::Disorder;
use crate::observe::ViewOptions;
use crate::sm::Machine;
use crate::techniques::Stack;

/// Cycles without an issue or a placed block after which the machine counts as stuck.
pub(super) const STUCK_CYCLES: u64 = 1_000_000;

/// Progress of a group of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Blocks placed so far.
    pub blocks_placed: u64,
    /// Blocks of all grids.
    pub blocks: u64,
    /// Cycles since the launch.
    pub cycles: u64,
}

/// How to run a kernel.
pub(crate) struct RunOptions<'a> {
    /// Maximum number of host threads, at least 1; no more are used than SMs get blocks.
    pub threads: usize,
    /// Maximum number of cycles; a longer run is an error.
    pub max_cycles: Option<u64>,
    /// Simulates every cycle instead of skipping idle ones: slower, same result.
    pub every_cycle: bool,
    /// Called periodically.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Views to record for observed sources.
    pub view: ViewOptions,
    /// Whether to keep the statistics of each SM besides their sum.
    pub per_sm: bool,
    /// First cycle at which the crossbar loses replies, for tests.
    #[cfg(test)]
    pub lose_replies_from: Option<u64>,
    /// Disturbances of the threads, for tests.
    #[cfg(test)]
    pub disorder: Disorder,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            threads: 1,
            max_cycles: None,
            every_cycle: false,
            progress: &|_| {},
            view: ViewOptions::default(),
            per_sm: false,
            #[cfg(test)]
            lose_replies_from: None,
            #[cfg(test)]
            disorder: Disorder::default(),
        }
    }
}

/// A kernel of a group.
pub(crate) struct Job<'a, S> {
    /// The GPU with the kernel.
    pub machine: &'a Machine,
    /// Its warps.
    pub source: &'a S,
    /// Techniques, copied for every SM.
    pub techniques: &'a Stack,
    /// Blocks to run.
    pub blocks: u64,
    /// Jobs of the group, by position before this one, that must have ended before it starts.
    pub after: Vec<usize>,
}
