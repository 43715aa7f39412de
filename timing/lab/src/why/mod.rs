//! Explains what limits a kernel: the CPI stack is grouped into causes that a programmer or an architect can
//! act on, with supporting figures.
//!
//! `facts` computes figures from statistics and configuration, `limits` lists the causes with evidence
//! and advice, [`text`] prints. Nothing is replayed here.

mod facts;
mod limits;
pub mod text;
mod words;

use crate::config::GpuConfig;
use crate::replay::Replay;
use crate::stats::Stall;
use facts::{Facts, LaunchesOfKernel};
use limits::{Finding, LIMITS, Limit};
use serde_json::{Map, Value, json};
use words::plain;

/// Diagnosis of one kernel over all of its launches.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// Name of the kernel.
    pub kernel: String,
    /// Positions of its launches in the trace.
    pub launches: Vec<usize>,
    /// Figures.
    pub facts: Facts,
    /// Causes by their share of all scheduler slots, largest first; those without a slot are left out.
    pub limits: Vec<Found>,
    /// Other observations.
    pub notes: Vec<Finding>,
}

/// A cause that took scheduler slots.
#[derive(Clone, Debug)]
pub struct Found {
    /// The cause.
    pub limit: &'static Limit,
    /// Its share of all scheduler slots, 0 to 1.
    pub share: f64,
    /// Its share of the slots after the launch latency, 0 to 1; 0 for the latency itself.
    pub share_of_run: f64,
    /// Evidence and advice.
    pub finding: Finding,
}

/// Share of the slots after the launch latency above which a kernel counts as limited by issue alone.
const ISSUE_BOUND: f64 = 0.6;

/// Diagnoses each kernel of a replay, in the order of their first launch.
#[must_use]
pub fn diagnose(replay: &Replay, config: &GpuConfig) -> Vec<Diagnosis> {
    let mut kernels: Vec<LaunchesOfKernel> = Vec::new();
    for launch in replay.launches.iter() {
        match kernels.iter_mut().find(|kernel| kernel.first.kernel_index == launch.kernel_index) {
            Some(kernel) => kernel.add(&launch),
            None => kernels.push(LaunchesOfKernel::from(launch)),
        }
    }
    kernels.into_iter().map(|kernel| diagnose_kernel(kernel, config)).collect()
}

/// The scheduler slots of a result's `stalls` by what they were spent on, the largest number first.
#[must_use]
pub fn slots_by_limit(stalls: &Value) -> Vec<(&'static str, u64)> {
    let of = |limit: &Limit| {
        let slots = |cause: &Stall| stalls.get(cause.name()).and_then(Value::as_u64).unwrap_or(0);
        (limit.label, limit.causes.iter().map(slots).sum())
    };
    let mut slots: Vec<(&'static str, u64)> = LIMITS.iter().map(of).filter(|(_, slots)| *slots > 0).collect();
    slots.sort_by_key(|(_, slots)| std::cmp::Reverse(*slots));
    slots
}

fn diagnose_kernel(kernel: LaunchesOfKernel, config: &GpuConfig) -> Diagnosis {
    let facts = Facts::new(&kernel, config);
    let stats = &kernel.stats;
    let all = stats.stalls.total().max(1) as f64;
    let run = (stats.stalls.total() - stats.stalls.get(Stall::Launch)).max(1) as f64;
    let found = |limit: &'static Limit| {
        let slots: u64 = limit.causes.iter().map(|cause| stats.stalls.get(*cause)).sum();
        (slots > 0).then(|| Found {
            limit,
            share: slots as f64 / all,
            share_of_run: if limit.causes.contains(&Stall::Launch) { 0.0 } else { slots as f64 / run },
            finding: (limit.explain)(&facts),
        })
    };
    let mut limits: Vec<Found> = LIMITS.iter().filter_map(found).collect();
    limits.sort_by(|a, b| b.share.total_cmp(&a.share));
    Diagnosis {
        kernel: kernel.first.kernel,
        launches: kernel.numbers,
        notes: limits::notes(&facts),
        facts,
        limits,
    }
}

impl Diagnosis {
    /// The main limit after the launch: issue when most slots issue, else the largest cause of empty slots.
    #[must_use]
    pub fn main_limit(&self) -> Option<&Found> {
        let issue = self.limits.iter().find(|found| found.limit.name == "issue");
        if let Some(issue) = issue.filter(|found| found.share_of_run >= ISSUE_BOUND) {
            return Some(issue);
        }
        let lost = |found: &&Found| found.limit.name != "issue" && found.limit.name != "launch";
        self.limits.iter().find(lost).or(issue)
    }

    /// The second cause, if it is relevant: it takes at least half as many slots as the main one, or the main
    /// one is the absence of warps.
    #[must_use]
    pub fn next_limit(&self) -> Option<&Found> {
        let main = self.main_limit()?;
        let other = |found: &&Found| {
            !["issue", "launch", main.limit.name].contains(&found.limit.name) && main.limit.name != "issue"
        };
        let next = self.limits.iter().find(other)?;
        let counts = next.share_of_run >= 0.05
            && (main.limit.name == "idle" || next.share_of_run >= 0.5 * main.share_of_run);
        counts.then_some(next)
    }

    /// The launch latency, if it takes most of the kernel's time.
    #[must_use]
    pub fn launch_bound(&self) -> Option<&Found> {
        self.limits.iter().find(|found| found.limit.name == "launch" && found.share >= 0.5)
    }

    /// The diagnosis as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let limit = |found: &Found| {
            json!({
                "limit": found.limit.name,
                "share": found.share,
                "share_after_launch": found.share_of_run,
                "why": plain(&found.finding.why),
                "try": found.finding.advice,
            })
        };
        let note = |finding: &Finding| json!({ "why": plain(&finding.why), "try": finding.advice });
        let mut object = Map::new();
        object.insert("kernel".into(), json!(self.kernel));
        object.insert("launches".into(), json!(self.launches));
        object.insert("limited_by".into(), json!(self.main_limit().map(|found| found.limit.name)));
        object.insert("launch_bound".into(), json!(self.launch_bound().is_some()));
        object.insert("limits".into(), self.limits.iter().map(limit).collect());
        object.insert("notes".into(), self.notes.iter().map(note).collect());
        object.insert("figures".into(), self.facts.to_json());
        Value::Object(object)
    }
}
