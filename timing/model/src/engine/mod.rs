//! The parallel engine: SMs and memory partitions run in parallel for an epoch and exchange packets between
//! them.
//!
//! An epoch is no longer than the shortest latency between an SM and a partition, so that no packet arrives
//! in the epoch in which it was sent. Packets are exchanged, and blocks placed, by one thread in a fixed
//! order: statistics do not depend on the number of threads, nor on which thread runs which domain.

mod crew;
#[cfg(test)]
mod disorder;
mod domain;
mod group;
mod job;
mod outcome;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use disorder::Disorder;
pub use job::Progress;
pub(crate) use job::{Job, RunOptions};
pub(crate) use outcome::{GroupOutcome, JobOutcome};

use crate::config::GpuConfig;
use crate::error::ReplayError;
use crate::memory::LINE_BYTES;
use crate::memory::address::PartitionMap;
use crate::memory::partition::Partition;
use crate::sm::SmCaches;
use crate::source::LaunchSource;
use crew::Crew;
use group::Group;

/// State of the GPU that persists between kernels.
pub(crate) struct Gpu {
    caches: Vec<SmCaches>,
    partitions: Vec<Partition>,
    now: u64,
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
        let l2 = [config.l2.size_bytes, config.l2.slices_per_channel, config.dram.channels];
        let l2 = l2.into_iter().fold(2u64, |product, factor| product.saturating_mul(factor.into()));
        let first = address.max(end.saturating_sub(l2)) & !(LINE_BYTES - 1);
        for line in (first..end).step_by(LINE_BYTES as usize) {
            let home = map.home(line);
            self.partitions[home.channel as usize]
                .preload(home.slice as usize, home.slice_address / LINE_BYTES);
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
        let outcome = Crew::run(&domains, options, busy, start, |domains, now, awake| {
            group.between_epochs(domains, now, awake)
        });
        self.now = outcome?;
        let (outcome, caches, partitions) = group.close(domains, self.now)?;
        self.caches = caches;
        self.partitions = partitions;
        Ok(outcome)
    }
}
