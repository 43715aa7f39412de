//! `trace verify`: runs the independent validator, with a progress bar when that takes long.
//!
//! JSON keys: `sound`, `problem_count`, `problems` (a list: `place`, `what`), `records`, `frames`, `blocks`,
//! `warps`, `warp_instructions`, `thread_instructions`.

use super::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace_format::container::TraceError;
use trace_format::validate::{Progress, Report, validate};

/// How long a check may take before it shows how far it is.
const SILENCE: Duration = Duration::from_secs(2);

/// Checks a trace, prints what was found, and returns whether it is sound.
pub(crate) fn run(path: &Path, threads: usize, json: bool, out: &mut impl Write) -> Result<bool, Failure> {
    let started = Instant::now();
    let report = with_progress(path, threads)?;
    if json {
        let problems: Vec<_> =
            report.problems.iter().map(|p| json!({ "place": p.place, "what": p.what })).collect();
        let all = json!({
            "sound": report.is_sound(),
            "problem_count": report.problem_count,
            "problems": problems,
            "records": report.records,
            "frames": report.frames,
            "blocks": report.blocks,
            "warps": report.warps,
            "warp_instructions": report.warp_instructions,
            "thread_instructions": report.thread_instructions,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(report.is_sound());
    }
    for problem in &report.problems {
        writeln!(out, "{}: {}", problem.place, problem.what)?;
    }
    let verdict = match report.problem_count {
        0 => "sound".to_string(),
        1 => "1 problem".to_string(),
        n if n as usize > report.problems.len() => {
            format!("{n} problems, the first {} shown", report.problems.len())
        }
        n => format!("{n} problems"),
    };
    let seconds = started.elapsed().as_secs_f64();
    writeln!(
        out,
        "{}: {verdict}; {} frames, {} blocks, {} warps, {} warp instructions regenerated in {seconds:.2} s",
        path.display(),
        report.frames,
        report.blocks,
        report.warps,
        report.warp_instructions,
    )?;
    Ok(report.is_sound())
}

fn with_progress(path: &Path, threads: usize) -> Result<Report, TraceError> {
    let progress = Progress::default();
    if !std::io::stderr().is_terminal() {
        return validate(path, threads, &progress);
    }
    std::thread::scope(|scope| {
        let (done, finished) = std::sync::mpsc::channel();
        let progress = &progress;
        scope.spawn(move || {
            let _ = done.send(validate(path, threads, progress));
        });
        let mut wait = SILENCE;
        let mut bar: Option<ProgressBar> = None;
        loop {
            match finished.recv_timeout(wait) {
                Ok(result) => {
                    if let Some(bar) = bar {
                        bar.finish_and_clear();
                    }
                    return result;
                }
                Err(_) => {
                    let total = progress.total.load(Ordering::Relaxed);
                    let bar = bar.get_or_insert_with(|| new_bar(total));
                    bar.set_length(total);
                    bar.set_position(progress.done.load(Ordering::Relaxed));
                    wait = Duration::from_millis(100);
                }
            }
        }
    })
}

fn new_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {percent}% of {len} warp instructions, {eta} left");
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
