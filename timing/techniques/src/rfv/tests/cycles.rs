//! Cycles, blocks and metadata in the pipeline.

use crate::testing::{Builder, Hand, by_hand, r, small};
use trace_format::isa::{SpecialReg, Src};
use warplab_model::stats::{Stall as Slots, Stats};

fn run(hand: &Hand, set: &[&str]) -> Stats {
    hand.run("gtx480", &small(set), &["rfv"])
}

/// Warps are allocated one by one.
const ONE: &str = "sm.warp_allocation_granularity=1";

/// Blocks of `warps` warps: `values` values are made at once, met at a barrier, and summed up.
fn peak(values: u8, blocks: u32, warps: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0);
    for reg in 4..4 + values {
        b.mov(reg, u32::from(reg));
    }
    b.bar();
    for reg in 5..4 + values {
        b.iadd(4, r(4), r(reg), Src::RZ);
    }
    b.bar().stg(2, 4, 0);
    by_hand(b.exit(), blocks, 32 * warps)
}

#[test]
fn the_stage_of_the_renaming_table_costs_its_cycle() {
    let chain = |length: usize| {
        let mut b = Builder::default();
        b.mov(1, 0x3F80_0001).mov(2, 0x4000_0001).mov(3, 0x4080_0001);
        for _ in 0..length {
            b.ffma(3, 1, 2, 3);
        }
        by_hand(b.exit(), 1, 32)
    };
    let link = |cycles: &str| {
        let set = [cycles, "technique.rfv.flag_cache_entries=64"];
        let of = |length| run(&chain(length), &set).counters.cycles;
        // Metadata instructions of 24 and 42 instructions differ by one, which has a slot to itself.
        (of(42) - of(24)) as f64 / 18.0
    };
    let plain = |length| chain(length).run("gtx480", &small(&[]), &[]).counters.cycles;
    let own = (plain(42) - plain(24)) as f64 / 18.0;
    assert_eq!(link("technique.rfv.renaming_cycles=0"), own);
    assert_eq!(link("technique.rfv.renaming_cycles=1"), own + 1.0);
    assert_eq!(link("technique.rfv.renaming_cycles=3"), own + 3.0);
}

#[test]
fn switched_off_it_is_the_machine_with_a_renaming_table() {
    let hand = peak(20, 12, 4);
    for gpu in ["gtx480", "titanx-pascal", "qv100"] {
        let set = [
            "gpu.sms=1",
            "technique.rfv.mechanism=false",
            "technique.rfv.renaming_cycles=0",
            "technique.rfv.table_ports=64",
            "technique.rfv.power_gating=false",
        ];
        let mut off = hand.run(gpu, &set, &["rfv"]).counters;
        let plain = hand.run(gpu, &set[..1], &[]).counters;
        assert!(off.checked_values > 0);
        (off.checked_values, off.rf_powered_register_cycles) = (plain.checked_values, 0);
        assert_eq!(off.values(), plain.values(), "{gpu}");
    }
}

#[test]
fn blocks_share_a_file_that_holds_one_of_them() {
    // 24 registers and two spare ones, four warps: 104 warp registers of 128 for the first block.
    let file = "sm.registers=4096";
    let of = |set: &[&str]| {
        let all: Vec<&str> = [file].iter().chain(set).copied().collect();
        run(&peak(20, 4, 4), &all)
    };
    let (one, four) = (of(&["technique.rfv.space=100"]), of(&["technique.rfv.space=400"]));
    assert_eq!((one.of_techniques("additional_blocks"), four.of_techniques("additional_blocks")), (0, 3));
    assert_eq!(one.techniques[0].ledger.stalls, [0, 0], "a block finds its registers");
    let stalls = &four.techniques[0].ledger.stalls;
    assert!(stalls[1] > 0, "{stalls:?}");
    assert_eq!(four.stalls.get(Slots::Technique), stalls.iter().sum::<u64>());
    assert!(four.counters.cycles < one.counters.cycles, "launches and tails of blocks overlap");
    for stats in [&one, &four] {
        let of = |name| stats.of_techniques(name);
        assert_eq!(of("allocations"), of("releases") + of("releases_at_exit"));
        assert_eq!(stats.counters.blocks, 4);
    }
    let ideal = of(&["technique.rfv.space=400", "technique.rfv.ideal=true"]);
    assert_eq!(ideal.techniques[0].ledger.stalls, [0, 0]);
    assert!(ideal.counters.cycles <= four.counters.cycles);
}

#[test]
fn a_block_waits_until_the_one_before_has_given_its_registers_back() {
    // One warp with 60 values: two blocks do not fit the file of 64 and take turns at the peak; each of its
    // instructions is issued twice, one block after the other.
    let cycles = |values: u8, registers: &str| {
        let set = [registers, ONE, "technique.rfv.space=200", "technique.rfv.flag_cache_entries=64"];
        run(&peak(values, 2, 1), &set)
    };
    let (tight, roomy) = (cycles(56, "sm.registers=2048"), cycles(56, "sm.registers=8192"));
    assert_eq!(tight.of_techniques("additional_blocks"), 1);
    assert_eq!(roomy.techniques[0].ledger.stalls, [0, 0]);
    assert!(tight.counters.cycles > roomy.counters.cycles);
    let alone = run(&peak(56, 1, 1), &["sm.registers=2048", ONE, "technique.rfv.flag_cache_entries=64"]);
    assert!(tight.counters.cycles < 2 * alone.counters.cycles, "what is not the peak overlaps");
}

#[test]
fn fewer_registers_never_gain() {
    // Four blocks are resident whatever the size is, so that only the file differs.
    let of = |registers: u32, ideal: bool| {
        let set = [
            format!("sm.registers={registers}"),
            "sm.max_blocks=4".to_owned(),
            "technique.rfv.space=1600".to_owned(),
            format!("technique.rfv.ideal={ideal}"),
        ];
        run(&peak(20, 4, 4), &set.each_ref().map(String::as_str)).counters.cycles
    };
    let mut last = u64::MAX;
    for registers in [3584, 4096, 6144, 8192, 16384] {
        let cycles = of(registers, false);
        assert!(cycles <= last, "{registers} registers: {cycles} cycles after {last}");
        last = cycles;
    }
    assert!(of(3584, true) <= last, "no metadata, and a file that never runs out");
}

#[test]
fn metadata_is_fetched_once_where_its_flags_stay_in_the_cache() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).mov(2, 0).mov(3, 0);
    let top = b.here();
    b.mov(4, 9).iadd(5, r(4), r(1), Src::RZ).iadd(2, r(2), r(5), Src::RZ);
    b.iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 10, top);
    b.stg(2, 0, 0);
    let hand = by_hand(b.exit(), 1, 32);
    let of = |entries: &str| {
        let stats = run(&hand, &[entries, "front_end.branch_resolve_cycles=8"]);
        ["metadata_fetches", "metadata_passed_over"].map(|name| stats.of_techniques(name))
    };
    // One for the loop's body; behind it nothing is marked, since lanes may still be in the loop.
    let [fetched, passed] = of("technique.rfv.flag_cache_entries=10");
    assert_eq!(fetched, 1);
    assert!(passed >= 9, "{passed}");
    let [fetched, passed] = of("technique.rfv.flag_cache_entries=0");
    assert!(fetched >= 10 && passed == 0, "{fetched} {passed}");
    assert_eq!(of("technique.rfv.ideal=true"), [0, 0]);
    let stats = run(&hand, &["technique.rfv.flag_cache_entries=0"]);
    assert_eq!(stats.counters.inserted_instructions, 10, "one in each iteration");
}

#[test]
fn lanes_that_exit_and_barriers_leave_nothing_behind() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(4, 1).mov(5, 2);
    b.below(0, 40);
    b.bar().iadd(6, r(4), r(5), Src::RZ).guarded().bar().iadd(6, r(6), r(5), r(4)).stg(2, 6, 0);
    let stats = run(&by_hand(b.exit(), 6, 96), &["sm.registers=2048"]);
    let of = |name| stats.of_techniques(name);
    assert_eq!(of("allocations"), of("releases") + of("releases_at_exit"));
    assert!(of("releases_at_exit") < of("releases"));
}

#[test]
fn subarrays_without_values_are_off() {
    let stats = run(&peak(20, 4, 4), &[]);
    let of = |name| stats.of_techniques(name);
    assert!(of("physical_register_cycles") <= of("powered_register_cycles"));
    assert!(of("physical_register_cycles") < of("architectural_register_cycles"));
    assert_eq!(stats.counters.rf_powered_register_cycles, of("powered_register_cycles"));
    let single = run(&peak(20, 4, 4), &["technique.rfv.subarrays=64"]);
    let [held, on] = ["physical_register_cycles", "powered_register_cycles"].map(|n| single.of_techniques(n));
    assert_eq!(held, on, "a sub-array of one register is on while it is used");
    let always = run(&peak(20, 4, 4), &["technique.rfv.power_gating=false"]);
    assert_eq!(always.counters.rf_powered_register_cycles, 0);
}
