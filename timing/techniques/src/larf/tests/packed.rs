//! Tests of LARF with the register files of CORF and CORF++.

use super::super::joint::{CORF, CORF_PLUS, together_of};
use super::*;
use crate::Technique;

/// LARF with one of the two, whole or with a fault.
fn joined(part: &str, config: &GpuConfig, fault: Option<Fault>) -> Box<dyn Technique> {
    let larf = together_of(part, config).expect("valid sections");
    Box::new(Damaged { larf, fault })
}

fn run_joined(part: &str, hand: &Hand, set: &[&str], fault: Option<Fault>) -> Result<Stats, ReplayError> {
    let config = small_machine(set);
    hand.run_techniques(&config, vec![joined(part, &config, fault)])
}

fn together(part: &str, hand: &Hand, set: &[&str]) -> Stats {
    let stats = run_joined(part, hand, set, None).unwrap_or_else(|why| panic!("{part}: {why}"));
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost());
    stats
}

/// Without metadata instructions, in the banks of the plain machine.
fn bare(part: &str) -> Vec<String> {
    let told = if part == "corf" { "pairs" } else { "alignment" };
    vec![format!("technique.{part}.{told}=false"), format!("technique.{part}.allocation='home_bank'")]
}

#[test]
fn both_words_select_it_and_its_declarations_have_no_name_twice() {
    let config = small_machine(&[]);
    for (registration, names) in [(CORF, ["larf", "corf"]), (CORF_PLUS, ["corf++", "larf"])] {
        let chosen =
            crate::testing::built_in().select(&names.map(str::to_owned), &config).expect("they compose");
        assert_eq!(chosen.len(), 1);
        let info = chosen[0].info();
        assert_eq!(info.name, registration.info.name);
        let unique = |mut names: Vec<&'static str>| {
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{names:?}");
        };
        unique(info.counters.iter().map(|counter| counter.name).collect());
        unique(info.losses.iter().map(|loss| loss.name).collect());
        unique(chosen[0].params().iter().map(|(name, _)| *name).collect());
        let declared: Vec<&str> = (info.params)().iter().map(|param| param.name).collect();
        assert_eq!(declared, chosen[0].params().iter().map(|(name, _)| *name).collect::<Vec<_>>());
        assert_eq!(info.counters.len(), chosen[0].counts().len());
    }
    let bad = small_machine(&["technique.corf.shrink=7"]);
    let why = crate::testing::built_in().select(&["larf", "corf"].map(str::to_owned), &bad).map(drop);
    assert!(why.expect_err("no switch").to_string().contains("shrink"));
}

#[test]
fn a_shared_vector_takes_one_place_and_its_readers_one_access() {
    // Both sources of the last sum are the same vector: one access brings both, however wide it is.
    let hand = one_warp(&twice());
    for part in ["corf", "corf++"] {
        let set = bare(part);
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let (both, alone) = (together(part, &hand, &set), run(&hand, &[]));
        assert_eq!((both.of_techniques("whole_shares"), both.counters.global_loads), (1, 1), "{part}");
        assert_eq!(both.counters.rf_writes, alone.counters.rf_writes, "{part}");
        let of = |stats: &Stats| stats.counters.operand_reads - stats.counters.rf_reads;
        assert_eq!(of(&alone), 0);
        assert_eq!(of(&both), both.of_techniques("coalesced_register_reads"));
        let off = [set.clone(), vec!["technique.larf.mechanism=false"]].concat();
        let packed_only = together(part, &hand, &off);
        assert_eq!((packed_only.of_techniques("whole_shares"), packed_only.counters.global_loads), (0, 2));
        assert!(
            both.of_techniques("coalesced_register_reads")
                > packed_only.of_techniques("coalesced_register_reads"),
            "{part}: r8 and r6 lie in one place"
        );
        let unread = format!("technique.{part}.mechanism=false");
        let unread = [set, vec![&unread]].concat();
        let shared_only = together(part, &hand, &unread);
        assert_eq!((shared_only.of_techniques("whole_shares"), of(&shared_only)), (1, 0));
    }
}

#[test]
fn sharing_is_that_of_larf_alone() {
    for hand in [one_warp(&twice()), one_warp(&window())] {
        let alone = run(&hand, &[]);
        for part in ["corf", "corf++"] {
            let both = together(part, &hand, &[]);
            for count in ["whole_shares", "partial_shares", "entered", "merges"] {
                assert_eq!(both.of_techniques(count), alone.of_techniques(count), "{part} {count}");
            }
        }
    }
}

#[test]
fn every_seeded_fault_is_found_in_packed_registers() {
    let mut missed = Vec::new();
    let packed = [Fault::FlippedBit, Fault::LostSlices, Fault::SwappedPlaces];
    let packed = packed.map(|fault| (fault, one_warp(&twice())));
    for (fault, hand) in faults().into_iter().chain(packed) {
        for part in ["corf", "corf++"] {
            together(part, &hand, &[]);
            match run_joined(part, &hand.clone().with_memory(), &[], Some(fault)) {
                Ok(_) => missed.push((fault, part)),
                Err(why) => assert!(why.to_string().contains("technique larf+corf"), "{fault:?}: {why}"),
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever loads, stores and fences do, every value that is read or shared is the recorded one, accounts balance,
    /// the free map agrees with the table, and no register is left at the end.
    #[test]
    fn random_kernels_share_packed_registers_rightly(
        seed: u64,
        plus: bool,
        which in 0usize..4,
        overwrite: bool,
    ) {
        let mut random = Random::new(seed);
        let part = if plus { "corf++" } else { "corf" };
        let hand = by_hand(random_kernel(&mut random).exit(), 3, 96).with_memory();
        let set = [
            format!("technique.larf.release='{}'", if overwrite { "overwrite" } else { "last_read" }),
            format!("technique.{part}.shrink={}", which == 1),
            format!("technique.{part}.allocation='{}'", if which == 2 { "bank_aware" } else { "home_bank" }),
            format!("technique.{part}.virtualization={}", which != 3),
        ];
        let stats = run_joined(part, &hand, &set.each_ref().map(String::as_str), None);
        let stats = stats.map_err(|why| TestCaseError::fail(why.to_string()))?;
        let ledger = &stats.techniques[0].ledger;
        prop_assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost());
    }
}
