//! Every bundled workload, recorded with values and without: both recordings are sound, and a replay of the one without
//! values is that of the other. On our own code of the PTX, and on the machine code that ptxas makes of it for each target.

use std::path::Path;
use test_kit::{Tool, skipped};
use tests::oracle::native::Assembler;
use tests::recording::record_as;
use tests::{timing_slice, workloads};
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use trace_format::container::Contents;
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};

/// Blocks of a launch, and launches of a program, whose steps are compared one by one.
const COMPARED: (u64, u32) = (4, 8);
/// Warp instructions up to which a program is replayed.
const REPLAYED: u64 = 400_000;

/// What is wrong with the recordings of one workload.
fn check(manifest: &Path, assembler: Option<&Assembler>, dir: &Path) -> Result<bool, String> {
    let traces = record_as(manifest, assembler, [Contents::Values, Contents::Addresses], dir)?;
    for trace in &traces {
        let report = validate(trace.path(), 2, &Progress::default()).map_err(|e| e.to_string())?;
        if let Some(problem) = report.problems.first() {
            return Err(format!("{}: {}: {}", trace.path().display(), problem.place, problem.what));
        }
    }
    let [values, addresses] = &traces;
    for launch in (0..values.launches().len() as u32).take(COMPARED.1 as usize) {
        for of in [values, addresses] {
            timing_slice::compare(values, of, launch, COMPARED.0)?;
        }
    }
    let instructions: u64 =
        values.launches().iter().map(trace_format::reader::Launch::warp_instructions).sum();
    if instructions > REPLAYED {
        return Ok(false);
    }
    let config = load("rtx2060", &[]).expect("a built-in configuration").config;
    let counted = |trace: &Trace| {
        let done = replay(trace, &config, &[], &ReplayOptions::default()).map_err(|e| e.to_string())?;
        Ok::<_, String>(done.launches.iter().map(|launch| launch.stats.counters.clone()).collect::<Vec<_>>())
    };
    let (with, without) = (counted(values)?, counted(addresses)?);
    if with != without {
        return Err("the replay without values has other counts than the one with them".into());
    }
    Ok(true)
}

/// Checks every workload: our own code of its PTX, or machine code for a target.
fn check_all(target: Option<&str>) {
    let assembler = target.map(Assembler::installed);
    if let Some(None) = assembler {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    }
    let dir = tempfile::tempdir().expect("a folder");
    let (mut replayed, mut wrong) = (0, Vec::new());
    let manifests = workloads().iter().flat_map(tests::Workload::manifests).collect::<Vec<_>>();
    for manifest in &manifests {
        match check(manifest, assembler.as_ref().and_then(Option::as_ref), dir.path()) {
            Ok(all) => replayed += usize::from(all),
            Err(why) => wrong.push(format!("{}: {why}", manifest.display())),
        }
    }
    let (target, all) = (target.unwrap_or("PTX"), manifests.len());
    assert!(wrong.is_empty(), "{target}: {} of {all} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(replayed * 2 > all, "{target}: {replayed} of {all} were replayed");
}

#[test]
fn workloads_of_ptx() {
    check_all(None);
}

#[test]
fn workloads_of_machine_code_for_sm_75() {
    check_all(Some("sm_75"));
}

#[test]
fn workloads_of_machine_code_for_sm_80() {
    check_all(Some("sm_80"));
}

#[test]
fn workloads_of_machine_code_for_sm_86() {
    check_all(Some("sm_86"));
}

#[test]
fn workloads_of_machine_code_for_sm_89() {
    check_all(Some("sm_89"));
}

#[test]
fn workloads_of_machine_code_for_sm_90() {
    check_all(Some("sm_90"));
}

#[test]
fn workloads_of_machine_code_for_sm_120() {
    check_all(Some("sm_120"));
}
