//! Services beside the API that programs and frameworks use: memory and events of other processes, memory for export, the
//! management library, CUPTI, and preferences for the split of L1 and shared memory.

use regressions::{Code, compile, passes, program, records, run, succeeds, text};
use serde_json::Value;

#[test]
fn memory_and_events_are_shared_between_processes() {
    passes("interprocess", "sm_75", Code::Ptx);
}

#[test]
fn memory_is_exported_and_imported_by_file_descriptors() {
    let libraries = test_kit::programs().expect("the programs are built").join("cuda");
    let folder = format!("-L{}", libraries.display());
    let Some(app) = compile("shareable_memory", "sm_75", &[&folder, "-lcuda"]) else { return };
    let said = succeeds(program("emu").args(["run", "--"]).arg(app));
    assert!(said.contains("PASS"), "{said}");
}

#[test]
fn the_management_library_agrees_with_cuda() {
    let Some(app) = compile("management_library", "sm_75", &["-ldl"]) else { return };
    for device in ["rtx2060", "a100", "rtx3070", "h100"] {
        let said = succeeds(program("emu").args(["run", "--device", device, "--"]).arg(&app));
        assert!(said.contains("PASS"), "{device}: {said}");
    }
}

/// NVIDIA's CUPTI crashes without its driver, so that the stand-in is loaded in its place, even from a full path.
#[test]
fn cupti_is_refused_by_name() {
    let Some(app) = compile("profiling_interface", "sm_75", &["-ldl"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let theirs = folder.path().join("libcupti.so.13");
    std::fs::write(&theirs, "not a library").expect("a file");
    for name in ["libcupti.so.12", "libcupti.so.13", "libcupti.so", theirs.to_str().expect("UTF-8")] {
        let said = succeeds(program("emu").args(["run", "--"]).arg(&app).env("CUPTI", name));
        assert!(said.contains("PASS"), "{name}: {said}");
        let told = said.matches("cuptiActivityEnable is not supported").count();
        assert_eq!(told, 1, "{name}: {said}");
    }
}

#[test]
fn the_runtime_initialises_the_driver() {
    passes("driver_after_runtime", "sm_75", Code::Ptx);
}

/// Machine code is not translated for attributes alone; what is set stays when it is.
#[test]
fn attributes_are_known_before_the_first_launch() {
    for target in ["sm_75", "sm_80"] {
        for code in [Code::Ptx, Code::Sass] {
            passes("attributes_before_launch", target, code);
        }
    }
}

#[test]
fn files_of_the_driver_and_handles_of_cudnn_are_found() {
    let Some(app) = compile("driver_files", "sm_75", &["-ldl"]) else { return };
    let said = succeeds(program("emu").args(["run", "--"]).arg(app));
    assert!(said.contains("PASS") && said.contains("cudnnCreateTensorDescriptor is not supported"), "{said}");
}

#[test]
fn destructors_of_static_objects_call_the_api() {
    for code in [Code::Ptx, Code::Sass] {
        passes("calls_at_exit", "sm_75", code);
    }
}

/// The preferences of the launches of `carveout.cu`, in percent.
const PREFERRED: [Option<u64>; 9] =
    [None, Some(0), Some(100), Some(0), Some(50), Some(30), Some(75), None, Some(0)];

fn launches_of(json: &str) -> Vec<Value> {
    let result: Value = serde_json::from_str(json).expect("JSON");
    let found = result.get("launches").or_else(|| result.pointer("/traces/0/launches"));
    found.and_then(Value::as_array).unwrap_or_else(|| panic!("no launches in {json}")).clone()
}

#[test]
fn preferred_carve_outs_are_recorded_on_both_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    for code in [Code::Ptx, Code::Sass] {
        let Some(trace) = records("carveout", "sm_75", code, &[], folder.path()) else { return };
        let shown = succeeds(program("trace").arg("info").arg(&trace).arg("--json"));
        let found: Vec<Option<u64>> =
            launches_of(&shown).iter().map(|launch| launch["shared_carveout_percent"].as_u64()).collect();
        assert_eq!(found, PREFERRED, "{}", code.name());
        let table = succeeds(program("trace").arg("info").arg(&trace));
        assert!(table.contains("carve-out") && table.contains("75 %"), "{table}");
    }
}

/// On a GV100, L1 leaves 8 KiB of shared memory for kernels that prefer it: four blocks of 1.75 KiB, as of pennant.
#[test]
fn preferred_carve_outs_bound_the_resident_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(trace) = records("carveout", "sm_75", Code::Ptx, &[], folder.path()) else { return };
    let replayed = |config: &str| {
        let to = folder.path().join(format!("{config}.json"));
        let mut command = program("timing");
        command.args(["replay", "--config", config, "--json"]).arg(&to).arg(&trace);
        let output = run(&mut command);
        assert!(output.status.success(), "{}", text(&output));
        launches_of(&std::fs::read_to_string(to).expect("the result"))
    };
    let blocks = |launches: &[Value]| -> Vec<u64> {
        launches.iter().filter_map(|launch| launch["blocks_per_sm"].as_u64()).collect()
    };
    let volta = replayed("qv100");
    assert_eq!(blocks(&volta), [32, 4, 32, 32, 32, 18, 32, 32, 4]);
    let sizes: Vec<Option<u64>> =
        volta.iter().map(|launch| launch["preferred_shared_bytes"].as_u64()).collect();
    let kib = |n: u64| Some(n << 10);
    assert_eq!(sizes, [None, kib(8), kib(96), kib(0), kib(64), kib(32), kib(96), None, kib(8)]);
    assert_eq!(volta[1]["occupancy_limit"], "shared_memory");
    // L1 and shared memory are apart there.
    let fermi = replayed("gtx480");
    assert!(fermi.iter().all(|launch| launch["preferred_shared_bytes"].is_null()));
    assert_eq!(blocks(&fermi), [8; 9]);
}
