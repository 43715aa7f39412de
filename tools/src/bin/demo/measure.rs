//! The demo's measurements: replays of every trace with every variant, and the studies.

use crate::failure::Failure;
use crate::progress::Phase;
use crate::record::Recording;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use timing::provenance::Provenance;
use timing::replay::Progress;
use timing::replay::Selection;
use timing::reports::{Lab, Measuring, Variant, Workload};
use timing::studies::{self, Input, Options, StudyResult};
use trace_format::reader::{Launch, Trace};

/// Label of a variant, and its techniques.
const VARIANTS: [(&str, &[&str]); 4] =
    [("Baseline", &[]), ("BOW", &["bow"]), ("CORF", &["corf"]), ("BOW+CORF", &["bow", "corf"])];

/// The variants on a configuration; the baseline is the first.
///
/// # Errors
/// An unknown or contradictory configuration.
pub(crate) fn lab(config: &str) -> Result<Lab, Failure> {
    let techniques = VARIANTS.map(|(_, words)| words.iter().map(|&word| word.to_owned()).collect());
    let mut lab = Lab::new(config, &[], &techniques, &timing::techniques::built_in())?;
    for (variant, (label, _)) in lab.variants.iter_mut().zip(VARIANTS) {
        label.clone_into(&mut variant.label);
    }
    Ok(lab)
}

/// All that the demo found.
pub(crate) struct Results {
    /// What `--config` was given.
    pub config_word: String,
    /// The variants.
    pub lab: Lab,
    /// The workloads.
    pub recordings: Vec<Recording>,
    /// Their traces and replays, in the same order.
    pub workloads: Vec<Workload>,
    /// Results of the studies.
    pub findings: Findings,
    /// What produces the results.
    pub produced_by: Provenance,
}

/// The command with the machine, the techniques and the traces, which are in a folder below `out`.
///
/// # Errors
/// A trace cannot be read any more.
pub(crate) fn provenance(
    command: &[String],
    lab: &Lab,
    workloads: &[Workload],
    out: &Path,
) -> Result<Provenance, Failure> {
    let mut provenance = lab.provenance(command, &[]);
    for workload in workloads {
        let path = workload.trace.path();
        provenance.add_at(&workload.trace, path.strip_prefix(out).unwrap_or(path)).map_err(Failure)?;
    }
    Ok(provenance)
}

/// Replays every recording with every variant.
///
/// # Errors
/// What the replay of a workload on a machine fails with.
pub(crate) fn replay_all(
    lab: &Lab,
    recordings: &[Recording],
    traces: Vec<Trace>,
    threads: usize,
) -> Result<Vec<Workload>, Failure> {
    let variants = lab.variants.len();
    let runs = traces.len() * variants;
    let phase = Phase::start("replay", runs);
    let mut workloads: Vec<Workload> = Vec::new();
    let mut instructions = 0;
    for (recording, trace) in recordings.iter().zip(traces) {
        let first = workloads.len() * variants;
        let go_on = |m: usize| {
            phase.item(first + m, &format!("{} on {}", recording.name, lab.variants[m].label));
        };
        go_on(0);
        let shown = AtomicUsize::new(0);
        let progress = |variant: &Variant, launch: usize, launches: usize, p: Progress| {
            let m = lab.variants.iter().position(|other| std::ptr::eq(other, variant)).unwrap_or(0);
            if shown.swap(m, Ordering::Relaxed) != m {
                go_on(m);
            }
            let within = p.blocks_placed as f64 / p.blocks.max(1) as f64;
            phase.part((launch as f64 + within) / launches.max(1) as f64, &format!("{} cycles", p.cycles));
        };
        let selection = Selection::default();
        let how = Measuring { selection: &selection, threads, waits: false, progress: &progress };
        let workload = lab
            .measure(recording.name.to_owned(), trace, &how)
            .map_err(|(variant, e)| Failure(format!("{} on {}: {e}", recording.name, variant.label)))?;
        let techniques = lab.variants.iter().enumerate().skip(1);
        let speedups: Vec<String> = techniques
            .map(|(m, variant)| format!("{} x{:.2}", variant.tech(), workload.speedup(m)))
            .collect();
        let counters = &workload.plain().counters;
        phase.line(&format!(
            "  {:<16} {:>10} cycles, IPC {:>5.2};  {}",
            workload.label,
            counters.cycles,
            counters.ipc(),
            speedups.join(", ")
        ));
        instructions += workload.replays.iter().map(|r| r.total.counters.warp_instructions).sum::<u64>();
        workloads.push(workload);
    }
    phase.end(&format!("{runs} runs, {} warp instructions", report::integer(i128::from(instructions))));
    Ok(workloads)
}

/// Redundant instructions, and the kinds of values that they work on.
pub(crate) struct Findings {
    /// By grid, block and warp.
    pub redundancy: StudyResult,
    /// By uniform, affine and unstructured operands.
    pub taxonomy: StudyResult,
}

/// Runs the studies of redundancy over the traces, in one pass.
///
/// # Errors
/// What the studies fail with.
pub(crate) fn study(workloads: &[Workload], threads: usize) -> Result<Findings, Failure> {
    let phase = Phase::start("study", 1);
    phase.item(0, "redundancy");
    let inputs: Vec<Input<'_>> =
        workloads.iter().map(|w| Input { label: &w.label, trace: &w.trace }).collect();
    let progress = |p: studies::Progress| phase.part(p.warp_instructions as f64 / p.of.max(1) as f64, "");
    let results = studies::run(
        &["redundancy", "taxonomy"],
        &inputs,
        &Options { threads, progress: &progress, ..Options::default() },
    )?;
    let instructions: u64 =
        inputs.iter().flat_map(|i| i.trace.launches()).map(Launch::warp_instructions).sum();
    phase.end(&format!("redundancy of {} warp instructions", report::integer(i128::from(instructions))));
    let [redundancy, taxonomy] = results.try_into().map_err(|_| Failure("a study has no result".into()))?;
    Ok(Findings { redundancy, taxonomy })
}
