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
use warplab_host::{options, shell};

/// Arguments of `timing rerun`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing rerun result.json\n\n\
    Runs the command under `produced_by` of a result again, in this folder, and compares every number. Its traces must have \
    the recorded content. Options of the command that write files are left out, and named. The exit code is 1 if anything differs.")]
pub(super) struct Arguments {
    /// A JSON result of `timing replay`, `study`, `why`, `explore` or `correlate`, or the data.json of a report; with --show
    /// also a CSV file or a log with its description in FILE.provenance.json.
    result: PathBuf,
    /// Runs it although a trace or the program's revision is another one.
    #[arg(long)]
    force: bool,
    /// Prints the command instead of running it.
    #[arg(long)]
    show: bool,
}

/// Commands whose result can be produced again: without the options that write, they write nothing.
const AGAIN: [&str; 6] = ["replay", "study", "why", "explore", "correlate", "report"];

pub(super) fn run(arguments: &Arguments, timing: &clap::Command) -> Result<ExitCode, CliError> {
    let table = of_table(&arguments.result)?;
    let before = table.as_ref().map_or_else(|| read(&arguments.result), |by| Ok(by.clone()))?;
    let shown = arguments.result.display();
    let by = &before[KEY];
    let words: Option<Vec<String>> = by["command"]
        .as_array()
        .map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        return Err(CliError(format!("{shown}: it does not say what produced it (`{KEY}`)")));
    };
    if arguments.show {
        output::print(&format!("{}\n", crate::provenance::Provenance::new(&words).command()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if table.is_some() {
        return Err(CliError(format!(
            "{shown}: the numbers of a table are not compared; --show prints its command, which writes with --json a result \
             that `timing rerun` compares"
        )));
    }
    let (words, removed) = harmless(&words, timing).map_err(|why| CliError(format!("{shown}: {why}")))?;
    if !arguments.force {
        check(by).map_err(|why| CliError(format!("{shown}: {why}; --force runs it all the same")))?;
    }
    if !removed.is_empty() {
        warplab_host::say!("note: options of its command that write are left out: {}", removed.join(", "));
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

/// The description of a CSV file or log from the file beside it, which may also be named itself; none for a JSON result.
fn of_table(path: &Path) -> Result<Option<Value>, CliError> {
    let shown = path.display();
    if path.to_string_lossy().ends_with(report::SIDECAR) {
        return read(path).map(Some);
    }
    let beside = report::sidecar(path);
    if !beside.exists() {
        return Ok(None);
    }
    let described = read(&beside)?;
    let hash = file_hash(path).map_err(|why| format!("cannot read {shown}: {why}"))?;
    if described["file"]["hash"].as_str() != Some(hash.as_str()) {
        return Err(CliError(format!("{shown} was changed since {} was written", beside.display())));
    }
    Ok(Some(described))
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

/// The command of a result without the options that write files or submit jobs, and those options. The result may come from
/// anyone: only commands that write nothing without these options are accepted.
fn harmless(words: &[String], timing: &clap::Command) -> Result<(Vec<String>, Vec<String>), String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words[0] != "timing" {
        return Err(format!("a result of `{}` is not produced again; --show prints its command", words[0]));
    }
    let name = words.get(1).copied().unwrap_or_default();
    if !AGAIN.contains(&name) {
        let known = AGAIN.join(", ");
        return Err(format!("a result of `timing {name}` is not produced again; those of {known} are"));
    }
    let (kept, removed) = shell::without_writing(&words);
    // `report` demands its folder.
    let folder: &[&str] = if name == "report" { &["-o", "-"] } else { &[] };
    let parsed = timing.clone().try_get_matches_from([&kept[..2], folder, &kept[2..]].concat());
    let parsed = parsed.map_err(|why| {
        let why = why.to_string();
        format!("its command cannot be read: {}", why.lines().next().unwrap_or_default())
    })?;
    let written = options::written_by(timing, &parsed);
    match written.iter().find(|(_, _, values)| values.iter().any(|value| value != "-")) {
        Some((option, ..)) => Err(format!("its command would write what {option} names")),
        None => Ok((kept.into_iter().map(str::to_owned).collect(), removed)),
    }
}

/// Runs a command of this program again; its JSON result.
fn produce(words: &[String]) -> Result<Value, CliError> {
    let program = std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
    let (name, rest) = words.split_first().ok_or("there is no command")?;
    let mut command = Command::new(program);
    command.arg(name).stderr(Stdio::inherit());
    if name == "report" {
        return report_again(command, rest);
    }
    // Words after `--` are no options.
    let run = command.args(["--json", "-"]).args(rest).output();
    let output = run.map_err(|why| format!("cannot run the command again: {why}"))?;
    if !output.status.success() {
        return Err("the command fails now".into());
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|why| CliError(format!("its result cannot be read: {why}")))
}

/// Writes a report again, into a new folder; its data.
fn report_again(mut command: Command, rest: &[String]) -> Result<Value, CliError> {
    let folder = tempfile::tempdir().map_err(|why| format!("cannot create a temporary folder: {why}"))?;
    let run = command.arg("-o").arg(folder.path()).args(rest).stdout(Stdio::null()).status();
    match run {
        Ok(status) if status.success() => read(&folder.path().join("data.json")),
        Ok(_) => Err("the command fails now".into()),
        Err(why) => Err(CliError(format!("cannot run the command again: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{AGAIN, harmless};
    use crate::cli::Arguments;
    use clap::CommandFactory;
    use warplab_host::options::writes;

    /// A command that can be run again, with further words.
    fn command(name: &str, more: &[&str]) -> Vec<String> {
        let inputs: &[&str] = match name {
            "study" => &["all", "t.wtrace"],
            "correlate" => &["r.json", "profile.csv"],
            _ => &["t.wtrace"],
        };
        [&["timing", name], inputs, more].concat().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn no_option_that_writes_is_run_again() {
        let timing = Arguments::command();
        let mut tried = 0;
        for name in AGAIN {
            let declared = timing.find_subcommand(name).expect("a command");
            for option in declared.get_arguments().filter(|option| writes(option).is_some()) {
                let long = format!("--{}", option.get_long().expect("a name"));
                let mut forms = vec![vec![long.clone(), "x".into()], vec![format!("{long}=x")]];
                if let Some(short) = option.get_short() {
                    forms.extend([vec![format!("-{short}"), "x".into()], vec![format!("-{short}x")]]);
                }
                for form in forms {
                    let form: Vec<&str> = form.iter().map(String::as_str).collect();
                    let (kept, removed) = harmless(&command(name, &form), &timing).expect(&long);
                    assert_eq!(kept, command(name, &[]), "{form:?}");
                    assert_eq!(removed, [form.join(" ")]);
                    tried += 1;
                }
            }
        }
        assert!(tried > 30, "only {tried}");
    }

    #[test]
    fn commands_that_write_without_such_an_option_are_refused() {
        let timing = Arguments::command();
        for name in timing.get_subcommands().map(clap::Command::get_name).filter(|name| !AGAIN.contains(name))
        {
            let told = harmless(&command(name, &[]), &timing).expect_err(name);
            assert!(told.contains("is not produced again"), "{told}");
        }
        assert!(harmless(&command("replay", &["--wrong"]), &timing).is_err());
        let told = harmless(&["demo".into()], &timing).expect_err("another program");
        assert!(told.starts_with("a result of `demo` is not produced again"), "{told}");
    }
}
