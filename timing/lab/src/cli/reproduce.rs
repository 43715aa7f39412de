//! `timing reproduce`: the figures of papers, measured again.

use super::error::CliError;
use super::output;
use super::progress::{GOES_ON, LateBar, on_interrupt, time_left};
use super::shared::Threads;
use crate::config::load;
use crate::provenance::Provenance;
use crate::reproduce::{
    self, Assembler, Cache, Experiment, Figure, PAPERS, Plan, Progress, Recorder, Recording, Workloads,
    measured, page, paper, plan,
};
use crate::store::this_program;
use crate::techniques::Catalogue;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warplab_host::{input, names};

/// Arguments of `timing reproduce`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  timing reproduce                        the papers and their figures\n  \
    timing reproduce darsie                 every figure of a paper, into reproduce-darsie/\n  \
    timing reproduce corf 2.2 2.4 --size test    two figures, small programs\n  \
    timing reproduce all motivation         what needs no technique, of every paper\n  \
    timing reproduce bow --code sass        the same on machine code that ptxas makes\n  \
    timing reproduce mine.toml -o mine      an experiment of your own: copy one with --show\n  \
    timing reproduce uv --show > mine.toml\n\n\
    Programs are recorded with `emu` and kept by content, like every answer: an interrupted run goes on where it stopped, \
    and a second run takes seconds. Written are DIR/index.html, DIR/data.json, and for every table and chart CSV, Parquet, \
    SVG and PNG. A program that fails is left out by name, and the exit code is 1."
)]
pub(super) struct Arguments {
    /// A paper, `all`, or a file of experiments ending in .toml; none lists the papers.
    paper: Option<String>,
    /// Figures, by their number in the paper, or `motivation`; none for all.
    figures: Vec<String>,
    /// Folder of the results, with `all` a folder in it for each paper; created if needed [default: reproduce-PAPER].
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
    /// The code that is recorded: `ptx`, which `emu` compiles, or `sass`, machine code that NVIDIA's ptxas makes of it. Techniques
    /// that do not know uniform registers refuse it.
    #[arg(long, value_enum, default_value = "ptx", value_name = "KIND")]
    code: Code,
    /// (--code sass) What ptxas assembles for: sm_75, sm_80, sm_86, sm_89, sm_90 or sm_120.
    #[arg(long, default_value = "sm_75", value_name = "SM")]
    target: String,
    /// (--code sass) The assembler [default: `ptxas` in $CUDA_HOME/bin or on the search path].
    #[arg(long, value_name = "PROGRAM")]
    ptxas: Option<PathBuf>,
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

/// The code of the workloads.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// PTX, compiled by `emu`
    Ptx,
    /// machine code of ptxas
    Sass,
}

/// The word that stands for every built-in paper.
const ALL: &str = "all";

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let Some(name) = &arguments.paper else { return output::print(&list(catalogue)?) };
    let names: Vec<&str> = match name.as_str() {
        ALL => PAPERS.iter().map(|(name, _)| *name).collect(),
        one => vec![one],
    };
    let mut experiments = Vec::new();
    for name in &names {
        let (text, origin) = text_of(name)?;
        if arguments.show {
            output::print(&text)?;
        }
        experiments.push(Experiment::parse(&text, &origin, catalogue)?);
    }
    if arguments.show {
        return Ok(());
    }
    // Wrong figures and folders are found before the work begins.
    let mut jobs = Vec::new();
    for (name, experiment) in names.iter().zip(&experiments) {
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        let folder = match &arguments.output {
            Some(folder) if names.len() > 1 => folder.join(stem),
            Some(folder) => folder.clone(),
            None => format!("reproduce-{stem}").into(),
        };
        output::check_page(&folder)?;
        jobs.push(Job { experiment, figures: experiment.figures(&arguments.figures)?, folder });
    }
    let workloads = match &arguments.workloads {
        Some(folder) => Workloads::in_folder(folder)?,
        None => Workloads::bundled()?,
    };
    let mut recorder = Recorder::find(arguments.emu.as_deref())?;
    if arguments.code == Code::Sass {
        recorder = recorder.of_machine_code(Assembler::find(arguments.ptxas.as_deref(), &arguments.target)?);
    }
    let cache = arguments.cache.clone().map_or_else(Cache::of_user, |folder| Ok(Cache::at(folder)))?;
    let tools = Tools { arguments, catalogue, workloads, recorder, cache, program: this_program()?, command };
    let mut left_out = 0;
    for job in &jobs {
        left_out += tools.reproduce(job)?;
    }
    match left_out {
        0 => Ok(()),
        1 => Err("one recording is left out of some figures".into()),
        many => Err(CliError(format!("{many} recordings are left out of some figures"))),
    }
}

/// Figures of a paper, and the folder of their results.
struct Job<'a> {
    experiment: &'a Experiment,
    figures: Vec<&'a Figure>,
    folder: PathBuf,
}

/// What all papers are reproduced with.
struct Tools<'a> {
    arguments: &'a Arguments,
    catalogue: &'a Catalogue,
    workloads: Workloads,
    recorder: Recorder,
    cache: Cache,
    program: String,
    command: &'a [String],
}

impl Tools<'_> {
    /// Reproduces the chosen figures of a paper; returns how many recordings have no answer.
    fn reproduce(&self, job: &Job<'_>) -> Result<usize, CliError> {
        let Job { experiment, figures, folder } = job;
        let arguments = self.arguments;
        let defaults = Recording {
            workload: String::new(),
            size: arguments.size.clone(),
            schedule: arguments.schedule.clone(),
            maxregs: arguments.maxregs,
        };
        let work = Plan {
            tasks: plan(experiment, figures, &defaults),
            workloads: &self.workloads,
            recorder: &self.recorder,
            cache: &self.cache,
            catalogue: self.catalogue,
            program: self.program.clone(),
            threads: arguments.threads.count(),
            discard: arguments.discard_traces,
        };
        on_interrupt(GOES_ON);
        let bar = LateBar::new(&experiment.paper.name);
        let started = Instant::now();
        let progress =
            |at: Progress<'_>| bar.update(at.done as u64, at.of as u64, &remaining(at, started.elapsed()));
        let answers = reproduce::run(&work, &progress);
        drop(bar);
        self.cache.damaged().iter().for_each(|what| warplab_host::say!("warning: {what}"));
        let results: Vec<_> =
            figures.iter().map(|figure| measured(experiment, figure, &answers, &defaults)).collect();
        let (code, order) = match arguments.code {
            Code::Ptx => {
                ("PTX, compiled by emu".to_owned(), arguments.schedule.as_deref().unwrap_or("latency"))
            }
            Code::Sass => (format!("machine code of ptxas for {}", arguments.target), "that of ptxas"),
        };
        let about = [
            ("Machine", experiment.paper.machine.clone()),
            ("Size of the programs", arguments.size.clone()),
            ("Code", code),
            ("Order of instructions", order.to_owned()),
        ];
        let by = self.provenance(job, work.tasks.iter().map(|task| &task.recording))?;
        let written = page(experiment, &results, &about).produced_by(by.to_json()).write(folder)?;
        output::print(&format!(
            "{}\n{}\n{}\n",
            reproduce::text(experiment, &results),
            written.html.display(),
            written.json.display()
        ))?;
        let failures = answers.failures();
        for (recording, why) in &failures {
            warplab_host::say!("error: {} is left out of a figure: {why}", recording.workload);
        }
        Ok(failures.len())
    }
}

impl Tools<'_> {
    /// What produces a paper's figures: its machine, which figures may vary, and the recordings.
    fn provenance<'a>(
        &self,
        job: &Job<'_>,
        recordings: impl Iterator<Item = &'a Recording>,
    ) -> Result<Provenance, CliError> {
        let machine = load(&job.experiment.paper.machine, &[])?;
        let mut by = Provenance::new(self.command).on(&machine, &[]);
        let mut seen: Vec<&Recording> = Vec::new();
        for recording in recordings {
            if !seen.contains(&recording) {
                seen.push(recording);
                let key = self.recorder.key(recording, &self.workloads).ok();
                by.add_recording(&recording.workload, key.as_deref(), &recording.arguments());
            }
        }
        Ok(by)
    }
}

/// The text of a paper's experiments, and where it comes from.
fn text_of(name: &str) -> Result<(String, String), CliError> {
    if let Some(text) = paper(name) {
        return Ok((text.to_owned(), format!("{name} (built in)")));
    }
    if name.ends_with(".toml") {
        let text = input::read_text(name.as_ref(), input::TEXT_BYTES)
            .map_err(|why| CliError(format!("{name}: {why}")))?;
        return Ok((text, name.to_owned()));
    }
    let known: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
    Err(CliError(format!("{}, or name a file ending in .toml", names::unknown("paper", name, &known))))
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

/// What is done, and how long the rest will take.
fn remaining(at: Progress<'_>, elapsed: Duration) -> String {
    let left = time_left(at.done.saturating_sub(at.kept), at.of - at.done, elapsed);
    format!("{} of {}{left} {}", at.done, at.of, at.now)
}
