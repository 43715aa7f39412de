//! `timing sweep`: the same traces on many machines, in one table, on all cores or a cluster.

use super::error::CliError;
use super::output;
use super::progress::{GOES_ON, LateBar, on_interrupt, time_left};
use super::shared::{RefusedArguments, ReplayArguments, words};
use super::sweep_file::SweepFile;
use crate::config::load;
use crate::named::NamedMachine;
use crate::provenance::{KEY, Provenance, trace_hash};
use crate::reports::unique_labels;
use crate::store::Store;
use crate::sweep::slurm::{self, Cluster, Settings, Status};
use crate::sweep::{self, Plan, Progress, Requested, Results, Space, Sweep, Vary};
use crate::techniques::Catalogue;
use clap::Args;
use regex::Regex;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::reader::Trace;
use warplab_host::shell;

/// Arguments of `timing sweep`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    timing sweep *.wtrace --tech bow --vary technique.bow.window=2..7 --vary sm.max_warps=32,64 -o swept\n  \
    timing sweep *.wtrace --tech bow --tech corf --machine gtx480 --machine qv100 -o swept\n  \
    timing sweep *.wtrace --machine \"w5: bow, technique.bow.window=5\" --machine \"small: sm.max_warps=32\" -o swept\n  \
    timing sweep --file sweep.toml -o swept\n  \
    timing sweep *.wtrace --tech bow --vary technique.bow.window=2..7 -o swept --slurm partition=main,time=1:00:00,memory=4G\n  \
    seq 0 499 | parallel timing sweep --work swept/work.json --index {}; timing sweep --work swept/work.json --merge\n\n\
    Every machine is replayed with every list of techniques and every value that varies, and once without techniques, as the \
    baseline. A range has both ends: 2..7, 2..10+2 in steps of 2, 16..128*2 by doubling. DIR/sweep.csv and DIR/sweep.parquet have \
    a row for every metric of every launch at every point, with its value at the baseline; runs that failed are rows with the \
    reason. Every combination is checked before the first run; --skip-refused leaves out those that a machine refuses. DIR/index.html has means and charts. Finished runs are kept in DIR/runs: the same command after an interruption, or a \
    larger sweep, runs only what is missing, and several programs may work on one folder.\n\n\
    A file has the same words: traces = [\"*.wtrace\"], tech = [\"bow\"], vary = [\"technique.bow.window=2..7\"], machine, config, \
    set, zip, kernels, launches, metrics.")]
pub(super) struct Arguments {
    /// Traces to replay.
    traces: Vec<PathBuf>,
    /// Reads the sweep from a file; options are added to it.
    #[arg(long, value_name = "FILE.toml")]
    file: Option<PathBuf>,
    /// A machine: a configuration, techniques and key=value, separated by commas, after a name and a colon if it is to have
    /// one; may be repeated. Without it the machine is that of --config and --set.
    #[arg(long, value_name = "NAME: A, B, KEY=VALUE")]
    machine: Vec<String>,
    /// Techniques to switch on on every machine, such as bow,corf; may be repeated for further lists.
    #[arg(long, value_name = "A,B")]
    tech: Vec<String>,
    /// A key of the configuration and its values; may be repeated, and all combinations are replayed.
    #[arg(long, value_name = "KEY=V1,V2|A..B")]
    vary: Vec<String>,
    /// Takes the values of all keys by position instead of in all combinations.
    #[arg(long)]
    zip: bool,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Only metrics whose name has a match of this regular expression; each gets a chart.
    #[arg(long, value_name = "REGEX")]
    metrics: Option<String>,
    /// Folder for tables, page and finished runs; created if needed.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Keeps finished runs in this folder instead of the output's, so that several sweeps share them.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Writes points and runs as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    refused: RefusedArguments,
    /// Tries runs again that failed before.
    #[arg(long)]
    retry_failed: bool,
    /// Prints what would run, and runs nothing.
    #[arg(long)]
    dry_run: bool,
    /// Runs on a Slurm cluster over the shared folder of --output: partition=, time=, memory=, cpus=, runs_per_job=, retries=,
    /// poll_seconds=, separated by commas, or a file with these keys and further `options` of sbatch. Without a value it is
    /// the section [slurm] of --file.
    #[arg(long, value_name = "KEY=VALUE,…|FILE.toml", num_args = 0..=1, default_missing_value = "")]
    slurm: Option<String>,
    /// Works on the runs of an earlier sweep: its work.json. Tables and page are written into the folder of the file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traces", "file", "machine", "tech", "vary", "zip", "output"])]
    work: Option<PathBuf>,
    /// Runs only these, numbered from 0: 7 or 3,10-19. No table is written.
    #[arg(long, value_name = "NUMBERS", requires = "work", conflicts_with = "slurm")]
    index: Option<String>,
    /// Runs nothing, and writes tables and page of what is finished.
    #[arg(long, requires = "work", conflicts_with_all = ["index", "slurm"])]
    merge: bool,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    output::check(arguments.json.as_deref())?;
    match &arguments.work {
        Some(file) => continue_work(arguments, file, catalogue),
        None => begin(arguments, catalogue, command),
    }
}

/// Pause between two tables of what a cluster has finished so far.
const MERGE: Duration = Duration::from_secs(30);

/// A sweep with all that its options ask for.
struct Session<'a> {
    plan: Plan,
    folder: Option<PathBuf>,
    store: Option<Store>,
    metrics: Option<Regex>,
    json: Option<PathBuf>,
    slurm: Option<Settings>,
    arguments: &'a Arguments,
    catalogue: &'a Catalogue,
}

fn begin(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let file = arguments.file.as_deref().map(SweepFile::read).transpose()?.unwrap_or_default();
    let asked = Asked::of(arguments, &file, catalogue)?;
    if asked.traces.is_empty() {
        return Err("there are no traces: name them, or list them under `traces` in --file".into());
    }
    let metrics = metrics_of(arguments.metrics.as_deref().or(file.metrics.as_deref()))?;
    let folder = arguments.output.as_deref().map(std::path::absolute).transpose()?;
    folder.as_deref().map_or(Ok(()), output::check_page)?;
    let (mut plan, readable) = asked.plan(catalogue)?;
    plan.metrics = metrics.as_ref().map(|metrics| metrics.as_str().to_owned());
    plan.produced_by = provenance(&plan, &asked, command, catalogue)?.to_json();
    let store = arguments.store.clone().or_else(|| folder.clone()).map(Store::at);
    let (json, slurm) = (json_of(arguments)?, slurm_of(arguments, file.slurm)?);
    let session = Session { plan, folder, store, metrics, json, slurm, arguments, catalogue };
    if arguments.dry_run {
        return output::print(&session.preview()?);
    }
    if readable == 0 {
        let why = session.plan.traces.iter().find_map(|trace| trace.error.clone());
        return Err(CliError(why.unwrap_or_else(|| "no trace can be replayed".into())));
    }
    arguments.refused.check(&session.plan)?;
    if let Some(folder) = &session.folder {
        std::fs::create_dir_all(folder)
            .map_err(|why| format!("cannot create {}: {why}", folder.display()))?;
        session.plan.write(&folder.join("work.json"))?;
    }
    let all: Vec<usize> = (0..session.plan.runs.len()).collect();
    let results = if session.slurm.is_some() { session.on_cluster()? } else { session.work(&all) };
    session.finish(&results)
}

fn continue_work(arguments: &Arguments, file: &Path, catalogue: &Catalogue) -> Result<(), CliError> {
    let file = std::path::absolute(file)?;
    let plan = Plan::read(&file)?;
    let metrics = metrics_of(arguments.metrics.as_deref().or(plan.metrics.as_deref()))?;
    let folder = file.parent().map(Path::to_path_buf);
    let store = arguments.store.as_deref().map(std::path::absolute).transpose()?.or_else(|| folder.clone());
    let indices = match &arguments.index {
        Some(list) => indices(list, plan.runs.len())?,
        None => (0..plan.runs.len()).collect(),
    };
    let (json, slurm) = (json_of(arguments)?, slurm_of(arguments, None)?);
    let session =
        Session { plan, folder, store: store.map(Store::at), metrics, json, slurm, arguments, catalogue };
    // Names of configurations are meant in the folder in which the sweep was planned.
    std::env::set_current_dir(&session.plan.folder).map_err(|why| {
        format!("cannot enter {}, where the sweep was planned: {why}", session.plan.folder.display())
    })?;
    if arguments.dry_run {
        return output::print(&session.preview()?);
    }
    if arguments.merge {
        let results = session.sweep().kept();
        return session.finish(&results);
    }
    let results = if session.slurm.is_some() { session.on_cluster()? } else { session.work(&indices) };
    match &arguments.index {
        Some(_) => session.report_some(&results, &indices),
        None => session.finish(&results),
    }
}

impl Session<'_> {
    fn sweep(&self) -> Sweep<'_> {
        Sweep {
            plan: &self.plan,
            store: self.store.as_ref(),
            catalogue: self.catalogue,
            threads: self.arguments.replayed.threads(),
            retry: self.arguments.retry_failed,
        }
    }

    fn work(&self, positions: &[usize]) -> Results {
        if self.store.is_some() {
            on_interrupt(GOES_ON);
        }
        let bar = LateBar::new("sweep");
        let started = Instant::now();
        let tell = |at: Progress| {
            let left = time_left(at.worked as usize, at.left as usize, started.elapsed());
            let failed = if at.failed > 0 { format!(", {} failed", at.failed) } else { String::new() };
            let kept = if at.kept > 0 { format!(", {} of them kept before", at.kept) } else { String::new() };
            let text = format!("{} of {} runs{kept}{failed}{left}", at.done, at.of);
            bar.update(at.done as u64, at.of as u64, &text);
        };
        self.sweep().run(positions, &tell)
    }

    /// Runs what is open on a Slurm cluster; tables are written as results come.
    fn on_cluster(&self) -> Result<Results, CliError> {
        let sweep = self.sweep();
        let cluster = self.cluster()?;
        on_interrupt("jobs in the queue go on, and the same command tracks them again");
        let bar = LateBar::new("sweep");
        let (started, before) = (Instant::now(), sweep.kept().len());
        let tell = |at: &Status| {
            at.news.iter().for_each(|news| warplab_host::say!("{news}"));
            let left = time_left(at.done.saturating_sub(before), at.of - at.done, started.elapsed());
            let failed = if at.failed > 0 { format!(", {} failed", at.failed) } else { String::new() };
            let reason = if at.reason.is_empty() { String::new() } else { format!(" ({})", at.reason) };
            let jobs = format!("{} jobs run, {} wait{reason}", at.running, at.waiting);
            bar.update(
                at.done as u64,
                at.of as u64,
                &format!("{} of {} runs{failed}, {jobs}{left}", at.done, at.of),
            );
        };
        let mut due = Instant::now() + MERGE;
        let mut merge = |results: &Results| -> Result<(), String> {
            if Instant::now() < due {
                return Ok(());
            }
            let begun = Instant::now();
            self.tables(cluster.folder, results).map_err(|CliError(why)| why)?;
            // Writing a large table again and again would take longer than the runs.
            due = Instant::now() + MERGE.max(begun.elapsed() * 20);
            Ok(())
        };
        Ok(slurm::run(&cluster, &sweep, &tell, &mut merge)?)
    }

    fn cluster(&self) -> Result<Cluster<'_>, CliError> {
        match (&self.slurm, &self.folder, &self.store) {
            (Some(settings), Some(folder), Some(store)) => {
                let program =
                    std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
                Ok(Cluster { settings, folder, store, program })
            }
            _ => Err("--slurm needs a folder that the nodes share: name it with --output".into()),
        }
    }

    /// What would run.
    fn preview(&self) -> Result<String, CliError> {
        if self.slurm.is_some() {
            return Ok(slurm::preview(&self.cluster()?, &self.sweep())?);
        }
        let (plan, kept) = (&self.plan, self.sweep().kept());
        let distinct = plan.distinct();
        let finished = distinct.iter().filter(|at| kept.has(&plan.runs[**at].key)).count();
        let mut text = format!(
            "{} at {}: {}, {} of them different, {finished} of these finished\n",
            sweep::counted(plan.traces.len(), "trace"),
            sweep::counted(plan.points.len(), "point"),
            sweep::counted(plan.runs.len(), "run"),
            distinct.len()
        );
        for point in &plan.points {
            text += &format!("  {}", point.label);
            text += &point.error.as_ref().map_or("\n".to_owned(), |why| format!(": {why}\n"));
        }
        for run in &plan.runs {
            if let Some(why) = &run.error {
                let (trace, point) = (&plan.traces[run.trace].label, &plan.points[run.point].label);
                text += &format!("  {trace} at {point}: {why}\n");
            }
        }
        Ok(text)
    }

    /// Says how some runs ended.
    fn report_some(&self, results: &Results, indices: &[usize]) -> Result<(), CliError> {
        self.store.iter().for_each(output::warn_of_damage);
        if let Some(why) = &results.stopped {
            return Err(CliError(format!("{why}; runs without a kept result have to run again")));
        }
        let mut failed = 0;
        for &at in indices {
            let run = &self.plan.runs[at];
            let (trace, point) = (&self.plan.traces[run.trace].label, &self.plan.points[run.point].label);
            match results.of(&self.plan, run) {
                Ok(outcome) => {
                    let cycles = outcome.total.get("cycles").copied().unwrap_or_default();
                    output::print(&format!("run {at}: {trace} at {point}: {cycles} cycles\n"))?;
                }
                Err(why) => {
                    warplab_host::say!("error: run {at}: {trace} at {point}: {why}");
                    failed += 1;
                }
            }
        }
        if failed == 0 { Ok(()) } else { Err(CliError(format!("{failed} of {} runs failed", indices.len()))) }
    }

    /// Writes tables and page, and says what failed.
    fn finish(&self, results: &Results) -> Result<(), CliError> {
        self.store.iter().for_each(output::warn_of_damage);
        let (plan, metrics) = (&self.plan, self.metrics.as_ref());
        if !output::is_stdout(self.json.as_deref()) {
            output::print(&sweep::means(plan, results).to_text())?;
        }
        if let Some(folder) = self.folder.as_ref().filter(|_| results.stopped.is_none()) {
            self.write(folder, results)?;
        }
        if let Some(path) = &self.json {
            let mut value = sweep::to_json(plan, results, metrics);
            value[KEY] = plan.produced_by.clone();
            output::write_file(path, &(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
        let failed: Vec<String> = plan
            .runs
            .iter()
            .filter_map(|run| {
                let why = results.of(plan, run).err()?;
                Some(format!("{} at {}: {why}", plan.traces[run.trace].label, plan.points[run.point].label))
            })
            .collect();
        if let Some(why) = &results.stopped {
            return Err(CliError(format!(
                "{why}; {} of {} runs are finished, and the same command goes on from there",
                plan.runs.len() - failed.len(),
                plan.runs.len()
            )));
        }
        const SHOWN: usize = 10;
        failed.iter().take(SHOWN).for_each(|why| warplab_host::say!("error: {why}"));
        match failed.len() {
            0 => Ok(()),
            count => Err(CliError(format!("{count} of {} runs have no result", plan.runs.len()))),
        }
    }

    /// Writes the tidy table.
    fn tables(&self, folder: &Path, results: &Results) -> Result<PathBuf, CliError> {
        let table = sweep::table(&self.plan, results, self.metrics.as_ref());
        let csv = folder.join("sweep.csv");
        let by = &self.plan.produced_by;
        output::write_table(&csv, &table.to_csv(), by)?;
        #[cfg(feature = "parquet")]
        {
            let (parquet, bytes) = (folder.join("sweep.parquet"), table.to_parquet_of(Some(by))?);
            output::write_with(&parquet, |out| std::io::Write::write_all(out, &bytes))?;
        }
        Ok(csv)
    }

    fn write(&self, folder: &Path, results: &Results) -> Result<(), CliError> {
        let (plan, metrics) = (&self.plan, self.metrics.as_ref());
        let csv = self.tables(folder, results)?;
        let labels: Vec<&str> = plan.traces.iter().map(|trace| trace.label.as_str()).collect();
        let words = plan.produced_by["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let command = words.map(shell::quoted).collect::<Vec<_>>().join(" ");
        let about = [("Traces", labels.join(", ")), ("Command", command)];
        let page = sweep::page(plan, results, metrics, &about).produced_by(plan.produced_by.clone());
        let written = page.write(folder)?;
        if !output::is_stdout(self.json.as_deref()) {
            output::print(&format!("{}\n{}\n", csv.display(), written.html.display()))?;
        }
        Ok(())
    }
}

/// What plans a sweep: its command, the machine of its options, every machine with its lists of techniques, and the traces.
/// Values that vary are columns of the table.
fn provenance(
    plan: &Plan,
    asked: &Asked,
    command: &[String],
    catalogue: &Catalogue,
) -> Result<Provenance, CliError> {
    let mut provenance = Provenance::new(command).on(&load(&asked.config, &asked.set)?, &asked.set);
    let lists = &asked.space.techniques;
    for machine in &asked.space.machines {
        let of = |list: &Vec<String>| {
            let tech = machine.tech.iter().chain(list.iter().filter(|name| !machine.tech.contains(name)));
            NamedMachine { tech: tech.cloned().collect(), ..machine.clone() }
        };
        let all = if lists.is_empty() { vec![machine.clone()] } else { lists.iter().map(of).collect() };
        for machine in all {
            // A machine that is refused has rows that say why.
            if let Ok(ready) = machine.ready(catalogue) {
                provenance = provenance.beside(&machine.name, &ready.loaded, &ready.techniques);
            }
        }
    }
    for trace in plan.traces.iter().filter(|trace| trace.error.is_none()) {
        let opened = Trace::open(&trace.path)?;
        if trace_hash(&opened)? != trace.hash {
            return Err(CliError(format!(
                "{} was replaced while the sweep was planned",
                trace.path.display()
            )));
        }
        provenance.add(&opened)?;
    }
    Ok(provenance)
}

/// What the command line and the file ask for together.
struct Asked {
    traces: Vec<PathBuf>,
    config: String,
    set: Vec<String>,
    space: Space,
    kernels: Option<String>,
    launches: Option<String>,
}

impl Asked {
    fn of(arguments: &Arguments, file: &SweepFile, catalogue: &Catalogue) -> Result<Asked, CliError> {
        let replayed = &arguments.replayed;
        let both = |a: &[String], b: &[String]| -> Vec<String> { a.iter().chain(b).cloned().collect() };
        let config = file.config.clone().unwrap_or_else(|| replayed.config.clone());
        let set = both(&file.set, &replayed.set());
        let named = both(&file.machine, &arguments.machine);
        let machines = match named.as_slice() {
            [] => {
                let name = load(&config, &set)?.config.name;
                vec![NamedMachine { name, config: config.clone(), tech: Vec::new(), set: set.clone() }]
            }
            named => named
                .iter()
                .map(|text| NamedMachine::parse(text, &config, &set, catalogue))
                .collect::<Result<_, _>>()?,
        };
        let vary = both(&file.vary, &arguments.vary);
        let space = Space {
            machines,
            techniques: both(&file.tech, &arguments.tech).iter().map(|list| words(list)).collect(),
            vary: vary.iter().map(|text| Vary::parse(text)).collect::<Result<_, _>>()?,
            zip: arguments.zip || file.zip,
        };
        Ok(Asked {
            traces: file.traces()?.into_iter().chain(arguments.traces.iter().cloned()).collect(),
            config,
            set,
            space,
            kernels: replayed.kernels.clone().or_else(|| file.kernels.clone()),
            launches: replayed.launches.clone().or_else(|| file.launches.clone()),
        })
    }

    /// The plan, and how many traces can be replayed.
    fn plan(&self, catalogue: &Catalogue) -> Result<(Plan, usize), CliError> {
        let absolute = self.traces.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
        let opened: Vec<Result<Trace, String>> =
            self.traces.iter().map(|path| output::open_trace(path).map_err(|CliError(why)| why)).collect();
        let labels = unique_labels(&self.traces).into_iter();
        let traces = labels.zip(absolute).zip(&opened).map(|((label, path), trace)| {
            let trace = trace.as_ref().map_err(Clone::clone);
            (label, path, trace)
        });
        let (kernels, launches) = (self.kernels.as_deref(), self.launches.as_deref());
        let requested = Requested { traces: traces.collect(), kernels, launches };
        let plan = Plan::new(&self.space, requested, catalogue)?;
        let readable = plan.traces.iter().filter(|trace| trace.error.is_none()).count();
        Ok((plan, readable))
    }
}

/// Where the JSON goes, whatever the current folder will be.
fn json_of(arguments: &Arguments) -> Result<Option<PathBuf>, CliError> {
    let json = arguments.json.as_deref();
    Ok(if output::is_stdout(json) {
        json.map(Path::to_path_buf)
    } else {
        json.map(std::path::absolute).transpose()?
    })
}

/// What jobs on a cluster ask for, if the sweep is to run there.
fn slurm_of(arguments: &Arguments, file: Option<Settings>) -> Result<Option<Settings>, CliError> {
    match arguments.slurm.as_deref() {
        None => Ok(None),
        Some("") => Ok(Some(file.unwrap_or_default())),
        Some(text) => Ok(Some(Settings::parse(text)?)),
    }
}

fn metrics_of(text: Option<&str>) -> Result<Option<Regex>, CliError> {
    let read = |text: &str| Regex::new(text).map_err(|why| CliError(format!("--metrics {text}: {why}")));
    text.map(read).transpose()
}

/// The numbers of `--index`, below `count`.
fn indices(list: &str, count: usize) -> Result<Vec<usize>, CliError> {
    let mut found = Vec::new();
    for item in list.split(',') {
        let range = warplab_host::numbers::range(item.trim());
        let (first, last) = range.ok_or_else(|| {
            CliError(format!("--index {list}: expected numbers and ranges, such as 7 or 3,10-19"))
        })?;
        let last = if last == u64::MAX { (count as u64).saturating_sub(1) } else { last };
        if first >= count as u64 || last >= count as u64 {
            return Err(CliError(format!("--index {list}: there are {count} runs, numbered from 0")));
        }
        found.extend(first as usize..=last as usize);
    }
    Ok(found)
}
