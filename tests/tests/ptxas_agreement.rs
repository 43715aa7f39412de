//! The front end accepts what ptxas accepts, and refuses what it refuses: every bundled module, and modules with one
//! change. `cargo run --release -p tests --bin mutate -- --ptxas` tries more.

use test_kit::{Tool, skipped};
use tests::fuzz::mutate::Corpus;
use tests::fuzz::ptxas::{self, Judge};

/// Seeds that the list of forms was not made with.
const FIRST_SEED: u64 = 500_000;
const MUTANTS: u64 = 400;

#[test]
fn ptxas_and_the_front_end_accept_the_same_modules() {
    let Some(judge) = Judge::installed().expect("there is a folder for temporary files") else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    let corpus = Corpus::bundled().expect("the bundled files are there");
    let texts = ptxas::valid(&judge, corpus.texts()).expect("ptxas runs");
    assert!(texts.len() > 400, "{} modules are valid", texts.len());
    for text in &texts {
        assert_eq!(ptxas::our_error(text), None, "a valid module is refused:\n{text}");
    }
    let seeds = FIRST_SEED..FIRST_SEED + MUTANTS;
    let (tallies, differences) = ptxas::compare(&judge, &texts, seeds).expect("ptxas runs");
    let total = ptxas::total(&tallies);
    assert!(total.mutants > MUTANTS / 2, "{total:?}");
    assert!(total.agreement() >= 0.99, "{}{differences:#?}", ptxas::table(&tallies));
}
