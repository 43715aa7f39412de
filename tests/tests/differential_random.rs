//! Random kernels and the minimised ones of earlier failures: the machine, run and recorded, against the
//! oracle. `cargo run --release -p tests --bin attack` continues with further seeds.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use emulator::lower::{DEFAULT_INLINE_LIMIT, Schedule};
use tests::oracle::differential::{Case, Failure, Setup, attack, compare};
use tests::oracle::generate::{Dice, Drawn, Focus, Kernel};

/// Kernels per run; about ten seconds on two cores.
const KERNELS: u64 = 160;
/// Seed of the first one.
const FIRST_SEED: u64 = 1_000_000;

#[test]
fn random_kernels_agree() {
    let traces = tempfile::tempdir().unwrap();
    let refused = AtomicU64::new(0);
    let failure = |at: u64| {
        let recorded = at.is_multiple_of(4).then(|| traces.path());
        let (kernel, setup, result) = attack(FIRST_SEED + at, true, recorded, None);
        match result {
            Ok(_) => None,
            // Few registers may not be enough for what one instruction needs.
            Err(Failure::Lower(what)) if what.contains("more registers") => {
                refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            Err(failure) => {
                let (seed, registers) = (kernel.seed, setup.max_registers);
                Some(format!(
                    "seed {seed}, {registers} registers: {failure} (attack --count 1 --seed {seed})"
                ))
            }
        }
    };
    let failures: Vec<String> = (0..KERNELS).into_par_iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let refused = refused.into_inner();
    assert!(refused * 3 < KERNELS, "{refused} of {KERNELS} kernels were refused");
}

#[test]
fn earlier_failures_stay_fixed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions/random_kernels");
    let traces = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (case, max_registers) = Case::parse(&text).unwrap_or_else(|| panic!("{}", path.display()));
        for (max_registers, inline_limit) in
            [(max_registers, DEFAULT_INLINE_LIMIT), (255, DEFAULT_INLINE_LIMIT), (255, 0)]
        {
            let traces = Some(traces.path());
            let setup = Setup {
                max_registers,
                threads: 1,
                check: true,
                fmad: true,
                inline_limit,
                schedule: Schedule::default(),
                traces,
                assembler: None,
            };
            if let Err(failure) = compare(&case, &setup) {
                panic!(
                    "{} with {max_registers} registers, inlining {inline_limit}: {failure}",
                    path.display()
                );
            }
        }
        seen += 1;
    }
    assert!(seen > 0, "there are no regressions");
}

/// Every construct occurs, with functions with parameters of every kind and copies of every class of register.
#[test]
fn random_kernels_hold_every_construct() {
    let mut drawn = Drawn::default();
    let mut dice = Dice::new(7);
    for seed in 0..200 {
        drawn.add(&Kernel::random(seed, dice.pick(&Focus::ALL), None));
    }
    assert_eq!(drawn.missing_constructs(), Vec::<&str>::new());
    let copies = ["mov.b16", "mov.b32", "mov.b64", "mov.f32", "mov.f64", "mov.pred", "mov.b128"];
    let chains = ["add.cc.u32", "subc.cc.u32", "madc.hi.cc.u32", "mul.f32", "mul.rn.f64"];
    let vectors = ["ld.param.v2.b32", "st.param.v2.b32", "ld.param.v2.b64", "ld.param.v4.b32"];
    let forms: Vec<(&str, u32)> =
        copies.into_iter().chain(chains).chain(vectors).map(|form| (form, 1)).collect();
    assert!(drawn.missing_forms(&forms).is_empty(), "{:?}", drawn.missing_forms(&forms));
}
