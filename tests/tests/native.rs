//! Machine code that ptxas made of a workload's PTX leaves the same memory as our own code of the same PTX, and its recordings
//! are sound and replay.

use emulator::exec::{Options, Unobserved};
use emulator::session::{CodeKind, Session, Setup};
use std::path::Path;
use test_kit::{Tool, skipped};
use tests::oracle::native::{Assembler, run};
use tests::recording::record_machine_code;
use tests::workloads;
use trace_format::container::Contents;
use trace_format::semantics::Geometry;
use trace_format::validate;

/// Matrices that are 16 deep are multiplied in two steps before sm_80, as by the PTX for sm_75, and in one from there on: the
/// machine code of these targets rounds less often.
const ROUNDS_ONCE: [(&str, &str); 2] = [("sm_80", "tensor_gemm"), ("sm_86", "tensor_gemm")];

/// Programs whose instructions are decoded and not executed: Volta's tensor cores.
const REFUSED: [(&str, &str); 1] = [("sm_70", "tensor_gemm")];

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
            if REFUSED.contains(&(target, name.as_str())) {
                let error =
                    theirs.run(&Options::default(), &Unobserved).expect_err("it is refused").to_string();
                assert!(error.contains("HMMA.884"), "{error}");
                continue;
            }
            if let Err(error) = theirs.run(&Options::default(), &Unobserved) {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
            for buffer in &ours.manifest().buffers {
                let buffer = &buffer.name;
                let same = ours.buffer(buffer) == theirs.buffer(buffer);
                if !same && !ROUNDS_ONCE.contains(&(target, name.as_str())) {
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
fn code_for_sm_70_leaves_the_same_memory() {
    compare("sm_70");
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

/// ptxas leaves the calling convention aside where a function has several results, and says so in the header of the file.
#[test]
fn functions_outside_the_calling_convention_run() {
    let ptx = |target: &str| {
        format!(
            ".version 8.7\n.target {target}\n.address_size 64
            .func (.reg .u32 a, .reg .u32 b) both(.reg .u32 x) {{ add.u32 a, x, 1; mul.lo.u32 b, x, 3; ret; }}
            .visible .entry kernel(.param .u64 from, .param .u64 out) {{
                .reg .u32 %r<3>; .reg .u64 %rd<2>;
                mov.u32 %r0, %tid.x;
                call (%r1, %r2), both, (%r0);
                xor.b32 %r1, %r1, %r2;
                ld.param.u64 %rd0, [out]; mad.wide.u32 %rd0, %r0, 4, %rd0;
                st.global.u32 [%rd0], %r1;
                ret;
            }}"
        )
    };
    let expected: Vec<u8> = (0..32_u32).flat_map(|x| ((x + 1) ^ (3 * x)).to_le_bytes()).collect();
    let dir = tempfile::tempdir().expect("a folder");
    for target in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"] {
        let Some(assembler) = Assembler::installed(target) else {
            return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
        };
        let image = assembler.unfused(&ptx(target), dir.path()).expect("ptxas takes the function");
        let geometry = Geometry { grid: [1; 3], block: [32, 1, 1] };
        let trace = dir.path().join("run.wtrace");
        let ran = run(
            image,
            geometry,
            &[&vec![0; 4], &vec![0; 128]],
            &[],
            1 << 16,
            Some((&trace, Contents::Values)),
        );
        assert_eq!(ran, Ok(vec![expected.clone()]), "{target}");
        let report = validate::validate(&trace, 1, &validate::Progress::default()).expect("a trace");
        assert!(report.is_sound(), "{target}: {:?}", report.problems);
    }
}
