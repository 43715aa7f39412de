//! Cycles of small kernels.

use crate::testing::{Builder, Hand, by_hand, r, small};
use trace_format::isa::{SpecialReg, Src};
use warplab_technique_kit::model::stats::{Stall, Stats};

/// Eight warps of independent additions of constants.
fn additions() -> Hand {
    let mut b = Builder::default();
    b.mov(1, 3).mov(2, 4);
    for i in 0..64 {
        b.iadd(3 + i % 8, r(1), r(2), Src::imm(u32::from(i)));
    }
    by_hand(b.exit(), 1, 256)
}

fn named(techniques: &'static str) -> Vec<&'static str> {
    techniques.split(',').collect()
}

#[test]
fn a_unit_of_eight_lanes_accepts_uniform_instructions_every_cycle() {
    for words in ["uv-token", "uv-scalar", "uv-token,uv-reuse"] {
        let of = |set: &[&str], techniques: &[&str]| additions().run("gtx285", set, techniques);
        let plain = of(&[], &[]);
        let techniques = named(words);
        let uniform = of(&[], &techniques);
        assert!(uniform.counters.cycles < plain.counters.cycles, "{words}");
        let key = |key: &str| format!("technique.{}.{key}", techniques[0]);
        let slow = of(&[&key("fast_issue=false")], &techniques);
        assert!(uniform.counters.cycles < slow.counters.cycles, "{words}");
        assert_eq!(
            (uniform.counters.rf_reads, uniform.counters.rf_writes),
            (0, 0),
            "{words}: all is uniform"
        );
        let removed = uniform.of_techniques("lane_operations_removed");
        assert_eq!(plain.counters.lanes() - uniform.counters.lanes(), removed, "{words}");
        let off = of(&[&key("mechanism=false")], &techniques);
        assert_eq!(off.counters.lanes(), plain.counters.lanes(), "{words}");
        let accesses = |stats: &Stats| {
            let c = &stats.counters;
            (c.cycles, c.rf_reads, c.rf_writes, c.inserted_instructions, c.reused_instructions)
        };
        assert_eq!(accesses(&off), accesses(&plain), "{words}");
    }
    let uniform = additions().run("gtx285", &[], &["uv-scalar"]);
    // Two moves and 64 additions of each of eight warps, which read both.
    assert_eq!(uniform.of_techniques("srf_reads"), 8 * 64 * 2);
    assert_eq!(uniform.of_techniques("srf_writes"), 8 * 66);
    let uniform = additions().run("gtx285", &[], &["uv-token"]);
    assert_eq!(uniform.of_techniques("lane_reads"), 8 * 64 * 2);
    assert_eq!(uniform.of_techniques("lane_writes"), 8 * 66);
}

#[test]
fn a_hit_takes_one_cycle_instead_of_the_unit_s_latency() {
    let hits = |stats: &Stats| stats.of_techniques("hits");
    let run = |set: &[&str], techniques: &[&str]| additions().run("gtx480", &small(set), techniques);
    let (plain, reused) = (run(&[], &[]), run(&[], &["uv-reuse"]));
    assert_eq!(hits(&plain), 0);
    assert_eq!(hits(&reused), reused.counters.reused_instructions);
    assert!(hits(&reused) > 0);
    let slow = run(&["technique.uv-reuse.hit_cycles=40"], &["uv-reuse"]);
    assert!(slow.counters.cycles > reused.counters.cycles, "the latency of a hit counts");
    let more = run(&["technique.uv-reuse.entries=16"], &["uv-reuse"]);
    let fewer = run(&["technique.uv-reuse.entries=1"], &["uv-reuse"]);
    assert!(hits(&more) >= hits(&reused) && hits(&reused) >= hits(&fewer));
}

#[test]
fn a_copy_takes_an_issue_slot_and_the_writer_waits_for_it() {
    // Even lanes write r1, which is uniform.
    let kernel = |writes: u8| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).mov(1, 5).below(0, 16);
        b.iadd(writes, r(1), r(1), Src::imm(1)).guarded().iadd(3, r(1), r(1), Src::RZ);
        by_hand(b.exit(), 1, 32)
    };
    for words in ["uv-token", "uv-scalar"] {
        let run = |writes| kernel(writes).run("gtx480", &small(&[]), &[words]);
        let (copied, not) = (run(1), run(2));
        assert_eq!(
            (copied.of_techniques("copies"), copied.counters.inserted_instructions),
            (1, 1),
            "{words}"
        );
        assert_eq!((not.of_techniques("copies"), not.counters.inserted_instructions), (0, 0), "{words}");
        assert!(copied.stalls.get(Stall::Technique) > 0, "{words}");
    }
}

#[test]
fn loads_of_one_address_are_uniform() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(4, 64).mov(5, 0);
    b.ldg(6, 4, 0).ldg(7, 2, 0).iadd(8, r(6), r(6), r(7));
    let stats = by_hand(b.exit(), 1, 32).run("gtx480", &small(&[]), &["uv-token"]);
    assert_eq!(stats.of_techniques("broadcast_loads"), 1);
    // Of the loads' results r6 is read from one lane.
    assert_eq!(stats.of_techniques("lane_reads"), 3 + 1);
}

#[test]
fn a_single_warp_finds_nothing_in_the_buffer() {
    let mut b = Builder::default();
    b.mov(1, 3).mov(2, 4).iadd(3, r(1), r(2), Src::imm(9));
    let stats = by_hand(b.exit(), 1, 32).run("gtx480", &small(&[]), &["uv-token", "uv-reuse"]);
    assert_eq!((stats.of_techniques("lookups"), stats.of_techniques("hits")), (3, 0));
}
