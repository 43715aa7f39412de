//! Replays an open trace on a configuration: launches run one after the other, or together where streams
//! allow it.

mod profile;
mod select;
mod source;
#[cfg(feature = "cli")]
mod streamed;
mod streams;

pub use crate::engine::Progress;
pub use crate::error::{ReplayError, Unreadable};
pub use select::Selection;
pub use source::{Detail, TraceLaunch, TraceWarp};
#[cfg(feature = "cli")]
pub(crate) use streamed::{Launches, Streamed};
pub use streams::{Point, dependencies};

use crate::analysis::convergence::meeting_places_on;
use crate::config::{GpuConfig, Organisation};
use crate::engine::{Gpu, GroupOutcome, Job, JobOutcome, RunOptions};
use crate::observe::{Observed, Recording, ViewOptions};
use crate::program::Program;
use crate::sm::{Machine, Shape};
use crate::source::{LaunchSource, Plain};
use crate::stats::{Column, EnergyTable, Series, Stats};
use crate::techniques::{Launch, RecordedWarps, Stack, Technique};
use profile::RecordedLaunch;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use trace_format::container::TransferKind;
use trace_format::reader::Trace;
use trace_format::semantics::Geometry;

/// How to replay.
pub struct ReplayOptions<'a> {
    /// Number of host threads, at least 1.
    pub threads: usize,
    /// Maximum number of cycles of one kernel, or of all kernels that run together.
    pub max_cycles: Option<u64>,
    /// Whether all values are regenerated and compared with their checksum, also without techniques, which need only
    /// addresses and lanes.
    pub checked: bool,
    /// Simulates every cycle instead of skipping idle ones: slower, same result.
    pub every_cycle: bool,
    /// Called periodically with the launch, the number of launches, and its progress.
    pub progress: &'a (dyn Fn(usize, usize, Progress) + Sync),
    /// Launches to replay.
    pub selection: Selection,
    /// Whether kernels of different streams run together.
    pub concurrent: bool,
    /// Whether to keep the statistics of each SM besides their sum.
    pub per_sm: bool,
    /// Views to record; without views, recording is compiled out.
    pub view: ViewOptions,
}

impl Default for ReplayOptions<'_> {
    fn default() -> Self {
        ReplayOptions {
            threads: 1,
            max_cycles: None,
            checked: false,
            every_cycle: false,
            progress: &|_, _, _| {},
            selection: Selection::default(),
            concurrent: false,
            per_sm: false,
            view: ViewOptions::default(),
        }
    }
}

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
    pub occupancy_limit: crate::occupancy::Limit,
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
    /// Recordings of observed SMs.
    pub recordings: Vec<Recording>,
}

/// Statistics of a whole trace.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Statistics of each launch.
    pub launches: Vec<LaunchStats>,
    /// All launches together; cycles of launches that ran one after the other are summed.
    pub total: Stats,
    /// Samples of the counters, each with the positions in `launches` of the kernels that ran together.
    pub series: Vec<(Range<usize>, Series)>,
}

/// A launch ready to run.
struct Prepared<S> {
    launch: usize,
    machine: Machine,
    source: S,
    stack: Stack,
    blocks: u64,
}

/// Checks that a machine takes some launches of a trace, without replaying them: those of a kernel with the same blocks once.
///
/// # Errors
/// A kernel or technique that the configuration refuses.
pub fn check_launches(
    trace: &Trace,
    launches: &[usize],
    config: &GpuConfig,
    techniques: &[Box<dyn Technique>],
) -> Result<(), ReplayError> {
    let mut seen = BTreeSet::new();
    for launch in launches {
        let what = &trace.launches()[*launch];
        let block = what.geometry.block;
        if !seen.insert((what.kernel, block, what.dynamic_shared_bytes)) {
            continue;
        }
        // Where lanes reconverge decides about cycles and refuses nothing.
        prepare(trace, *launch, config, techniques, false, Arc::from(Vec::new()), Plain)?;
    }
    Ok(())
}

/// Replays the chosen launches of a trace.
///
/// # Errors
/// An empty selection, a kernel or technique that the configuration refuses, launches that cannot be read, all of which
/// the error names, a mismatch, or a deadlock.
pub fn replay(
    trace: &Trace,
    config: &GpuConfig,
    techniques: &[Box<dyn Technique>],
    options: &ReplayOptions<'_>,
) -> Result<Replay, ReplayError> {
    if options.view.window.is_some() || options.view.interval.is_some() {
        replay_as(trace, config, techniques, options, Observed)
    } else if techniques.is_empty() {
        replay_as(trace, config, techniques, options, Plain)
    } else {
        replay_as(trace, config, techniques, options, |source| source)
    }
}

fn replay_as<S: LaunchSource>(
    trace: &Trace,
    config: &GpuConfig,
    techniques: &[Box<dyn Technique>],
    options: &ReplayOptions<'_>,
    wrap: impl Fn(TraceLaunch) -> S,
) -> Result<Replay, ReplayError> {
    let chosen = options.selection.of(trace).map_err(ReplayError::Refused)?;
    let mut gpu = Gpu::new(config);
    let mut result = Replay::default();
    let count = chosen.len();
    let group_size = if options.concurrent { count.max(1) } else { 1 };
    let mut transfers = trace.transfers().iter().peekable();
    let mut meets: HashMap<u32, Arc<[bool]>> = HashMap::new();
    for (index, group) in chosen.chunks(group_size).enumerate() {
        let number = group.first().map_or(0, |first| trace.launches()[*first].number);
        while let Some(transfer) = transfers.next_if(|transfer| transfer.after_launches <= number) {
            if writes_device(transfer.kind) {
                gpu.copied(config, transfer.to, transfer.bytes);
            }
        }
        let mut prepared = Vec::with_capacity(group.len());
        for launch in group {
            let kernel = trace.launches()[*launch].kernel;
            let meets =
                meets.entry(kernel).or_insert_with(|| meeting_places_on(config, trace.kernel(kernel)));
            let meets = Arc::clone(meets);
            prepared.push(prepare(trace, *launch, config, techniques, options.checked, meets, &wrap)?);
        }
        let report = |progress: Progress| (options.progress)(index * group_size, count, progress);
        let run = RunOptions {
            threads: options.threads,
            max_cycles: options.max_cycles,
            every_cycle: options.every_cycle,
            progress: &report,
            view: options.view.clone(),
            per_sm: options.per_sm,
            #[cfg(test)]
            lose_replies_from: None,
            #[cfg(test)]
            disorder: crate::engine::Disorder::default(),
        };
        let outcome = gpu.run_group(&jobs(trace, &prepared), &run).map_err(|why| match why {
            ReplayError::Recording { .. } | ReplayError::PathLeavesKernel { .. } => {
                Unreadable::among(trace, &chosen, options.threads)
                    .map_or(why, |found| ReplayError::Unreadable(Box::new(found)))
            }
            other => other,
        })?;
        result.add(trace, prepared, outcome);
    }
    Ok(result)
}

fn writes_device(kind: TransferKind) -> bool {
    match kind {
        TransferKind::HostToDevice | TransferKind::DeviceToDevice | TransferKind::Fill => true,
        TransferKind::DeviceToHost | TransferKind::HostToHost => false,
    }
}

fn prepare<S: LaunchSource>(
    trace: &Trace,
    index: usize,
    config: &GpuConfig,
    techniques: &[Box<dyn Technique>],
    checked: bool,
    meets: Arc<[bool]>,
    wrap: impl Fn(TraceLaunch) -> S,
) -> Result<Prepared<S>, ReplayError> {
    let launch = &trace.launches()[index];
    let program = Program::new(trace.kernel(launch.kernel), config).map_err(ReplayError::Refused)?;
    let blocks = launch.blocks_recorded();
    let mut asked = Launch::new(&program, config, launch.geometry.grid, launch.geometry.block);
    asked.blocks = blocks;
    asked.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    asked.shared_carveout_percent = launch.shared_carveout_percent;
    asked.parameters = launch.banks.param.get(trace_format::isa::space::PARAM_BASE as usize..).unwrap_or(&[]);
    asked.banks = Some(&launch.banks);
    let has_values = trace.header().has_values();
    let recorded = RecordedLaunch { trace, launch: index };
    asked.recording = has_values.then_some(&recorded as &dyn RecordedWarps);
    if let Some(technique) = techniques.iter().find(|t| t.info().needs_values && !has_values) {
        return Err(ReplayError::Refused(format!(
            "technique {} checks register values, and {} {}",
            technique.info().name,
            trace.path().display(),
            trace.header().contents.lack_of_values().unwrap_or_default()
        )));
    }
    let kernel = trace.kernel(launch.kernel);
    let has_uniform = kernel.uniform_registers > 0;
    if let Some(technique) = techniques.iter().find(|t| has_uniform && !t.info().knows_uniform_registers) {
        return Err(ReplayError::Refused(format!(
            "technique {} decides by operands that it sees, and kernel {} is machine code with uniform registers, which it does not know",
            technique.info().name,
            kernel.name
        )));
    }
    let uses_bits = program.insts.iter().any(|inst| inst.control.is_some());
    if let Some(technique) = techniques.first().filter(|_| uses_bits) {
        return Err(ReplayError::Refused(format!(
            "technique {} looks at a result when it is written, and control bits let later instructions overwrite it before; \
             --set sub_core.dependences=scoreboard replays kernel {} on {} without them",
            technique.info().name,
            kernel.name,
            config.name
        )));
    }
    let (stack, plan) = Stack::prepare(techniques.to_vec(), &asked).map_err(ReplayError::Refused)?;
    if config.sm.organisation == Organisation::ControlBits && plan.collectors.is_some() {
        let names: Vec<&str> = techniques.iter().map(|technique| technique.info().name).collect();
        return Err(ReplayError::Refused(format!(
            "{} changes operand collectors, and {} has none (sm.organisation)",
            names.join(", "),
            config.name
        )));
    }
    let shape = Shape::of(&asked, &plan, launch.kernel).map_err(ReplayError::Refused)?;
    let machine = Machine::new(config, program, plan, shape, meets).map_err(ReplayError::Refused)?;
    let detail = match has_values && (checked || !stack.is_empty()) {
        true => Detail::Values,
        false => Detail::Slice,
    };
    let source = wrap(TraceLaunch::new(trace, index as u32, detail));
    Ok(Prepared { launch: index, machine, source, stack, blocks })
}

fn jobs<'a, S: LaunchSource>(trace: &Trace, prepared: &'a [Prepared<S>]) -> Vec<Job<'a, S>> {
    let launches: Vec<(u64, u64)> = prepared
        .iter()
        .map(|one| (trace.launches()[one.launch].stream, trace.launches()[one.launch].number))
        .collect();
    let point = |stream, before| Point { stream, before };
    let transfers: Vec<Point> = trace.transfers().iter().map(|t| point(t.stream, t.after_launches)).collect();
    let waits: Vec<Point> = trace.waits().iter().map(|w| point(w.stream, w.after_launches)).collect();
    let job = |(one, after): (&'a Prepared<S>, Vec<usize>)| Job {
        machine: &one.machine,
        source: &one.source,
        techniques: &one.stack,
        blocks: one.blocks,
        after,
    };
    prepared.iter().zip(dependencies(&launches, &transfers, &waits)).map(job).collect()
}

impl Replay {
    /// Adds the statistics of a group of launches.
    fn add<S>(&mut self, trace: &Trace, prepared: Vec<Prepared<S>>, outcome: GroupOutcome) {
        let first = self.launches.len();
        self.total.merge(&outcome.total);
        for (one, job) in prepared.into_iter().zip(outcome.jobs) {
            let mut launch = launch_stats(trace, &one, job);
            launch.stats.pack();
            launch.per_sm.iter_mut().for_each(Stats::pack);
            self.launches.push(launch);
        }
        self.series.extend(outcome.series.map(|series| (first..self.launches.len(), series)));
    }

    /// The totals with one object per launch under `launches`.
    #[must_use]
    pub fn to_json(&self, energy: &EnergyTable) -> Value {
        self.to_json_with(energy, self.launches.iter().map(|one| one.to_json(energy)).collect())
    }

    fn to_json_with(&self, energy: &EnergyTable, launches: Value) -> Value {
        let mut object = self.total.to_json(energy);
        object["launches"] = launches;
        if let Some(sms) = sms_to_json(self.launches.iter().map(|launch| &launch.per_sm[..]), energy) {
            object["sms"] = sms;
        }
        object
    }

    /// A sentence for each kernel with more registers per thread than a GPU has.
    #[must_use]
    pub fn register_warnings(&self, config: &GpuConfig) -> Vec<String> {
        let most = config.sm.max_registers_per_thread.saturating_sub(config.sm.hidden_registers_per_thread);
        let mut named: Vec<&str> = Vec::new();
        let mut warnings = Vec::new();
        for launch in &self.launches {
            let (kernel, registers) = (launch.kernel.as_str(), launch.registers_per_thread);
            if registers > most && !named.contains(&kernel) {
                named.push(kernel);
                let kernel = warplab_host::symbols::signature(kernel);
                warnings.push(format!(
                    "{kernel} has {registers} registers per thread, at most {most} on {}; all are counted, where a \
                     compiler for this GPU would spill",
                    config.name
                ));
            }
        }
        warnings
    }

    /// The time series as one array, a row per interval.
    #[must_use]
    pub fn series_to_json(&self, columns: &[Column]) -> Value {
        let of = |(launches, series): &(Range<usize>, Series)| {
            let mut value = series.to_json(columns);
            let which = self.launches[launches.clone()].iter();
            value["launches"] = which.clone().map(|launch| launch.launch).collect();
            value["kernels"] = which.map(|launch| launch.kernel.clone()).collect();
            value
        };
        Value::Array(self.series.iter().map(of).collect())
    }
}

fn launch_stats<S>(trace: &Trace, one: &Prepared<S>, job: JobOutcome) -> LaunchStats {
    let launch = &trace.launches()[one.launch];
    LaunchStats {
        kernel: one.machine.program.name.clone(),
        kernel_index: launch.kernel,
        launch: one.launch,
        stream: launch.stream,
        blocks: one.blocks,
        geometry: launch.geometry,
        grid_blocks: launch.geometry.blocks(),
        threads_per_block: one.machine.threads_per_block,
        blocks_per_sm: one.machine.blocks_per_sm,
        occupancy_limit: one.machine.occupancy_limit,
        preferred_shared_bytes: one.machine.carveout,
        registers_per_thread: one.machine.plan.registers_per_thread,
        stats: job.stats,
        per_sm: job.per_sm,
        launched_at: job.launched_at,
        ended_at: job.ended_at,
        recordings: job.recordings,
    }
}

impl LaunchStats {
    fn to_json(&self, energy: &EnergyTable) -> Value {
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
fn sms_to_json<'a>(launches: impl Iterator<Item = &'a [Stats]>, energy: &EnergyTable) -> Option<Value> {
    let mut sums: Vec<Stats> = Vec::new();
    for per_sm in launches {
        sums.resize_with(sums.len().max(per_sm.len()), Stats::default);
        for (sum, one) in sums.iter_mut().zip(per_sm) {
            sum.merge(one);
        }
    }
    (!sums.is_empty()).then(|| sums.iter().map(|stats| stats.to_json(energy)).collect())
}
