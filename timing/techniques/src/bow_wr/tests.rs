//! Tests of BOW-WR: the write counts of table 3.1, random divergent code, and wrong hints.

use super::*;
use crate::bow::Bow;
use crate::testing::{Bench, From, Hooked, Random, config, count, prepared, program};
use proptest::prelude::*;
use warplab_analysis::listing::FIGURE_3_6;
use warplab_technique::context::Found;
use warplab_technique::program::Program;

/// Bank writes of r0 to r3 while the snippet runs, register by register; values still in the window at its
/// end are not written yet.
fn writes(technique: &mut impl Hooked, program: &Program) -> [usize; 4] {
    let mut bench = Bench::new(program, 0);
    bench.start(technique);
    let mut counts = [0; 4];
    for pc in 0..program.insts.len() as u32 - 1 {
        let full = (u32::MAX, u32::MAX);
        let mut value = 1000 * pc;
        let row = || {
            value += 1;
            Row::splat(value)
        };
        let (_, flight) = bench.issue(technique, pc, full, row).expect("agrees");
        let written = bench.write_back(technique, &flight).expect("agrees");
        for ((reg, _), to) in flight.results.iter().zip(written) {
            if matches!(to, WriteTo::Bank(_)) && *reg < 4 {
                counts[usize::from(*reg)] += 1;
            }
        }
        // In the bench, a register's bank is its number.
        let evicted = bench.bank_accesses().into_iter().filter(|(bank, write)| *write && *bank < 4);
        evicted.for_each(|(bank, _)| counts[usize::from(bank)] += 1);
    }
    counts
}

#[test]
fn writes_of_table_3_1() {
    let plain = config(&[]);
    let snippet = program(FIGURE_3_6, &plain);
    // Write-through: the table has 2 for r2, which lines 3, 11 and 12 write.
    assert_eq!(writes(&mut prepared(Bow::new, "bow", &snippet, &plain).0, &snippet), [3, 4, 3, 1]);
    let unhinted = config(&["technique.bow-wr.hints=false"]);
    assert_eq!(writes(&mut prepared(BowWr::new, "bow-wr", &snippet, &unhinted).0, &snippet), [1, 2, 1, 1]);
    let mut technique = prepared(BowWr::new, "bow-wr", &snippet, &plain).0;
    let hinted = writes(&mut technique, &snippet);
    let bypassed = count(&technique, "bypassed_register_writes");
    assert_eq!(hinted, [0, 1, 0, 1]);
    // All but r3, r1 of line 10 and r4 (read by nobody within the window), and r2 of line 12, still held.
    assert_eq!(bypassed, 12 - 4);
}

#[test]
fn lanes_that_only_the_collector_has_join_those_of_the_register_file() {
    let config = config(&["technique.bow-wr.hints=false"]);
    let program = program("mov r1 1\n mov r1 2\n iadd r2 r1 1\n stg r4 r1\n exit", &config);
    let (mut technique, _) = prepared(BowWr::new, "bow-wr", &program, &config);
    let mut bench = Bench::new(&program, 3);
    bench.start(&mut technique);
    let mut step = |bench: &mut Bench<'_>, pc, lanes: u32, value| {
        let (reads, flight) =
            bench.issue(&mut technique, pc, (lanes, lanes), || Row::splat(value)).expect("agrees");
        bench.write_back(&mut technique, &flight).expect("agrees");
        reads.first().map(|read| read.from)
    };
    step(&mut bench, 0, u32::MAX, 5);
    bench.issued += 3;
    step(&mut bench, 1, 0xFF, 6);
    assert_eq!(bench.bank_accesses(), [(1, true)], "the first result has left the window");
    assert_eq!(step(&mut bench, 2, u32::MAX, 9), Some(From::Bank(1)), "24 lanes are in the bank alone");
    assert_eq!(bench.rows[1], Row::from_fn(|lane| if lane < 8 { 6 } else { 5 }));
}

#[test]
fn a_transient_result_does_not_take_other_lanes_with_it() {
    let config = config(&["technique.bow-wr.hints=false"]);
    let program = program("mov r1 1\n mov r1 2\n nop\n nop\n stg r4 r1\n exit", &config);
    let (mut technique, _) = prepared(BowWr::new, "bow-wr", &program, &config);
    technique.hints[1] = [Destination { collector: true, register_file: false }; MAX_DST];
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut technique);
    let (kept, transient) = (0xFF00u32, 0x00FFu32);
    for (pc, lanes) in [(0, kept), (1, transient), (2, kept), (3, kept), (4, kept)] {
        let (_, flight) =
            bench.issue(&mut technique, pc, (lanes, lanes), || Row::splat(900 + pc)).expect("agrees");
        bench.write_back(&mut technique, &flight).expect("agrees");
    }
    assert_eq!(bench.bank_accesses(), [(1, true)], "both leave with one write");
}

#[test]
fn a_wrong_hint_stops_the_run_and_names_the_place() {
    let config = config(&[]);
    let program = program(
        "mov r1 1\n mov r2 1\n iadd r3 r1 r2\n mov r5 1\n mov r5 1\n mov r5 1\n iadd r3 r1 1",
        &config,
    );
    let (mut technique, _) = prepared(BowWr::new, "bow-wr", &program, &config);
    technique.hints[0] = [Destination { collector: true, register_file: false }; MAX_DST];
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut technique);
    (0..6).for_each(|pc| drop(bench.step(&mut technique, pc, 300)));
    let why = bench.issue(&mut technique, 6, (1, 1), || Row::ZERO).expect_err("r1 never reached a bank");
    assert_eq!((why.technique, why.pc, why.register, why.actual), ("bow-wr", 6, 1, Found::Value(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// For any divergence and any evictions, no hint loses a value that is read; every result is written
    /// once, bypassed, or consolidated.
    #[test]
    fn random_divergent_code_is_bypassed_rightly(seed: u64, window in 1u32..6, entries in 1u32..16, hints: bool) {
        let mut random = Random::new(seed, 8);
        let set = [
            format!("technique.bow-wr.window={window}"),
            format!("technique.bow-wr.entries={entries}"),
            format!("technique.bow-wr.hints={hints}"),
        ];
        let config = config(&set.each_ref().map(String::as_str));
        let program = program(&random.listing(), &config);
        let (mut technique, _) = prepared(BowWr::new, "bow-wr", &program, &config);
        let mut bench = Bench::new(&program, 1);
        bench.start(&mut technique);
        prop_assert_eq!(bench.run(&mut technique, &mut random), Ok(()));
        bench.end(&mut technique);
        let written = bench.bank_writes + bench.bank_accesses().len() as u64;
        prop_assert_eq!(written + technique.bypassed_register_writes, bench.results);
    }
}
