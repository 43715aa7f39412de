//! The independent check of a whole trace: structure of the file (`structure`), then every warp is
//! regenerated and its path compared with the values (`replay`). It reports all problems with their places.
//! [`read_back`] checks a sample of a trace that has just been written (`sample`), and [`unreadable`] some launches.

mod replay;
mod report;
mod sample;
mod structure;

pub use report::{MAX_PROBLEMS, Problem, Progress, Report};
pub use sample::read_back;

use crate::container::TraceError;
use crate::reader::Trace;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Bytes of decompressed frames that a check, which reads blocks in order, keeps.
const KEPT_BYTES: usize = 32 << 20;

/// Frames whose reports are kept until all of them are checked.
const FRAMES_AT_ONCE: usize = 1 << 12;

/// Checks a trace on a number of threads.
///
/// # Errors
/// The trace cannot be opened, or no thread can be started.
pub fn validate(path: &Path, threads: usize, progress: &Progress) -> Result<Report, TraceError> {
    let trace = Trace::open(path)?;
    trace.keep_unpacked(KEPT_BYTES);
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

/// Regenerates the blocks of some launches on a number of threads; returns those that cannot be read, in ascending order,
/// each with its first problem.
///
/// # Errors
/// No thread can be started.
pub fn unreadable(
    trace: &Trace,
    launches: &[usize],
    threads: usize,
) -> Result<Vec<(usize, String)>, TraceError> {
    let chosen: BTreeSet<usize> = launches.iter().copied().collect();
    let frames = trace.frames().iter().enumerate();
    let frames: Vec<usize> = frames
        .filter(|(_, frame)| chosen.contains(&(frame.head.launch as usize)))
        .map(|(number, _)| number)
        .collect();
    let threads = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let threads = threads.map_err(|why| TraceError::io(trace.path(), "check", std::io::Error::other(why)))?;
    let check = |frame: usize| {
        let problems = replay::check_frame(trace, frame, &Progress::default()).problems;
        let launch = trace.frames()[frame].head.launch as usize;
        problems.into_iter().next().map(|problem| (launch, problem.what))
    };
    let found: Vec<_> = threads
        .install(|| frames.into_par_iter().with_max_len(1).map(check).collect::<Vec<_>>())
        .into_iter()
        .flatten()
        .collect();
    // Frames are in the order of launches and blocks.
    let mut first: Vec<(usize, String)> = Vec::new();
    for (launch, what) in found {
        if first.last().is_none_or(|(known, _)| *known != launch) {
            first.push((launch, what));
        }
    }
    Ok(first)
}

/// Regenerates the blocks of all frames; the report does not depend on the number of threads.
fn replay_all(trace: &Trace, threads: &ThreadPool, progress: &Progress, report: &mut Report) {
    let check = |frame| replay::check_frame(trace, frame, progress);
    let mut per_launch = vec![(0, 0); trace.launches().len()];
    let frames = trace.frames().len();
    for start in (0..frames).step_by(FRAMES_AT_ONCE) {
        let end = frames.min(start + FRAMES_AT_ONCE);
        let found: Vec<Report> =
            threads.install(|| (start..end).into_par_iter().with_max_len(1).map(check).collect());
        for (frame, part) in (start..end).zip(found) {
            let (warp, thread) = &mut per_launch[trace.frames()[frame].head.launch as usize];
            *warp += part.warp_instructions;
            *thread += part.thread_instructions;
            report.merge(part);
        }
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
