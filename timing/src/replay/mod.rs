//! From an open trace and a configuration to statistics: the launches of a trace one after the other.

mod source;

pub use source::{TraceLaunch, TraceWarp};

use crate::config::GpuConfig;
use crate::engine::{Gpu, Progress, RunOptions};
use crate::error::ReplayError;
use crate::program::Program;
use crate::sm::{Machine, Shape};
use crate::stats::{EnergyTable, Stats};
use crate::techniques::{AnyTechnique, Stack};
use serde_json::{Value, json};
use trace_format::reader::Trace;

/// How to replay.
pub struct ReplayOptions<'a> {
    /// Threads of the host, at least 1.
    pub threads: usize,
    /// Most cycles that one kernel may take.
    pub max_cycles: Option<u64>,
    /// Whether each warp's values are compared with their recorded checksum.
    pub checked: bool,
    /// Looks at every cycle instead of skipping those in which nothing can happen: slower, same result.
    pub every_cycle: bool,
    /// Called now and then with the launch, the number of launches, and its progress.
    pub progress: &'a (dyn Fn(usize, usize, Progress) + Sync),
}

impl Default for ReplayOptions<'_> {
    fn default() -> Self {
        ReplayOptions {
            threads: 1,
            max_cycles: None,
            checked: false,
            every_cycle: false,
            progress: &|_, _, _| {},
        }
    }
}

/// Statistics of one launch.
#[derive(Clone, Debug)]
pub struct LaunchStats {
    /// Kernel name.
    pub kernel: String,
    /// Position of the launch in the trace.
    pub launch: usize,
    /// Blocks that were replayed: those that the trace holds.
    pub blocks: u64,
    /// Blocks of the grid.
    pub grid_blocks: u64,
    /// Threads per block.
    pub threads_per_block: u32,
    /// Blocks that an SM held at once.
    pub blocks_per_sm: u32,
    /// Registers per thread that occupancy was computed with.
    pub registers_per_thread: u32,
    /// What was counted.
    pub stats: Stats,
}

/// Statistics of a whole trace.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Launch by launch.
    pub launches: Vec<LaunchStats>,
    /// All launches together; cycles are summed.
    pub total: Stats,
}

/// Replays every launch of a trace.
///
/// # Errors
/// A kernel or technique that the configuration refuses, a damaged recording, a mismatch, a stuck machine.
pub fn replay(
    trace: &Trace,
    config: &GpuConfig,
    techniques: &[AnyTechnique],
    options: &ReplayOptions<'_>,
) -> Result<Replay, ReplayError> {
    let mut gpu = Gpu::new(config);
    let mut result = Replay::default();
    let count = trace.launches().len();
    for (index, launch) in trace.launches().iter().enumerate() {
        let kernel = trace.kernel(launch.kernel);
        let program = Program::new(kernel, config).map_err(ReplayError::Refused)?;
        let (stack, plan) =
            Stack::prepare(techniques.to_vec(), &program, config).map_err(ReplayError::Refused)?;
        let blocks = launch.blocks_recorded();
        let threads_per_block = launch.geometry.threads_per_block();
        let shape = Shape {
            threads_per_block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            blocks,
            kernel_index: launch.kernel,
        };
        let machine = Machine::new(config, program, plan, shape).map_err(ReplayError::Refused)?;
        let source = TraceLaunch::new(trace, index as u32, options.checked);
        let report = |progress: Progress| (options.progress)(index, count, progress);
        let run = RunOptions {
            threads: options.threads,
            max_cycles: options.max_cycles,
            every_cycle: options.every_cycle,
            progress: &report,
            ..RunOptions::default()
        };
        let stats = gpu.run(&machine, &source, &stack, blocks, &run)?;
        result.total.merge(&stats);
        result.launches.push(LaunchStats {
            kernel: machine.program.name.clone(),
            launch: index,
            blocks,
            grid_blocks: launch.geometry.blocks(),
            threads_per_block,
            blocks_per_sm: machine.blocks_per_sm,
            registers_per_thread: machine.plan.registers_per_thread,
            stats,
        });
    }
    Ok(result)
}

impl Replay {
    /// The totals with one object per launch under `launches`.
    #[must_use]
    pub fn to_json(&self, energy: &EnergyTable) -> Value {
        let mut object = self.total.to_json(energy);
        let launches = self.launches.iter().map(|launch| {
            let mut inner = launch.stats.to_json(energy);
            inner["kernel"] = json!(launch.kernel);
            inner["launch"] = json!(launch.launch);
            inner["grid_blocks"] = json!(launch.grid_blocks);
            inner["replayed_blocks"] = json!(launch.blocks);
            inner["threads_per_block"] = json!(launch.threads_per_block);
            inner["blocks_per_sm"] = json!(launch.blocks_per_sm);
            inner["registers_per_thread"] = json!(launch.registers_per_thread);
            inner
        });
        object["launches"] = Value::Array(launches.collect());
        object
    }
}
