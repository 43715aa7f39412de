//! The plan of a sweep: its recordings, points and runs, as data that any program with the file can work through.

use super::space::{Point, Space};
use crate::provenance::{VERSION, trace_hash};
use crate::replay::{Selection, check_launches};
use crate::store::{Key, this_program};
use crate::techniques::Catalogue;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use trace_format::reader::Trace;
use warplab_host::destination::Destination;
use warplab_host::input;

/// Form of the file.
const SCHEMA: &str = "warplab-sweep-work/1";

/// Maximum size of the file: a million runs have about 100 bytes each.
const MOST_BYTES: u64 = 1 << 30;

/// Runs of recordings at points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    schema: String,
    /// Version of the program that made the plan.
    pub version: String,
    /// Content of that program: only this program may work on the plan, since its results hold for no other.
    program: String,
    /// Folder in which names of files are meant.
    pub folder: PathBuf,
    /// Choice of kernels, as `--kernels` takes it.
    kernels: Option<String>,
    /// Choice of launches, as `--launches` takes it.
    launches: Option<String>,
    /// Choice of metrics, as `--metrics` takes it.
    pub metrics: Option<String>,
    /// What planned it: command, machine, techniques and traces, as results have it. It is that of the plan, whatever
    /// program works on its runs.
    pub produced_by: Value,
    /// Keys that vary.
    pub varied: Vec<String>,
    /// Keys of all parameters: those that vary first, then those that named machines change.
    pub parameters: Vec<String>,
    /// The recordings.
    pub traces: Vec<PlannedTrace>,
    /// The points.
    pub points: Vec<Point>,
    /// Every recording at every point, by recording.
    pub runs: Vec<PlannedRun>,
}

/// A recording of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedTrace {
    /// Name in tables and charts.
    pub label: String,
    /// The file.
    pub path: PathBuf,
    /// Hash of its content.
    pub hash: String,
    /// Warp instructions of the chosen launches, by which runs are weighed.
    pub warp_instructions: u64,
    /// Why it cannot be replayed.
    pub error: Option<String>,
}

/// One replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Position of the recording.
    pub trace: usize,
    /// Position of the point.
    pub point: usize,
    /// Key of its result: of the recording's content, the chosen launches, the machine's values, its techniques and the
    /// program. Empty if it cannot run.
    pub key: String,
    /// Why the machine refuses a kernel of this recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a plan is made of besides its points.
pub struct Requested<'a> {
    /// The recordings with their labels and paths, or why one cannot be read.
    pub traces: Vec<(String, PathBuf, Result<&'a Trace, String>)>,
    /// Choice of kernels, as `--kernels` takes it.
    pub kernels: Option<&'a str>,
    /// Choice of launches, as `--launches` takes it.
    pub launches: Option<&'a str>,
}

/// Why each point refuses a kernel of a recording, if it does.
fn refused(trace: &Trace, chosen: &[usize], points: &[Point], catalogue: &Catalogue) -> Vec<Option<String>> {
    let of = |point: &Point| {
        let ready = point.machine.ready(catalogue).ok()?;
        let check = || check_launches(trace, chosen, &ready.loaded.config, &ready.techniques);
        // A mistake in a technique becomes the error of its runs.
        catch_unwind(AssertUnwindSafe(check)).ok()?.err().map(|why| why.to_string())
    };
    points.par_iter().map(of).collect()
}

impl Plan {
    /// The plan of a space over some recordings.
    ///
    /// # Errors
    /// As [`Space::points`]; a choice of launches that is no choice; the program or the folder cannot be read.
    pub fn new(space: &Space, requested: Requested<'_>, catalogue: &Catalogue) -> Result<Plan, String> {
        let points = space.points(catalogue)?;
        let parameters = space.parameters(&points);
        let varied = space.vary.iter().map(|vary| vary.key.clone()).collect();
        Ok(Plan { varied, parameters, ..Plan::of(points, requested, catalogue)? })
    }

    /// The plan of some points, each with all recordings; none of their keys varies. Every machine is asked whether it takes
    /// the kernels of every recording, so that nothing is refused after others have run.
    ///
    /// # Errors
    /// A choice of launches that is no choice; the program or the folder cannot be read.
    pub fn of(points: Vec<Point>, requested: Requested<'_>, catalogue: &Catalogue) -> Result<Plan, String> {
        let Requested { traces, kernels, launches } = requested;
        let selection = Selection::parse(kernels, launches)?;
        let program = this_program()?;
        let mut planned = Vec::new();
        let mut runs = Vec::new();
        for (label, path, trace) in traces {
            let chosen = trace.and_then(|trace| Ok((trace, selection.of(trace)?)));
            let refused = match &chosen {
                Ok((trace, chosen)) => refused(trace, chosen, &points, catalogue),
                Err(_) => vec![None; points.len()],
            };
            let read = chosen.and_then(|(trace, chosen)| {
                let hash = trace_hash(trace)?;
                let instructions =
                    chosen.iter().map(|launch| trace.launches()[*launch].warp_instructions()).sum();
                Ok((hash, instructions, chosen))
            });
            let (hash, warp_instructions, chosen, error) = match read {
                Ok((hash, instructions, chosen)) => (hash, instructions, chosen, None),
                Err(why) => (String::new(), 0, Vec::new(), Some(why)),
            };
            for ((at, point), refused) in points.iter().enumerate().zip(refused) {
                let key = Key::default().with(program.as_bytes()).with(hash.as_bytes());
                let key = key.with(format!("{chosen:?}").as_bytes()).with(point.identity.as_bytes());
                let runs_at = error.is_none() && point.error.is_none() && refused.is_none();
                let key = if runs_at { key.text() } else { String::new() };
                runs.push(PlannedRun { trace: planned.len(), point: at, key, error: refused });
            }
            planned.push(PlannedTrace { label, path, hash, warp_instructions, error });
        }
        Ok(Plan {
            schema: SCHEMA.into(),
            version: VERSION.into(),
            program,
            folder: std::env::current_dir().map_err(|why| format!("the current folder is unknown: {why}"))?,
            kernels: kernels.map(str::to_owned),
            launches: launches.map(str::to_owned),
            metrics: None,
            produced_by: Value::Null,
            varied: Vec::new(),
            parameters: Vec::new(),
            traces: planned,
            points,
            runs,
        })
    }

    /// The choice of launches.
    ///
    /// # Errors
    /// It is no choice.
    pub fn selection(&self) -> Result<Selection, String> {
        Selection::parse(self.kernels.as_deref(), self.launches.as_deref())
    }

    /// Why a run cannot be replayed, if so.
    #[must_use]
    pub fn error<'a>(&'a self, run: &'a PlannedRun) -> Option<&'a str> {
        let of_parts = self.traces[run.trace].error.as_deref().or(self.points[run.point].error.as_deref());
        of_parts.or(run.error.as_deref())
    }

    /// The combinations that are refused, each with the reason: machines, and machines that refuse a kernel.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        let points = self.points.iter();
        let of_points =
            points.filter_map(|point| Some(format!("{}: {}", point.label, point.error.as_ref()?)));
        let of_runs = self.runs.iter().filter_map(|run| {
            let (trace, point) = (&self.traces[run.trace].label, &self.points[run.point].label);
            Some(format!("{trace} at {point}: {}", run.error.as_ref()?))
        });
        of_points.chain(of_runs).collect()
    }

    /// Position of the first run with each key, in order: what there is to do.
    #[must_use]
    pub fn distinct(&self) -> Vec<usize> {
        let mut seen = BTreeMap::new();
        let runnable = self.runs.iter().enumerate().filter(|(_, run)| !run.key.is_empty());
        runnable.filter(|(at, run)| seen.insert(run.key.as_str(), *at).is_none()).map(|(at, _)| at).collect()
    }

    /// Writes the plan; the file is complete or absent.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|why| why.to_string())? + "\n";
        let write = Destination::within(path).write(|out| out.write_all(text.as_bytes()));
        write.map_err(|why| format!("cannot write {}: {why}", path.display()))
    }

    /// Reads a plan that this program wrote.
    ///
    /// # Errors
    /// The file cannot be read, is no plan, contradicts itself, or another build of the program wrote it.
    pub fn read(path: &Path) -> Result<Plan, String> {
        let shown = path.display();
        let text = input::read_text(path, MOST_BYTES).map_err(|why| format!("cannot read {shown}: {why}"))?;
        let plan: Plan = serde_json::from_str(&text)
            .map_err(|why| format!("{shown} is no work of `timing sweep`: {why}"))?;
        if plan.schema != SCHEMA {
            return Err(format!("{shown} has the form {}, and this program reads {SCHEMA}", plan.schema));
        }
        let sound =
            plan.runs.iter().all(|run| run.trace < plan.traces.len() && run.point < plan.points.len())
                && plan.points.iter().all(|point| point.baseline < plan.points.len());
        if !sound {
            return Err(format!("{shown} is damaged: a run names a trace or a point that it does not have"));
        }
        if plan.program != this_program()? {
            return Err(format!(
                "{shown} was written by another build of timing ({}), this is {VERSION}, and results hold for one build only; run \
                 `timing sweep` again with its arguments",
                plan.version
            ));
        }
        Ok(plan)
    }
}
