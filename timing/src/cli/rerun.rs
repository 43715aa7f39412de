//! `timing rerun`: produces a JSON result again, and compares the two.

use super::compare::read;
use super::error::CliError;
use super::output;
use crate::compare::compare;
use crate::provenance::{KEY, REVISION, VERSION, file_hash};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Arguments of `timing rerun`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing rerun result.json\n\n\
    Runs the command under `produced_by` of a result again, in this folder, and compares every number. Its traces must have \
    the recorded content. Other files of the command are not written. The exit code is 1 if anything differs.")]
pub(super) struct Arguments {
    /// A JSON result of `timing replay`, `study`, `why`, `explore` or `correlate`, or the data.json of a report.
    result: PathBuf,
    /// Runs it although a trace or the program's revision is another one.
    #[arg(long)]
    force: bool,
    /// Prints the command instead of running it.
    #[arg(long)]
    show: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CliError> {
    let before = read(&arguments.result)?;
    let shown = arguments.result.display();
    let by = &before[KEY];
    let words: Option<Vec<String>> = by["command"]
        .as_array()
        .map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let Some(words) = words.filter(|words| words.len() > 1) else {
        return Err(CliError(format!("{shown}: it does not say what produced it (`{KEY}`)")));
    };
    if arguments.show {
        output::print(&format!("{}\n", crate::provenance::Provenance::new(&words).command()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.force {
        check(by).map_err(|why| CliError(format!("{shown}: {why}; --force runs it all the same")))?;
    }
    let after = produce(&words[1..])?;
    let found = compare(&before, &after, 0.0);
    if found.is_same() {
        output::print(&format!("{shown}: the same again, by timing {VERSION}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&found.to_text(20))?;
    Ok(ExitCode::FAILURE)
}

/// Checks that the program and the traces are those of a result.
fn check(by: &Value) -> Result<(), String> {
    let (version, revision) = (by["version"].as_str(), by["revision"].as_str());
    if version != Some(env!("CARGO_PKG_VERSION")) || revision != REVISION {
        let named = |revision: Option<&str>| revision.map_or(String::new(), |it| format!(" (revision {it})"));
        return Err(format!(
            "timing {}{} produced it, this is {VERSION}",
            version.unwrap_or("of an unknown version"),
            named(revision)
        ));
    }
    for trace in by["traces"].as_array().into_iter().flatten() {
        let Some(path) = trace["trace"].as_str() else { continue };
        let hash = file_hash(Path::new(path)).map_err(|why| format!("{path}: {why}"))?;
        if trace["hash"].as_str() != Some(hash.as_str()) {
            return Err(format!(
                "{path} is not the trace of this result any more: its content has another hash"
            ));
        }
    }
    Ok(())
}

/// Runs a command of this program again; its JSON result.
fn produce(words: &[String]) -> Result<Value, CliError> {
    let program = std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
    let mut command = Command::new(program);
    command.args(words).stderr(Stdio::inherit());
    if words.first().is_some_and(|word| word == "report") {
        return report_again(command);
    }
    let run = command.args(["--json", "-"]).output();
    let output = run.map_err(|why| format!("cannot run the command again: {why}"))?;
    if !output.status.success() {
        return Err("the command fails now".into());
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|why| CliError(format!("its result cannot be read: {why}")))
}

/// Writes a report again, into a folder of its own; its data.
fn report_again(mut command: Command) -> Result<Value, CliError> {
    let folder = std::env::temp_dir().join(format!("warplab-rerun-{}", std::process::id()));
    let run = command.arg("-o").arg(&folder).stdout(Stdio::null()).status();
    let data = match run {
        Ok(status) if status.success() => read(&folder.join("data.json")),
        Ok(_) => Err("the command fails now".into()),
        Err(why) => Err(CliError(format!("cannot run the command again: {why}"))),
    };
    // What is left there is in nobody's way.
    let _ = std::fs::remove_dir_all(&folder);
    data
}
