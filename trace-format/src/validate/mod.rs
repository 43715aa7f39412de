//! The independent check of a whole trace: structure of the file (`structure`), then every warp is
//! regenerated and its path compared with the values (`replay`). It reports all problems with their places.

mod replay;
mod report;
mod structure;

pub use report::{MAX_PROBLEMS, Problem, Progress, Report};

use crate::container::TraceError;
use crate::reader::Trace;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Checks a trace on a number of threads.
///
/// # Errors
/// The trace cannot be opened.
pub fn validate(path: &Path, threads: usize, progress: &Progress) -> Result<Report, TraceError> {
    let trace = Trace::open(path)?;
    let mut report = Report::default();
    structure::check(&trace, &mut report)?;
    if let Some(why) = trace.incomplete() {
        report.add("file", why);
    }
    let total: u64 = trace.launches().iter().map(crate::reader::Launch::warp_instructions).sum();
    progress.total.store(total, Ordering::Relaxed);
    replay_all(&trace, threads, progress, &mut report);
    Ok(report)
}

/// Regenerates the blocks of all frames; the report does not depend on the number of threads.
fn replay_all(trace: &Trace, threads: usize, progress: &Progress, report: &mut Report) {
    let next_frame = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Report)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let frame = next_frame.fetch_add(1, Ordering::Relaxed);
                    if frame >= trace.frames().len() {
                        break;
                    }
                    let part = replay::check_frame(trace, frame, progress);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((frame, part));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(frame, _)| *frame);
    let mut per_launch = vec![(0, 0); trace.launches().len()];
    for (frame, part) in found {
        let (warp, thread) = &mut per_launch[trace.frames()[frame].head.launch as usize];
        *warp += part.warp_instructions;
        *thread += part.thread_instructions;
        report.merge(part);
    }
    for (number, (launch, counted)) in trace.launches().iter().zip(per_launch).enumerate() {
        let stated = (launch.warp_instructions(), launch.thread_instructions());
        // For a launch that ended early, the frames also hold the beginnings of blocks.
        let ended = trace.incomplete().is_none() && launch.cut().is_none();
        if ended && report.is_sound() && counted != stated {
            report.add(
                format!("launch {number}"),
                format!("{counted:?} warp and thread instructions, but its frames state {stated:?}"),
            );
        }
    }
    report.problems.truncate(MAX_PROBLEMS);
}
