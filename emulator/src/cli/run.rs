//! `emu run` and `emu record`.

use super::args::{Record, Run};
use super::error::CliError;
use super::progress::Bar;
use super::summary::{self, Dump, Summary};
use crate::check::{Checker, Checks};
use crate::session::{CodeKind, Session, SessionError};
use trace_format::container::{Contents, Header};
use trace_format::validate::read_back;
use trace_format::writer::WriterOptions;
use warplab_host::destination::Destination;

/// Default number of elements of a dump.
const DUMP_ELEMENTS: u64 = 16;

/// Runs a program; true when all checks passed.
///
/// # Errors
/// When the program cannot be opened or run.
pub(super) fn run(args: &Run) -> Result<bool, CliError> {
    let Some(ptx) = &args.ptx else { return super::program::run(args) };
    consistent(args)?;
    let mut session = Session::open(ptx, &args.setup())?;
    super::error::warn(&session);
    let dumps = wanted(&session, &args.dump)?;
    if let Some(list) = &args.check {
        return check(args, &mut session, &dumps, list);
    }
    let bar = Bar::new(session.work(), args.json);
    let outcome = session.run(&args.options(), &bar);
    bar.clear();
    let report = outcome?;
    let dumps = dumps_of(&session, &dumps);
    summary::print(&Summary { report: &report, trace: None, findings: None, dumps }, args.json)?;
    Ok(report.passed())
}

/// Runs a program with the checker; true when there are no findings.
fn check(args: &Run, session: &mut Session, dumps: &[(String, u64)], list: &str) -> Result<bool, CliError> {
    let checks = Checks::parse(list).map_err(|what| CliError::Usage(format!("--check={list}: {what}")))?;
    let mut checker = Checker::new(checks, args.check_limit);
    let bar = Bar::new(session.work(), args.json);
    let outcome = session.run_checked(&args.options(), &mut checker, &bar);
    bar.clear();
    let findings = checker.findings();
    let report = match outcome {
        Ok(report) => report,
        Err(error) => {
            summary::print_findings(findings, args.json)?;
            return Err(error.into());
        }
    };
    let dumps = dumps_of(session, dumps);
    summary::print(&Summary { report: &report, trace: None, findings: Some(findings), dumps }, args.json)?;
    Ok(report.passed() && findings.list().is_empty() && findings.omitted() == 0)
}

/// Runs a program and writes its trace; true when all checks passed.
///
/// # Errors
/// When the program cannot be opened or run, or the trace cannot be written.
pub(super) fn record(args: &Record) -> Result<bool, CliError> {
    let Some(ptx) = &args.run.ptx else { return super::program::record(args) };
    if args.run.check.is_some() {
        return Err(CliError::Usage("--check goes with `emu run`: a checked run is not recorded".into()));
    }
    consistent(&args.run)?;
    let mut session = Session::open(ptx, &args.run.setup())?;
    super::error::warn(&session);
    let dumps = wanted(&session, &args.run.dump)?;
    let output = args.output.clone().unwrap_or_else(|| ptx.with_extension("wtrace"));
    super::error::tell_interrupted(&Destination::of(&output));
    let bar = Bar::new(session.work(), args.run.json);
    // The trace may go to standard output, which must then hold nothing else.
    let to_stdout = Destination::of(&output).is_stdout();
    let contents = if args.addresses_only { Contents::Addresses } else { Contents::Values };
    let tool = Header::recorded(
        &format!("warplab {}", crate::VERSION),
        &super::origin::of_this_process(),
        &session.manifest().seeds(),
    );
    let header = Header { contents, tool, ..Header::default() };
    let writing = WriterOptions::default().with_header(header);
    let outcome = session.record_as(&output, &args.run.options(), &bar, &writing);
    bar.clear();
    let (report, written, path) = outcome?;
    if !to_stdout && path != Destination::of(&output).path() {
        let (output, path) = (output.display(), path.display());
        warplab_host::say!(
            "note: {output} was written by another process meanwhile; this trace is in {path}"
        );
    }
    let trace = Some((path.as_path(), written));
    let summary = Summary { report: &report, trace, findings: None, dumps: dumps_of(&session, &dumps) };
    let print = if to_stdout { summary::print_to_stderr } else { summary::print };
    print(&summary, args.run.json)?;
    if path.metadata().is_ok_and(|file| file.is_file()) {
        read_back(&path).map_err(SessionError::Trace)?;
    }
    Ok(report.passed())
}

/// Refuses machine code where PTX is asked for.
fn consistent(args: &Run) -> Result<(), CliError> {
    if args.kind == Some(CodeKind::Ptx) && args.cubin.is_some() {
        return Err(CliError::Usage("--cubin names machine code, which --code ptx does not run".into()));
    }
    Ok(())
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
            let guess = warplab_host::names::perhaps(name, known.iter().copied());
            return Err(CliError::Usage(format!(
                "--dump {text}: there is no buffer `{name}`{guess}\n  help: buffers of the manifest: {}",
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
