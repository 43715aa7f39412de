//! Machine code that ptxas made of a workload's PTX leaves the same memory as our own code of the same PTX, and its recordings
//! are sound and replay.

use emulator::exec::{Options, Unobserved};
use emulator::session::{CodeKind, Session, Setup};
use std::path::Path;
use test_kit::{Tool, skipped};
use tests::oracle::native::Assembler;
use tests::recording::record_machine_code;
use tests::workloads;
use trace_format::validate;

/// Matrices of 16 rows are multiplied in two steps there, each of which rounds.
const ROUNDS_TWICE: [(&str, &str); 1] = [("sm_75", "tensor_gemm")];

fn open(manifest: &Path, setup: &Setup) -> Session {
    Session::open_manifest(manifest, setup).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()))
}

/// Assembles every workload for a target, runs both codes and compares every buffer that a kernel may write.
fn compare(target: &str) {
    let Some(assembler) = Assembler::installed(target) else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (mut compared, mut wrong) = (0, Vec::new());
    for workload in workloads() {
        for manifest in workload.manifests() {
            let setup = Setup { size: Some("test".into()), ..Setup::default() };
            let mut ours = open(&manifest, &setup);
            let cubin = dir.path().join("code.cubin");
            assembler.assemble(&ours.manifest().ptx, &cubin, &[]).expect("ptxas takes the workload");
            let native = Setup { code: Some(CodeKind::Sass), cubin: Some(cubin), ..setup };
            let mut theirs = open(&manifest, &native);
            ours.run(&Options::default(), &Unobserved).expect("our code runs");
            let name = manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if let Err(error) = theirs.run(&Options::default(), &Unobserved) {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
            for buffer in &ours.manifest().buffers {
                let buffer = &buffer.name;
                let same = ours.buffer(buffer) == theirs.buffer(buffer);
                if !same && !ROUNDS_TWICE.contains(&(target, name.as_str())) {
                    wrong.push(format!("{name}: buffer {buffer} differs"));
                }
                compared += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{target}: {} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 150, "{compared} buffers");
}

#[test]
fn code_for_sm_75_leaves_the_same_memory() {
    compare("sm_75");
}

#[test]
fn code_for_sm_80_leaves_the_same_memory() {
    compare("sm_80");
}

#[test]
fn code_for_sm_86_leaves_the_same_memory() {
    compare("sm_86");
}

#[test]
fn recordings_of_machine_code_regenerate_every_value() {
    let Some(assembler) = Assembler::installed("sm_80") else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let mut warps = 0;
    for workload in workloads().iter().step_by(4) {
        let manifest = &workload.manifests()[0];
        let trace = record_machine_code(manifest, &assembler, dir.path());
        let report = validate::validate(trace.path(), 2, &validate::Progress::default()).expect("a trace");
        assert!(report.is_sound(), "{}: {:?}", manifest.display(), report.problems);
        warps += report.warps;
    }
    assert!(warps > 1000, "{warps} warps");
}
