//! Lanes of a warp that come apart: warp-wide operations at several places, on both paths and every target; and launches
//! that cannot run, whose errors have to reach the program.

use regressions::{Code, compile, fails, passes, program, records, run, text};

const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];

fn passes_everywhere(name: &str) {
    for target in TARGETS {
        for code in [Code::Ptx, Code::Sass] {
            passes(name, target, code);
        }
    }
}

/// A call on sm_75 leads to a vote that lanes of both ways of the loop reach.
#[test]
fn a_queue_of_a_warp_loses_no_lane() {
    passes_everywhere("ballot_queue");
}

/// Twenty-three kernels, each beside a reference that goes through the lanes one at a time.
#[test]
fn lanes_of_every_shape_of_divergence_act_together() {
    passes_everywhere("warp_shapes");
}

#[test]
fn recordings_of_divergent_warps_are_sound() {
    let folder = tempfile::tempdir().expect("a folder for traces");
    for (target, code) in [("sm_75", Code::Ptx), ("sm_75", Code::Sass), ("sm_90", Code::Sass)] {
        for flags in [&[][..], &["--addresses-only"]] {
            records("warp_shapes", target, code, flags, folder.path());
        }
    }
}

/// The words of the workspace's address were swapped.
#[test]
fn blocks_of_a_cooperative_grid_synchronise() {
    passes_everywhere("grid_sync");
    passes_everywhere("grid_groups");
}

#[test]
fn device_code_sets_conditions_of_graphs() {
    passes_everywhere("graph_conditions");
}

/// Lanes that wait for each other for ever are an error that names them.
#[test]
fn a_vote_that_cannot_end_is_an_error() {
    for code in [Code::Ptx, Code::Sass] {
        let Some(app) = compile("votes_without_end", "sm_75", &[]) else { return };
        let said = fails(program("emu").args(["run", "--code", code.name(), "--"]).arg(app), 1);
        assert!(said.contains("cudaErrorLaunchTimeout"), "{said}");
        for part in
            ["waits for ever", "warp 0 lanes 0x0000ffff at PC", "warp 1 lanes 0x0000ffff at PC", "barrier 0"]
        {
            assert!(said.contains(part), "{} does not say `{part}`:\n{said}", code.name());
        }
    }
}

/// A launch that is refused is an error of the call, and of `emu` even if the program ignores it.
#[test]
fn a_refused_launch_is_not_a_success() {
    let Some(app) = compile("careless_launch", "sm_80", &["-rdc=true", "-lcudadevrt"]) else { return };
    let folder = tempfile::tempdir().expect("a folder for traces");
    let trace = folder.path().join("careless.wtrace");
    let said = fails(program("emu").args(["run", "--code", "sass", "--"]).arg(&app).arg("look"), 1);
    assert!(said.contains("launch: cudaErrorNoKernelImageForDevice"), "{said}");
    assert!(said.contains("a launch was refused (CUDA_ERROR_NO_BINARY_FOR_GPU)"), "{said}");
    assert!(said.contains("is of libcudadevrt") && said.contains("`--code ptx`"), "{said}");
    fails(program("emu").args(["run", "--code", "sass", "--"]).arg(&app), 1);
    fails(program("emu").args(["record", "--code", "sass", "-o"]).arg(&trace).arg("--").arg(&app), 1);
    let output = run(program("emu").args(["run", "--"]).arg(&app));
    assert!(output.status.success(), "its PTX runs: {}", text(&output));
}

/// Parameters that are not there, and calls in a forked child.
#[test]
fn wrong_calls_return_errors_and_do_not_wait() {
    passes("calls_that_fail", "sm_75", Code::Ptx);
}
