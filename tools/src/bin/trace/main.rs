//! `trace`: contents of a trace, its verification, the execution of one warp, and export as another tool's text.
//!
//! The commands are [`info`], [`verify`], [`dump`] and [`export`]; all of them leave the trace as it is. Bad input ends
//! with exit code 1 and one message on the standard error.

mod dump;
mod export;
mod failure;
mod info;
mod summary;
mod verify;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use trace_format::container::TraceError;
use trace_format::reader::Trace;
use warplab_host::{console, limits, manual, options};

#[derive(Parser)]
#[command(
    name = "trace",
    version = env!("WARPLAB_VERSION"),
    about = "Looks into Warplab traces",
    after_help = "Examples:\n  trace info app.wtrace\n  trace verify app.wtrace --json\n  trace dump app.wtrace --block 3 --warp 1 --limit 40\n  trace export app.wtrace --accelsim traces"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints completions for a shell
    #[command(
        after_help = "Example:\n  trace completions bash > ~/.local/share/bash-completion/completions/trace"
    )]
    Completions {
        /// Shell
        shell: manual::Shell,
    },
    /// Prints the manual page, or writes all of them into a folder
    #[command(after_help = "Examples:\n  trace man | man -l -\n  trace man -o ~/.local/share/man/man1")]
    Man {
        /// Folder for the pages of all commands; created if needed
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Shows geometry, kernels, sizes by section and bytes per warp instruction
    #[command(
        after_help = "Examples:\n  trace info app.wtrace\n  trace info app.wtrace --json | jq .bytes_per_warp_instruction"
    )]
    Info {
        /// Trace file
        trace: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Checks everything: structure, hashes, and every warp's regenerated values against its checksum
    #[command(
        after_help = "Examples:\n  trace verify app.wtrace\n  trace verify app.wtrace --threads 2 --json\n\nExit code 0 means sound, 1 anything else."
    )]
    Verify {
        /// Trace file
        trace: PathBuf,
        /// Threads that regenerate warps [default: one per processor]
        #[arg(long)]
        threads: Option<usize>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists what one warp executed, with results and addresses
    #[command(
        after_help = "Examples:\n  trace dump app.wtrace --block 0 --warp 0\n  trace dump app.wtrace --launches 2 --block 5 --warp 3 --skip 1000 --limit 50"
    )]
    Dump {
        /// Trace file
        trace: PathBuf,
        /// Launch, counted from 0
        #[arg(long = "launches", alias = "launch", value_name = "NUMBER", default_value_t = 0)]
        launch: u32,
        /// Thread block, linear index (x fastest)
        #[arg(long, default_value_t = 0)]
        block: u64,
        /// Warp within the block
        #[arg(long, default_value_t = 0)]
        warp: u32,
        /// Instructions to pass over first
        #[arg(long, default_value_t = 0)]
        skip: u64,
        /// Instructions to list at most
        #[arg(long)]
        limit: Option<u64>,
    },
    /// Writes a trace as text that Accel-Sim replays: paths, lanes, registers and addresses, no values
    #[command(
        after_help = "Examples:\n  trace export app.wtrace --accelsim traces\n  trace export app.wtrace --accelsim traces --binary-version 86 --xz\n\n\
        The folder is created, with kernelslist.g and a file per launch. `timing import-trace traces` reads it back."
    )]
    Export {
        /// Trace file, of whole launches
        trace: PathBuf,
        /// Write the text of Accel-Sim's tracer into this new folder
        #[arg(long, value_name = "FOLDER")]
        accelsim: PathBuf,
        /// Compute capability in the header, by which the simulator chooses its opcodes
        #[arg(long, default_value_t = 75, value_parser = clap::value_parser!(u32).range(35..=200))]
        binary_version: u32,
        /// Compress the kernels with xz
        #[arg(long)]
        xz: bool,
    },
}

fn main() -> ExitCode {
    let cli = match options::parse_or_exit_code::<Cli>(std::env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let path = match &cli.command {
        Command::Info { trace, .. }
        | Command::Verify { trace, .. }
        | Command::Dump { trace, .. }
        | Command::Export { trace, .. } => Some(trace.clone()),
        Command::Completions { .. } | Command::Man { .. } => None,
    };
    match limits::check().map_err(Failure::Limit).and_then(|()| run(cli.command)) {
        Ok(code) => code,
        // Whoever reads the output has seen enough.
        Err(Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            warplab_host::say!("error: {failure}");
            if let Some(hint) = path.and_then(|path| warplab_host::kinds::elsewhere(&path, "wtrace")) {
                warplab_host::say!("  help: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    let is_data = matches!(
        command,
        Command::Info { json: true, .. }
            | Command::Verify { json: true, .. }
            | Command::Completions { .. }
            | Command::Man { .. }
    );
    let mut out = console::Out::new(io::BufWriter::new(io::stdout().lock()), is_data);
    let code = match command {
        Command::Completions { shell } => {
            out.write_all(&manual::completions(Cli::command(), shell, &[]))?;
            ExitCode::SUCCESS
        }
        Command::Man { output: None } => {
            out.write_all(&manual::page(Cli::command())?)?;
            ExitCode::SUCCESS
        }
        Command::Man { output: Some(folder) } => {
            let written = manual::pages(Cli::command(), &folder)?;
            writeln!(out, "{} pages in {}", written.len(), folder.display())?;
            ExitCode::SUCCESS
        }
        Command::Info { trace, json } => {
            let trace = open(&trace)?;
            info::run(&trace, json, &mut out)?;
            ExitCode::SUCCESS
        }
        Command::Verify { trace, threads, json } => {
            let default = || std::thread::available_parallelism().map_or(1, usize::from);
            let sound =
                verify::run(&trace, limits::threads(threads.unwrap_or_else(default)), json, &mut out)?;
            if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Command::Dump { trace, launch, block, warp, skip, limit } => {
            let trace = open(&trace)?;
            dump::run(&trace, (launch, block, warp), skip, limit.unwrap_or(u64::MAX), &mut out)?;
            ExitCode::SUCCESS
        }
        Command::Export { trace, accelsim, binary_version, xz } => {
            let trace = open(&trace)?;
            export::run(&trace, &accelsim, binary_version, xz, &mut out)?;
            ExitCode::SUCCESS
        }
    };
    out.flush()?;
    Ok(code)
}

/// Opens a trace and prints a message when it is incomplete.
fn open(path: &std::path::Path) -> Result<Trace, TraceError> {
    let trace = Trace::open(path)?;
    if let Some(why) = trace.incomplete() {
        warplab_host::say!("warning: {}: {why}", path.display());
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        assert_eq!(unclassified(&Cli::command(), &[]), Vec::<String>::new());
    }
}
