//! Damaged files with device code, and damaged PTX: modules, random kernels and opcode forms with bytes, tokens and
//! lines changed. Whatever a text says, the front end, lowering and execution answer with results or diagnostics,
//! never with a panic. The `mutate` command does the same for as long as one likes.

use std::collections::BTreeMap;
use tests::fuzz::container::Containers;
use tests::fuzz::mutate::Corpus;
use tests::fuzz::{Reached, fuzz_lower_execute, fuzz_parse, fuzz_unpack};

/// Inputs per run; a few seconds.
const INPUTS: u64 = 600;

#[test]
fn damaged_texts_are_answered() {
    let corpus = Corpus::bundled().expect("the corpus is in the repository");
    assert!(corpus.len() > 300, "{} texts", corpus.len());
    let mut reached: BTreeMap<Reached, u64> = BTreeMap::new();
    for seed in 0..INPUTS {
        let input = corpus.input(seed);
        let attempt = std::panic::catch_unwind(|| fuzz_parse(&input).max(fuzz_lower_execute(&input)));
        match attempt {
            Ok(how_far) => *reached.entry(how_far).or_default() += 1,
            Err(_) => panic!("seed {seed} panics:\n{}", String::from_utf8_lossy(&input)),
        }
    }
    // Some damaged inputs must be accepted and some refused, or the test shows nothing.
    let count = |how_far| reached.get(&how_far).copied().unwrap_or(0);
    for how_far in [Reached::Refused, Reached::Stopped, Reached::Finished] {
        assert!(count(how_far) > INPUTS / 20, "{reached:?}");
    }
}

#[test]
fn damaged_files_with_device_code_are_answered() {
    const INPUTS: u64 = 4000;
    let files = Containers::bundled().expect("the files are in the repository");
    assert!(files.len() > 10, "{} files", files.len());
    let mut reached: BTreeMap<Reached, u64> = BTreeMap::new();
    for seed in 0..INPUTS {
        let input = files.input(seed);
        match std::panic::catch_unwind(|| fuzz_unpack(&input)) {
            Ok(how_far) => *reached.entry(how_far).or_default() += 1,
            Err(_) => panic!("seed {seed} panics (mutate --containers --seed {seed} --count 1)"),
        }
    }
    let count = |how_far| reached.get(&how_far).copied().unwrap_or(0);
    for how_far in [Reached::Refused, Reached::Lowered, Reached::Stopped, Reached::Finished] {
        assert!(count(how_far) > INPUTS / 50, "{reached:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_input() {
    let corpus = Corpus::bundled().expect("the corpus is in the repository");
    for seed in 0..20 {
        assert_eq!(corpus.input(seed), corpus.input(seed));
        assert_ne!(corpus.input(seed), corpus.input(seed + 1));
    }
}
