//! Feeds damaged modules to the front end, lowering and execution, and damaged files to the readers of device
//! code; reports inputs that cause a panic or take too much time or memory. A process that hangs writes its
//! input to a file and ends itself.

use clap::Parser;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tests::fuzz::accelsim::{self, fuzz_import};
use tests::fuzz::container::Containers;
use tests::fuzz::mutate::Corpus;
use tests::fuzz::ptxas::{self, Judge};
use tests::fuzz::{Reached, fuzz_lower_execute, fuzz_parse, fuzz_unpack};
use tests::trying::{Span, Stopwatch, keep, options};

/// Feeds damaged PTX to the front end, lowering and execution, which must refuse it in words or run it, and
/// damaged executables and fat binaries to their readers: no panic, no hang, no memory without bound.
#[derive(Parser, Debug)]
#[command(
    name = "mutate",
    after_help = "Examples:\n  mutate --minutes 10 --out failing\n  mutate --seed 4711 --count 1\n  \
                  mutate failing/input4711.ptx\n  mutate --containers --minutes 10\n  mutate --traces --minutes 10\n  \
                  mutate --ptxas --minutes 30 --seed 100000 --count 2400\n\n\
                  The exit code is 1 if an input failed."
)]
struct Options {
    #[command(flatten)]
    span: Span,
    /// Processor time that one input may take; one that takes ten times as long hangs, and so does one that uses none for
    /// a minute
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    seconds: f64,
    /// Memory that one input may take
    #[arg(long, default_value_t = 512, value_name = "MIB")]
    mib: u64,
    /// Folder for failing inputs [default: the one for temporary files]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Damages files that hold device code (fat binaries, libraries, cubins, archives) instead of PTX
    #[arg(long)]
    containers: bool,
    /// Damages text traces of Accel-Sim instead of PTX
    #[arg(long, conflicts_with = "containers")]
    traces: bool,
    /// Compares which PTX is accepted with ptxas, over valid modules with one change each; the exit code is 1 if they
    /// agree on less than 99 % of `--count` mutants
    #[arg(long, conflicts_with_all = ["containers", "traces"])]
    ptxas: bool,
    /// Tries these files instead of random inputs
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Options {
    /// Writes down an input that fails.
    fn keep(&self, seed: u64, bytes: &[u8]) -> PathBuf {
        let folder = self.out.clone().unwrap_or_else(std::env::temp_dir);
        let kind = match (self.containers, self.traces) {
            (true, _) => "bin",
            (_, true) => "traceg",
            _ => "ptx",
        };
        keep(&folder, &format!("input{seed}.{kind}"), bytes)
    }
}

/// Peak of the resident memory since the last reset, MiB; `None` if the system does not report it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib >> 10)
}

/// Lets the peak begin anew; where the system has no such thing, peaks only grow.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Result of the bodies for an input, or the text of a panic.
fn attempt(bytes: &[u8], options: &Options) -> Result<Reached, String> {
    std::panic::catch_unwind(|| {
        if options.containers {
            return fuzz_unpack(bytes);
        }
        if options.traces {
            let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
            return fuzz_import(bytes, folder.path());
        }
        fuzz_parse(bytes);
        fuzz_lower_execute(bytes)
    })
    .map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
    })
}

/// How trying one input went.
struct Judged {
    /// Result of the bodies, or the text of a panic.
    outcome: Result<Reached, String>,
    /// What is wrong, if anything.
    complaint: Option<String>,
    /// Processor time that it took.
    time: Duration,
}

/// Tries one input.
fn judge(bytes: &[u8], options: &Options) -> Judged {
    reset_peak();
    let (watch, before) = (Stopwatch::start(), peak_mib());
    let outcome = attempt(bytes, options);
    let (time, after) = (watch.processor_time(), peak_mib());
    let grown = before.zip(after).map_or(0, |(before, after)| after.saturating_sub(before));
    let complaint = match &outcome {
        Err(panic) => Some(format!("panic: {panic}")),
        Ok(_) if time.as_secs_f64() > options.seconds => Some(format!("slow: {:.1} s", time.as_secs_f64())),
        Ok(_) if grown > options.mib => Some(format!("memory: {grown} MiB")),
        Ok(_) => None,
    };
    Judged { outcome, complaint, time }
}

/// The input under way, since when, and the seed that made it.
type Current = Arc<Mutex<Option<(u64, Stopwatch, Vec<u8>)>>>;

/// Seconds without any processor time after which an input is considered blocked for ever.
const STILL_SECONDS: u32 = 60;

/// Ends the process when one input takes ten times of the processor time that it may, or uses none for long.
fn watch(current: Current, options: Arc<Options>) {
    std::thread::spawn(move || {
        let (mut still, mut last) = (0, (0, Duration::ZERO));
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let Ok(guard) = current.lock() else { continue };
            let Some((seed, watch, bytes)) = &*guard else { continue };
            let now = (*seed, watch.processor_time());
            still = if now == last { still + 1 } else { 0 };
            last = now;
            if now.1.as_secs_f64() > 10.0 * options.seconds || still > STILL_SECONDS {
                let path = options.keep(*seed, bytes);
                println!("seed {seed}: hangs: {}", path.display());
                std::process::exit(1);
            }
        }
    });
}

/// Source of the inputs.
enum Inputs {
    Modules(Corpus),
    Files(Containers),
    Traces,
}

impl Inputs {
    fn of(options: &Options) -> std::io::Result<Inputs> {
        if options.containers {
            Containers::bundled().map(Inputs::Files)
        } else if options.traces {
            Ok(Inputs::Traces)
        } else {
            Corpus::bundled().map(Inputs::Modules)
        }
    }

    fn of_seed(&self, seed: u64) -> Vec<u8> {
        match self {
            Inputs::Modules(corpus) => corpus.input(seed),
            Inputs::Files(containers) => containers.input(seed),
            Inputs::Traces => accelsim::input(seed),
        }
    }
}

fn files(options: &Options) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in &options.files {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("mutate: {}: {error}", path.display());
                code = ExitCode::FAILURE;
                continue;
            }
        };
        let Judged { outcome, complaint, time } = judge(&bytes, options);
        if complaint.is_some() {
            code = ExitCode::FAILURE;
        }
        let complaint = complaint.unwrap_or_else(|| format!("{outcome:?}"));
        println!("{}: {complaint} ({time:.2?})", path.display());
    }
    code
}

/// Compares the front end with ptxas and prints the table of the accuracy pages, then each difference.
fn against_ptxas(options: &Options) -> std::io::Result<ExitCode> {
    let Some(judge) = Judge::installed()? else {
        eprintln!("mutate: no ptxas; tools/scripts/cuda-toolkit.sh installs it");
        return Ok(ExitCode::FAILURE);
    };
    let corpus = Corpus::bundled()?;
    let texts = ptxas::valid(&judge, corpus.texts())?;
    eprintln!("{} of {} modules are valid", texts.len(), corpus.len());
    for text in texts.iter().filter_map(|text| ptxas::our_error(text)) {
        println!("a valid module is refused: {text}");
    }
    let (tallies, differences) = ptxas::compare(&judge, &texts, options.span.seeds())?;
    print!("{}", ptxas::table(&tallies));
    for difference in &differences {
        let who = if difference.ours { "only Warplab refuses" } else { "only ptxas refuses" };
        let (base, mutant) = (&texts[difference.mutant.of], &difference.mutant.text);
        let line = base.lines().zip(mutant.lines()).find(|(before, after)| before != after);
        let (before, after) = line.unwrap_or_default();
        println!(
            "seed {}: {who}: `{}` → `{}`: {}",
            difference.seed,
            before.trim(),
            after.trim(),
            difference.error
        );
    }
    let agreement = ptxas::total(&tallies).agreement();
    println!("agreement {:.2} %", 100.0 * agreement);
    Ok(if agreement >= 0.99 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    let options: Arc<Options> = match options() {
        Ok(options) => Arc::new(options),
        Err(code) => return code,
    };
    if !options.files.is_empty() {
        return files(&options);
    }
    if options.ptxas {
        return against_ptxas(&options).unwrap_or_else(|error| {
            eprintln!("mutate: {error}");
            ExitCode::FAILURE
        });
    }
    let inputs = match Inputs::of(&options) {
        Ok(inputs) => inputs,
        Err(error) => {
            eprintln!("mutate: {error}");
            return ExitCode::FAILURE;
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    let current = Arc::new(Mutex::new(None));
    watch(Arc::clone(&current), Arc::clone(&options));
    let start = std::time::Instant::now();
    let mut reached: BTreeMap<Reached, u64> = BTreeMap::new();
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    let mut tried = 0u64;
    let mut slowest = (Duration::ZERO, 0);
    for seed in options.span.seeds() {
        let bytes = inputs.of_seed(seed);
        if let Ok(mut current) = current.lock() {
            *current = Some((seed, Stopwatch::start(), bytes.clone()));
        }
        let Judged { outcome, complaint, time } = judge(&bytes, &options);
        slowest = slowest.max((time, seed));
        tried += 1;
        if let Ok(reached_now) = outcome {
            *reached.entry(reached_now).or_default() += 1;
        }
        let Some(complaint) = complaint else { continue };
        // One input of each kind is enough.
        let kind: String = complaint.chars().filter(|c| !c.is_ascii_digit()).take(80).collect();
        let count = failures.entry(kind).or_default();
        *count += 1;
        if *count <= 3 {
            println!("seed {seed}: {complaint}: {}", options.keep(seed, &bytes).display());
        }
    }
    println!(
        "{tried} inputs in {:.1?}: {reached:?}; slowest {:.2?} of processor time (seed {})",
        start.elapsed(),
        slowest.0,
        slowest.1
    );
    for (kind, count) in &failures {
        println!("  {count} times {kind}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
