//! Feeds damaged modules to the front end, lowering and execution, and reports what panics, takes too long or takes
//! too much memory.
//!
//! `mutate [--minutes N] [--seed S] [--count N] [--seconds N] [--mib N] [--out FOLDER] [FILE...]` (`--seconds` and
//! `--mib` are what one input may take, of processor time and memory). A process that hangs ends itself once the input is written down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::fuzz::mutate::Corpus;
use tests::fuzz::{Reached, fuzz_lower_execute, fuzz_parse};

struct Options {
    minutes: f64,
    seed: u64,
    count: u64,
    seconds: f64,
    mib: u64,
    out: PathBuf,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        minutes: 1.0,
        seed: 1,
        count: u64::MAX,
        seconds: 5.0,
        mib: 512,
        out: std::env::temp_dir(),
        files: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if !flag.starts_with("--") {
            options.files.push(flag.into());
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let whole = || value.parse::<u64>().map_err(|e| format!("{flag}: {e}"));
        let real = || value.parse::<f64>().map_err(|e| format!("{flag}: {e}"));
        match flag.as_str() {
            "--minutes" => options.minutes = real()?,
            "--seed" => options.seed = whole()?,
            "--count" => options.count = whole()?,
            "--seconds" => options.seconds = real()?,
            "--mib" => options.mib = whole()?,
            "--out" => options.out = value.into(),
            _ => return Err(format!("{flag} is unknown")),
        }
    }
    Ok(options)
}

/// Peak of the resident memory since the last reset, MiB; `None` where the system does not tell.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib >> 10)
}

/// Lets the peak begin anew; where the system has no such thing, peaks only grow.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Seconds of processor time that the process has used: what an input takes, however busy the machine is.
fn processor_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, which may hold anything, ends with the last parenthesis; user and system time are fields 14, 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / TICKS_PER_SECOND)
}

/// What both bodies say of an input, or the text of a panic.
fn attempt(bytes: &[u8]) -> Result<Reached, String> {
    std::panic::catch_unwind(|| {
        fuzz_parse(bytes);
        fuzz_lower_execute(bytes)
    })
    .map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
    })
}

/// Tries one input; what is wrong with how it went.
fn judge(bytes: &[u8], options: &Options) -> (Result<Reached, String>, Option<String>) {
    reset_peak();
    let (start, used, before) = (Instant::now(), processor_seconds(), peak_mib());
    let outcome = attempt(bytes);
    let after = peak_mib();
    let seconds = used
        .zip(processor_seconds())
        .map_or_else(|| start.elapsed().as_secs_f64(), |(before, after)| after - before);
    let grown = before.zip(after).map_or(0, |(before, after)| after.saturating_sub(before));
    let complaint = match &outcome {
        Err(panic) => Some(format!("panic: {panic}")),
        Ok(_) if seconds > options.seconds => Some(format!("slow: {seconds:.1} s")),
        Ok(_) if grown > options.mib => Some(format!("memory: {grown} MiB")),
        Ok(_) => None,
    };
    (outcome, complaint)
}

/// The input under way, since when, and the seed that made it.
type Current = Arc<Mutex<Option<(u64, Instant, Vec<u8>)>>>;

/// Ends the process when one input takes ten times of what it may.
fn watch(current: Current, seconds: f64, out: PathBuf) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let Ok(guard) = current.lock() else { continue };
            if let Some((seed, start, bytes)) = &*guard
                && start.elapsed().as_secs_f64() > 10.0 * seconds
            {
                let path = write(&out, *seed, bytes);
                println!("seed {seed}: hangs: {}", path.display());
                std::process::exit(1);
            }
        }
    });
}

fn write(folder: &Path, seed: u64, bytes: &[u8]) -> PathBuf {
    let path = folder.join(format!("input{seed}.ptx"));
    if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes)) {
        eprintln!("mutate: {}: {error}", path.display());
    }
    path
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
        let start = Instant::now();
        let (outcome, complaint) = judge(&bytes, options);
        if complaint.is_some() {
            code = ExitCode::FAILURE;
        }
        let complaint = complaint.unwrap_or_else(|| format!("{outcome:?}"));
        println!("{}: {complaint} ({:.2?})", path.display(), start.elapsed());
    }
    code
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(what) => {
            eprintln!("mutate: {what}");
            return ExitCode::FAILURE;
        }
    };
    if !options.files.is_empty() {
        return files(&options);
    }
    let corpus = match Corpus::bundled() {
        Ok(corpus) => corpus,
        Err(error) => {
            eprintln!("mutate: {error}");
            return ExitCode::FAILURE;
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    let current = Arc::new(Mutex::new(None));
    watch(Arc::clone(&current), options.seconds, options.out.clone());
    let start = Instant::now();
    let limit = Duration::from_secs_f64(options.minutes * 60.0);
    let mut reached: BTreeMap<Reached, u64> = BTreeMap::new();
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    let mut tried = 0u64;
    let mut slowest = (Duration::ZERO, 0);
    for seed in (options.seed..).take(usize::try_from(options.count).unwrap_or(usize::MAX)) {
        if start.elapsed() > limit {
            break;
        }
        let bytes = corpus.input(seed);
        let begun = Instant::now();
        if let Ok(mut current) = current.lock() {
            *current = Some((seed, begun, bytes.clone()));
        }
        let (outcome, complaint) = judge(&bytes, &options);
        slowest = slowest.max((begun.elapsed(), seed));
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
            println!("seed {seed}: {complaint}: {}", write(&options.out, seed, &bytes).display());
        }
    }
    println!(
        "{tried} inputs in {:.1?}: {reached:?}; slowest {:.2?} (seed {})",
        start.elapsed(),
        slowest.0,
        slowest.1
    );
    for (kind, count) in &failures {
        println!("  {count} times {kind}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
