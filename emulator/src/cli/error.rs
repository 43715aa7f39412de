//! Errors of commands, and messages on standard error.

use crate::module::ModuleError;
use crate::session::{Session, SessionError};
use std::io::IsTerminal;
use warplab_host::console;
use warplab_host::destination::Destination;
use warplab_host::text::printable;

/// Error of a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A session could not be opened or run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An argument on the command line is invalid for the program.
    #[error("{0}")]
    Usage(String),
    /// Output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl From<ModuleError> for CliError {
    fn from(error: ModuleError) -> Self {
        CliError::Session(error.into())
    }
}

/// Whether a stream shows colours.
pub(super) fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// An error as text, with a line break at the end.
pub(super) fn report(error: &CliError, colour: bool) -> String {
    if let CliError::Session(SessionError::Ptx(errors)) = error {
        let shown = if colour { errors.render(true) } else { printable(&format!("{errors}\n")).into_owned() };
        let count = errors.iter().filter(|e| e.severity == crate::ptx::Severity::Error).count();
        return format!(
            "{shown}{} {count} error{} in {}\n",
            title(colour),
            plural(count),
            printable(errors.source().name())
        );
    }
    format!("{} {}\n", title(colour), printable(&error.to_string()))
}

/// Prints the paths of interrupted recordings, before another one of the same name replaces them.
pub(super) fn tell_interrupted(destination: &Destination) {
    for part in destination.abandoned() {
        let part = part.display();
        warplab_host::say!(
            "note: {part} holds an interrupted recording; it is kept until this one is complete"
        );
    }
}

/// Prints warnings about a session's module on standard error: those of PTX, and the instructions of machine code that have
/// no translation.
pub(super) fn warn(session: &Session) {
    if let Some(module) = session.module().ptx() {
        let warnings = &module.module.warnings;
        if warnings.iter().next().is_some() {
            let colour = colours(&std::io::stderr());
            let shown =
                if colour { warnings.render(true) } else { printable(&format!("{warnings}\n")).into_owned() };
            console::say_as_is(&shown);
        }
        return;
    }
    for kernel in session.kernels() {
        if let Some((_, first)) = kernel.traps.first() {
            let (name, count) = (warplab_host::symbols::both(&kernel.name), kernel.traps.len());
            let more = if count > 1 { format!(", and {} more", count - 1) } else { String::new() };
            warplab_host::say!(
                "note: kernel {name} has code that is not supported, at which a thread that comes to it stops: {first}{more}"
            );
        }
    }
}

fn title(colour: bool) -> String {
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    if colour { format!("{style}error:{style:#}") } else { "error:".into() }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
