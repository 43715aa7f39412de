//! Cycles of small kernels.

use crate::testing::{Builder, Hand, by_hand, r, small};
use trace_format::isa::{SpecialReg, Src};
use warplab_model::stats::{Stall, Stats};

/// Additions of a constant to the thread index, or to a loaded word, by some warps.
fn additions(loaded: bool, warps: u32, count: u8) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(1, 4);
    if loaded {
        b.ldg(1, 2, 0).iadd(1, r(1), r(1), Src::RZ);
    }
    for i in 0..count {
        b.iadd(8 + i % 16, r(1), r(0), Src::imm(u32::from(i)));
    }
    by_hand(b.exit(), 1, 32 * warps)
}

/// A front end that keeps up with a doubled rate of issue.
const FETCH: [&str; 3] =
    ["front_end.fetch_warps_per_cycle=4", "front_end.fetch_instructions=4", "front_end.ibuffer_entries=4"];

fn run(hand: &Hand, set: &[&str], techniques: &[&str]) -> Stats {
    hand.run("gtx480", &small(&[&FETCH[..], set].concat()), techniques)
}

#[test]
fn a_scheduler_issues_two_affine_instructions_in_a_cycle() {
    let cycles = |count, set: &[&str], techniques: &[&str]| {
        run(&additions(false, 16, count), set, techniques).counters.cycles
    };
    let per_addition = |set: &[&str], techniques: &[&str]| {
        (cycles(96, set, techniques) - cycles(32, set, techniques)) as f64 / (64.0 * 16.0)
    };
    let plain = per_addition(&[], &[]);
    let fast = per_addition(&[], &["cae"]);
    let slow = per_addition(&["technique.cae.fast_issue=false"], &["cae"]);
    let one = per_addition(&["technique.cae.units=1"], &["cae"]);
    assert!(plain >= 1.0 && slow >= 1.0, "one issue per cycle: {plain} {slow}");
    assert!((0.5..0.62).contains(&fast), "two per cycle: {fast}");
    assert!((fast - one).abs() < 1e-9, "one unit takes two instructions per cycle: {one}");
    let mut off = run(&additions(false, 16, 32), &["technique.cae.mechanism=false"], &["cae"]);
    off.counters.checked_values = 0;
    let without = run(&additions(false, 16, 32), &[], &[]);
    assert_eq!(off.counters.values(), without.counters.values());
    assert_eq!(off.stalls, without.stalls);
}

#[test]
fn an_affine_instruction_uses_no_bank_no_unit_and_no_result_bus() {
    let hand = additions(false, 4, 32);
    let stats = run(&hand, &["register_file.result_bus_width=1"], &["cae"]);
    let c = &stats.counters;
    assert_eq!((c.rf_reads, c.rf_writes, c.int_instructions), (0, 0, 0));
    assert_eq!(stats.of_techniques("affine_instructions"), 4 * 36);
    assert_eq!(c.result_bus_wait_cycles, 0);
    assert!(c.shared_slots > 0);
    assert_eq!(stats.stalls.get(Stall::Issued) + c.shared_slots, c.warp_instructions);
    // Sums of a loaded word are the lanes': the index is expanded on the way to each.
    let loaded = run(&additions(true, 4, 32), &[], &["cae"]);
    assert_eq!(
        loaded.of_techniques("expanded_operands"),
        4 * (2 + 32),
        "two words of the address, and the indices"
    );
    assert_eq!(loaded.counters.rf_reads, 4 * (1 + 32));
}

#[test]
fn a_vector_instruction_takes_a_whole_slot_wherever_it_begins() {
    // One affine instruction for each vector instruction: three cycles for four instructions, without other limits.
    let kernel = |count: u8| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(1, 4).ldg(4, 2, 0).iadd(
            4,
            r(4),
            r(4),
            Src::RZ,
        );
        for i in 0..count {
            b.iadd(8 + i % 8, r(1), r(0), Src::RZ).iadd(16 + i % 8, r(4), Src::RZ, Src::RZ);
        }
        by_hand(b.exit(), 1, 512)
    };
    let set = ["collectors.alu=32"];
    let cycles = |count, techniques: &[&str]| run(&kernel(count), &set, techniques).counters.cycles;
    let rate =
        |techniques: &[&str]| (cycles(96, techniques) - cycles(32, techniques)) as f64 / (64.0 * 16.0 * 2.0);
    let (plain, fast) = (rate(&[]), rate(&["cae"]));
    assert!(plain >= 1.0, "{plain}");
    assert!((0.75..0.85).contains(&fast), "{fast}");
}

#[test]
fn an_expansion_takes_an_issue_slot_and_the_writer_waits_for_it() {
    // Even lanes write r1, which has a tuple.
    let kernel = |writes: u8| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).mov(1, 5).below(0, 16);
        b.iadd(writes, r(1), r(1), Src::imm(1)).guarded().iadd(3, r(1), r(1), Src::RZ);
        by_hand(b.exit(), 1, 32)
    };
    let run = |writes| kernel(writes).run("gtx480", &small(&[]), &["cae"]);
    let (expanded, not) = (run(1), run(2));
    assert_eq!((expanded.of_techniques("expansions"), expanded.counters.inserted_instructions), (1, 1));
    assert_eq!((not.of_techniques("expansions"), not.counters.inserted_instructions), (0, 0));
    assert!(expanded.stalls.get(Stall::Technique) > 0);
}

#[test]
fn a_machine_with_two_issues_per_cycle_keeps_its_slots() {
    let hand = additions(false, 8, 32);
    let stats = hand.run("titanx-pascal", &[], &["cae"]);
    assert_eq!(stats.counters.shared_slots, 0);
    assert_eq!(stats.stalls.get(Stall::Issued), stats.counters.warp_instructions);
}
