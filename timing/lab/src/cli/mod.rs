//! The command line of `timing`: arguments, progress, tables and files. It contains no model code.
//!
//! Errors go to stderr: of the command line with exit code 2, of the work with exit code 1.

mod accuracy;
mod compare;
mod config;
mod correlate;
mod error;
mod explore;
mod import_trace;
mod left_out;
mod list;
mod lookup;
mod manual;
mod output;
mod progress;
mod replay;
mod report;
mod reproduce;
mod rerun;
mod shared;
mod study;
mod sweep;
mod sweep_file;
mod views;
mod why;
mod workloads;

use crate::techniques::Catalogue;
use clap::{CommandFactory, Parser, Subcommand};
use error::CliError;
use std::ffi::OsString;
use std::process::ExitCode;
use warplab_host::options;

/// Replays recorded CUDA kernels on GPU models.
#[derive(Debug, Parser)]
#[command(name = "timing", version = crate::provenance::VERSION, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Replays traces on a GPU model, without and with techniques.
    Replay(replay::Arguments),
    /// Explains what limits each kernel of a trace, in words and figures.
    Why(why::WhyArguments),
    /// Runs a limit study over traces; needs no GPU model.
    Study(study::Arguments),
    /// Writes a page with studies, replays and techniques compared with the baseline, and its data and
    /// figures as files.
    Report(report::Arguments),
    /// Replays traces on many machines, and puts all results into one table.
    Sweep(sweep::Arguments),
    /// Replays many settings and techniques, and marks those that no other one beats.
    Explore(explore::Arguments),
    /// Reproduces the figures of papers: records their programs, measures, and puts ours beside the paper's.
    Reproduce(reproduce::Arguments),
    /// Compares two JSON results.
    Compare(compare::Arguments),
    /// Produces a JSON result again from its description, and compares the two.
    Rerun(rerun::Arguments),
    /// Correlates replays with hardware: profiles of Nsight Compute and nvprof, or tables of published figures.
    Correlate(correlate::Arguments),
    /// Shows how near the model's cycles are to silicon and to other simulators, as measured last.
    Accuracy(accuracy::Arguments),
    /// Lists techniques, studies, configurations and energy tables, or explains the counters.
    List(list::Arguments),
    /// Imports traces of Accel-Sim's tracer, which hold paths and addresses and no values.
    ImportTrace(import_trace::ImportTraceArguments),
    /// Shows configurations and their keys, and imports those of GPGPU-Sim and Accel-Sim.
    #[command(subcommand)]
    Config(config::Command),
    /// Prints completions for a shell.
    Completions(manual::Completions),
    /// Prints the manual page, or writes all of them into a folder.
    Man(manual::Man),
}

/// Fits the tables that a program prints to the lines of its terminal, or to as many characters as `COLUMNS` says.
pub fn fit_tables() {
    if let Some(width) = warplab_host::tables::line_width() {
        ::report::limit_lines(width);
    }
}

/// Runs the command with the techniques of a catalogue, and returns its exit code.
pub fn main_with(catalogue: &Catalogue, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = options::told("timing", &arguments);
    let parsed = match options::parse_or_exit_code::<Arguments>(arguments) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    fit_tables();
    let done = |outcome: Result<(), CliError>| outcome.map(|()| ExitCode::SUCCESS);
    let outcome = warplab_host::limits::check().map_err(CliError).and_then(|()| match &parsed.command {
        Command::Replay(arguments) => done(replay::run(arguments, catalogue, &command)),
        Command::Why(arguments) => done(why::run(arguments, catalogue, &command)),
        Command::Study(arguments) => done(study::run(arguments, &command)),
        Command::Report(arguments) => done(report::run(arguments, catalogue, &command)),
        Command::Sweep(arguments) => done(sweep::run(arguments, catalogue, &command)),
        Command::Explore(arguments) => done(explore::run(arguments, catalogue, &command)),
        Command::Reproduce(arguments) => done(reproduce::run(arguments, catalogue, &command)),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Rerun(arguments) => rerun::run(arguments, &Arguments::command()),
        Command::Correlate(arguments) => correlate::run(arguments, &command),
        Command::Accuracy(arguments) => done(accuracy::run(arguments, &command)),
        Command::List(arguments) => done(list::run(arguments, catalogue)),
        Command::ImportTrace(arguments) => done(import_trace::run(arguments)),
        Command::Config(command) => done(config::run(command)),
        Command::Completions(arguments) => {
            done(manual::completions(arguments, Arguments::command(), catalogue))
        }
        Command::Man(arguments) => done(manual::man(arguments, Arguments::command())),
    });
    match outcome {
        Ok(code) => code,
        Err(CliError(message)) => {
            warplab_host::say!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    /// Options whose value is a file or folder that is read, or a key of a configuration.
    const READS: [&str; 12] = [
        "against",
        "before",
        "config",
        "emu",
        "file",
        "instructions",
        "match",
        "ptxas",
        "set",
        "vary",
        "work",
        "workloads",
    ];

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        let command = Arguments::command();
        assert_eq!(unclassified(&command, &READS), Vec::<String>::new());
        // A list that classifies everything would prove nothing.
        assert!(unclassified(&command, &[]).len() >= 8);
    }
}
