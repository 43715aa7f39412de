//! Replays an open trace on a configuration: launches run one after the other, or together where streams
//! allow it.

mod launches;
mod profile;
mod select;
mod source;
mod spool;
mod streamed;
mod streams;

pub use crate::engine::Progress;
pub use crate::error::{ReplayError, Unreadable};
use launches::sms_to_json;
pub use launches::{LaunchList, LaunchStats};
pub use select::Selection;
pub use source::{Detail, TraceLaunch, TraceWarp};
pub use streamed::{Launches, Streamed};
pub use streams::{Point, dependencies};

use crate::config::{GpuConfig, Organisation, builtin};
use crate::engine::{Gpu, GroupOutcome, Job, JobOutcome, RunOptions};
use crate::observe::{Observed, Recording, ViewOptions};
use crate::program::Program;
use crate::sm::{Machine, Shape};
use crate::source::{LaunchSource, Plain};
use crate::stats::{Column, EnergyTable, Series, Stats};
use crate::techniques::{Launch, RecordedWarps, Stack, Technique};
use profile::RecordedLaunch;
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use trace_format::container::TransferKind;
use trace_format::isa::MachineKernel;
use trace_format::reader::Trace;
use warplab_analysis::convergence::meeting_places_on;

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

/// Statistics of a whole trace.
#[derive(Debug, Default)]
pub struct Replay {
    /// Statistics of each launch.
    pub launches: LaunchList,
    /// All launches together; cycles of launches that ran one after the other are summed.
    pub total: Stats,
    /// Samples of the counters, each with the positions in `launches` of the kernels that ran together.
    pub series: Vec<(Range<usize>, Series)>,
    /// Recordings of observed SMs, with the positions of their launches in `launches`.
    pub recordings: Vec<(usize, Recording)>,
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
        let program = Program::new(trace.kernel(what.kernel), config).map_err(ReplayError::Refused)?;
        // Where lanes reconverge decides about cycles and refuses nothing.
        let decoded = Decoded { program, meets: Arc::from(Vec::new()) };
        prepare(trace, *launch, config, techniques, false, &decoded, Plain)?;
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
    let mut decoded: HashMap<u32, Decoded> = HashMap::new();
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
            let decoded = match decoded.entry(kernel) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Decoded::of(trace.kernel(kernel), config)?),
            };
            prepared.push(prepare(trace, *launch, config, techniques, options.checked, decoded, &wrap)?);
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

/// A kernel decoded for a configuration, which all of its launches share.
struct Decoded {
    program: Program,
    /// Where lanes reconverge.
    meets: Arc<[bool]>,
}

impl Decoded {
    fn of(kernel: &MachineKernel, config: &GpuConfig) -> Result<Decoded, ReplayError> {
        let program = Program::new(kernel, config).map_err(ReplayError::Refused)?;
        Ok(Decoded { program, meets: meeting_places_on(config, kernel) })
    }
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
    decoded: &Decoded,
    wrap: impl Fn(TraceLaunch) -> S,
) -> Result<Prepared<S>, ReplayError> {
    let launch = &trace.launches()[index];
    let Decoded { program, meets } = decoded;
    let blocks = launch.blocks_recorded();
    let mut asked = Launch::new(program, config, launch.geometry.grid, launch.geometry.block);
    asked.blocks = blocks;
    asked.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    asked.shared_carveout_percent = launch.shared_carveout_percent;
    let banks = trace.launch_record(index as u32).map_err(|why| ReplayError::Refused(why.to_string()))?.banks;
    asked.parameters = banks.param.get(trace_format::isa::space::PARAM_BASE as usize..).unwrap_or(&[]);
    asked.banks = Some(&banks);
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
    let (stack, plan) = Stack::prepare(techniques.to_vec(), &asked).map_err(ReplayError::Refused)?;
    if config.sm.organisation == Organisation::ControlBits && plan.collectors.is_some() {
        return Err(ReplayError::Refused(without_collectors(techniques, config)));
    }
    let shape = Shape::of(&asked, &plan, launch.kernel).map_err(ReplayError::Refused)?;
    let machine = Machine::new(config, program.clone(), plan, shape, Arc::clone(meets));
    let machine = machine.map_err(ReplayError::Refused)?;
    let detail = match has_values && (checked || !stack.is_empty()) {
        true => Detail::Values,
        false => Detail::Slice,
    };
    let source = wrap(TraceLaunch::new(trace, index as u32, detail));
    Ok(Prepared { launch: index, machine, source, stack, blocks })
}

/// Why techniques that change operand collectors are refused on a machine that has none.
fn without_collectors(techniques: &[Box<dyn Technique>], config: &GpuConfig) -> String {
    let names: Vec<&str> = techniques.iter().map(|technique| technique.info().name).collect();
    let mut why = format!(
        "{} changes operand collectors, and {} has none (sm.organisation)",
        names.join(", "),
        config.name
    );
    let with_collectors = format!("{}-collectors", config.name);
    if builtin::find(builtin::GPUS, &with_collectors).is_some() {
        why += &format!("; use --config {with_collectors}");
    }
    why
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
        for (one, mut job) in prepared.into_iter().zip(outcome.jobs) {
            let recordings = std::mem::take(&mut job.recordings);
            self.recordings.extend(recordings.into_iter().map(|one| (self.launches.len(), one)));
            self.launches.push(launch_stats(trace, &one, job));
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
        // All launches have them or none, and each is read for it.
        let has_sms = self.launches.iter().next().is_some_and(|first| !first.per_sm.is_empty());
        let per_sm = self.launches.iter().map(|launch| launch.per_sm);
        if let Some(sms) = has_sms.then(|| sms_to_json(per_sm, energy)).flatten() {
            object["sms"] = sms;
        }
        object
    }

    /// A sentence for each kernel with more registers per thread than a GPU has.
    #[must_use]
    pub fn register_warnings(&self, config: &GpuConfig) -> Vec<String> {
        let most = config.sm.max_registers_per_thread.saturating_sub(config.sm.hidden_registers_per_thread);
        let mut named: Vec<String> = Vec::new();
        let mut warnings = Vec::new();
        for launch in self.launches.iter() {
            let registers = launch.registers_per_thread;
            if registers > most && !named.contains(&launch.kernel) {
                let kernel = warplab_host::symbols::signature(&launch.kernel);
                warnings.push(format!(
                    "{kernel} has {registers} registers per thread, at most {most} on {}; all are counted, where a \
                     compiler for this GPU would spill",
                    config.name
                ));
                named.push(launch.kernel);
            }
        }
        warnings
    }

    /// The time series as one array, a row per interval.
    #[must_use]
    pub fn series_to_json(&self, columns: &[Column]) -> Value {
        let of = |(launches, series): &(Range<usize>, Series)| {
            let mut value = series.to_json(columns);
            let which = || self.launches.range(launches.clone());
            value["launches"] = which().map(|launch| launch.launch).collect();
            value["kernels"] = which().map(|launch| launch.kernel).collect();
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
    }
}
