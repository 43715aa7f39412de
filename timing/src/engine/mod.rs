//! The parallel engine: SMs and memory partitions run side by side in epochs and exchange packets between them.
//!
//! An epoch is no longer than the shortest way from an SM to a partition or back, so that nothing sent in an
//! epoch can arrive in it. Packets are exchanged, and blocks placed, by one thread in a fixed order: statistics
//! do not depend on the number of threads, nor on which thread runs what.

mod crew;
mod unit;

use crate::config::GpuConfig;
use crate::error::ReplayError;
use crate::memory::partition::Partition;
use crate::sm::{Machine, Sm, SmCaches};
use crate::source::LaunchSource;
use crate::stats::{Stall, Stats};
use crate::techniques::Stack;
use crew::Crew;
use std::sync::Mutex;
use unit::{Exchange, Unit};

/// Cycles without an issue or a placed block after which the machine counts as stuck.
const STUCK_CYCLES: u64 = 1_000_000;

/// State of the GPU that outlives a kernel.
pub struct Gpu {
    caches: Vec<SmCaches>,
    partitions: Vec<Partition>,
    now: u64,
}

/// How far a kernel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Blocks that have been placed.
    pub blocks_placed: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Cycles since the launch.
    pub cycles: u64,
}

/// How to run a kernel.
pub struct RunOptions<'a> {
    /// Threads of the host, at least 1.
    pub threads: usize,
    /// Most cycles that the kernel may take.
    pub max_cycles: Option<u64>,
    /// Looks at every cycle instead of skipping those in which nothing can happen: slower, same result.
    pub every_cycle: bool,
    /// Called now and then.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Gpu {
    /// A GPU with empty caches.
    #[must_use]
    pub fn new(config: &GpuConfig) -> Gpu {
        Gpu {
            caches: vec![SmCaches::new(config); config.gpu.sms as usize],
            partitions: vec![Partition::new(config); config.dram.channels as usize],
            now: 0,
        }
    }

    /// Runs `blocks` blocks of a kernel and returns the statistics of the whole GPU.
    ///
    /// # Errors
    /// A damaged recording, a technique's mismatch, a stuck machine, too many cycles.
    pub fn run<S: LaunchSource>(
        &mut self,
        machine: &Machine,
        source: &S,
        techniques: &Stack,
        blocks: u64,
        options: &RunOptions<'_>,
    ) -> Result<Stats, ReplayError> {
        let config = &machine.config;
        let launched_at = self.now;
        self.now += config.launch.latency_cycles;
        let mut units = Vec::new();
        for (id, mut caches) in self.caches.drain(..).enumerate() {
            if config.launch.flush_l1 {
                caches.flush_l1();
            }
            let mut sm = Sm::new(id, machine, source, techniques.clone(), caches, self.now);
            sm.look_at_every_cycle(options.every_cycle);
            units.push(Mutex::new(Unit::Sm(Box::new(sm))));
        }
        for mut partition in self.partitions.drain(..) {
            if config.launch.flush_l2 {
                partition.flush();
            }
            units.push(Mutex::new(Unit::Partition(Box::new(partition))));
        }
        let mut run = Run {
            exchange: Exchange::new(config),
            next_block: 0,
            blocks,
            launched_at,
            placed_at: self.now,
            machine,
            options,
        };
        let outcome =
            Crew::run(&units, options.threads, self.now, |units, now| run.between_epochs(units, now));
        let end = outcome?;
        self.close(units, machine, launched_at, end)
    }

    /// Takes the machine apart again and sums what its parts have counted, SMs before partitions.
    fn close<S: LaunchSource>(
        &mut self,
        units: Vec<Mutex<Unit<'_, S>>>,
        machine: &Machine,
        launched_at: u64,
        now: u64,
    ) -> Result<Stats, ReplayError> {
        let config = &machine.config;
        let mut total = Stats::default();
        let mut sms = Vec::new();
        for unit in units {
            match unit.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
                Unit::Sm(sm) => sms.push(sm),
                Unit::Partition(mut partition) => {
                    total.counters.merge(&std::mem::take(&mut partition.stats));
                    self.partitions.push(*partition);
                }
                // Its error has ended the run before.
                Unit::Failed(_) => {}
            }
        }
        let end = sms.iter().map(|sm| sm.ended_at()).max().unwrap_or(now);
        for mut sm in sms {
            sm.finish(end);
            total.merge(&sm.stats);
            self.caches.push(sm.into_caches());
        }
        let slots = u64::from(config.gpu.sms * config.scheduler.count * config.scheduler.issue_width);
        total.stalls.add(Stall::Launch, slots * config.launch.latency_cycles);
        total.counters.cycles = end - launched_at;
        self.now = now;
        Ok(total)
    }
}

/// One kernel's run, between epochs.
struct Run<'a> {
    exchange: Exchange,
    next_block: u64,
    blocks: u64,
    launched_at: u64,
    placed_at: u64,
    machine: &'a Machine,
    options: &'a RunOptions<'a>,
}

impl Run<'_> {
    /// Delivers packets, places blocks, and returns the end of the next epoch, or `None` when all is done.
    fn between_epochs<S: LaunchSource>(
        &mut self,
        units: &[Mutex<Unit<'_, S>>],
        now: u64,
    ) -> Result<Option<u64>, ReplayError> {
        let mut units: Vec<_> =
            units.iter().map(|unit| unit.lock().unwrap_or_else(std::sync::PoisonError::into_inner)).collect();
        for unit in &mut units {
            if let Some(error) = unit.take_error() {
                return Err(error);
            }
        }
        self.exchange.deliver(&mut units);
        self.place_blocks(&mut units, now)?;
        let cycles = now - self.launched_at;
        (self.options.progress)(Progress { blocks_placed: self.next_block, blocks: self.blocks, cycles });
        let kernel = || self.machine.program.name.clone();
        if self.next_block == self.blocks && units.iter().all(|unit| unit.is_idle()) {
            return Ok(None);
        }
        if let Some(limit) = self.options.max_cycles.filter(|limit| cycles > *limit) {
            return Err(ReplayError::TooManyCycles { kernel: kernel(), cycles: limit });
        }
        let next = units.iter().map(|unit| unit.next_event()).min().unwrap_or(u64::MAX);
        let last_issue = units.iter().filter_map(|unit| unit.last_issue()).max().unwrap_or(now);
        let quiet = now.saturating_sub(last_issue.max(self.placed_at));
        if next == u64::MAX || quiet > STUCK_CYCLES {
            let state = units.iter().map(|unit| unit.describe()).collect();
            return Err(ReplayError::Stuck { kernel: kernel(), cycles: quiet, state });
        }
        Ok(Some(next.max(now) + self.exchange.epoch_cycles()))
    }

    /// Gives each SM one block after the other, in turn, as long as one has room.
    fn place_blocks<S: LaunchSource>(
        &mut self,
        units: &mut [std::sync::MutexGuard<'_, Unit<'_, S>>],
        now: u64,
    ) -> Result<(), ReplayError> {
        let mut placed = true;
        while placed && self.next_block < self.blocks {
            placed = false;
            for unit in units.iter_mut() {
                if self.next_block == self.blocks {
                    break;
                }
                if let Unit::Sm(sm) = &mut **unit
                    && sm.free_blocks() > 0
                {
                    sm.place(self.next_block as u32)?;
                    self.next_block += 1;
                    self.placed_at = now;
                    placed = true;
                }
            }
        }
        Ok(())
    }
}
