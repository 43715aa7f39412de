//! The work of a sweep: every run once, on all cores, each result kept as soon as it is there.

use super::plan::{Plan, PlannedRun};
use crate::named::Ready;
use crate::numbers::{Numbers, of_stats};
use crate::pool;
use crate::provenance::trace_hash;
use crate::replay::{Replay, ReplayError, ReplayOptions, replay};
use crate::store::{Claimed, Store};
use crate::techniques::Catalogue;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use trace_format::reader::Trace;

/// Kind of the results in the store.
const RUNS: &str = "runs";

/// Pause between looks at runs that another program works on.
const PAUSE: Duration = Duration::from_millis(100);

/// Key of the energy of the register file and of what techniques add to it, in pJ.
pub const RF_ENERGY: &str = "register_file_energy_pj";

/// What a replay of a recording measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// By launch.
    pub launches: Vec<LaunchResult>,
    /// Of all launches.
    pub total: Numbers,
    /// Bits that techniques add to an SM.
    pub storage_bits: u64,
}

/// What was measured of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchResult {
    /// Kernel name.
    pub kernel: String,
    /// Position of the launch in the recording.
    pub launch: usize,
    /// Its numbers.
    pub numbers: Numbers,
}

/// What a run measured, or why it failed.
pub type RunResult = Result<Outcome, String>;

/// Results by the key of their run.
#[derive(Debug, Default)]
pub struct Results {
    found: BTreeMap<String, RunResult>,
    /// Why the sweep was stopped before its end.
    pub stopped: Option<String>,
}

impl Results {
    /// The result of a run.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of<'a>(&'a self, plan: &'a Plan, run: &'a PlannedRun) -> Result<&'a Outcome, &'a str> {
        match (plan.error(run), self.found.get(&run.key)) {
            (Some(why), _) => Err(why),
            (None, Some(result)) => result.as_ref().map_err(String::as_str),
            (None, None) => Err(NOT_RUN),
        }
    }

    /// Whether there is a result, or a reason for its absence, for a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.found.contains_key(key)
    }

    /// How many runs have a result or a reason for its absence.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether no run has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds a result.
    pub fn add(&mut self, key: &str, result: RunResult) {
        self.found.insert(key.to_owned(), result);
    }
}

/// The reason of a run that was not tried.
pub(super) const NOT_RUN: &str = "it has not run yet";

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Runs with a result.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// Of these results, those that the store had.
    pub kept: usize,
    /// Those that failed.
    pub failed: usize,
    /// Work done now, in warp instructions.
    pub worked: u64,
    /// Work that is left.
    pub left: u64,
}

/// A plan, and what it is worked on with.
pub struct Sweep<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Where results are kept; nowhere if there is none.
    pub store: Option<&'a Store>,
    /// The techniques.
    pub catalogue: &'a Catalogue,
    /// Threads; no result depends on them.
    pub threads: usize,
    /// Whether runs that failed before are tried again.
    pub retry: bool,
}

/// A failure, and whether trying again is bound to fail again.
struct Failure {
    why: String,
    lasting: bool,
}

/// State of a sweep under work.
struct Work<'a> {
    sweep: &'a Sweep<'a>,
    traces: Vec<OnceLock<Result<Trace, String>>>,
    state: Mutex<State>,
    tell: &'a (dyn Fn(Progress) + Sync),
}

#[derive(Default)]
struct State {
    results: Results,
    progress: Progress,
    /// Runs that another program works on.
    elsewhere: Vec<usize>,
}

impl Sweep<'_> {
    /// What the store has.
    #[must_use]
    pub fn kept(&self) -> Results {
        let mut results = Results::default();
        for at in self.plan.distinct() {
            self.take(&self.plan.runs[at].key, &mut results);
        }
        results
    }

    /// Takes a result from the store, if it is there and not yet taken.
    pub(super) fn take(&self, key: &str, results: &mut Results) -> bool {
        if results.has(key) {
            return true;
        }
        let kept = self.store.and_then(|store| store.get::<RunResult>(RUNS, key));
        match kept.filter(|result| !(self.retry && result.is_err())) {
            Some(result) => results.add(key, result),
            None => return false,
        }
        true
    }

    /// Works through the runs at some positions of the plan, those with equal keys once. A run that fails has its reason in the
    /// results. If a result cannot be kept, no further run begins, and [`Results::stopped`] has the reason.
    pub fn run(&self, positions: &[usize], tell: &(dyn Fn(Progress) + Sync)) -> Results {
        let mut state = State::default();
        let (mut open, mut seen) = (Vec::new(), BTreeSet::new());
        for &at in positions {
            let run = &self.plan.runs[at];
            if run.key.is_empty() || !seen.insert(&run.key) {
                continue;
            }
            state.progress.of += 1;
            if self.take(&run.key, &mut state.results) {
                state.progress.kept += 1;
                state.progress.done += 1;
            } else {
                state.progress.left += self.weight(at);
                open.push(at);
            }
        }
        state.progress.failed = state.results.found.values().filter(|result| result.is_err()).count();
        tell(state.progress);
        let traces = self.plan.traces.iter().map(|_| OnceLock::new()).collect();
        let work = Work { sweep: self, traces, state: Mutex::new(state), tell };
        while !open.is_empty() {
            pool::each(self.threads, open.len(), &|position, threads| work.one(open[position], threads));
            let mut state = work.state();
            if state.results.stopped.is_some() {
                break;
            }
            open = std::mem::take(&mut state.elsewhere);
            drop(state);
            if !open.is_empty() {
                std::thread::sleep(PAUSE);
            }
        }
        work.state.into_inner().unwrap_or_else(PoisonError::into_inner).results
    }

    fn weight(&self, at: usize) -> u64 {
        self.plan.traces[self.plan.runs[at].trace].warp_instructions.max(1)
    }
}

impl Work<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one run, unless another program is at it; whether the sweep goes on.
    fn one(&self, at: usize, threads: usize) -> bool {
        let Sweep { plan, store, .. } = self.sweep;
        let run = &plan.runs[at];
        let claim = match store.map(|store| store.claim(RUNS, &run.key)) {
            None => None,
            Some(Ok(Claimed::Ours(claim))) => Some(claim),
            Some(Ok(Claimed::Taken)) => {
                self.state().elsewhere.push(at);
                return true;
            }
            Some(Err(why)) => return self.stop(why),
        };
        // Another program may have finished it before the claim.
        let finished = self.sweep.take(&run.key, &mut self.state().results);
        if !finished {
            let result = self.replay(run, threads);
            let lasting = result.as_ref().map_or_else(|failure| failure.lasting, |_| true);
            let result: RunResult = result.map_err(|failure| failure.why);
            if let (Some(store), true) = (store, lasting)
                && let Err(why) = store.keep(RUNS, &run.key, &result)
            {
                return self.stop(why);
            }
            self.state().results.add(&run.key, result);
        }
        drop(claim);
        let mut state = self.state();
        let failed = state.results.found.get(&run.key).is_some_and(Result::is_err);
        let (weight, progress) = (self.sweep.weight(at), &mut state.progress);
        progress.done += 1;
        progress.kept += usize::from(finished);
        progress.failed += usize::from(failed);
        progress.worked += if finished { 0 } else { weight };
        progress.left -= weight;
        let now = *progress;
        drop(state);
        (self.tell)(now);
        true
    }

    /// Stops the sweep: results cannot be kept.
    fn stop(&self, why: String) -> bool {
        self.state().results.stopped.get_or_insert(why);
        false
    }

    fn replay(&self, run: &PlannedRun, threads: usize) -> Result<Outcome, Failure> {
        let plan = self.sweep.plan;
        let passing = |why: String| Failure { why, lasting: false };
        let trace = self.traces[run.trace].get_or_init(|| self.open(run.trace));
        let trace = trace.as_ref().map_err(|why| passing(why.clone()))?;
        let ready = plan.points[run.point].machine.ready(self.sweep.catalogue).map_err(passing)?;
        let options = ReplayOptions {
            threads,
            selection: plan.selection().map_err(passing)?,
            ..ReplayOptions::default()
        };
        // A mistake in a technique must not end the other runs.
        let replayed = catch_unwind(AssertUnwindSafe(|| {
            replay(trace, &ready.loaded.config, &ready.techniques, &options)
        }));
        match replayed {
            Ok(Ok(done)) => Ok(outcome(&done, &ready)),
            // A recording may be read without error the next time.
            Ok(Err(why)) => {
                let lasting = !matches!(why, ReplayError::Recording { .. });
                Err(Failure { why: why.to_string(), lasting })
            }
            Err(panic) => Err(passing(format!("the replay panicked: {}", text_of(&*panic)))),
        }
    }

    fn open(&self, trace: usize) -> Result<Trace, String> {
        let planned = &self.sweep.plan.traces[trace];
        let shown = planned.path.display();
        let trace = Trace::open(&planned.path).map_err(|why| why.to_string())?;
        if trace_hash(&trace)? != planned.hash {
            return Err(format!(
                "{shown} has another content than when the sweep was planned; run `timing sweep` again"
            ));
        }
        Ok(trace)
    }
}

fn outcome(replayed: &Replay, ready: &Ready) -> Outcome {
    let numbers = |stats: &crate::stats::Stats| {
        let mut numbers = of_stats(stats, &ready.energy);
        numbers.insert(RF_ENERGY.into(), ready.energy.register_file_pj(stats));
        numbers
    };
    let launches = replayed.launches.iter().map(|launch| LaunchResult {
        launch: launch.launch,
        numbers: numbers(&launch.stats),
        kernel: launch.kernel,
    });
    Outcome {
        launches: launches.collect(),
        total: numbers(&replayed.total),
        storage_bits: replayed.total.techniques.iter().map(|technique| technique.bits_per_sm).sum(),
    }
}

/// The message of a panic.
fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
