//! `emu run` and `emu record`.

use super::CliError;
use super::args::{Record, Run};
use super::progress::Bar;
use super::summary::{self, Dump, Summary};
use crate::session::Session;
use std::path::Path;

/// Elements that a dump shows unless told otherwise.
const DUMP_ELEMENTS: u64 = 16;

/// Runs a program; true when all checks passed.
///
/// # Errors
/// When the program cannot be opened or run.
pub fn run(args: &Run) -> Result<bool, CliError> {
    let mut session = Session::open(&args.ptx, &args.setup())?;
    super::warn(session.module());
    let dumps = wanted(&session, &args.dump)?;
    let bar = Bar::new(session.work(), args.json);
    let outcome = session.run(&args.options(), &bar);
    bar.clear();
    let report = outcome?;
    let summary = Summary { report: &report, trace: None, dumps: dumps_of(&session, &dumps) };
    summary::print(&summary, args.json)?;
    Ok(report.passed())
}

/// Runs a program and writes its trace; true when all checks passed.
///
/// # Errors
/// When the program cannot be opened or run, or the trace cannot be written.
pub fn record(args: &Record) -> Result<bool, CliError> {
    let mut session = Session::open(&args.run.ptx, &args.run.setup())?;
    super::warn(session.module());
    let dumps = wanted(&session, &args.run.dump)?;
    let output = args.output.clone().unwrap_or_else(|| args.run.ptx.with_extension("wtrace"));
    let bar = Bar::new(session.work(), args.run.json);
    let outcome = session.record(&output, &args.run.options(), &bar);
    bar.clear();
    let (report, written) = outcome.inspect_err(|_| discard(&output))?;
    let trace = Some((output.as_path(), written));
    let summary = Summary { report: &report, trace, dumps: dumps_of(&session, &dumps) };
    summary::print(&summary, args.run.json)?;
    Ok(report.passed())
}

/// Removes what a failed recording has left.
fn discard(output: &Path) {
    let mut name = output.as_os_str().to_os_string();
    name.push(".part");
    // It may not even have been created.
    let _ = std::fs::remove_file(name);
}

/// Buffers to show and how many elements of each.
fn wanted(session: &Session, dumps: &[String]) -> Result<Vec<(String, u64)>, CliError> {
    let parse = |text: &String| {
        let (name, count) = match text.rsplit_once(':') {
            Some((name, count)) => {
                let count = count.parse().map_err(|_| {
                    CliError::Usage(format!("--dump {text}: `{count}` is no number of elements"))
                })?;
                (name, count)
            }
            None => (text.as_str(), DUMP_ELEMENTS),
        };
        if session.declaration(name).is_none() {
            let known: Vec<&str> = session.manifest().buffers.iter().map(|b| b.name.as_str()).collect();
            return Err(CliError::Usage(format!(
                "--dump {text}: there is no buffer `{name}`\n  help: buffers of the manifest: {}",
                known.join(", ")
            )));
        }
        Ok((name.to_string(), count))
    };
    dumps.iter().map(parse).collect()
}

fn dumps_of(session: &Session, wanted: &[(String, u64)]) -> Vec<Dump> {
    let dump = |(name, count): &(String, u64)| {
        let element = session.declaration(name)?.element;
        let bytes = session.buffer(name)?.chunks_exact(element.bytes());
        let total = bytes.len();
        let values =
            bytes.take(usize::try_from(*count).unwrap_or(usize::MAX)).map(|b| element.show(b)).collect();
        Some(Dump { buffer: name.clone(), element, total, values })
    };
    wanted.iter().filter_map(dump).collect()
}
