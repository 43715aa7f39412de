//! `timing report`: studies and replays of traces as one page, with its data and figures as files.

use super::error::CliError;
use super::left_out::LeftOut;
use super::progress::LateBar;
use super::shared::{MachineArguments, ReplayArguments, words};
use super::{compare, output};
use crate::compare as comparison;
use crate::overrides::{partly_used, refuse_parameters, refuse_unused};
use crate::replay::Selection;
use crate::reports::{self, Contents, Lab, Measuring, Variant, Workload, unique_labels};
use crate::studies::{self, Input, Options, StudyError, StudyResult};
use crate::techniques::Catalogue;
use clap::Args;
use std::path::{Path, PathBuf};
use warplab_model::replay::Progress;

/// Arguments of `timing report`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing report matmul.wtrace -o report\n  \
    timing report *.wtrace --tech bow --tech corf --tech bow,corf --config gtx480 -o report\n  \
    timing report *.wtrace --combine bow-wr,regmutex --combine bow,corf++ -o together\n  \
    timing report *.wtrace --machine \"w5: bow, technique.bow.window=5\" --machine qv100 -o machines\n  \
    timing report *.wtrace -o new --against old/data.json --threshold 2%\n\n\
    Written are DIR/index.html (one page that needs nothing else), DIR/data.json, and for every table and chart \
    DIR/csv/ID.csv and DIR/parquet/ID.parquet, for every chart also DIR/figures/ID.svg and ID.png. A trace that cannot \
    be replayed is left out; the report says which and why, and the exit code is 1.")]
pub(super) struct Arguments {
    /// Traces to report on.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Folder for the report; created if needed.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Techniques to compare with the baseline, such as bow,corf; may be repeated for further comparisons.
    #[arg(long, value_name = "A,B")]
    tech: Vec<String>,
    /// Techniques to show together beside each alone and the product of these, such as bow-wr,regmutex; may be repeated.
    #[arg(long, value_name = "A,B")]
    combine: Vec<String>,
    #[command(flatten)]
    machines: MachineArguments,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Studies, separated by commas; `none` for none.
    #[arg(long, default_value = "all", value_name = "A,B")]
    studies: String,
    /// Adds a section on the differences from an earlier report, given by its data.json.
    #[arg(long, value_name = "DATA.json")]
    against: Option<PathBuf>,
    /// Numbers that differ by no more than this share are not listed by --against.
    #[arg(long, default_value = "1%", value_name = "SHARE", value_parser = compare::threshold, requires = "against")]
    threshold: f64,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let replayed = &arguments.replayed;
    // Check all arguments before the work begins.
    let techniques: Vec<Vec<String>> = arguments.tech.iter().map(|list| words(list)).collect();
    let named: Vec<String> =
        arguments.tech.iter().chain(&arguments.combine).flat_map(|list| words(list)).collect();
    let set = replayed.set();
    refuse_parameters(&set, &named, catalogue)?;
    let mut lab = Lab::new(&replayed.config, &set, &techniques, catalogue)?;
    refuse_unused(&set, &lab.config)?;
    partly_used(&set, &lab.config).iter().for_each(|why| warplab_host::say!("note: {why}"));
    for list in &arguments.combine {
        lab.combine(&words(list), catalogue)?;
    }
    for machine in arguments.machines.read(replayed, catalogue)? {
        lab.add_machine(&machine, catalogue)?;
    }
    let names = if arguments.studies == "none" { Vec::new() } else { studies::choose(&arguments.studies)? };
    let selection = replayed.selection()?;
    let earlier = arguments.against.as_deref().map(compare::read).transpose()?;
    let threads = replayed.threads();
    output::check_page(&arguments.output)?;
    let mut left_out = LeftOut::of(arguments.traces.len());
    let mut workloads = replay_all(arguments, &lab, &selection, threads, &mut left_out)?;
    // If a trace is damaged, it is left out and the studies run again on the others.
    let (results, without_values) = loop {
        match study_all(&names, &workloads, threads) {
            Ok(done) => break done,
            Err((Some(input), StudyError::Launches { unreadable, .. })) => {
                let bad: Vec<usize> = unreadable.launches.iter().map(|(launch, ..)| *launch).collect();
                let path = workloads[input].0;
                if let Err(told) = left_out.launches(path, *unreadable) {
                    // None of its launches is left.
                    workloads.remove(input);
                    left_out.unless::<()>(path, Err(told))?;
                    continue;
                }
                // Its replays are those of the same launches.
                let (_, workload) = &mut workloads[input];
                let launches = workload.launches.iter().copied();
                let all = 0..workload.trace.launches().len();
                let chosen: Vec<usize> = launches.filter(|launch| !bad.contains(launch)).collect();
                let without = selection.without(all.filter(|launch| !chosen.contains(launch)));
                *workload = replay_one(&lab, path, &workload.label, &without, threads, &mut left_out)?;
            }
            Err((Some(input), why)) => {
                let (path, _) = workloads.remove(input);
                left_out.unless::<()>(path, Err(CliError(format!("{}: {why}", path.display()))))?;
            }
            Err((None, why)) => return Err(why.into()),
        }
    };
    let workloads: Vec<Workload> = workloads.into_iter().map(|(_, workload)| workload).collect();
    let mut provenance = lab.provenance(command, &set);
    workloads.iter().try_for_each(|workload| provenance.add(&workload.trace))?;
    let contents = Contents {
        lab: &lab,
        workloads: &workloads,
        left_out: &left_out.reasons(),
        studies: &results,
        without_values: &without_values,
        produced_by: &provenance,
    };
    let mut report = reports::report(&contents);
    if let (Some(earlier), Some(path)) = (&earlier, &arguments.against) {
        let found = comparison::compare(earlier, &report.to_json(), arguments.threshold);
        output::print(&found.to_text(20))?;
        report = report.section(reports::changes(&found, &path.display().to_string(), arguments.threshold));
    }
    let written = report.write(&arguments.output)?;
    output::print(&format!(
        "{}\n{}\n{} tables as CSV and Parquet, {} figures as SVG and PNG\n",
        written.html.display(),
        written.json.display(),
        written.csvs.len(),
        written.svgs.len()
    ))?;
    left_out.verdict()
}

/// The replays of the traces that can be replayed.
fn replay_all<'a>(
    arguments: &'a Arguments,
    lab: &Lab,
    selection: &Selection,
    threads: usize,
    left_out: &mut LeftOut,
) -> Result<Vec<(&'a Path, Workload)>, CliError> {
    let mut workloads = Vec::new();
    for (path, label) in arguments.traces.iter().zip(unique_labels(&arguments.traces)) {
        let done = replay_one(lab, path, &label, selection, threads, left_out);
        let workload = left_out.unless(path, done)?;
        workloads.extend(workload.map(|workload| (path.as_path(), workload)));
    }
    Ok(workloads)
}

/// The replays of the launches of a trace that can be read.
fn replay_one(
    lab: &Lab,
    path: &Path,
    label: &str,
    selection: &Selection,
    threads: usize,
    left_out: &mut LeftOut,
) -> Result<Workload, CliError> {
    let trace = output::open_trace(path)?;
    let bar = LateBar::new(label);
    let progress = |variant: &Variant, launch: usize, launches: usize, p: Progress| {
        bar.update(
            p.blocks_placed,
            p.blocks,
            &format!("{}, launch {} of {launches}", variant.label, launch + 1),
        );
    };
    left_out.readable(path, selection, |selection| {
        let how = Measuring { selection, threads, waits: true, progress: &progress };
        lab.measure(label.to_owned(), trace.clone(), &how).map_err(|(_, why)| why)
    })
}

/// Results of the studies over the traces that have values, and the names of the traces that have none.
type Studied = (Vec<StudyResult>, Vec<String>);

/// Runs the studies over the traces that have values; on failure returns the position of the damaged trace,
/// if one is.
fn study_all(
    names: &[&str],
    workloads: &[(&Path, Workload)],
    threads: usize,
) -> Result<Studied, (Option<usize>, StudyError)> {
    let all = workloads.iter().map(|(_, workload)| workload).enumerate();
    let has_values = |(_, workload): &(usize, &Workload)| workload.trace.header().has_values();
    let (positions, without): (Vec<_>, Vec<_>) = all.partition(has_values);
    let (positions, with): (Vec<usize>, Vec<&Workload>) = positions.into_iter().unzip();
    let inputs: Vec<Input<'_>> =
        with.iter().map(|workload| Input { label: &workload.label, trace: &workload.trace }).collect();
    let without = without.iter().map(|(_, workload)| workload.label.clone()).collect();
    if names.is_empty() || inputs.is_empty() {
        return Ok((Vec::new(), without));
    }
    let bar = LateBar::new("studies");
    let progress = |p: studies::Progress| bar.update(p.warp_instructions, p.of, "");
    let launches = with
        .iter()
        .enumerate()
        .flat_map(|(input, workload)| workload.launches.iter().map(move |&launch| (input, launch as u32)));
    let select = studies::Selection::exactly(launches.collect());
    let options = Options { threads, progress: &progress, select: &select, ..Options::default() };
    match studies::run(names, &inputs, &options) {
        Ok(results) => Ok((results, without)),
        Err(StudyError::Trace { input, why, .. }) => Err((Some(positions[input]), *why)),
        Err(why @ StudyError::Launches { input, .. }) => Err((Some(positions[input]), why)),
        Err(other) => Err((None, other)),
    }
}
