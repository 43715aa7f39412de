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

use clap::Parser;
use failure::Failure;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use warplab_host::options;

/// Runs bundled CUDA kernels through Warplab and writes a report.
#[derive(Parser, Debug)]
#[command(
    name = "demo",
    version = env!("WARPLAB_VERSION"),
    about = "Emulates bundled CUDA kernels, replays them with register-file techniques, and writes a report",
    after_help = "Examples:\n  demo\n  demo --out /tmp/report --config gtx480\n  \
                  demo --only matmul_tiled,hotspot --threads 1\n  demo --list\n\n\
                  The report is OUT/index.html, its data OUT/data.json and OUT/csv/; traces are in OUT/traces, the \
                  kernels in OUT/workloads."
)]
struct Arguments {
    /// Folder for the report, traces and kernels
    #[arg(long, default_value = "warplab-demo", value_name = "DIR")]
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

fn main() -> ExitCode {
    let arguments = match options::parse::<Arguments>(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => {
            let failed = error.use_stderr();
            // There is no way to report that the message itself cannot be printed.
            drop(error.print());
            return ExitCode::from(if failed { 2 } else { 0 });
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            warplab_host::say!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
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
    let config_word = arguments.config.clone();
    let results = measure::Results { config_word, lab, recordings, workloads, findings };
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
