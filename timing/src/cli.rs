//! The `timing` command.

use crate::Ideas;
use std::ffi::OsString;
use std::process::ExitCode;

pub use warplab_lab::cli::fit_tables;

/// Runs the command and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_with(Ideas::new(), arguments)
}

/// As [`main`], with the ideas of other crates: a complete `timing` with further techniques, policies and studies. A list of
/// techniques alone is enough.
///
/// ```no_run
/// const MINE: &[timing::techniques::Registration] = &[];
///
/// fn main() -> std::process::ExitCode {
///     timing::cli::main_with(MINE, std::env::args_os())
/// }
/// ```
pub fn main_with<'a>(ideas: impl Into<Ideas<'a>>, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match ideas.into().add() {
        Ok(catalogue) => warplab_lab::cli::main_with(&catalogue, arguments),
        Err(why) => {
            warplab_host::say!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
