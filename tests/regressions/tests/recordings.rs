//! Recordings and what is read from them: every result is recorded or regenerated, recordings with and without values give
//! the same replay, counters count what hardware counts, and one launch that cannot be read spoils no other.

use regressions::{Code, fails, input, program, records, succeeds};
use serde_json::Value;
use std::path::Path;

/// The launches of a replay.
fn launches(trace: &Path, config: &str) -> Vec<Value> {
    let json = trace.with_extension("json");
    succeeds(program("timing").arg("replay").arg(trace).args(["--config", config, "--json"]).arg(&json));
    let text = std::fs::read_to_string(json).expect("the result");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    value["traces"][0]["launches"].as_array().expect("launches").clone()
}

fn count(launch: &Value, key: &str) -> u64 {
    launch[key].as_u64().unwrap_or_else(|| panic!("{key} of {launch}"))
}

/// Records a PTX file of `programs` with the manifest beside it.
fn record(name: &str, folder: &Path) -> std::path::PathBuf {
    let trace = folder.join(format!("{name}.wtrace"));
    succeeds(program("emu").arg("record").arg(input(&format!("{name}.ptx"))).arg("-o").arg(&trace));
    trace
}

#[test]
fn loads_into_uniform_registers_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    for target in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"] {
        for flags in [&[][..], &["--addresses-only"]] {
            records("uniform_load", target, Code::Sass, flags, folder.path());
        }
    }
}

#[test]
fn predicates_of_a_word_are_in_recordings_without_values() {
    let folder = tempfile::tempdir().expect("a folder");
    for target in ["sm_75", "sm_80", "sm_120"] {
        let counts = [&[][..], &["--addresses-only"]].map(|flags| {
            let trace = records("predicates_of_a_word", target, Code::Sass, flags, folder.path())?;
            Some(launches(&trace, "rtx2060"))
        });
        let [Some(with), Some(without)] = counts else { return };
        assert_eq!(with, without, "{target}");
    }
}

#[test]
fn one_launch_that_cannot_be_read_spoils_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = record("three_launches", folder.path());
    let mut bytes = std::fs::read(&trace).expect("the trace");
    let frames: Vec<usize> = (0..bytes.len() - 4).filter(|at| &bytes[*at..at + 4] == b"FRAM").collect();
    assert_eq!(frames.len(), 3, "a frame for each launch");
    bytes[frames[1] + 24 + 100] ^= 1;
    std::fs::write(&trace, bytes).expect("the damaged trace");
    let json = folder.path().join("out.json");
    for command in [&["replay"][..], &["why"], &["study", "redundancy"]] {
        let mut timing = program("timing");
        timing.args(command).arg(&trace).arg("--json").arg(&json);
        let said = fails(&mut timing, 1);
        assert!(said.contains("launch 1 (work) cannot be read"), "{command:?}: {said}");
        assert!(said.contains("--launches 0,2 leaves it out"), "{command:?}: {said}");
        let value: Value =
            serde_json::from_str(&std::fs::read_to_string(&json).expect("the result")).expect("JSON");
        assert_eq!(value["left_out"][0]["launch"], 1, "{command:?}");
        std::fs::remove_file(&json).expect("the result");
        let mut timing = program("timing");
        succeeds(timing.args(command).arg(&trace).args(["--launches", "0,2"]).arg("--json").arg(&json));
    }
    // Techniques replay the same launches as the plain machine.
    let mut timing = program("timing");
    timing.arg("replay").arg(&trace).args(["--tech", "bow", "--json"]).arg(&json);
    fails(&mut timing, 1);
    let value: Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("the result")).expect("JSON");
    let replayed = |of: &Value| {
        of["launches"].as_array().map(|all| {
            all.iter().map(|launch| launch["launch"].as_u64().expect("a number")).collect::<Vec<_>>()
        })
    };
    assert_eq!(replayed(&value["traces"][0]), Some(vec![0, 2]));
    assert_eq!(replayed(&value["traces"][0]["baseline"]), Some(vec![0, 2]));
}

#[test]
fn atomics_at_one_address_are_requests_of_half_a_warp() {
    let folder = tempfile::tempdir().expect("a folder");
    for code in [Code::Ptx, Code::Sass] {
        let Some(trace) = records("atomics_one_address", "sm_75", code, &[], folder.path()) else { return };
        for launch in launches(&trace, "qv100") {
            // 163 840 threads are 5 120 warps; a GV100 counts 16 lanes at L2 as one.
            assert_eq!(count(&launch, "global_atomics"), 5120);
            assert_eq!(count(&launch, "global_atomic_requests"), 10_240);
        }
    }
}

#[test]
fn writes_that_l2_keeps_hit() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = record("three_launches", folder.path());
    for (number, launch) in launches(&trace, "qv100").iter().enumerate() {
        let (hits, all) = (count(launch, "l2_hits"), count(launch, "l2_accesses"));
        let parts = hits + count(launch, "l2_misses") + count(launch, "l2_merges");
        assert_eq!(parts, all);
        // The first launch takes the lines, and the others find them.
        assert_eq!(count(launch, "l2_write_allocations") > 0, number == 0, "{launch}");
        assert!(hits * 10 >= all * 9, "{hits} of {all} hit");
    }
}

#[test]
fn stores_without_lanes_are_no_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = record("guarded_stores", folder.path());
    let all = launches(&trace, "qv100");
    let [launch] = &all[..] else { panic!("{} launches", all.len()) };
    // Of 8 warps, every second one stores; half of the lanes of those.
    assert_eq!((count(launch, "global_stores"), count(launch, "global_loads")), (4, 8));
    assert_eq!((count(launch, "shared_accesses"), count(launch, "shared_bank_conflict_cycles")), (4, 0));
}

#[test]
fn wide_accesses_are_no_bank_conflicts_and_whole_lines_are_coalesced() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = record("vectors_and_strides", folder.path());
    let all = launches(&trace, "qv100");
    for (launch, conflicts) in all.iter().zip([0, 0, 3, 0]) {
        let (kernel, accesses) = (&launch["kernel"], count(launch, "shared_accesses"));
        assert_eq!(count(launch, "shared_bank_conflict_cycles"), conflicts * accesses, "{kernel}");
    }
    let why = |number: &str| {
        let mut timing = program("timing");
        succeeds(timing.arg("why").arg(&trace).args(["--config", "qv100", "--launches", number]))
    };
    for number in ["0", "1"] {
        let said = why(number).to_lowercase();
        assert!(!said.contains("bank conflict") && !said.contains("padding"), "{said}");
        assert!(!said.contains("uncoalesced"), "{said}");
    }
    let strided = why("2");
    assert_eq!(strided.to_lowercase().matches("bank conflicts").count(), 1, "{strided}");
    assert!(strided.contains("Uncoalesced"), "{strided}");
    // Atomics at one address: neither banks nor padding.
    let contended = why("3");
    assert!(contended.contains("Contended shared atomics"), "{contended}");
    assert!(
        !contended.contains("adding") && !contended.to_lowercase().contains("bank conflict"),
        "{contended}"
    );
}

/// Memory of a check and of a replay.
#[test]
fn memory_does_not_grow_with_the_number_of_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ptx, manifest) = (folder.path().join("many.ptx"), folder.path().join("many.toml"));
    std::fs::copy(input("three_launches.ptx"), &ptx).expect("the kernel");
    const LAUNCHES: [usize; 2] = [9_000, 21_000];
    let peaks = LAUNCHES.map(|launches| {
        let text = format!(
            "[buffers.out]\ntype = \"u32\"\nlen = \"128\"\n[[launch]]\nkernel = \"work\"\ngrid = [1]\nblock = [64]\n\
             repeat = {launches}\nargs = [\"@out\", {{ u32 = \"2\" }}]\n"
        );
        std::fs::write(&manifest, text).expect("the manifest");
        let trace = folder.path().join("many.wtrace");
        succeeds(program("emu").arg("record").arg(&ptx).arg("-o").arg(&trace));
        let verify = peak(program("trace").arg("verify").arg(&trace));
        let replay = peak(program("timing").arg("replay").arg(&trace));
        [verify, replay]
    });
    let more = LAUNCHES[1] - LAUNCHES[0];
    let grown = |of: usize| peaks[1][of].saturating_sub(peaks[0][of]) / more;
    // What remains says where each launch and its frame are in the file, and keeps unpacked frames, up to a size that so few do
    // not reach. Peaks of the same command differ by some megabytes from run to run.
    assert!(grown(0) < 800, "trace verify takes {} more bytes per launch: {peaks:?}", grown(0));
    assert!(grown(1) < 1600, "timing replay takes {} more bytes per launch: {peaks:?}", grown(1));
}

/// Peak of the memory of a command, which has to succeed, in bytes.
fn peak(command: &mut std::process::Command) -> usize {
    let script = "import os, subprocess, sys\n\
        child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
        _, status, used = os.wait4(child.pid, 0)\n\
        print(used.ru_maxrss if status == 0 else -1)";
    let mut python = std::process::Command::new("python3");
    python.arg("-c").arg(script).arg(command.get_program()).args(command.get_args());
    let said = succeeds(&mut python);
    let kilobytes: usize = said.trim().parse().unwrap_or_else(|_| panic!("{command:?}: {said}"));
    kilobytes * 1024
}
