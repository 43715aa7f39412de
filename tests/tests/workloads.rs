//! Every bundled workload from PTX to results: what the emulator leaves in each output buffer must equal what
//! the CPU reference computes from the same inputs, and recording must change nothing and be the same at any
//! number of threads.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::path::Path;
use tests::{Manifest, Workload, workloads};
use trace_format::validate;

fn session(manifest: &Path, overrides: &[&str]) -> Session {
    let overrides = overrides.iter().map(ToString::to_string).collect();
    let setup = Setup { overrides, ..Setup::default() };
    Session::open_manifest(manifest, &setup).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()))
}

/// Runs a manifest and compares every output buffer with the reference; returns how many were compared.
fn compare(workload: &Workload, manifest: &Path, overrides: &[&str]) -> usize {
    let declared = Manifest::load(manifest).expect("the independent reader reads it");
    let mut scalars = declared.scalars.clone();
    for change in overrides {
        let (name, value) = change.split_once('=').expect("NAME=VALUE");
        scalars.insert(name.into(), value.parse().expect("an integer"));
    }
    let inputs = declared.inputs(&scalars).expect("inputs");
    let mut session = session(manifest, overrides);
    for (name, bytes) in &inputs {
        assert_eq!(
            session.buffer(name),
            Some(bytes.as_slice()),
            "{}: the two readers disagree on the initial contents of {name}",
            manifest.display()
        );
    }
    session.run(&Options::default(), &Unobserved).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    let expected = workload.expected(&inputs, &scalars);
    for (name, want) in &expected {
        let got = session.buffer(name).expect("an output buffer");
        if let Err(mismatch) = want.compare(got) {
            panic!("{} {overrides:?}, buffer {name}: {mismatch}", manifest.display());
        }
    }
    expected.len()
}

#[test]
fn results_equal_the_references() {
    let mut compared = 0;
    for workload in workloads() {
        for manifest in workload.manifests() {
            let buffers = compare(&workload, &manifest, &[]);
            assert!(buffers > 0, "{}: nothing to compare", manifest.display());
            compared += buffers;
        }
    }
    assert!(compared >= 26, "only {compared} buffers compared");
}

#[test]
fn results_equal_the_references_at_sizes_that_leave_partial_warps_and_blocks() {
    let odd = [
        ("vectoradd", "n=1000"),
        ("matmul_tiled", "n=96"),
        ("reduction", "n=12345"),
        ("histogram", "n=7777"),
        ("blackscholes", "n=777"),
        ("compact", "n=3001"),
    ];
    let all = workloads();
    for (name, change) in odd {
        let workload = all.iter().find(|w| w.name == name).expect("a bundled workload");
        compare(workload, &workload.manifests()[0], &[change]);
    }
}

#[test]
fn recordings_verify_and_do_not_depend_on_threads() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for workload in workloads() {
        let manifest = &workload.manifests()[0];
        let record = |threads: usize| {
            let path = dir.path().join(format!("{}-{threads}.wtrace", workload.name));
            let options = Options { threads, ..Options::default() };
            session(manifest, &[]).record(&path, &options, &Unobserved).expect("a recording");
            path
        };
        let (one, three) = (record(1), record(3));
        let bytes = std::fs::read(&one).expect("the trace");
        assert!(
            bytes == std::fs::read(&three).expect("the trace"),
            "{}: threads change the trace",
            workload.name
        );
        let report = validate::validate(&one, 2, &validate::Progress::default()).expect("a trace");
        assert!(report.is_sound() && report.warps > 0, "{}: {:?}", workload.name, report.problems);
    }
}
