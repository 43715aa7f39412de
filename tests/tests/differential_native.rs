//! Random kernels as machine code of ptxas against the oracle. `cargo run --release -p tests --bin attack -- --machine-code
//! sm_80` continues with further seeds.

use emulator::lower::{DEFAULT_INLINE_LIMIT, Schedule};
use test_kit::{Tool, skipped};
use tests::oracle::differential::{Case, Failure, MachineCode, Setup, attack, compare};
use tests::oracle::native::Assembler;

/// Kernels per target; about ten seconds on two cores.
const KERNELS: u64 = 24;
/// Seed of the first one.
const FIRST_SEED: u64 = 2_000_000;

/// The machine code of random kernels leaves the memory that the interpreter of PTX leaves. What ptxas refuses, and
/// instructions that have no translation, are counted.
fn agree(target: &str) {
    let Some(assembler) = Assembler::installed(target) else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    let (mut agreed, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for seed in FIRST_SEED..FIRST_SEED + KERNELS {
        match attack(seed, false, None, Some(&assembler)).2 {
            Ok(MachineCode::Agrees) => agreed += 1,
            Ok(MachineCode::Refused(why)) => {
                refused.push(format!("seed {seed}: {} `{}`", why.reason, why.line));
            }
            Ok(MachineCode::NotAsked) => wrong.push(format!("seed {seed}: no machine code was compared")),
            Err(Failure::Lower(what)) if what.contains("more registers") => refused.push(what),
            Err(Failure::Native(what)) if what.contains("Unsupported(") => refused.push(what),
            Err(failure) => wrong.push(format!("seed {seed}: {failure}")),
        }
    }
    assert!(wrong.is_empty(), "{target}: {} of {KERNELS} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agreed * 5 >= KERNELS * 4, "{target}: only {agreed} of {KERNELS} ran:\n{}", refused.join("\n"));
}

/// Targets whose machine code runs, and the family of one.
const TARGETS: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120", "sm_120f"];

/// Kernels with instructions that had no translation, or a wrong one: on every target that has them they leave the memory
/// that the interpreter leaves.
#[test]
fn earlier_failures_stay_fixed() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions/random_kernels/machine_code");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (case, max_registers) = Case::parse(&text).unwrap_or_else(|| panic!("{}", path.display()));
        let mut agreed = 0;
        for target in TARGETS {
            let Some(assembler) = Assembler::installed(target) else {
                return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
            };
            let setup = Setup {
                max_registers,
                threads: 1,
                check: true,
                fmad: true,
                inline_limit: DEFAULT_INLINE_LIMIT,
                schedule: Schedule::default(),
                traces: None,
                assembler: Some(&assembler),
            };
            match compare(&case, &setup) {
                Ok(MachineCode::Agrees) => agreed += 1,
                Ok(_) => {}
                Err(failure) => panic!("{} on {target}: {failure}", path.display()),
            }
        }
        assert!(agreed > 0, "{}: no target has it", path.display());
    }
}

#[test]
fn random_kernels_agree_on_sm_75() {
    agree("sm_75");
}

#[test]
fn random_kernels_agree_on_sm_80() {
    agree("sm_80");
}

#[test]
fn random_kernels_agree_on_sm_86() {
    agree("sm_86");
}

#[test]
fn random_kernels_agree_on_sm_89() {
    agree("sm_89");
}
