//! BOW and CORF in the pipeline: cycles of hand-made kernels that can be worked out on paper, and accounts that
//! have to balance.

use crate::stats::{EnergyTable, Stats};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::SpecialReg;

/// One SM, no launch latency, one scheduler, and I-cache lines that hold a whole test kernel.
const SMALL: [&str; 7] = [
    "front_end.icache.line_bytes=256",
    "front_end.icache.size_bytes=4096",
    "gpu.sms=1",
    "launch.latency_cycles=0",
    "scheduler.count=1",
    "scheduler.policy=lrr",
    "front_end.fetch_warps_per_cycle=4",
];

/// `length` dependent multiply-adds on three wide registers; the accumulator's are dead in between.
fn chain(length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 0x3F80_0001).mov(2, 0x4000_0001).mov(3, 0x4080_0001);
    for _ in 0..length {
        b.ffma(3, 1, 2, 3);
    }
    Hand::new(b.exit(), 1, 32)
}

/// Cycles that each instruction of the chain takes.
fn cycles_per_link(set: &[&str], techniques: &[&str]) -> f64 {
    let set: Vec<&str> = SMALL.iter().chain(set).copied().collect();
    let cycles = |length| chain(length).run("gtx480", &set, techniques).counters.cycles;
    (cycles(24) - cycles(8)) as f64 / 16.0
}

/// Issue to read 1, three reads through one port, latency 5.
const PLAIN: f64 = 9.0;

#[test]
fn forwarding_takes_the_reads_out_of_the_chain() {
    assert_eq!(cycles_per_link(&[], &[]), PLAIN);
    assert_eq!(cycles_per_link(&[], &["bow"]), PLAIN - 3.0, "all three operands are in the window");
    assert_eq!(
        cycles_per_link(&["technique.bow.window=1"], &["bow"]),
        PLAIN,
        "a window of one holds nothing"
    );
}

#[test]
fn without_narrow_values_corf_costs_its_renaming_cycles_and_nothing_else() {
    assert_eq!(cycles_per_link(&[], &["corf"]), PLAIN, "the lookup hides in the move to the collector");
    assert_eq!(cycles_per_link(&["technique.corf.renaming_cycles=1"], &["corf"]), PLAIN + 1.0);
    assert_eq!(cycles_per_link(&["technique.corf.renaming_cycles=3"], &["corf"]), PLAIN + 3.0);
    assert_eq!(cycles_per_link(&[], &["bow", "corf"]), PLAIN - 3.0);
}

#[test]
fn coalescing_takes_one_read_out_of_the_chain() {
    let chain = |length: usize| {
        let mut b = Builder::default();
        b.mov(1, 0).mov(2, 1);
        for _ in 0..length {
            b.iadd(1, r(1), r(2), r(2));
        }
        Hand::new(b.exit(), 1, 32)
    };
    let cycles =
        |length, techniques: &[&str]| chain(length).run("gtx480", &SMALL, techniques).counters.cycles;
    let difference = |techniques: &[&str]| cycles(24, techniques) - cycles(8, techniques);
    // The sum stays below 128 for the whole chain: one byte beside one byte.
    assert_eq!(difference(&[]) - difference(&["corf"]), 16, "one read less through the collector's port");
    let stats = chain(40).run("gtx480", &SMALL, &["corf"]);
    assert_eq!(stats.counters.coalesced_register_reads, 40);
    assert_eq!(stats.counters.packed_pair_allocations, stats.counters.pair_allocations);
    assert_eq!(stats.counters.rf_reads, stats.counters.operand_reads - 40);
}

/// A kernel of integers and loads with several warps, blocks and a barrier.
fn busy() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(6, 3);
    for i in 0..8 {
        b.ldg(4, 2, i * 128).iadd(5, r(4), r(5), r(0)).iadd(6, r(6), r(0), r(5)).stg(2, 5, 65536 + i * 128);
        b.ffma(7, 5, 6, 4);
    }
    b.bar();
    b.stg(2, 7, 0);
    Hand::new(b.exit(), 40, 128)
}

fn balance(stats: &Stats) {
    let c = &stats.counters;
    assert_eq!(c.operand_reads, c.rf_reads + c.forwarded_operands + c.coalesced_register_reads);
    assert_eq!(c.boc_reads, c.forwarded_operands);
}

#[test]
fn every_operand_comes_from_a_bank_a_collector_or_a_shared_access() {
    for gpu in ["gtx480", "titanx-pascal", "qv100"] {
        let plain = busy().run(gpu, &[], &[]).counters;
        for techniques in [&["bow"][..], &["corf"], &["bow", "corf"]] {
            let stats = busy().run(gpu, &[], techniques);
            balance(&stats);
            let c = &stats.counters;
            assert_eq!(
                (c.warp_instructions, c.operand_reads),
                (plain.warp_instructions, plain.operand_reads)
            );
            assert!(c.rf_reads < plain.rf_reads, "{gpu} {techniques:?}");
            // Write-through, and no growth under divergence: as many writes as results.
            assert_eq!(c.rf_writes, plain.rf_writes);
            assert!(c.checked_values > 0);
        }
        let both = busy().run(gpu, &[], &["bow", "corf"]).counters;
        let bow = busy().run(gpu, &[], &["bow"]).counters;
        assert_eq!(
            both.forwarded_operands, bow.forwarded_operands,
            "which operands are forwarded is BOW's matter"
        );
    }
}

#[test]
fn with_write_back_every_result_is_written_or_bypassed() {
    for (gpu, set) in [("gtx480", &[][..]), ("titanx-pascal", &["technique.bow-wr.entries=5"])] {
        let plain = busy().run(gpu, set, &[]).counters;
        let stats = busy().run(gpu, set, &["bow-wr"]);
        balance(&stats);
        let c = &stats.counters;
        assert_eq!(c.operand_writes, plain.operand_writes);
        assert_eq!(c.rf_writes + c.bypassed_register_writes, c.operand_writes, "{gpu}");
        assert!(c.bypassed_register_writes > 0 && c.rf_writes < plain.rf_writes);
    }
    let config = crate::config::load("gtx480", &[]).expect("built in").config;
    for others in [["bow", "bow-wr"], ["bow-wr", "corf"]] {
        let names = others.map(str::to_owned);
        let why =
            crate::techniques::select(&names, &config).map(drop).expect_err("they contradict").to_string();
        assert!(others.iter().all(|name| why.contains(name)), "{why}");
    }
}

#[test]
fn packing_occupies_fewer_physical_registers_than_the_program_names() {
    let c = busy().run("gtx480", &[], &["corf"]).counters;
    assert!(c.physical_register_cycles > 0 && c.physical_register_cycles < c.architectural_register_cycles);
    let packed = busy().run("gtx480", &["technique.corf.virtualization=false"], &["corf"]).counters;
    assert_eq!(packed.released_registers, 0);
    assert!(c.physical_register_cycles < packed.physical_register_cycles);
}

#[test]
fn energy_of_the_register_file_and_of_the_technique_are_apart() {
    let table = EnergyTable::load("bow-28nm").expect("built in");
    let stats = busy().run("titanx-pascal", &[], &["bow"]);
    let (c, parts) = (&stats.counters, table.apply(&stats.counters));
    let part = |name: &str| parts.iter().find(|(part, _)| *part == name).map(|(_, pj)| *pj);
    assert_eq!(part("register_file"), Some(185.26 * (c.rf_reads + c.rf_writes) as f64));
    let storage = part("technique_storage").expect("priced");
    assert!((storage - 2.72 * (c.boc_reads + c.boc_writes) as f64).abs() < 1e-6 * storage);
}

#[test]
fn statistics_do_not_depend_on_the_number_of_threads() {
    let config = crate::config::load("titanx-pascal", &[]).expect("built in").config;
    let of = |threads| busy().run_on(&config, &["bow", "corf"], threads).expect("replays").counters.values();
    assert_eq!(of(1), of(2));
}
