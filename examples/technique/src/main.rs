//! A `timing` with one more technique: `timing-rfc replay app.wtrace --tech rfc`.

use std::process::ExitCode;

fn main() -> ExitCode {
    timing::cli::main_with(&[technique_example::REGISTRATION], std::env::args_os())
}
