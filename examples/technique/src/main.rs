//! A `timing` with one more technique: `timing-latch replay app.wtrace --tech latch`.

use std::process::ExitCode;

fn main() -> ExitCode {
    timing::cli::main_with(&[technique_example::REGISTRATION], std::env::args_os())
}
