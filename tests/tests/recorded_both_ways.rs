//! Every bundled workload, recorded with values and without: both recordings are sound, and a replay of the one without
//! values is that of the other. On our own code of the PTX, and on machine code that ptxas makes of it: of each workload for
//! one of the targets, in turn; the ignored test takes all targets.

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

const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];
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
        let options = ReplayOptions { threads: 2, ..ReplayOptions::default() };
        let done = replay(trace, &config, &[], &options).map_err(|e| e.to_string())?;
        Ok::<_, String>(done.launches.iter().map(|launch| launch.stats.counters.clone()).collect::<Vec<_>>())
    };
    let (with, without) = (counted(values)?, counted(addresses)?);
    if with != without {
        return Err("the replay without values has other counts than the one with them".into());
    }
    Ok(true)
}

/// Checks every workload with each of the codes that `codes` names for its number; none is our own code.
fn check_all(codes: impl Fn(usize) -> Vec<Option<Assembler>>) {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut checked, mut replayed, mut wrong) = (0, 0, Vec::new());
    let manifests = workloads().iter().flat_map(tests::Workload::manifests).collect::<Vec<_>>();
    for (number, manifest) in manifests.iter().enumerate() {
        for code in codes(number) {
            let target = code.as_ref().map_or("PTX", |assembler| assembler.target.as_str()).to_owned();
            match check(manifest, code.as_ref(), dir.path()) {
                Ok(all) => replayed += u32::from(all),
                Err(why) => wrong.push(format!("{} ({target}): {why}", manifest.display())),
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        checked >= manifests.len() && replayed * 2 > checked as u32,
        "{replayed} of {checked} were replayed"
    );
}

#[test]
fn workloads_of_ptx() {
    check_all(|_| vec![None]);
}

#[test]
fn workloads_of_machine_code_for_one_target_each() {
    if Assembler::installed(TARGETS[0]).is_none() {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    }
    check_all(|number| vec![Assembler::installed(TARGETS[number % TARGETS.len()])]);
}

#[test]
#[ignore = "takes several minutes"]
fn workloads_of_machine_code_for_every_target() {
    check_all(|_| TARGETS.map(Assembler::installed).into());
}
