//! The process that has loaded the library: its threads, its mapped files, and whether this copy of the
//! library is the auditor.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

static AUDITOR: AtomicBool = AtomicBool::new(false);

/// Whether this copy of the library is the auditor.
pub(crate) fn is_auditor() -> bool {
    AUDITOR.load(Ordering::Relaxed)
}

/// Marks this copy of the library as the auditor.
pub(crate) fn become_auditor() {
    AUDITOR.store(true, Ordering::Relaxed);
}

/// The file that an address of this process has been mapped from.
#[must_use]
pub(crate) fn mapped_file(address: usize) -> Option<PathBuf> {
    mapping(address).map(|(_, file)| file)
}

/// The addresses around this one that the file has been mapped to, and the file.
#[must_use]
pub(crate) fn mapping(address: usize) -> Option<(Range<usize>, PathBuf)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        let path = rest.find('/').map(|at| &rest[at..])?;
        (start..end).contains(&address).then(|| (start..end, PathBuf::from(path)))
    })
}

/// Prefixes of the names of our threads, including the recorder's writer.
const OURS: [&str; 2] = ["warplab", "trace-writer"];

/// Threads of this process that are not ours and have not ended.
#[must_use]
pub(crate) fn program_threads() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return usize::MAX };
    let is_the_programs = |task: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The name is in parentheses and may contain some; the state follows it.
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
            return false;
        };
        !OURS.iter().any(|ours| name.starts_with(ours)) && !rest.trim_start().starts_with(['Z', 'X'])
    };
    tasks.flatten().filter(is_the_programs).count()
}

/// Whether the program's first thread has ended, and all remaining threads are ours.
#[must_use]
pub(crate) fn is_abandoned() -> bool {
    // A process has the state of its first thread.
    let state = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let has_ended = state.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
    has_ended && program_threads() == 0
}
