//! Results of the launches of a replay. A recording may have a hundred thousand launches: their results are stored apart
//! ([`Spool`]), and memory holds one at a time.

use super::spool::Spool;
use crate::occupancy::Limit;
use crate::stats::{EnergyTable, Stats, Stored, TechniqueStats};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;
use trace_format::semantics::Geometry;

/// Statistics of one launch.
#[derive(Clone, Debug)]
pub struct LaunchStats {
    /// Kernel name.
    pub kernel: String,
    /// Position of the kernel in the trace.
    pub kernel_index: u32,
    /// Position of the launch in the trace.
    pub launch: usize,
    /// Stream that it ran on.
    pub stream: u64,
    /// Blocks that were replayed: those that the trace holds.
    pub blocks: u64,
    /// Grid and block along x, y and z.
    pub geometry: Geometry,
    /// Blocks of the grid.
    pub grid_blocks: u64,
    /// Threads per block.
    pub threads_per_block: u32,
    /// Blocks that an SM held at once.
    pub blocks_per_sm: u32,
    /// The resource that limited the blocks per SM.
    pub occupancy_limit: Limit,
    /// Shared memory of an SM in bytes, if the program prefers a size and the GPU has a choice.
    pub preferred_shared_bytes: Option<u32>,
    /// Registers per thread with which occupancy was computed.
    pub registers_per_thread: u32,
    /// Statistics; without L2 and DRAM if kernels ran together, because these serve all of them.
    pub stats: Stats,
    /// Statistics of each SM, if requested.
    pub per_sm: Vec<Stats>,
    /// Cycle of the launch since the beginning of the replay.
    pub launched_at: u64,
    /// Cycle after the end of its last block.
    pub ended_at: u64,
}

/// Results of all launches of a replay, in the order in which they ran.
#[derive(Debug, Default)]
pub struct LaunchList {
    spool: Spool,
    /// Where each launch ends in the spool.
    ends: Vec<u64>,
    kernels: Vec<String>,
    techniques: Vec<TechniqueStats>,
}

/// A launch as it is stored: [`LaunchStats`] without what others have too.
#[derive(Serialize, Deserialize)]
struct StoredLaunch {
    kernel: usize,
    kernel_index: u32,
    launch: usize,
    stream: u64,
    blocks: u64,
    geometry: Geometry,
    grid_blocks: u64,
    threads_per_block: u32,
    blocks_per_sm: u32,
    occupancy_limit: Limit,
    preferred_shared_bytes: Option<u32>,
    registers_per_thread: u32,
    stats: Stored,
    per_sm: Vec<Stored>,
    launched_at: u64,
    ended_at: u64,
}

impl LaunchList {
    /// Appends a launch.
    pub(super) fn push(&mut self, launch: LaunchStats) {
        let known = self.kernels.iter().position(|name| *name == launch.kernel);
        let kernel = known.unwrap_or(self.kernels.len());
        let shared = &mut self.techniques;
        let stored = StoredLaunch {
            kernel,
            kernel_index: launch.kernel_index,
            launch: launch.launch,
            stream: launch.stream,
            blocks: launch.blocks,
            geometry: launch.geometry,
            grid_blocks: launch.grid_blocks,
            threads_per_block: launch.threads_per_block,
            blocks_per_sm: launch.blocks_per_sm,
            occupancy_limit: launch.occupancy_limit,
            preferred_shared_bytes: launch.preferred_shared_bytes,
            registers_per_thread: launch.registers_per_thread,
            stats: Stored::of(launch.stats, shared),
            per_sm: launch.per_sm.into_iter().map(|sm| Stored::of(sm, shared)).collect(),
            launched_at: launch.launched_at,
            ended_at: launch.ended_at,
        };
        if known.is_none() {
            self.kernels.push(launch.kernel);
        }
        let bytes = postcard::to_stdvec(&stored).expect("numbers can be written to memory");
        self.ends.push(self.spool.push(&bytes).end);
    }

    /// Number of launches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no launch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The launch at a position.
    ///
    /// # Panics
    /// There is none at that position, or the temporary file with the results cannot be read any more.
    #[must_use]
    pub fn get(&self, position: usize) -> LaunchStats {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        let bytes = self.spool.read(start..self.ends[position]);
        let bytes =
            bytes.unwrap_or_else(|why| panic!("the temporary file with the results of launches: {why}"));
        let stored: StoredLaunch = postcard::from_bytes(&bytes).expect("bytes are read as they were written");
        LaunchStats {
            kernel: self.kernels[stored.kernel].clone(),
            kernel_index: stored.kernel_index,
            launch: stored.launch,
            stream: stored.stream,
            blocks: stored.blocks,
            geometry: stored.geometry,
            grid_blocks: stored.grid_blocks,
            threads_per_block: stored.threads_per_block,
            blocks_per_sm: stored.blocks_per_sm,
            occupancy_limit: stored.occupancy_limit,
            preferred_shared_bytes: stored.preferred_shared_bytes,
            registers_per_thread: stored.registers_per_thread,
            stats: stored.stats.restore(&self.techniques),
            per_sm: stored.per_sm.into_iter().map(|sm| sm.restore(&self.techniques)).collect(),
            launched_at: stored.launched_at,
            ended_at: stored.ended_at,
        }
    }

    /// The launches in order, each read when it is reached.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = LaunchStats> + ExactSizeIterator + '_ {
        self.range(0..self.len())
    }

    /// The launches at some positions.
    ///
    /// # Panics
    /// When one is reached that does not exist.
    pub fn range(
        &self,
        positions: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = LaunchStats> + ExactSizeIterator + '_ {
        positions.map(|position| self.get(position))
    }
}

impl LaunchStats {
    pub(super) fn to_json(&self, energy: &EnergyTable) -> Value {
        let mut object = self.stats.to_json(energy);
        object["kernel"] = json!(self.kernel);
        object["launch"] = json!(self.launch);
        object["stream"] = json!(self.stream);
        object["launched_at_cycle"] = json!(self.launched_at);
        object["ended_at_cycle"] = json!(self.ended_at);
        object["grid"] = json!(self.geometry.grid);
        object["block"] = json!(self.geometry.block);
        object["grid_blocks"] = json!(self.grid_blocks);
        object["replayed_blocks"] = json!(self.blocks);
        object["threads_per_block"] = json!(self.threads_per_block);
        object["blocks_per_sm"] = json!(self.blocks_per_sm);
        object["occupancy_limit"] = json!(self.occupancy_limit.name());
        if let Some(bytes) = self.preferred_shared_bytes {
            object["preferred_shared_bytes"] = json!(bytes);
        }
        object["registers_per_thread"] = json!(self.registers_per_thread);
        if let Some(sms) = sms_to_json(std::iter::once(self.per_sm.clone()), energy) {
            object["sms"] = sms;
        }
        object
    }
}

/// Statistics by SM, summed over launches; none if they were not kept.
pub(super) fn sms_to_json(launches: impl Iterator<Item = Vec<Stats>>, energy: &EnergyTable) -> Option<Value> {
    let mut sums: Vec<Stats> = Vec::new();
    for per_sm in launches {
        sums.resize_with(sums.len().max(per_sm.len()), Stats::default);
        for (sum, one) in sums.iter_mut().zip(&per_sm) {
            sum.merge(one);
        }
    }
    (!sums.is_empty()).then(|| sums.iter().map(|stats| stats.to_json(energy)).collect())
}
