//! Results of the launches of a replay. A recording may have a hundred thousand launches: their results are stored apart
//! ([`Spool`]), and memory holds one at a time.

use super::spool::Spool;
use crate::occupancy::Limit;
use crate::stats::{EnergyTable, Stats, Stored, TechniqueStats};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;
use trace_format::semantics::Geometry;

/// Statistics of one launch. What launches share is not stored with each of them ([`LaunchList`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchStats {
    /// Kernel name.
    #[serde(skip)]
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
    #[serde(skip)]
    pub stats: Stats,
    /// Statistics of each SM, if requested.
    #[serde(skip)]
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

/// A launch as it is stored: its own fields, the position of its kernel's name, and its statistics.
type Record = (LaunchStats, usize, Stored, Vec<Stored>);

impl LaunchList {
    /// Appends a launch.
    pub(super) fn push(&mut self, mut launch: LaunchStats) {
        let name = std::mem::take(&mut launch.kernel);
        let kernel = self.kernels.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.kernels.push(name);
            self.kernels.len() - 1
        });
        let shared = &mut self.techniques;
        let stats = Stored::of(std::mem::take(&mut launch.stats), shared);
        let per_sm = std::mem::take(&mut launch.per_sm);
        let per_sm = per_sm.into_iter().map(|sm| Stored::of(sm, shared)).collect();
        let record: Record = (launch, kernel, stats, per_sm);
        let bytes = postcard::to_stdvec(&record).expect("numbers can be written to memory");
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
        let record: Record = postcard::from_bytes(&bytes).expect("bytes are read as they were written");
        let (mut launch, kernel, stats, per_sm) = record;
        launch.kernel.clone_from(&self.kernels[kernel]);
        launch.stats = stats.restore(&self.techniques);
        launch.per_sm = per_sm.into_iter().map(|sm| sm.restore(&self.techniques)).collect();
        launch
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
        if let Some(sms) = sms_to_json(std::iter::once(&self.per_sm[..]), energy) {
            object["sms"] = sms;
        }
        object
    }
}

/// Statistics by SM, summed over launches; none if they were not kept.
pub(super) fn sms_to_json(
    launches: impl Iterator<Item = impl AsRef<[Stats]>>,
    energy: &EnergyTable,
) -> Option<Value> {
    let mut sums: Vec<Stats> = Vec::new();
    for launch in launches {
        let per_sm = launch.as_ref();
        sums.resize_with(sums.len().max(per_sm.len()), Stats::default);
        for (sum, one) in sums.iter_mut().zip(per_sm) {
            sum.merge(one);
        }
    }
    (!sums.is_empty()).then(|| sums.iter().map(|stats| stats.to_json(energy)).collect())
}
