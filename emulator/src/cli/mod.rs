//! The `emu` command line: run, record and list PTX programs.
//!
//! Results go to standard output, errors and progress to standard error; the exit code is 1 when anything
//! went wrong, a failed check included, and 2 for a wrong command line. Colours and progress appear on
//! terminals only, colours not when `NO_COLOR` is set. [`args`] declares the flags, [`run`] runs and records,
//! [`program`] does so with whole CUDA programs, [`disasm`] lists, [`extract`] takes device code out of executables, [`inspect`] shows what a file holds and
//! uses, [`summary`] prints results, [`progress`] draws the bar.

pub mod args;
mod compilers;
pub mod disasm;
pub mod extract;
pub mod inspect;
pub mod program;
pub mod progress;
pub mod run;
pub mod summary;

use crate::session::SessionError;
use args::{Arguments, Command};
use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;
use trace_format::destination::Destination;
use trace_format::limits;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A session could not be opened or run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Something on the command line does not fit the program.
    #[error("{0}")]
    Usage(String),
    /// Output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the command of the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = limits::check().map_err(CliError::Usage).and_then(|()| match &arguments.command {
        Command::Run(run) => run::run(run),
        Command::Record(record) => run::record(record),
        Command::Disasm(disasm) => disasm::disasm(disasm).map(|()| true),
        Command::Extract(extract) => extract::extract(extract).map(|()| true),
        Command::Inspect(inspect) => inspect::inspect(inspect).map(|()| true),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Who reads our output has seen enough.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{}", report(&error, colours(&std::io::stderr())));
            ExitCode::FAILURE
        }
    }
}

/// Whether a stream shows colours.
fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// An error as text, with a line break at the end.
fn report(error: &CliError, colour: bool) -> String {
    if let CliError::Session(SessionError::Ptx(errors)) = error {
        let shown = if colour { errors.render(true) } else { format!("{errors}\n") };
        let count = errors.iter().filter(|e| e.severity == crate::ptx::Severity::Error).count();
        return format!(
            "{shown}{} {count} error{} in {}\n",
            title(colour),
            plural(count),
            errors.source().name()
        );
    }
    format!("{} {error}\n", title(colour))
}

/// Tells where recordings are that were interrupted, before another one of the same name takes their place.
fn tell_interrupted(destination: &Destination) {
    for part in destination.abandoned() {
        let part = part.display();
        eprintln!("note: {part} holds a recording that was interrupted; it stays until this one is complete");
    }
}

/// Tells what is worth knowing about a module that was loaded all the same, on standard error.
fn warn(module: &crate::session::LoadedModule) {
    let warnings = &module.module.warnings;
    if warnings.iter().next().is_some() {
        let colour = colours(&std::io::stderr());
        let shown = if colour { warnings.render(true) } else { format!("{warnings}\n") };
        eprint!("{shown}");
    }
}

fn title(colour: bool) -> String {
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    if colour { format!("{style}error:{style:#}") } else { "error:".into() }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
