//! Waiting, order and deadlocks in the pipeline.

use super::*;
use crate::testing::{r, small, small_machine};
use trace_format::isa::{SpecialReg, Src};
use warplab_technique_kit::model::stats::Stats;

fn run(hand: &Hand, set: &[&str]) -> Stats {
    hand.run("gtx480", &small(set), &["owf"])
}

/// Warps that work on private registers for `before` instructions, then on a shared one, then on private ones again. It has
/// 20 registers, of which three are private with `private=15`: the address and the sum.
fn phases(before: u32, behind: u32, blocks: u32, warps: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).mov(2, 0);
    for _ in 0..before {
        b.iadd(2, r(2), r(0), Src::RZ);
    }
    b.mov(18, 3).iadd(2, r(2), r(18), Src::RZ);
    for _ in 0..behind {
        b.iadd(2, r(2), r(0), Src::RZ);
    }
    b.stg(0, 2, 0);
    by_hand(b.exit(), blocks, warps * 32)
}

/// A file for one block of one warp with 20 registers, and the private part of another one.
const PAIR: [&str; 4] = [
    "sm.registers=1024",
    "sm.warp_allocation_granularity=1",
    "technique.owf.private=15",
    "register_file.banks=4",
];

fn pair(more: &[&'static str]) -> Vec<&'static str> {
    PAIR.iter().chain(more).copied().collect()
}

#[test]
fn a_warp_waits_until_the_owner_has_ended() {
    let of = |before, behind, more: &[&'static str]| run(&phases(before, behind, 2, 1), &pair(more));
    let cycles = |before, behind, more: &[&'static str]| of(before, behind, more).counters.cycles as f64;
    let link = {
        let plain = |length| phases(length, 0, 1, 1).run("gtx480", &small(&[]), &[]).counters.cycles as f64;
        (plain(40) - plain(8)) / 32.0
    };
    // What comes before the first shared access overlaps, what comes behind it does not, although it needs no shared
    // register any more.
    assert_eq!((cycles(40, 4, &[]) - cycles(8, 4, &[])) / 32.0, link);
    let behind = (cycles(8, 40, &[]) - cycles(8, 8, &[])) / 32.0;
    assert!(
        (behind - 2.0 * link).abs() < 0.05,
        "{behind} but for a line of code that is fetched once: {link}"
    );
    let ideal = ["technique.owf.ideal=true"];
    assert_eq!((cycles(8, 40, &ideal) - cycles(8, 8, &ideal)) / 32.0, link);
    let stats = of(8, 8, &[]);
    let of = |name| stats.of_techniques(name);
    assert_eq!((of("acquires"), of("acquires_at_once"), of("releases")), (2, 1, 2));
    assert_eq!((of("sharing_warps"), of("additional_blocks")), (2, 1));
    let stalls = &stats.techniques[0].ledger.stalls;
    assert!(stalls[usize::from(Stall::Held.index())] > 8 && stalls[1] == 0, "{stalls:?}");
    assert_eq!(stalls[0], stats.stalls.get(warplab_technique_kit::model::stats::Stall::Technique));
}

#[test]
fn registers_numbered_by_their_first_use_delay_the_first_shared_access() {
    // A kernel that begins with high registers shares at once.
    let kernel = |first: u8| {
        let mut b = Builder::default();
        b.special(first, SpecialReg::TidX).mov(first + 1, 0);
        for _ in 0..40 {
            b.iadd(first, r(first), r(first + 1), Src::RZ);
        }
        b.mov(0, 0).mov(1, 0).stg(0, first, 0);
        by_hand(b.exit(), 2, 32)
    };
    let of = |reorder: &'static str| run(&kernel(17), &pair(&[reorder])).counters.cycles;
    assert!(of("technique.owf.reorder=true") + 100 < of("technique.owf.reorder=false"));
}

/// Two blocks whose warps reach their shared register in opposite order, and then wait for each other at a barrier.
fn crossing() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::CtaidX).special(1, SpecialReg::WarpId).mov(2, 0);
    // Warps whose number is that of their block go the long way.
    b.push(
        trace_format::isa::Inst::new(trace_format::isa::Op::Lop3 { lut: trace_format::isa::Lut(0x3C) })
            .dst(trace_format::isa::Reg(0))
            .srcs([r(0), r(1), Src::RZ]),
    );
    let over = b.here() + 2 + 60;
    b.branch_below(0, 1, over);
    for _ in 0..60 {
        b.iadd(2, r(2), r(0), Src::RZ);
    }
    assert_eq!(b.here(), over);
    b.mov(18, 3).iadd(2, r(2), r(18), Src::RZ).bar().mov(0, 0).mov(1, 0).stg(0, 2, 0);
    by_hand(b.exit(), 2, 64)
}

#[test]
fn blocks_that_wait_at_barriers_do_not_wait_for_each_other() {
    let set = ["sm.registers=2048", "sm.warp_allocation_granularity=1", "technique.owf.private=15"];
    let stats = run(&crossing(), &set);
    let of = |name| stats.of_techniques(name);
    assert_eq!((of("acquires"), of("releases"), of("additional_blocks")), (4, 4, 1));
    let stalls = &stats.techniques[0].ledger.stalls;
    assert!(stalls[usize::from(Stall::OtherBlock.index())] > 0, "{stalls:?}");
}

#[test]
fn warps_that_wait_outside_the_active_set_go_on_when_the_owners_have_ended() {
    let hand = phases(8, 8, 4, 3);
    let set = [
        "sm.registers=3072",
        "technique.owf.private=15",
        "scheduler.policy=two_level",
        "scheduler.two_level_active_warps=2",
    ];
    let config = small_machine(&set);
    let of = |every_cycle| hand.run_with(&config, &["owf"], 1, every_cycle).expect("no deadlock");
    let (asleep, awake) = (of(false), of(true));
    assert_eq!(asleep.of_techniques("acquires"), 12);
    assert!(asleep.of_techniques("additional_blocks") > 0);
    assert_eq!(asleep.counters.values(), awake.counters.values(), "sleeping skips no cycle that counts");
    assert_eq!(asleep.stalls, awake.stalls);
}

#[test]
fn where_nothing_is_left_over_it_is_the_machine_without_techniques() {
    for (gpu, registers, set) in [
        ("gtx480", 12, "gpu.sms=1"),
        ("regmutex-fermi", 60, "technique.owf.mechanism=false"),
        ("regmutex-fermi-half", 40, "technique.owf.mechanism=false"),
        ("titanx-pascal", 16, "gpu.sms=2"),
        ("qv100", 60, "technique.owf.mechanism=false"),
    ] {
        let hand = kernel_of(registers);
        let plain = hand.run(gpu, &["gpu.sms=1", set], &[]);
        let stats = hand.run(gpu, &["gpu.sms=1", set], &["owf"]);
        assert_eq!(stats.counters.values(), plain.counters.values(), "{gpu}");
    }
}

#[test]
fn fewer_registers_never_gain() {
    let mut last = u64::MAX;
    // Blocks of two warps of 20 registers: 1280 each, 192 for a private part of three.
    for registers in [1280, 1536, 2560, 2816, 3072, 5120, 5632] {
        let registers = format!("sm.registers={registers}");
        let set = [registers.as_str(), "sm.warp_allocation_granularity=1", "technique.owf.private=15"];
        let cycles = run(&phases(40, 20, 16, 2), &set).counters.cycles;
        assert!(cycles <= last, "{registers}: {cycles} cycles after {last}");
        last = cycles;
    }
}
