//! The parallel engine: SMs and memory partitions run in parallel for an epoch and exchange packets between
//! them.
//!
//! An epoch is no longer than the shortest latency between an SM and a partition, so that no packet arrives
//! in the epoch in which it was sent. Packets are exchanged, and blocks placed, by one thread in a fixed
//! order: statistics do not depend on the number of threads, nor on which thread runs which domain.

mod crew;
mod domain;
mod group;
mod outcome;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use crew::Disorder;
pub(crate) use outcome::{GroupOutcome, JobOutcome};

use crate::config::GpuConfig;
use crate::error::ReplayError;
use crate::memory::LINE_BYTES;
use crate::memory::address::PartitionMap;
use crate::memory::partition::Partition;
use crate::sm::{Machine, SmCaches};
use crate::source::LaunchSource;
use crate::techniques::Stack;
use crate::view::ViewOptions;
use crew::Crew;
use group::Group;

/// Cycles without an issue or a placed block after which the machine counts as stuck.
pub(crate) const STUCK_CYCLES: u64 = 1_000_000;

/// State of the GPU that persists between kernels.
pub(crate) struct Gpu {
    caches: Vec<SmCaches>,
    partitions: Vec<Partition>,
    now: u64,
}

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

impl Gpu {
    /// A GPU with empty caches.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> Gpu {
        Gpu {
            caches: vec![SmCaches::new(config); config.gpu.sms as usize],
            partitions: vec![Partition::new(config); config.dram.channels as usize],
            now: 0,
        }
    }

    /// The memory partitions, for tests.
    #[cfg(test)]
    pub(crate) fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Puts a range of device memory into L2, as a copy or fill between kernels does, if the configuration
    /// enables it.
    pub(crate) fn copied(&mut self, config: &GpuConfig, address: u64, bytes: u64) {
        if !config.launch.copies_fill_l2 || bytes == 0 {
            return;
        }
        let map = PartitionMap::new(config);
        let end = address.saturating_add(bytes);
        // Only the last lines that all slices together can hold matter.
        let l2 = u64::from(config.l2.size_bytes * config.l2.slices_per_channel * config.dram.channels);
        let mut line = address.max(end.saturating_sub(2 * l2)) & !(LINE_BYTES - 1);
        while line < end {
            let home = map.home(line);
            self.partitions[home.channel as usize]
                .preload(home.slice as usize, home.slice_address / LINE_BYTES);
            line += LINE_BYTES;
        }
    }

    /// Runs kernels; each starts when the kernels that it waits for have ended. An SM holds blocks of one
    /// kernel at a time and switches to the next when it is empty and its kernel has no blocks left.
    ///
    /// # Errors
    /// A damaged recording, a technique's mismatch, a stuck machine, too many cycles.
    pub(crate) fn run_group<S: LaunchSource>(
        &mut self,
        jobs: &[Job<'_, S>],
        options: &RunOptions<'_>,
    ) -> Result<GroupOutcome, ReplayError> {
        let Some(first) = jobs.first() else { return Ok(GroupOutcome::default()) };
        let launched_at = self.now;
        let start = launched_at + first.machine.config.launch.latency_cycles;
        let mut group = Group::new(jobs, options, launched_at, start);
        let domains = group.domains(self.caches.drain(..), self.partitions.drain(..));
        // Threads beyond the SMs that get blocks would only wait.
        let blocks: u64 = jobs.iter().map(|job| job.blocks).sum();
        let busy = usize::try_from(blocks).unwrap_or(usize::MAX).min(first.machine.config.gpu.sms as usize);
        let outcome =
            Crew::run(&domains, options, busy, start, |domains, now| group.between_epochs(domains, now));
        self.now = outcome?;
        let (outcome, caches, partitions) = group.close(domains, self.now)?;
        self.caches = caches;
        self.partitions = partitions;
        Ok(outcome)
    }
}
