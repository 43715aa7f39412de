//! Random kernels as machine code of ptxas against the oracle. `cargo run --release -p tests --bin attack -- --machine-code
//! sm_80` continues with further seeds.

use test_kit::{Tool, skipped};
use tests::oracle::differential::{Failure, MachineCode, attack};
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
