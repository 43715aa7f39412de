//! The `timing` command.

use crate::techniques::{Registration, built_in};
use std::ffi::OsString;
use std::process::ExitCode;

pub use warplab_lab::cli::fit_tables;

/// Runs the command and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_with(&[], arguments)
}

/// As [`main`], with techniques of other crates: a complete `timing` with further techniques.
///
/// ```no_run
/// const MINE: &[timing::techniques::Registration] = &[];
///
/// fn main() -> std::process::ExitCode {
///     timing::cli::main_with(MINE, std::env::args_os())
/// }
/// ```
pub fn main_with(techniques: &[Registration], arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match built_in().with(techniques) {
        Ok(catalogue) => warplab_lab::cli::main_with(&catalogue, arguments),
        Err(why) => {
            warplab_host::say!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
