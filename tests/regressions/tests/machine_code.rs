//! Programs whose machine code was refused, or gave wrong values.

use regressions::{Code, compile, passes, passes_with, program, succeeds};

/// Targets whose machine code runs.
const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];
/// Those with copies from global to shared memory and barrier objects.
const WITH_COPIES: [&str; 5] = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];

/// Runs a program on both paths for each target, and records its machine code: every value of the recording regenerates.
fn runs(name: &str, targets: &[&str]) {
    runs_with(name, targets, &[]);
}

/// The same, compiled with flags.
fn runs_with(name: &str, targets: &[&str], flags: &[&str]) {
    passes_with(name, targets[0], Code::Ptx, flags);
    for target in targets {
        passes_with(name, target, Code::Sass, flags);
        let Some(app) = compile(name, target, flags) else { return };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let trace = folder.path().join("run.wtrace");
        let mut record = program("emu");
        succeeds(record.args(["record", "--code", "sass", "-o"]).arg(&trace).arg("--").arg(app));
        succeeds(program("trace").arg("verify").arg(&trace));
    }
}

#[test]
fn one_address_is_added_to_by_all_threads() {
    for code in [Code::Ptx, Code::Sass] {
        passes("atomics_one_address", "sm_75", code);
    }
}

#[test]
fn handles_of_textures_may_be_in_registers() {
    runs("texture_handle_in_register", &TARGETS);
}

#[test]
fn textures_may_have_layers() {
    runs("texture_layered", &TARGETS);
}

#[test]
fn textures_and_surfaces_have_every_shape() {
    runs("texture_shapes", &TARGETS);
}

#[test]
fn copies_may_fetch_more_into_the_second_level_cache() {
    runs("cp_async_prefetch_sm80", &WITH_COPIES);
}

#[test]
fn blocks_may_wait_at_barrier_objects() {
    runs("mbarrier_sm80", &WITH_COPIES);
}

#[test]
fn integers_are_packed() {
    runs("convert_pack", &TARGETS);
}

#[test]
fn halves_have_minima_and_maxima() {
    runs("half_min_max_sm80", &WITH_COPIES);
}

#[test]
fn warps_sleep() {
    runs("nanosleep_sm75", &TARGETS);
}

#[test]
fn constants_lie_beyond_half_of_a_bank() {
    runs("constant_far", &TARGETS);
}

#[test]
fn clocks_are_read_into_uniform_registers() {
    runs("clock_of_warp", &TARGETS);
}

/// Functions that ptxas writes out of line, and tables of functions.
#[test]
fn files_compiled_on_their_own_run() {
    runs_with("out_of_line", &TARGETS, &["-rdc=true"]);
}
