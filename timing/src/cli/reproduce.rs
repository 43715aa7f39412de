//! `timing reproduce`: the figures of papers, measured again.

use super::error::CliError;
use super::output;
use super::progress::LateBar;
use super::shared::Threads;
use crate::reproduce::{
    self, Cache, Experiment, Figure, PAPERS, Plan, Progress, Recorder, Recording, Workloads, measured, page,
    paper, plan,
};
use crate::techniques::Catalogue;
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `timing reproduce`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  timing reproduce                        the papers and their figures\n  \
    timing reproduce darsie                 every figure of a paper, into reproduce-darsie/\n  \
    timing reproduce bow 3.3 --schedule reuse --size test\n  \
    timing reproduce mine.toml -o mine      an experiment of your own: copy one with --show\n  \
    timing reproduce uv --show > mine.toml\n\n\
    Programs are recorded with `emu` and kept by content, like every answer: an interrupted run goes on where it stopped, \
    and a second run takes seconds. Written are DIR/index.html, DIR/data.json, and for every table and chart CSV, Parquet, \
    SVG and PNG. A program that fails is left out by name, and the exit code is 1."
)]
pub(super) struct Arguments {
    /// A paper, or a file of experiments ending in .toml; none lists the papers.
    paper: Option<String>,
    /// Figures, by their number in the paper; none for all.
    figures: Vec<String>,
    /// Folder of the results; created if needed [default: reproduce-PAPER].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Size of the workloads: a `[sizes.NAME]` of their manifests, or `test`.
    #[arg(long, default_value = "paper", value_name = "NAME")]
    size: String,
    /// Order of instructions where a figure names none: `latency`, `source` or `reuse`, as `emu record --schedule`.
    #[arg(long, value_name = "ORDER")]
    schedule: Option<String>,
    /// Registers per thread at most where a figure names none, as `emu record --maxregs`.
    #[arg(long, value_name = "N")]
    maxregs: Option<u32>,
    /// Folder of the workloads [default: tests/workloads in this folder, above it, or above this program].
    #[arg(long, value_name = "DIR")]
    workloads: Option<PathBuf>,
    /// The recorder [default: `emu` beside this program or on the search path].
    #[arg(long, value_name = "PROGRAM")]
    emu: Option<PathBuf>,
    /// Folder of recordings and answers [default: $WARPLAB_CACHE or ~/.cache/warplab].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Deletes each recording after its last question; its answers are kept.
    #[arg(long)]
    discard_traces: bool,
    /// Prints the experiments instead of running them.
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    threads: Threads,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue) -> Result<(), CliError> {
    let Some(name) = &arguments.paper else { return output::print(&list(catalogue)?) };
    let (text, origin) = text_of(name)?;
    if arguments.show {
        return output::print(&text);
    }
    let experiment = Experiment::parse(&text, &origin, catalogue)?;
    let figures = experiment.figures(&arguments.figures)?;
    let workloads = match &arguments.workloads {
        Some(folder) => Workloads::in_folder(folder)?,
        None => Workloads::bundled()?,
    };
    let recorder = Recorder::find(arguments.emu.as_deref())?;
    let cache = arguments.cache.clone().map_or_else(Cache::of_user, |folder| Ok(Cache::at(folder)))?;
    let folder = arguments.output.clone().unwrap_or_else(|| {
        let stem =
            std::path::Path::new(name).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        format!("reproduce-{stem}").into()
    });
    if let Some(file) = folder.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        let (folder, file) = (folder.display(), file.display());
        return Err(CliError(format!("cannot create the folder {folder}: {file} is a file")));
    }
    let defaults = Recording {
        workload: String::new(),
        size: arguments.size.clone(),
        schedule: arguments.schedule.clone(),
        maxregs: arguments.maxregs,
    };
    let work = Plan {
        tasks: plan(&experiment, &figures, &defaults),
        workloads: &workloads,
        recorder: &recorder,
        cache: &cache,
        catalogue,
        program: reproduce::this_program()?,
        threads: arguments.threads.count(),
        discard: arguments.discard_traces,
    };
    let bar = LateBar::new(&experiment.paper.name);
    let started = Instant::now();
    let progress =
        |at: Progress<'_>| bar.update(at.done as u64, at.of as u64, &remaining(at, started.elapsed()));
    let answers = reproduce::run(&work, &progress);
    drop(bar);
    let results: Vec<_> =
        figures.iter().map(|figure| measured(&experiment, figure, &answers, &defaults)).collect();
    let about = [
        ("Machine", experiment.paper.machine.clone()),
        ("Size of the programs", arguments.size.clone()),
        ("Order of instructions", arguments.schedule.clone().unwrap_or_else(|| "latency".into())),
    ];
    let written = page(&experiment, &results, &about).write(&folder)?;
    output::print(&format!(
        "{}\n{}\n{}\n",
        reproduce::text(&experiment, &results),
        written.html.display(),
        written.json.display()
    ))?;
    let failures = answers.failures();
    for (recording, why) in &failures {
        eprintln!("error: {} is left out of a figure: {why}", recording.workload);
    }
    match failures.len() {
        0 => Ok(()),
        count => {
            let of = work.tasks.len();
            Err(CliError(format!("{count} of {of} recordings are left out of some figures")))
        }
    }
}

/// The text of a paper's experiments, and where it comes from.
fn text_of(name: &str) -> Result<(String, String), CliError> {
    if let Some(text) = paper(name) {
        return Ok((text.to_owned(), format!("{name} (built in)")));
    }
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name).map_err(|why| CliError(format!("{name}: {why}")))?;
        return Ok((text, name.to_owned()));
    }
    let known: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
    Err(CliError(format!(
        "unknown paper `{name}`; known are {}, or name a file ending in .toml",
        known.join(", ")
    )))
}

/// The papers and their figures.
fn list(catalogue: &Catalogue) -> Result<String, CliError> {
    let mut text = String::from("Papers and figures (timing reproduce PAPER [FIGURE...])\n");
    for (name, experiments) in PAPERS {
        let experiment = Experiment::parse(experiments, name, catalogue)?;
        let paper = &experiment.paper;
        text += &format!(
            "\n{name}: {}, on {}\n  {} ({})\n",
            paper.name, paper.machine, paper.title, paper.citation
        );
        for figure in &experiment.figures {
            let Figure { id, title, .. } = figure;
            text += &format!("  {id:<8} {title}, {} programs\n", experiment.programs_of(figure).len());
        }
    }
    Ok(text)
}

/// What is done, and how long the rest will take if it goes on as before.
fn remaining(at: Progress<'_>, elapsed: Duration) -> String {
    let worked = at.done.saturating_sub(at.kept);
    let left = match worked {
        0 => String::new(),
        _ => {
            let seconds = elapsed.as_secs_f64() / worked as f64 * (at.of - at.done) as f64;
            format!(
                ", about {} left",
                if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
            )
        }
    };
    format!("{} of {}{left} {}", at.done, at.of, at.now)
}
