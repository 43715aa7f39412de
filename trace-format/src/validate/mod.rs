//! The independent check of a whole trace: structure of the file (`structure`), then every warp is
//! regenerated and its path compared with the values (`replay`). It reports all problems with their places.

mod replay;
mod report;
mod structure;

pub use report::{MAX_PROBLEMS, Problem, Progress, Report};

use crate::container::TraceError;
use crate::reader::Trace;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Checks a trace on a number of threads.
///
/// # Errors
/// The trace cannot be opened, or no thread can be started.
pub fn validate(path: &Path, threads: usize, progress: &Progress) -> Result<Report, TraceError> {
    let trace = Trace::open(path)?;
    let mut report = Report::default();
    structure::check(&trace, &mut report)?;
    if let Some(why) = trace.incomplete() {
        report.add("file", why);
    }
    let total: u64 = trace.launches().iter().map(crate::reader::Launch::warp_instructions).sum();
    progress.total.store(total, Ordering::Relaxed);
    let threads = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let threads = threads.map_err(|why| TraceError::io(path, "check", std::io::Error::other(why)))?;
    replay_all(&trace, &threads, progress, &mut report);
    Ok(report)
}

/// Regenerates the blocks of all frames; the report does not depend on the number of threads.
fn replay_all(trace: &Trace, threads: &ThreadPool, progress: &Progress, report: &mut Report) {
    let check = |frame| replay::check_frame(trace, frame, progress);
    let found: Vec<Report> =
        threads.install(|| (0..trace.frames().len()).into_par_iter().with_max_len(1).map(check).collect());
    let mut per_launch = vec![(0, 0); trace.launches().len()];
    for (frame, part) in found.into_iter().enumerate() {
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
