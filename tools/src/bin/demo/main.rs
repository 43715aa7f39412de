//! `demo`: Warplab from CUDA kernels to a report, in one command and without a GPU.
//!
//! Emulates the bundled kernels and checks their results, records traces, replays them on a GPU model with and
//! without techniques, studies their redundancy, prints tables and writes an HTML report. Each step is a file
//! here; the work is done by the library crates, as `emu`, `timing` and `trace` do it one file at a time.

mod console;
mod failure;
mod measure;
mod page;
mod progress;
mod record;
mod workloads;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use timing::config::builtin;
use warplab_host::{manual, options};

/// Runs bundled CUDA kernels through Warplab and writes a report.
#[derive(Parser, Debug)]
#[command(
    name = "demo",
    version = env!("WARPLAB_VERSION"),
    about = "Emulates bundled CUDA kernels, replays them with register-file techniques, and writes a report",
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  demo\n  demo --output /tmp/report --config gtx480\n  \
                  demo --only matmul_tiled,hotspot --threads 1\n  demo --list\n  \
                  demo completions bash > ~/.local/share/bash-completion/completions/demo\n\n\
                  The report is DIR/index.html, its data DIR/data.json and DIR/csv/; traces are in DIR/traces, the \
                  kernels in DIR/workloads."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Folder for the report, traces and kernels
    #[arg(short, long = "output", alias = "out", default_value = "warplab-demo", value_name = "DIR")]
    out: PathBuf,
    /// A built-in configuration (`timing list` shows all), or a file ending in .toml
    #[arg(long, default_value = "titanx-pascal", value_name = "NAME|FILE.toml")]
    config: String,
    /// Runs these workloads only, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    only: Vec<String>,
    /// Threads; no result depends on it [default: one per processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Lists the bundled workloads and ends
    #[arg(long)]
    list: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Prints completions for a shell
    #[command(
        after_help = "Example:\n  demo completions bash > ~/.local/share/bash-completion/completions/demo"
    )]
    Completions {
        /// Shell
        shell: manual::Shell,
    },
    /// Prints the manual page, or writes it into a folder
    #[command(after_help = "Examples:\n  demo man | man -l -\n  demo man -o ~/.local/share/man/man1")]
    Man {
        /// Folder for the page; created if needed
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let command = options::told("demo", &words);
    let arguments = match options::parse_or_exit_code::<Arguments>(words) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match run(&arguments, &command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            warplab_host::say!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The command line for shells and for `man`.
fn describe(command: &Command) -> Result<(), Failure> {
    let failed = |why: std::io::Error| Failure(format!("cannot write the page: {why}"));
    let text = match command {
        Command::Completions { shell } => {
            let values = [
                ("config", builtin::list(builtin::GPUS).into_iter().map(str::to_owned).collect()),
                ("only", workloads::names().map(str::to_owned).collect()),
            ];
            manual::completions(Arguments::command(), *shell, &values)
        }
        Command::Man { output: None } => manual::page(Arguments::command()).map_err(failed)?,
        Command::Man { output: Some(folder) } => {
            let pages = manual::pages(Arguments::command(), folder).map_err(failed)?;
            format!("{} pages in {}\n", pages.len(), folder.display()).into_bytes()
        }
    };
    print(&String::from_utf8_lossy(&text))
}

fn run(arguments: &Arguments, command: &[String]) -> Result<(), Failure> {
    if let Some(asked) = &arguments.command {
        return describe(asked);
    }
    timing::cli::fit_tables();
    let started = Instant::now();
    let chosen = workloads::select(&arguments.only)?;
    if arguments.list {
        for workload in chosen {
            print(&format!("{:<16} {}\n", workload.name, workload.about()))?;
        }
        return Ok(());
    }
    let threads = arguments.threads.map_or_else(default_threads, usize::from);
    let lab = measure::lab(&arguments.config)?;
    let (recordings, traces) = record::record_all(&chosen, &arguments.out, threads)?;
    let workloads = measure::replay_all(&lab, &recordings, traces, threads)?;
    let findings = measure::study(&workloads, threads)?;
    let produced_by = measure::provenance(command, &lab, &workloads, &arguments.out)?;
    let config_word = arguments.config.clone();
    let results = measure::Results { config_word, lab, recordings, workloads, findings, produced_by };
    let written = page::report(&results).write(&arguments.out)?;
    let tables = [console::baseline_table(&results), console::techniques_table(&results)];
    for table in &tables {
        print(&format!("\n{}", table.to_text()))?;
    }
    for study in [&results.findings.redundancy, &results.findings.taxonomy] {
        print(&format!("\n{}\n", study.to_text()))?;
    }
    let absolute = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
    let (report, data) = (absolute(written.html), absolute(written.json));
    print(&format!("Report: {}\nData:   {}\n", report.display(), data.display()))?;
    warplab_host::say!("done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Prints to stdout; whoever reads may stop reading.
fn print(text: &str) -> Result<(), Failure> {
    warplab_host::console::print(text).map_err(|error| Failure(format!("cannot write to stdout: {error}")))
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        assert_eq!(unclassified(&Arguments::command(), &["config"]), Vec::<String>::new());
    }
}
