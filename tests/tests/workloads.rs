//! Every bundled workload from PTX to results: what the emulator leaves in each output buffer must equal what
//! the CPU reference computes from the same inputs, and recording must change nothing and be the same at any
//! number of threads.

use emulator::exec::{Options, Unobserved};
use emulator::lower::{LowerOptions, Schedule, hidden_registers};
use emulator::session::{Session, Setup};
use std::path::Path;
use tests::{Manifest, Workload, workloads};
use trace_format::validate;

fn session(manifest: &Path, size: &str, overrides: &[&str], lowering: LowerOptions) -> Session {
    let overrides = overrides.iter().map(ToString::to_string).collect();
    let setup = Setup { size: Some(size.to_owned()), overrides, lowering, ..Setup::default() };
    Session::open_manifest(manifest, &setup).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()))
}

/// Runs a manifest and compares every output buffer with the reference; returns how many were compared, or the
/// buffers that differ.
fn compare(
    workload: &Workload,
    manifest: &Path,
    size: &str,
    overrides: &[&str],
    lowering: LowerOptions,
) -> Result<usize, String> {
    let declared = Manifest::load(manifest).expect("the independent reader reads it");
    let mut scalars = declared.scalars_at(size).expect("every workload has both sizes");
    for change in overrides {
        let (name, value) = change.split_once('=').expect("NAME=VALUE");
        scalars.insert(name.into(), value.parse().expect("an integer"));
    }
    let inputs = declared.inputs(&scalars).expect("inputs");
    let mut session = session(manifest, size, overrides, lowering);
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
    let differs = |(name, want): (&String, &tests::Expected)| {
        let got = session.buffer(name).expect("an output buffer");
        let mismatch = want.compare(got).err()?;
        Some(format!("{} {overrides:?}, buffer {name}: {mismatch}", manifest.display()))
    };
    let different: Vec<String> = expected.iter().filter_map(differs).collect();
    if different.is_empty() { Ok(expected.len()) } else { Err(different.join("\n")) }
}

#[test]
fn results_equal_the_references() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for workload in workloads() {
        for manifest in workload.manifests() {
            match compare(&workload, &manifest, "test", &[], LowerOptions::default()) {
                Ok(buffers) => {
                    assert!(buffers > 0, "{}: nothing to compare", manifest.display());
                    compared += buffers;
                }
                Err(different) => wrong.push(different),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 26, "only {compared} buffers compared");
}

/// Results depend neither on the order of instructions nor on the number of registers, and every kernel without bounds of
/// its own has at most the registers that it may have.
#[test]
fn results_equal_the_references_in_every_order_and_with_few_registers() {
    const FEW: u16 = 32;
    let orders = [
        LowerOptions { schedule: Schedule::Source, check: true, ..LowerOptions::default() },
        LowerOptions {
            schedule: Schedule::Reuse,
            maxregs: Some(FEW),
            check: true,
            ..LowerOptions::default()
        },
    ];
    let mut wrong = Vec::new();
    for (workload, lowering) in workloads().iter().flat_map(|w| orders.map(|order| (w, order))) {
        for manifest in workload.manifests() {
            wrong.extend(compare(workload, &manifest, "test", &[], lowering).err());
            let session = session(&manifest, "test", &[], lowering);
            for launch in session.manifest().launches.iter().filter(|_| lowering.maxregs.is_some()) {
                let kernel = session.kernel(&launch.kernel).expect("the kernel that is launched");
                let bound = kernel.max_threads_per_block.is_some();
                let registers = kernel.regs_per_thread + hidden_registers(75);
                assert!(bound || registers <= FEW, "{}: {registers} registers", kernel.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Takes minutes: `cargo test --release -p tests --test suite workloads:: -- --ignored`. `WARPLAB_WORKLOADS=a,b` chooses some.
#[test]
#[ignore = "minutes; the sizes of the tests cover the same code"]
fn results_equal_the_references_at_the_papers_sizes() {
    let chosen = std::env::var("WARPLAB_WORKLOADS").unwrap_or_default();
    for workload in workloads() {
        if !chosen.is_empty() && !chosen.split(',').any(|name| name == workload.name) {
            continue;
        }
        for manifest in workload.manifests() {
            let start = std::time::Instant::now();
            compare(&workload, &manifest, "paper", &[], LowerOptions::default())
                .unwrap_or_else(|different| panic!("{different}"));
            println!("{} {:.1?}", manifest.display(), start.elapsed());
        }
    }
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
        let compared =
            compare(workload, &workload.manifests()[0], "test", &[change], LowerOptions::default());
        compared.unwrap_or_else(|different| panic!("{different}"));
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
            session(manifest, "test", &[], LowerOptions::default())
                .record(&path, &options, &Unobserved)
                .expect("a recording");
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
