//! Attacks lowering, execution and recording with random kernels, and cuts what fails down to little PTX.
//!
//! `attack [--minutes N] [--seed S] [--count N] [--traces FOLDER] [--out FOLDER] [--keep-going N]
//! [--no-shrink] [--no-check] [--refused TEXT] [CASE.ptx...]` (refusals of lowering count as failures where they contain the text)`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tests::oracle::differential::{Case, Failure, Setup, attack, compare};
use tests::oracle::generate::shrink;

struct Options {
    minutes: f64,
    seed: u64,
    count: u64,
    traces: Option<PathBuf>,
    out: Option<PathBuf>,
    keep_going: usize,
    no_shrink: bool,
    refused: Option<String>,
    check: bool,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        minutes: 1.0,
        seed: 1,
        count: u64::MAX,
        traces: None,
        out: None,
        keep_going: 1,
        no_shrink: false,
        refused: None,
        check: true,
        files: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if !flag.starts_with("--") {
            options.files.push(flag.into());
            continue;
        }
        if flag == "--no-check" {
            options.check = false;
            continue;
        }
        if flag == "--no-shrink" {
            options.no_shrink = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{flag}: {e}"));
        match flag.as_str() {
            "--minutes" => options.minutes = value.parse().map_err(|e| format!("{flag}: {e}"))?,
            "--seed" => options.seed = number()?,
            "--count" => options.count = number()?,
            "--keep-going" => options.keep_going = number()? as usize,
            "--traces" => options.traces = Some(value.into()),
            "--refused" => options.refused = Some(value),
            "--out" => options.out = Some(value.into()),
            _ => return Err(format!("{flag} is unknown")),
        }
    }
    Ok(options)
}

/// Compares kernels that an earlier attack wrote.
fn replay(files: &[PathBuf], check: bool) -> std::process::ExitCode {
    let mut code = std::process::ExitCode::SUCCESS;
    for path in files {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let result = match Case::parse(&text) {
            Some((case, max_registers)) => {
                compare(&case, &Setup { max_registers, threads: 1, check, traces: None })
                    .map_err(|f| f.to_string())
            }
            None => Err("no `//case` line".to_owned()),
        };
        match result {
            Ok(()) => println!("{}: agrees", path.display()),
            Err(what) => {
                println!("{}: {what}", path.display());
                code = std::process::ExitCode::FAILURE;
            }
        }
    }
    code
}

fn main() -> std::process::ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(what) => {
            eprintln!("attack: {what}");
            return std::process::ExitCode::FAILURE;
        }
    };
    if !options.files.is_empty() {
        return replay(&options.files, options.check);
    }
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let mut failures = 0;
    let mut compared = 0u64;
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for seed in (options.seed..).take(options.count.try_into().unwrap_or(usize::MAX)) {
        if start.elapsed() > Duration::from_secs_f64(options.minutes * 60.0) || failures >= options.keep_going
        {
            break;
        }
        let (kernel, setup, result) = attack(seed, options.check, options.traces.as_deref());
        compared += 1;
        let Err(failure) = result else { continue };
        if let Failure::Lower(what) = &failure {
            // The instruction itself comes in backquotes.
            let kind = what.split(": `").next().unwrap_or(what).to_owned();
            *refused.entry(format!("{kind} ({})", setup.max_registers)).or_default() += 1;
            let wrong = what.contains("malformed") || what.contains("is wrong");
            if !wrong && !options.refused.as_ref().is_some_and(|text| what.contains(text)) {
                continue;
            }
        }
        failures += 1;
        println!("seed {seed} ({:?}, {} registers): {failure}", kernel.focus, setup.max_registers);
        if options.no_shrink {
            if let Some(folder) = &options.out {
                let path = folder.join(format!("seed{seed}.ptx"));
                let text = Case::of(&kernel).text(setup.max_registers);
                if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text))
                {
                    eprintln!("attack: {}: {error}", path.display());
                }
            }
            continue;
        }
        let deadline = Instant::now() + Duration::from_secs(240);
        let small = shrink(&kernel, &mut |candidate| {
            Instant::now() < deadline
                && compare(&Case::of(candidate), &setup).is_err_and(|other| {
                    let refused = options.refused.as_ref();
                    other.same_kind(&failure) && refused.is_none_or(|text| other.to_string().contains(text))
                })
        });
        let last = compare(&Case::of(&small), &setup).err();
        let last = last.map_or_else(String::new, |failure| failure.to_string());
        let text = Case::of(&small).text(setup.max_registers);
        match &options.out {
            Some(folder) => {
                let path = folder.join(format!("seed{seed}.ptx"));
                println!("  {last}: {}", path.display());
                if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text))
                {
                    eprintln!("attack: {}: {error}", path.display());
                }
            }
            None => println!("{text}"),
        }
    }
    println!("{compared} kernels in {:.1?}, {failures} failures", start.elapsed());
    for (what, count) in refused {
        println!("  {count} refused: {what}");
    }
    if failures == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
