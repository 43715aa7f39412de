//! The `emu` command line: run, record and list PTX programs.
//!
//! Results go to standard output, errors and progress to standard error; the exit code is 1 when anything
//! went wrong, a failed check included, and 2 for a wrong command line. Colours and progress appear on
//! terminals only, colours not when `NO_COLOR` is set. `args` declares the flags, `run` runs and records
//! manifests, `program` whole CUDA programs, `disasm` lists kernels, `machine_code` NVIDIA's code, `extract` extracts device code
//! from executables, `inspect` shows the contents of PTX files, `init` writes manifests, `summary` prints results,
//! `progress` draws the bar, `manual` writes completions and manual pages, `origin` the text of the command.

mod args;
mod compilers;
mod disasm;
mod error;
mod extract;
mod init;
mod inspect;
mod machine_code;
mod manual;
mod origin;
mod program;
mod progress;
mod run;
mod summary;

pub use error::CliError;

use args::{Arguments, Command};
use error::{colours, report};
use std::process::ExitCode;
use warplab_host::{console, limits, options};

/// Runs the command of the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Arguments = match options::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let done = limits::check().map_err(CliError::Usage).and_then(|()| match &arguments.command {
        Command::Run(run) => run::run(run),
        Command::Record(record) => run::record(record),
        Command::Disasm(disasm) => disasm::disasm(disasm).map(|()| true),
        Command::Extract(extract) => extract::extract(extract).map(|()| true),
        Command::Inspect(inspect) => inspect::inspect(inspect).map(|()| true),
        Command::Init(args) => init::init(args).map(|()| true),
        Command::Completions(args) => manual::completions(args).map(|()| true),
        Command::Man(args) => manual::man(args).map(|()| true),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has closed the pipe.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            console::say_as_is(&report(&error, colours(&std::io::stderr())));
            ExitCode::FAILURE
        }
    }
}
