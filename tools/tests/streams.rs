//! Instruction streams: the estimate of executions from lines of PTX, held against counts of our own code, and the
//! command on ptxas's.

use emulator::exec::{Options, Unobserved};
use emulator::lower::LowerOptions;
use emulator::session::{Session, Setup};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use test_kit::{Tool, skipped};
use tools::nvidia::tool;
use tools::streams::{Code, Profile, estimate, executions};
use trace_format::reader::Trace;

const NAMES: [&str; 7] = ["hotspot", "backprop", "sgemm", "walsh", "histogram64", "quasirandom", "sobol"];

fn silicon(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/silicon").join(name)
}

/// Records a kernel of `tests/silicon` at its small size.
fn record(name: &str, keep_branches: bool, folder: &Path) -> PathBuf {
    let lowering = LowerOptions { keep_branches, ..LowerOptions::default() };
    let setup = Setup { lowering, ..Setup::default() };
    let manifest = silicon(name).with_extension("toml");
    let mut session = Session::open_manifest(&manifest, &setup).unwrap_or_else(|why| panic!("{name}: {why}"));
    let path = folder.join(format!("{name}-{keep_branches}.wtrace"));
    session.record(&path, &Options::default(), &Unobserved).unwrap_or_else(|why| panic!("{name}: {why}"));
    path
}

/// Loops whose trips differ from entry to entry (`sobol`) are split among the copies by their mean, hence the wider bound.
#[test]
fn the_estimate_of_our_own_code_is_near_its_count() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in NAMES {
        let open = |keep: bool| Trace::open(record(name, keep, folder.path())).expect("it opens");
        let (ours, lines) = (open(false), open(true));
        for launch in 0..ours.launches().len() as u32 {
            let profile = Profile::of(&lines, launch).expect("sound");
            let code = Code::of(ours.kernel_of(launch));
            let counted = executions(&ours, launch).expect("sound");
            let counted = estimate(&code, &profile, Some(&counted.blocks));
            let record = &ours.launches()[launch as usize];
            let all = counted.total() + counted.called;
            assert!(
                (all - record.warp_instructions() as f64).abs() < 0.5,
                "{name}: every instruction is in a loop"
            );
            let off = estimate(&code, &profile, None).total() / counted.total() - 1.0;
            let bound = if name == "sobol" { 0.15 } else { 0.03 };
            assert!(off.abs() < bound, "{name}, launch {launch}: {off:+.3}");
        }
    }
}

fn streams(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_compare_streams")).args(arguments).output().expect("it starts")
}

#[test]
fn ptxas_code_is_compared_loop_by_loop() {
    if tool("ptxas").is_none() || tool("nvdisasm").is_none() {
        return skipped(Tool::Nvcc, "no ptxas and nvdisasm; tools/scripts/cuda-toolkit.sh installs them");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, lines) = (record("sgemm", false, folder.path()), record("sgemm", true, folder.path()));
    let ptx = silicon("sgemm").with_extension("ptx");
    let output = streams(&[&ours, &lines, &ptx]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("sgemm_registers"), "{text}");
    assert!(text.contains("outside of loops") && text.contains("ours/ptxas"), "{text}");
    let csv = streams(&[&ours, &lines, &ptx, Path::new("--csv")]);
    let csv = String::from_utf8_lossy(&csv.stdout);
    let theirs: f64 = csv.lines().nth(1).and_then(|row| row.rsplit(',').next()?.parse().ok()).expect("a row");
    let counted = Trace::open(&ours).expect("it opens").launches()[0].warp_instructions() as f64;
    // Both compilers have the same sixteen products, their loads and little else in the inner loop.
    assert!((counted / theirs - 1.0).abs() < 0.15, "{counted} of ours, {theirs} of ptxas");
}

#[test]
fn traces_of_different_runs_are_refused() {
    if tool("ptxas").is_none() || tool("nvdisasm").is_none() {
        return skipped(Tool::Nvcc, "no ptxas and nvdisasm; tools/scripts/cuda-toolkit.sh installs them");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, other) = (record("sgemm", false, folder.path()), record("walsh", true, folder.path()));
    let output = streams(&[&ours, &other, &silicon("sgemm").with_extension("ptx")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("record the same run twice"), "{told}");
}
