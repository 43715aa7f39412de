//! Tests of BOW: windows computed by hand, random divergent code, and a corrupted collector.

use super::*;
use crate::testing::{Bench, From, Random, Read, config, count, prepared, program};
use proptest::prelude::*;
use warplab_analysis::listing::FIGURE_3_6;
use warplab_technique::Row;
use warplab_technique::context::Found;

/// The operands that each instruction of a straight-line listing gets from the collector, in the order of its
/// distinct source registers.
fn forwarded(text: &str, set: &[&str]) -> (Vec<Vec<u8>>, Bow) {
    let config = config(set);
    let program = program(text, &config);
    let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
    let mut bench = Bench::new(&program, 5);
    bench.start(&mut bow);
    let mut lists = Vec::new();
    for pc in 0..program.insts.len() as u32 - 1 {
        let reads = bench.step(&mut bow, pc, 1000 + pc);
        let supplied = reads.iter().filter(|read| !matches!(read.from, From::Bank(_)));
        lists.push(supplied.map(|read| read.reg).collect());
    }
    (lists, bow)
}

#[test]
fn the_snippet_of_figure_3_6_with_a_window_of_three() {
    let (lists, stats) = forwarded(FIGURE_3_6, &[]);
    let expected: [&[u8]; 13] = [
        &[],        //  2: the address comes from the register file
        &[],        //  3
        &[2],       //  4: r2 from line 3
        &[0, 2, 1], //  5
        &[1],       //  6
        &[0, 2, 1], //  7: r0 and r2 from line 5, two instructions before, r1 from line 6
        &[0],       //  8
        &[0],       //  9: r9 has not been seen
        &[0],       // 10
        &[1],       // 11
        &[2],       // 12
        &[2],       // 13
        &[],        // 14: r3 is old, and r1 of line 11 is three instructions back
    ];
    assert_eq!(lists, expected);
    assert_eq!(count(&stats, "forwarded_operands"), 14);
    // Write-through: every result goes to the collector and to the register file. Table 3.1 counts ten for r0
    // to r3: it has one write of r2 less than the listing (lines 3, 11 and 12), and leaves out r4.
    let results = 12;
    let fetched = 1 + 1 + 1 + 2;
    assert_eq!(count(&stats, "boc_writes"), results + fetched);
    assert_eq!(count(&stats, "boc_evictions"), 0);
}

#[test]
fn a_window_of_two_sees_one_instruction_back_and_reuse_extends_it() {
    let text = "
        mov r1 300
        iadd r2 r1 1
        iadd r3 r1 2
        iadd r4 r2 3
        iadd r5 r1 4";
    let (two, _) = forwarded(text, &["technique.bow.window=2"]);
    // Each use keeps r1 in the window; r2 is two instructions old at the fourth, r1 two at the fifth.
    assert_eq!(two, [&[][..], &[1], &[1], &[], &[]]);
    let (three, _) = forwarded(text, &["technique.bow.window=3"]);
    assert_eq!(three, [&[][..], &[1], &[1], &[2], &[1]]);
    let (fixed, _) = forwarded(text, &["technique.bow.window=3", "technique.bow.extended=false"]);
    assert_eq!(
        fixed,
        [&[][..], &[1], &[1], &[2], &[]],
        "r1 leaves with the window of the instruction that wrote it"
    );
    let (one, stats) = forwarded(text, &["technique.bow.window=1"]);
    assert!(one.iter().all(Vec::is_empty), "a window of one holds nothing of earlier instructions");
    assert_eq!(count(&stats, "forwarded_operands"), 0);
}

#[test]
fn branches_take_a_place_in_the_window() {
    let text = "mov r1 300\n nop\n nop\n iadd r2 r1 1\n nop\n iadd r3 r1 1";
    let (lists, _) = forwarded(text, &[]);
    assert_eq!(lists, [&[][..], &[], &[], &[], &[], &[1]]);
}

#[test]
fn a_small_collector_evicts_the_oldest_entry_first() {
    // Three entries: r1, r2, r3 fill it; r4 evicts r1, although r1 was read last.
    let text = "
        ffma r4 r1 r2 r3
        iadd r5 r1 1
        iadd r6 r2 r3";
    let (lists, stats) = forwarded(text, &["technique.bow.entries=4"]);
    // The first instruction needs all four; r5 evicts r1, which the second has just forwarded.
    assert_eq!(lists, [&[][..], &[1], &[2, 3]]);
    assert_eq!(count(&stats, "boc_evictions"), 2);
    let (lists, stats) = forwarded(text, &["technique.bow.entries=3"]);
    // r4 evicts r1; the second instruction fetches it again, evicting r2, and r5 evicts r3.
    assert!(lists.iter().all(Vec::is_empty), "{lists:?}");
    assert!(count(&stats, "boc_evictions") >= 5, "{}", count(&stats, "boc_evictions"));
}

#[test]
fn a_second_reader_waits_for_the_outstanding_fetch() {
    let config = config(&[]);
    let program = program("iadd r2 r1 1\n iadd r3 r1 2\n iadd r1 r1 3\n iadd r4 r1 4", &config);
    let (mut bow, plan) = prepared(Bow::new, "bow", &program, &config);
    assert_eq!(plan.collectors, Some(crate::CollectorPlan::new(3, 1).bounded()));
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut bow);
    let full = (u32::MAX, u32::MAX);
    let (first, flight) = bench.issue(&mut bow, 0, full, || Row::splat(9)).expect("agrees");
    assert_eq!(first[0].from, From::Bank(1));
    let (second, _) = bench.issue(&mut bow, 1, full, || Row::splat(9)).expect("agrees");
    assert_eq!(second[0].from, From::After(flight.id, 0));
    // The third overwrites r1 in a few lanes: the other lanes still come from the fetch.
    let (_, third) = bench.issue(&mut bow, 2, full, || Row::splat(77)).expect("agrees");
    let partial = crate::testing::Flight { exec: 0xFF, ..third };
    bench.write_back(&mut bow, &partial).expect("agrees");
    bench.rows[1] = Row::from_fn(|lane| if lane < 8 { 77 } else { 0 });
    let (low, _) = bench.issue(&mut bow, 3, (0x0F, 0x0F), || Row::splat(1)).expect("agrees");
    assert_eq!(low[0].from, From::Storage, "these lanes have been written since");
}

#[test]
fn a_result_of_a_diverged_instruction_serves_only_lanes_that_it_wrote() {
    let config = config(&[]);
    let program = program("imad r1 r2 r3\n iadd r4 r1 1\n iadd r5 r1 2\n iadd r6 r1 3", &config);
    let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.rows[1] = Row::splat(1234);
    bench.start(&mut bow);
    let (_, flight) = bench.issue(&mut bow, 0, (0xFFFF, 0x00FF), || Row::splat(5)).expect("agrees");
    bench.write_back(&mut bow, &flight).expect("agrees");
    let from = |reads: Vec<Read>| reads[0].from;
    let read = |bench: &mut Bench<'_>, bow: &mut Bow, pc, lanes| {
        from(bench.issue(bow, pc, (lanes, lanes), || Row::splat(6)).expect("agrees").0)
    };
    assert_eq!(read(&mut bench, &mut bow, 1, 0x000F), From::Storage);
    assert_eq!(read(&mut bench, &mut bow, 2, 0x0FFF), From::Bank(1), "four lanes hold an older value");
    // The fetch completed the register, old lanes and new.
    assert!(matches!(read(&mut bench, &mut bow, 3, u32::MAX), From::After(_, 0)));
}

#[test]
fn a_warp_starts_with_an_empty_collector() {
    let config = config(&[]);
    let program = program("mov r1 300\n iadd r2 r1 1", &config);
    let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
    let mut first = Bench::new(&program, 0);
    first.start(&mut bow);
    first.step(&mut bow, 0, 300);
    first.end(&mut bow);
    let mut second = Bench::new(&program, 0);
    second.cycle = first.cycle;
    second.start(&mut bow);
    let reads = second.step(&mut bow, 1, 1);
    assert_eq!(reads[0].from, From::Bank(1));
}

#[test]
fn occupancy_is_counted_over_time() {
    let config = config(&["technique.bow.entries=2"]);
    let program = program("mov r1 300\n iadd r2 r1 1", &config);
    let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut bow);
    bench.step(&mut bow, 0, 300);
    bench.cycle = 100;
    bench.step(&mut bow, 1, 300);
    bench.end(&mut bow);
    // r1 alone from cycle 2 to 101, r1 and r2 to 103, when the warp ends; two of two is over half.
    assert_eq!((count(&bow, "boc_entry_cycles"), count(&bow, "boc_over_half_full_cycles")), (99 + 2 * 2, 2));
}

#[test]
fn a_corrupted_collector_stops_the_run_and_names_the_place() {
    let config = config(&[]);
    let program = program("mov r1 300\n iadd r2 r1 1", &config);
    for lane in [0usize, 17, 31] {
        let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
        let mut bench = Bench::new(&program, 2);
        bench.start(&mut bow);
        bench.step(&mut bow, 0, 300);
        bow.window.collectors[2].find(1).expect("held").row.0[lane] ^= 1;
        let reader = (1 << lane, 1 << lane);
        let why = bench.issue(&mut bow, 1, reader, || Row::ZERO).expect_err("the value is wrong");
        let place = (why.technique, why.pc, why.block, why.warp, why.register, why.lane);
        assert_eq!(place, ("bow", 1, 7, 3, 1, lane as u32));
        assert_eq!(why.actual, Found::Value(why.expected ^ 1));
        assert!(why.to_string().contains("R1"), "{why}");
    }
}

#[test]
fn bad_sections_are_refused_with_the_key() {
    let refuse = |section: &str| {
        let table: toml::Table = toml::from_str(section).expect("TOML");
        Bow::new(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("window = 0").contains("`window`: 0"));
    assert!(refuse("entries = 65").contains("`entries`: 65"));
    assert!(refuse("windows = 3").contains("windows"));
    assert!(refuse("window = 'wide'").contains("wide"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any divergence and any order of results, the collector's values equal the recorded ones.
    #[test]
    fn random_divergent_code_is_forwarded_rightly(seed: u64, window in 1u32..6, entries in 1u32..16) {
        let mut random = Random::new(seed, 8);
        let set = [format!("technique.bow.window={window}"), format!("technique.bow.entries={entries}")];
        let config = config(&set.each_ref().map(String::as_str));
        let program = program(&random.listing(), &config);
        let (mut bow, _) = prepared(Bow::new, "bow", &program, &config);
        let mut bench = Bench::new(&program, 1);
        bench.start(&mut bow);
        prop_assert_eq!(bench.run(&mut bow, &mut random), Ok(()));
        prop_assert!(bow.window.collectors[1].len() <= entries as usize);
    }
}
