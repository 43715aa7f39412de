//! First step of the demo: unpack the workloads, execute them, check what they computed, record traces.

use crate::failure::Failure;
use crate::progress::Phase;
use crate::workloads::Workload;
use emulator::exec::{Observer, Options, Stats};
use emulator::manifest::{Check, Verdict};
use emulator::session::{Session, Setup};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use trace_format::reader::{Launch, Trace};

/// A workload that has run, and whose results are as its manifest expects.
pub(crate) struct Recording {
    /// Name of the workload.
    pub name: &'static str,
    /// What it computes.
    pub about: String,
    /// The unpacked PTX.
    pub ptx: PathBuf,
    /// The unpacked launch manifest.
    pub manifest: PathBuf,
    /// Buffers that were compared with their expected contents; none where only a tolerance would fit, which the
    /// CPU references of the test suite have and manifests have not.
    pub buffers_checked: usize,
}

/// Runs and records every workload; returns their traces beside them.
///
/// # Errors
/// The workload that cannot run, or whose results are not as expected.
pub(crate) fn record_all(
    workloads: &[Workload],
    out: &Path,
    threads: usize,
) -> Result<(Vec<Recording>, Vec<Trace>), Failure> {
    let traces = out.join("traces");
    std::fs::create_dir_all(&traces)
        .map_err(|e| Failure(format!("cannot create {}: {e}", traces.display())))?;
    let phase = Phase::start("emulate", workloads.len());
    let (mut recordings, mut recorded) = (Vec::new(), Vec::new());
    let (mut instructions, mut time) = (0, Duration::ZERO);
    for (i, workload) in workloads.iter().enumerate() {
        phase.item(i, workload.name);
        let (recording, trace, took) = record(workload, out, &traces, threads, &phase)?;
        let here: u64 = trace.launches().iter().map(Launch::warp_instructions).sum();
        phase.line(&format!(
            "  {:<16} {:>10} warp instructions, {:.2} bytes each; {}",
            workload.name,
            here,
            trace.file_bytes() as f64 / here.max(1) as f64,
            match recording.buffers_checked {
                0 => "its manifest expects no exact result".to_owned(),
                1 => "the result is as expected".to_owned(),
                n => format!("{n} results are as expected"),
            },
        ));
        instructions += here;
        time += took;
        recordings.push(recording);
        recorded.push(trace);
    }
    phase.end(&format!(
        "{} workloads, {} warp instructions at {:.1} million per second",
        recordings.len(),
        report::integer(i128::from(instructions)),
        instructions as f64 / time.as_secs_f64().max(1e-9) / 1e6,
    ));
    Ok((recordings, recorded))
}

/// Runs one workload; also returns the time that its launches took.
fn record(
    workload: &Workload,
    out: &Path,
    traces: &Path,
    threads: usize,
    phase: &Phase,
) -> Result<(Recording, Trace, Duration), Failure> {
    let fail = |what: String| Failure(format!("{}: {what}", workload.name));
    let (ptx, manifest) = workload.unpack(&out.join("workloads"))?;
    let setup = Setup { manifest: Some(manifest.clone()), ..Setup::default() };
    let mut session = Session::open(&ptx, &setup).map_err(|e| fail(e.to_string()))?;
    let path = traces.join(format!("{}.wtrace", workload.name));
    let (_, blocks) = session.work();
    let watch = Watch { phase, blocks, done: AtomicU64::new(0) };
    let options = Options { threads, ..Options::default() };
    let (run, _, path) = session.record(&path, &options, &watch).map_err(|e| fail(e.to_string()))?;
    let buffers_checked = checked(&run.checks).map_err(fail)?;
    let trace = Trace::open(&path)?;
    let relative = |path: PathBuf| path.strip_prefix(out).map(Path::to_owned).unwrap_or(path);
    let recording = Recording {
        name: workload.name,
        about: workload.about(),
        ptx: relative(ptx),
        manifest: relative(manifest),
        buffers_checked,
    };
    Ok((recording, trace, run.time()))
}

/// How many buffers were compared; an error when one is not as expected.
fn checked(checks: &[Check]) -> Result<usize, String> {
    for check in checks {
        if let Verdict::Failed(how) | Verdict::Skipped(how) = &check.verdict {
            return Err(format!("buffer {} is not as expected: {how}", check.buffer));
        }
    }
    Ok(checks.len())
}

/// Shows how many of the workload's blocks are done.
struct Watch<'a> {
    phase: &'a Phase,
    blocks: u64,
    /// Blocks of finished launches.
    done: AtomicU64,
}

impl Observer for Watch<'_> {
    fn progress(&self, stats: &Stats) {
        let blocks = self.done.load(Ordering::Relaxed) + stats.blocks;
        self.phase.part(blocks as f64 / self.blocks.max(1) as f64, "");
    }

    fn finished(&self, stats: &Stats) {
        self.done.fetch_add(stats.blocks, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_not_as_expected_is_an_error() {
        let check = |verdict| Check { buffer: "c".into(), verdict };
        assert_eq!(checked(&[check(Verdict::Passed), check(Verdict::Passed)]), Ok(2));
        let wrong = checked(&[check(Verdict::Passed), check(Verdict::Failed("17 differ".into()))]);
        assert_eq!(wrong, Err("buffer c is not as expected: 17 differ".into()));
        assert!(checked(&[check(Verdict::Skipped("overridden".into()))]).is_err());
        assert_eq!(checked(&[]), Ok(0));
    }
}
