//! Tests of the prefetcher: what it prefetches, what becomes of prefetches, throttling, and faults that only lose speed.

use super::{Mta, STEPS};
use crate::testing::{Builder, Hand, by_hand, r, small};
use crate::testing::{count, launch, program};
use proptest::prelude::*;
use trace_format::isa::{Inst, Op, Reg, SpecialReg, Src};
use warplab_technique::{Plan, Technique};
use warplab_technique_kit::model::stats::Stats;

/// Every warp walks over an array: in each turn it loads a line that no one has loaded, and does something with it.
fn walk(turns: u32, stride: u32, warps: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(6, 0).mov(7, 0);
    // Warps are 64 KiB apart, so that none loads what another one prefetches.
    b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(0), Src::imm(2052), Src::RZ]));
    b.push(Inst::new(Op::Lop3 { lut: trace_format::isa::Lut(0xC0) }).dst(Reg(8)).srcs([
        r(2),
        Src::imm(0xFFFF_0000),
        Src::RZ,
    ]));
    b.special(4, SpecialReg::LaneId).shl(4, 4, 2).iadd(2, r(8), r(4), Src::RZ);
    let top = b.here();
    b.ldg(5, 2, 0);
    for _ in 0..4 {
        b.iadd(6, r(5), r(6), Src::imm(1));
    }
    b.iadd(2, r(2), Src::imm(stride), Src::RZ)
        .iadd(7, r(7), Src::imm(1), Src::RZ)
        .branch_below(7, turns, top);
    by_hand(b.exit(), 1, 32 * warps)
}

fn run(hand: &Hand, set: &[&str]) -> Stats {
    let stats = hand.run("gtx480", &small(set), &["mta"]);
    accounts_agree(&stats);
    stats
}

/// The technique's accounts and those of the load/store unit agree, and every prefetch has one end.
fn accounts_agree(stats: &Stats) {
    let of = |name: &str| stats.of_techniques(name);
    let c = &stats.counters;
    assert_eq!(
        of("loads"),
        of("intra_warp_loads")
            + of("inter_warp_loads")
            + of("untrained_loads")
            + of("nothing_ahead_loads")
            + of("throttled_loads"),
        "every load has one outcome"
    );
    assert_eq!(of("wanted_lines"), of("dropped_lines") + of("prefetches"));
    assert_eq!(of("prefetches"), of("redundant_prefetches") + c.prefetch_requests);
    assert_eq!(
        c.prefetch_requests,
        of("arrived_prefetches") + of("late_prefetches"),
        "none is on its way at the end"
    );
    assert_eq!(c.prefetch_hits, of("useful_prefetches"));
    let left = of("useful_prefetches") + of("unused_prefetches") + of("overwritten_prefetches");
    assert!(left <= of("arrived_prefetches"), "the others are in the buffer");
    assert_eq!(of("prefetch_buffer_writes"), of("arrived_prefetches"));
}

#[test]
fn a_load_in_a_loop_finds_its_line_in_the_buffer_and_the_loop_is_faster() {
    let hand = walk(40, 128, 1);
    let plain = hand.run("gtx480", &small(&[]), &[]);
    let stats = run(&hand, &["technique.mta.distance=2"]);
    assert!(
        stats.counters.cycles < plain.counters.cycles * 3 / 4,
        "{} of {}",
        stats.counters.cycles,
        plain.counters.cycles
    );
    // Three executions train the stride, and the last prefetches are beyond the end.
    assert_eq!(stats.of_techniques("untrained_loads"), 2);
    assert_eq!(stats.of_techniques("intra_warp_loads"), 38);
    let found = stats.of_techniques("useful_prefetches") + stats.of_techniques("late_prefetches");
    assert_eq!(found, 36, "each of the lines from the fifth on");
    assert_eq!(stats.counters.prefetch_requests, 38);
    let ahead = run(&hand, &["technique.mta.distance=8"]);
    assert!(ahead.of_techniques("late_prefetches") <= stats.of_techniques("late_prefetches"));
}

#[test]
fn switched_off_it_is_the_machine_without_it() {
    let hand = walk(20, 128, 4);
    let (off, plain) = (run(&hand, &["technique.mta.mechanism=false"]), hand.run("gtx480", &small(&[]), &[]));
    assert_eq!(off.counters.values(), plain.counters.values());
    assert_eq!(off.stalls, plain.stalls);
}

#[test]
fn a_stride_of_three_warps_is_used_by_all() {
    let stats = run(&walk(12, 128, 8), &[]);
    assert_eq!(stats.of_techniques("promotions"), 1);
    assert!(stats.of_techniques("untrained_loads") < 2 * 8, "later warps begin with it");
}

/// Warps that load one line each, in the order of their numbers.
fn neighbours() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).ldg(5, 2, 0).iadd(6, r(5), r(5), r(5));
    by_hand(b.exit(), 4, 512)
}

#[test]
fn neighbouring_warps_are_prefetched_for_within_their_block() {
    let stats = run(&neighbours(), &["technique.mta.warp_distance=4"]);
    assert!(stats.of_techniques("inter_warp_loads") > 0);
    assert!(stats.of_techniques("nothing_ahead_loads") > 0, "the last four warps have none ahead");
    assert!(stats.of_techniques("late_prefetches") + stats.of_techniques("redundant_prefetches") > 0);
    let none = run(&neighbours(), &["technique.mta.inter_warp=false"]);
    assert_eq!((none.counters.prefetch_requests, none.of_techniques("untrained_loads")), (0, 4 * 16));
}

#[test]
fn a_store_removes_a_prefetched_line() {
    // The loop stores to the line that the next turn loads.
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(2, 0, 2).mov(3, 0).mov(7, 0).mov(6, 0);
    let top = b.here();
    b.ldg(5, 2, 0);
    for _ in 0..40 {
        b.iadd(6, r(5), r(6), Src::imm(1));
    }
    // The prefetch, which the load made, has arrived when the sums are done.
    for _ in 0..200 {
        b.iadd(6, r(6), r(6), Src::imm(1));
    }
    b.stg(2, 6, 128).iadd(2, r(2), Src::imm(128), Src::RZ).iadd(7, r(7), Src::imm(1), Src::RZ);
    b.branch_below(7, 10, top);
    let hand = by_hand(b.exit(), 1, 32).with_memory();
    let stats = run(&hand, &[]);
    assert_eq!(stats.counters.prefetch_requests, 8);
    assert_eq!(
        (stats.of_techniques("useful_prefetches"), stats.of_techniques("overwritten_prefetches")),
        (0, 8)
    );
}

#[test]
fn a_small_buffer_loses_lines_before_their_use_and_throttling_ends_that() {
    // 16 warps prefetch 16 turns ahead: 256 lines.
    let hand = walk(64, 128, 16);
    let set = |more: &[&str]| {
        let mut set = vec![
            "technique.mta.distance=16",
            "technique.mta.buffer_kib=1",
            "technique.mta.period_cycles=500",
        ];
        set.extend(more);
        run(&hand, &set)
    };
    let free = set(&["technique.mta.throttle=false"]);
    assert!(free.of_techniques("unused_prefetches") > 100, "{}", free.of_techniques("unused_prefetches"));
    assert_eq!(free.of_techniques("throttled_loads"), 0);
    let throttled = set(&[]);
    assert!(throttled.of_techniques("throttled_loads") > 0 && throttled.of_techniques("stopped_periods") > 0);
    assert!(throttled.of_techniques("unused_prefetches") < free.of_techniques("unused_prefetches"));
    let ideal = set(&["technique.mta.ideal=true"]);
    assert_eq!((ideal.of_techniques("unused_prefetches"), ideal.of_techniques("throttled_loads")), (0, 0));
}

#[test]
fn throttling_follows_the_lines_that_nobody_used() {
    let config = crate::testing::config(&[]);
    let program = program("ldg r2 r0", &config);
    let mut mta = Mta::new(&toml::Table::new()).expect("valid");
    mta.prepare(&launch(&program, &config), &mut Plan::of(&program)).expect("accepted");
    let mut after = |used, unused| {
        (mta.throttle.used, mta.throttle.unused) = (used, unused);
        mta.decide_throttling(mta.throttle.period_ends - 1);
        assert_eq!((mta.throttle.used, mta.throttle.unused), (used, unused), "the period is not over");
        mta.decide_throttling(mta.throttle.period_ends);
        mta.throttle.dropped
    };
    assert_eq!([after(89, 11), after(80, 20), after(95, 5), after(0, 0)], [1, 2, 1, 0]);
    assert_eq!([after(1, 1), after(0, 0), after(0, 7)], [STEPS, STEPS - 1, STEPS]);
    assert_eq!(count(&mta, "stopped_periods"), 2);
    mta.throttle.dropped = 2;
    let dropped = (0..100).filter(|_| mta.throttle.drops()).count();
    assert_eq!(dropped, 40, "two of five");
}

/// Faults of a prefetcher lose time and never values: the run goes on, and the accounts show the loss.
#[test]
fn wrong_strides_fetch_lines_that_nobody_uses() {
    let hand = walk(40, 128, 2);
    let right = run(&hand, &[]);
    // Strides that do not repeat: each turn is further from the last.
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(2, 0, 2).mov(3, 0).mov(7, 0).mov(8, 128);
    let top = b.here();
    b.ldg(5, 2, 0).iadd(6, r(5), r(5), r(5)).iadd(2, r(2), r(8), Src::RZ).iadd(
        8,
        r(8),
        Src::imm(128),
        Src::RZ,
    );
    b.iadd(7, r(7), Src::imm(1), Src::RZ).branch_below(7, 30, top);
    let growing = run(&by_hand(b.exit(), 1, 32), &[]);
    assert_eq!((growing.counters.prefetch_requests, growing.of_techniques("untrained_loads")), (0, 30));
    assert!(right.counters.prefetch_hits > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Accounts agree on machines with small buffers and tables, with and without throttling; more of either never
    /// drops a line for want of room that fewer had.
    #[test]
    fn every_prefetch_has_one_end(
        turns in 1u32..30,
        stride in prop::sample::select(vec![4u32, 32, 128, 384, 4096, 0u32.wrapping_sub(128)]),
        warps in 1u32..9,
        buffer_kib in 1u32..3,
        distance in 1u32..6,
        warp_distance in 1u32..4,
        in_flight in 1u32..20,
        throttle in any::<bool>(),
    ) {
        let set: Vec<String> = vec![
            format!("technique.mta.buffer_kib={buffer_kib}"),
            format!("technique.mta.distance={distance}"),
            format!("technique.mta.warp_distance={warp_distance}"),
            format!("technique.mta.in_flight={in_flight}"),
            format!("technique.mta.throttle={throttle}"),
            "technique.mta.period_cycles=200".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        run(&walk(turns, stride, warps), &set);
        run(&walk(turns, stride, warps), &[&set[..], &["l1.bypass_global=true"]].concat());
    }
}
