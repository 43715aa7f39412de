//! `timing correlate`: replays beside hardware.

use super::compare::threshold;
use super::error::CliError;
use super::output;
use crate::config::{GpuConfig, load};
use crate::correlate::matching::{Rename, renames};
use crate::correlate::metrics::{Kind, METRICS, Machine, Metric, metric};
use crate::correlate::reference::{self, Reference};
use crate::correlate::results::{self, Launch};
use crate::correlate::{Correlation, correlate, page};
use crate::provenance::{KEY, Provenance};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warplab_host::input;

/// Arguments of `timing correlate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing replay app.wtrace --config qv100 --json ours.json\n  \
    ncu --csv --page raw --set full ./app > profile.csv\n  \
    timing correlate ours.json profile.csv --html page.html\n  \
    timing correlate results/ profiles/ --before last-week/ --tolerance 30%\n  \
    timing correlate ours.json table.csv --match names.csv --json - \n\n\
    REFERENCE is what `ncu --csv` (raw or details page), `nvprof --csv` (with or without --print-gpu-trace, --metrics, \
    --events) print, what Accel-Sim prints (or its get_stats.py -k -K, of one configuration), or a plain table with the column kernel and columns named like metrics, counters (`timing list \
    --counters`) or a profiler's metrics; program says which trace is meant, launch which launch of the kernel (from 0, or \
    mean; a kernel with one row and no launch means all of its launches). The format is found by the header. In a folder, \
    the name of each file is a program if a trace is called so.\n\n\
    Kernels are matched by name, mangled or not, by grid and block where the reference has them, and by the order of the launches \
    with these. Kernels of one side, \
    and columns that ours has no counterpart of, are listed. Cycles of a profile without a cycle counter are durations \
    times the profile's clock, or the configuration's.\n\n\
    Metrics: cycles, warp_instructions, thread_instructions, ipc, active_ipc, occupancy, global_loads, global_stores, \
    l1_sectors, l1_hit_rate, shared_wavefronts, constant_requests, l2_hit_rate, dram_read_sectors, dram_write_sectors; \
    percentages are compared in points. Replay without --concurrent: kernels that run together share their counters of L2 \
    and DRAM.\n\n\
    The exit code is 1 if a kernel is beyond a tolerance.")]
pub(super) struct Arguments {
    /// Results of `timing replay --json`, folders of them, or tables of ours (--csv).
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// A profile or table of hardware, or a folder of them.
    #[arg(required = true, value_name = "REFERENCE")]
    reference: PathBuf,
    /// Earlier results of the same kernels: their errors are shown beside the new ones. May be repeated.
    #[arg(long, value_name = "RESULTS")]
    before: Vec<PathBuf>,
    /// A table program,kernel,launch,warp_instructions of ptxas's code, as `compare_streams --csv` prints it: its
    /// instructions stand beside ours, and beside the cycles, where REFERENCE counts none.
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// A table reference,kernel[,program] with names of the reference that are not ours.
    #[arg(long = "match", value_name = "FILE")]
    names: Option<PathBuf>,
    /// The configuration of the results, if it is not the built-in one or the file that they name.
    #[arg(long, value_name = "NAME|FILE.toml")]
    config: Option<String>,
    /// Compares with a profile of a GPU of another compute capability, which is refused otherwise.
    #[arg(long)]
    other_gpu: bool,
    /// A value of the configuration that the replay had; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    set: Vec<String>,
    /// Ends with exit code 1 if the cycles of a kernel, or another metric, differ by more: 30% or dram_read_sectors=10%.
    /// May be repeated.
    #[arg(long, value_name = "[METRIC=]SHARE", value_parser = tolerance)]
    tolerance: Vec<(String, f64)>,
    /// Maximum number of kernels in a table, the farthest from the reference first.
    #[arg(long, default_value_t = 50, value_name = "N")]
    top: usize,
    /// Number of kernels that are explained, the farthest from the reference first.
    #[arg(long, default_value_t = 5, value_name = "N")]
    worst: usize,
    /// Writes all figures as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a row per kernel with our metrics beside the reference's as CSV; `-` for stdout. Can be given as RESULTS again.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Writes a page with charts and tables.
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, command: &[String]) -> Result<ExitCode, CliError> {
    let outputs = [&arguments.json, &arguments.csv, &arguments.html].map(Option::as_deref);
    outputs.iter().try_for_each(|path| output::check(*path))?;
    let names =
        arguments.names.as_deref().map(|path| in_file(path, |text| Ok(renames(text)?))).transpose()?;
    let names: Vec<Rename> = names.unwrap_or_default();
    let files = read_all(&arguments.results)?;
    let machine = machine(arguments, &files)?;
    let ours = launches(&files, machine.as_ref())?;
    let before = match arguments.before.as_slice() {
        [] => None,
        paths => Some(launches(&read_all(paths)?, machine.as_ref())?),
    };
    let mut reference = read_reference(&arguments.reference, &ours, machine.as_ref())?;
    same_capability(arguments, &files, &mut reference)?;
    if let Some(path) = &arguments.instructions {
        let streams = in_file(path, |text| Ok(reference::read(text, None, machine.as_ref())?))?;
        let rows = reference.add_instructions(&streams);
        let shown = path.display();
        if rows == 0 {
            let why = "has no warp_instructions of a kernel of the reference that lacks them";
            return Err(format!("{shown} {why}").into());
        }
        reference
            .notes
            .push(format!("warp instructions of {rows} rows of the reference are those of {shown}"));
    }
    let found = correlate(&ours, before.as_deref(), &reference, &names)
        .map_err(|why| format!("{}: {why}", arguments.reference.display()))?;
    write(arguments, &found, &files, outputs.iter().any(|path| output::is_stdout(*path)), command)?;
    verdict(arguments, &found)
}

/// A file of ours.
enum File {
    Result(PathBuf, Value),
    /// A table, and what produced it, if the file beside it says so.
    Table(PathBuf, String, Value),
}

impl File {
    fn produced_by(&self) -> &Value {
        match self {
            File::Result(_, value) => &value[KEY],
            File::Table(.., by) => by,
        }
    }
}

/// Reads files, and in folders the results; other JSON in folders is passed over with a note.
fn read_all(paths: &[PathBuf]) -> Result<Vec<File>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(read(path)?);
            continue;
        }
        let before = files.len();
        for inner in entries(path, &["json"])? {
            match read(&inner)? {
                File::Result(path, value) if !is_replay(&value) => {
                    warplab_host::say!(
                        "note: {} is no result of `timing replay` and is left out",
                        path.display()
                    );
                }
                file => files.push(file),
            }
        }
        if files.len() == before {
            return Err(
                format!("{}: there is no result of `timing replay --json` in it", path.display()).into()
            );
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<File, CliError> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return in_file(path, |text| {
            let by = output::produced_by(path, text).unwrap_or_default();
            Ok(File::Table(path.to_owned(), text.to_owned(), by))
        });
    }
    in_file(path, |text| {
        let hint = "expected a result of `timing replay --json`, or a table in a file that ends in .csv";
        let value: Value = serde_json::from_str(text).map_err(|why| format!("{why}; {hint}"))?;
        Ok(File::Result(path.to_owned(), value))
    })
}

fn is_replay(value: &Value) -> bool {
    value.get("schema").and_then(Value::as_str).is_some_and(|schema| schema.starts_with("warplab-replay/"))
}

/// The files of a folder with one of these extensions, by name, without the descriptions beside tables.
fn entries(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, CliError> {
    let cannot = |why: std::io::Error| format!("cannot read the folder {}: {why}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let wanted = extension.is_some_and(|extension| extensions.contains(&extension.as_str()));
        if path.is_file() && wanted && !path.to_string_lossy().ends_with(report::SIDECAR) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Does something with the text of a file; errors name the file.
fn in_file<T>(path: &Path, what: impl FnOnce(&str) -> Result<T, CliError>) -> Result<T, CliError> {
    let shown = path.display();
    let text =
        input::read_text(path, input::RESULT_BYTES).map_err(|why| format!("cannot read {shown}: {why}"))?;
    what(&text).map_err(|CliError(why)| CliError(format!("{shown}: {why}")))
}

/// The machine of the results: that of --config, or of the configuration that they name.
fn machine(arguments: &Arguments, files: &[File]) -> Result<Option<Machine>, CliError> {
    let mut named: Vec<&str> = files.iter().filter_map(configuration).collect();
    named.sort_unstable();
    named.dedup();
    if named.len() > 1 {
        let list = named.join(", ");
        return Err(
            format!("the results are of several configurations ({list}): correlate each by itself").into()
        );
    }
    match (&arguments.config, named.first()) {
        (Some(name), _) => Ok(Some(Machine::of(&load(name, &arguments.set)?.config))),
        (None, Some(_)) if arguments.set.is_empty() && files.iter().any(|file| recorded(file).is_some()) => {
            Ok(files.iter().find_map(recorded).map(|config| Machine::of(&config)))
        }
        (None, Some(name)) => match load(name, &arguments.set) {
            Ok(loaded) => Ok(Some(Machine::of(&loaded.config))),
            Err(why) if !arguments.set.is_empty() => Err(why.into()),
            Err(_) => {
                warplab_host::say!(
                    "note: the configuration {name} of the results is not built in; give its file with --config, or IPC, \
                     occupancy and durations are not compared"
                );
                Ok(None)
            }
        },
        (None, None) => Ok(None),
    }
}

/// Refuses a profile of a GPU of another compute capability than that of our machine, where both are known.
fn same_capability(arguments: &Arguments, files: &[File], reference: &mut Reference) -> Result<(), CliError> {
    let of_results = || {
        let machines = files.iter().map(|file| &file.produced_by()["machine"]["compute_capability"]);
        machines.filter_map(|parts| serde_json::from_value(parts.clone()).ok()).next()
    };
    let built_in = || {
        let name = files.iter().find_map(configuration)?.split(',').next()?;
        load(name, &[]).ok()?.compute_capability
    };
    let own: Option<[i64; 2]> = match &arguments.config {
        Some(name) => load(name, &[])?.compute_capability,
        None => of_results().or_else(built_in),
    };
    let Some([major, minor]) = own else { return Ok(()) };
    let ours = format!("{major}.{minor}");
    let others: Vec<&str> =
        reference.capabilities.iter().map(String::as_str).filter(|cc| *cc != ours).collect();
    if others.is_empty() {
        return Ok(());
    }
    let other = others.join(", ");
    if !arguments.other_gpu {
        return Err(CliError(format!(
            "{} is of a GPU of compute capability {other}, and ours is of {ours}: replay on a configuration of {other} (`timing \
             list` shows all), or compare the two machines with --other-gpu",
            arguments.reference.display()
        )));
    }
    reference.notes.push(format!("the reference is of compute capability {other}, ours of {ours}"));
    Ok(())
}

/// All values of the machine, if the result has them.
fn recorded(file: &File) -> Option<GpuConfig> {
    serde_json::from_value(file.produced_by()["machine"]["config"].clone()).ok()
}

fn configuration(file: &File) -> Option<&str> {
    match file {
        File::Result(_, value) => results::configuration(value),
        File::Table(.., by) => by["machine"]["name"].as_str(),
    }
}

fn launches(files: &[File], machine: Option<&Machine>) -> Result<Vec<Launch>, CliError> {
    let mut all = Vec::new();
    for file in files {
        let (path, found) = match file {
            File::Result(path, value) => (path, results::of_replay(value, machine)),
            File::Table(path, text, _) => (path, results::of_table(text, machine)),
        };
        all.extend(found.map_err(|why| format!("{}: {why}", path.display()))?);
    }
    if all.is_empty() { Err("the results have no launches".into()) } else { Ok(all) }
}

/// Reads the reference; in a folder, the name of a file is the program of its rows if one of ours is called so.
fn read_reference(path: &Path, ours: &[Launch], machine: Option<&Machine>) -> Result<Reference, CliError> {
    if !path.is_dir() {
        return in_file(path, |text| Ok(reference::read(text, None, machine)?));
    }
    let mut all = Reference::default();
    let files = entries(path, &["csv", "txt", "log"])?;
    for file in &files {
        let stem = output::label(file);
        let program = ours.iter().any(|launch| launch.program == stem).then_some(stem.as_str());
        all.join(in_file(file, |text| Ok(reference::read(text, program, machine)?))?);
    }
    match files.len() {
        0 => Err(format!("{}: there is no profile (.csv, .txt, .log) in it", path.display()).into()),
        _ => Ok(all),
    }
}

fn write(
    arguments: &Arguments,
    found: &Correlation,
    files: &[File],
    to_stdout: bool,
    command: &[String],
) -> Result<(), CliError> {
    let configuration = files.iter().find_map(configuration);
    let mut by = Provenance::new(command);
    for file in files {
        by.take_over(file.produced_by());
    }
    if !to_stdout {
        let on = configuration.map_or(String::new(), |name| format!(" on {name}"));
        let formats = found.formats.join(", ");
        output::print(&format!(
            "{} kernels{on} beside {} ({formats})\n\n{}",
            found.kernels.len(),
            arguments.reference.display(),
            found.to_text(arguments.top, arguments.worst)
        ))?;
    }
    if let Some(path) = &arguments.json {
        let mut value = found.to_json();
        value["reference"] = json!(arguments.reference.display().to_string());
        value["config"] = json!(configuration);
        value[KEY] = by.to_json();
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    if let Some(path) = &arguments.csv {
        output::write_table(path, &found.to_csv()?, &by.to_json())?;
    }
    if let Some(path) = &arguments.html {
        let about = [
            ("Reference", arguments.reference.display().to_string()),
            ("Configuration", configuration.unwrap_or("not named").to_owned()),
        ];
        output::write_file(path, &page(found, &about, arguments.worst).produced_by(by.to_json()).to_html()?)?;
    }
    Ok(())
}

/// The exit code, after everything is written.
fn verdict(arguments: &Arguments, found: &Correlation) -> Result<ExitCode, CliError> {
    let mut code = ExitCode::SUCCESS;
    for (name, tolerance) in &arguments.tolerance {
        let Some(statistics) = found.of(name) else {
            return Err(format!("--tolerance {name}: no kernel has that metric on both sides").into());
        };
        let metric = statistics.metric;
        for (kernel, error) in found.beyond(&metric, share_of(&metric, *tolerance)) {
            let shown = |value: f64| match metric.kind {
                Kind::Count => format!("{:+.1} %", value * 100.0),
                Kind::Percentage => format!("{value:+.1} points"),
            };
            let limit = shown(share_of(&metric, *tolerance)).replace('+', "±");
            warplab_host::say!("beyond the tolerance: {kernel}: {name} {}, tolerance {limit}", shown(error));
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// A tolerance in the unit of a metric's errors.
fn share_of(metric: &Metric, tolerance: f64) -> f64 {
    if metric.kind == Kind::Count { tolerance } else { tolerance * 100.0 }
}

/// Reads `30%` or `METRIC=30%`.
fn tolerance(text: &str) -> Result<(String, f64), String> {
    let (name, share) = text.split_once('=').unwrap_or(("cycles", text));
    if metric(name).is_none() {
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let known = warplab_host::names::among(name, "expected", &names);
        return Err(format!("unknown metric {name}{known} or a counter"));
    }
    Ok((name.to_owned(), threshold(share)?))
}

#[cfg(test)]
mod tests {
    use super::{METRICS, tolerance};
    use clap::Args as _;

    #[test]
    fn the_help_names_every_metric() {
        let help = super::Arguments::augment_args(clap::Command::new("correlate")).render_help().to_string();
        let words: Vec<&str> = help.split([' ', '\n', ',', ';']).collect();
        assert!(METRICS.iter().all(|metric| words.contains(&metric.name)), "{help}");
    }

    #[test]
    fn tolerances_are_of_cycles_or_of_a_named_metric() {
        assert_eq!(tolerance("30%"), Ok(("cycles".into(), 0.3)));
        assert_eq!(tolerance("dram_read_sectors=0.1"), Ok(("dram_read_sectors".into(), 0.1)));
        assert_eq!(tolerance("l2_hits=5%"), Ok(("l2_hits".into(), 0.05)));
        assert!(tolerance("cylces=5%").is_err_and(|why| why.contains("dram_write_sectors")));
        assert!(tolerance("cycles=").is_err());
    }
}
