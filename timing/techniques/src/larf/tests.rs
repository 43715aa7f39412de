//! Tests of LARF: cycles computed by hand for each case of sharing, faults that comparisons must find, and random
//! kernels whose loads read what stores have written.

mod admission;
mod damage;
mod packed;

use super::*;
use crate::testing::{Builder, Hand, by_hand, r, small_machine};
use damage::{Damaged, Fault};
use proptest::prelude::*;
use test_kit::Random;
use trace_format::isa::{Inst, Lut, MemOrder, MemWidth, Op, Reg, Scope, SpecialReg, Src};
use warplab_model::replay::ReplayError;
use warplab_model::stats::Stats;
use warplab_technique::config::GpuConfig;

fn larf(config: &GpuConfig) -> Larf {
    let empty = toml::Table::new();
    Larf::new(config.technique.get("larf").unwrap_or(&empty)).expect("a valid section")
}

fn run_with(hand: &Hand, set: &[&str], fault: Option<Fault>) -> Result<Stats, ReplayError> {
    let config = small_machine(set);
    let technique = Damaged { larf: larf(&config), fault };
    hand.run_techniques(&config, vec![Box::new(technique)])
}

fn run(hand: &Hand, set: &[&str]) -> Stats {
    let stats = run_with(hand, set, None).unwrap_or_else(|why| panic!("{why}"));
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost());
    stats
}

fn plain(hand: &Hand, set: &[&str]) -> Stats {
    hand.run_techniques(&small_machine(set), Vec::new()).unwrap_or_else(|why| panic!("{why}"))
}

fn lost(stats: &Stats, cause: Lost) -> u64 {
    stats.techniques[0].ledger.lost[usize::from(cause.index())]
}

fn supplied(stats: &Stats) -> u64 {
    stats.techniques[0].ledger.supplied
}

/// `r0` is the lane, the pair `r4` the address of a word per lane, and `r12` that of two words per lane.
fn start() -> Builder {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(4, 0, 2).mov(5, 0).shl(12, 0, 3).mov(13, 0);
    b
}

/// Reads two registers, so that their values are not released before.
fn keep(b: &mut Builder, first: u8, second: u8) {
    b.iadd(30, r(first), r(second), r(30));
}

fn one_warp(b: &Builder) -> Hand {
    by_hand(b.exit(), 1, 32).with_memory()
}

/// Counts `r9` up to a number.
fn wait(b: &mut Builder, turns: u32) {
    let head = b.here();
    b.iadd(9, r(9), Src::imm(1), Src::RZ).branch_below(9, turns, head);
}

/// Loads a vector, waits for it, and loads it again.
fn twice() -> Builder {
    let mut b = start();
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0);
    keep(&mut b, 8, 6);
    b
}

/// Loads two neighbouring vectors and one that lies in both.
fn window() -> Builder {
    let mut b = start();
    b.ldg(6, 4, 0).ldg(7, 4, 128).iadd(9, r(6), r(7), r(6)).ldg(8, 4, 12);
    keep(&mut b, 8, 6);
    keep(&mut b, 7, 6);
    b
}

#[test]
fn a_vector_in_a_register_is_shared_by_pointer_after_a_lookup() {
    let hand = one_warp(&twice());
    let (shared, plain) = (run(&hand, &[]), plain(&hand, &[]));
    let c = &shared.counters;
    assert_eq!((c.satisfied_accesses, c.global_loads, plain.counters.global_loads), (1, 1, 2));
    assert_eq!(shared.of_techniques("whole_shares"), 1);
    assert_eq!(shared.of_techniques("registers_not_taken"), 1);
    assert_eq!(c.rf_writes, plain.counters.rf_writes - 1, "the shared register is not written");
    let slower = run(&hand, &["technique.larf.lookup_cycles=11"]);
    assert_eq!(slower.counters.cycles - c.cycles, 10);
    assert!(c.cycles + 30 < plain.counters.cycles, "a hit in L1 takes 35 cycles");
}

#[test]
fn a_load_in_flight_is_shared_and_completes_with_it() {
    let mut b = start();
    b.ldg(6, 4, 0).ldg(8, 4, 0);
    keep(&mut b, 8, 6);
    let stats = run(&one_warp(&b), &[]);
    assert_eq!((stats.counters.satisfied_accesses, stats.of_techniques("shares_in_flight")), (1, 1));
    let mut b = start();
    b.ldg(6, 4, 0).mov(8, 1);
    keep(&mut b, 8, 6);
    assert_eq!(stats.counters.cycles, plain(&one_warp(&b), &[]).counters.cycles, "as one load");
}

#[test]
fn a_merged_vector_takes_two_reads_and_the_merge() {
    let hand = one_warp(&window());
    let stats = run(&hand, &[]);
    assert_eq!((stats.of_techniques("partial_shares"), stats.of_techniques("merges")), (1, 1));
    let plain = plain(&hand, &[]);
    assert_eq!(stats.counters.rf_reads, plain.counters.rf_reads + 2, "two parts");
    assert_eq!(stats.counters.rf_writes, plain.counters.rf_writes, "a merged register is written");
    let slower = run(&hand, &["technique.larf.merge_cycles=12"]);
    assert_eq!(slower.counters.cycles - stats.counters.cycles, 10);
    let never = run(&hand, &["technique.larf.partial=false"]);
    assert_eq!((supplied(&never), lost(&never, Lost::New)), (0, 3));
}

#[test]
fn one_register_is_read_for_a_subset_of_its_lanes() {
    let mut b = start();
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).below(0, 16).ldg(8, 4, 0).guarded();
    keep(&mut b, 8, 6);
    let subset = run(&one_warp(&b), &[]);
    assert_eq!((subset.of_techniques("partial_shares"), subset.counters.satisfied_accesses), (1, 1));
    let two = run(&one_warp(&window()), &[]);
    // One register less through the port of the merge slot.
    let merges = |stats: &Stats| stats.of_techniques("merge_slot_reads");
    assert_eq!((merges(&subset), merges(&two)), (1, 2));
}

#[test]
fn lanes_that_a_load_leaves_alone_keep_their_value() {
    let mut b = start();
    b.mov(8, 7).below(0, 16).ldg(6, 4, 0).guarded().iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0).guarded();
    keep(&mut b, 8, 6);
    let stats = run(&one_warp(&b), &[]);
    assert_eq!((supplied(&stats), stats.of_techniques("whole_shares")), (1, 0));
    assert_eq!(stats.of_techniques("copies"), 1, "sixteen lanes of r8 are 7");
}

#[test]
fn widths_are_shared_each_by_itself() {
    for width in MemWidth::ALL {
        let mut b = start();
        b.shl(12, 0, 4).load(16, 12, 0, *width, MemOrder::Weak).iadd(24, r(16), r(16), r(16));
        b.load(20, 12, 0, *width, MemOrder::Weak).ldg(28, 12, 0);
        keep(&mut b, 20, 28);
        for word in 0..width.regs() {
            keep(&mut b, 16 + word, 20 + word);
        }
        let stats = run(&one_warp(&b), &[]);
        let same = u64::from(*width == MemWidth::B32);
        assert_eq!(supplied(&stats), u64::from(width.regs()) + same, "{width:?}");
        assert_eq!(stats.counters.satisfied_accesses, 1 + same, "{width:?}");
    }
}

#[test]
fn volatile_ordered_texture_and_irregular_loads_are_not_shared() {
    for order in [MemOrder::Strong, MemOrder::Acquire] {
        let mut b = start();
        for reg in [6, 8] {
            b.load(reg, 4, 0, MemWidth::B32, order).iadd(7, r(reg), r(reg), r(reg));
        }
        keep(&mut b, 8, 6);
        assert_eq!(lost(&run(&one_warp(&b), &[]), Lost::Ordered), 2);
    }
    let mut b = start();
    b.tex(16, 4).iadd(7, r(16), r(16), r(16)).tex(20, 4);
    keep(&mut b, 16, 20);
    let textures = run(&one_warp(&b), &[]);
    assert_eq!(textures.techniques[0].ledger.opportunities, 0);
    // Squares of the lanes.
    let mut b = start();
    b.push(Inst::new(Op::Imad {}).dst(Reg(4)).srcs([r(4), r(0), Src::RZ]));
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0);
    keep(&mut b, 8, 6);
    assert_eq!(lost(&run(&one_warp(&b), &[]), Lost::Irregular), 2);
}

#[test]
fn an_acquiring_load_empties_the_table() {
    let mut b = twice();
    b.load(16, 12, 4096, MemWidth::B32, MemOrder::Acquire).iadd(7, r(16), r(16), r(16)).ldg(17, 4, 0);
    keep(&mut b, 17, 6);
    let stats = run(&one_warp(&b), &[]);
    assert_eq!((supplied(&stats), lost(&stats, Lost::Changed)), (1, 1));
}

#[test]
fn a_fence_empties_the_table_unless_it_is_for_the_block() {
    for (scope, shares) in [(Scope::Cta, 1), (Scope::Gpu, 0), (Scope::Sys, 0)] {
        let mut b = start();
        b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).push(Inst::new(Op::Membar { scope }));
        b.ldg(8, 4, 0);
        keep(&mut b, 8, 6);
        assert_eq!(supplied(&run(&one_warp(&b), &[])), shares, "{scope:?}");
    }
}

#[test]
fn a_store_takes_the_entries_of_its_lines_out_and_leaves_others() {
    let of = |offset: i32, atomic: bool| {
        let mut b = start();
        b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
        b.shl(12, 0, 2).iadd(12, r(12), Src::imm(offset as u32), Src::RZ);
        if atomic {
            b.atomic_add(9, 12, 7)
        } else {
            b.stg(12, 7, 0)
        };
        b.ldg(8, 4, 0);
        keep(&mut b, 8, 6);
        let stats = run(&one_warp(&b), &[]);
        (supplied(&stats), stats.of_techniques("invalidated"), lost(&stats, Lost::Changed))
    };
    for atomic in [false, true] {
        assert_eq!(of(0, atomic), (0, 1, 1));
        assert_eq!(of(124, atomic), (0, 1, 1), "the first word of the line");
        assert_eq!(of(128, atomic), (1, 0, 0));
    }
}

#[test]
fn a_writer_of_a_shared_register_takes_a_new_one() {
    let mut b = twice();
    b.iadd(6, r(8), r(0), r(0));
    keep(&mut b, 8, 6);
    b.ldg(16, 4, 0);
    keep(&mut b, 16, 8);
    let stats = run(&one_warp(&b), &[]);
    assert_eq!(supplied(&stats), 2, "r8 still has the vector");
}

#[test]
fn an_entry_ends_with_the_last_register_that_is_mapped_to_it() {
    let mut b = start();
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0);
    keep(&mut b, 8, 7);
    let hand = one_warp(&b);
    let stats = run(&hand, &[]);
    assert_eq!((supplied(&stats), lost(&stats, Lost::Released)), (0, 1), "r6 was read for the last time");
    let kept = run(&hand, &["technique.larf.release='overwrite'"]);
    assert_eq!((supplied(&kept), kept.of_techniques("released_registers")), (1, 0));
    // Written again, its value ends as well.
    let mut b = start();
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).mov(6, 1).iadd(9, r(6), r(6), r(6)).ldg(8, 4, 0);
    keep(&mut b, 8, 6);
    let written = run(&one_warp(&b), &["technique.larf.release='overwrite'"]);
    assert_eq!((supplied(&written), lost(&written, Lost::Released)), (0, 1));
}

#[test]
fn entries_hold_addresses_of_one_region() {
    let mut b = start();
    b.mov(14, 0).mov(15, 1).shl(14, 0, 2);
    b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).ldg(8, 14, 0).iadd(7, r(8), r(8), r(8)).ldg(9, 4, 0);
    keep(&mut b, 9, 8);
    keep(&mut b, 6, 8);
    let stats = run(&one_warp(&b), &[]);
    assert_eq!((supplied(&stats), lost(&stats, Lost::Region)), (1, 1));
}

#[test]
fn the_oldest_entry_makes_room_and_a_bigger_table_never_shares_less() {
    let mut b = start();
    for i in 0..8 {
        b.ldg(16 + i, 4, i32::from(i) * 1024);
    }
    for i in 0..8 {
        b.ldg(6, 4, (7 - i) * 1024);
        keep(&mut b, 6, 6);
    }
    (0..8).for_each(|i| keep(&mut b, 16 + i, 16 + i));
    let hand = one_warp(&b);
    let of = |entries: u32| run(&hand, &[&format!("technique.larf.entries={entries}")]);
    let shared: Vec<u64> = [1, 2, 4, 8, 400, 0].iter().map(|entries| supplied(&of(*entries))).collect();
    assert_eq!(shared[3..], [8; 3]);
    assert!(shared.is_sorted(), "{shared:?}");
    assert!(supplied(&run(&hand, &["technique.larf.ideal=true", "technique.larf.entries=1"])) >= 8);
    assert!(lost(&of(4), Lost::Evicted) > 0 && of(4).of_techniques("evicted") > 0);
}

#[test]
fn a_block_that_is_sixteen_wide_needs_a_stride_for_each_index() {
    // A matrix of 1024 bytes in a row; a second warp loads what the first has loaded.
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::TidY).shl(2, 0, 2);
    b.push(Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(1)).srcs([r(1), Src::imm(1), Src::RZ]));
    b.shl(1, 1, 10).iadd(4, r(1), r(2), Src::RZ).mov(5, 0).ldg(6, 4, 0);
    keep(&mut b, 6, 6);
    let hand = by_hand(b.exit(), 1, 64).with_memory().with_block([16, 4, 1]);
    let one = run(&hand, &[]);
    assert_eq!((supplied(&one), lost(&one, Lost::Irregular)), (0, 2));
    let two = run(&hand, &["technique.larf.strides=2"]);
    assert_eq!((supplied(&two), two.of_techniques("whole_shares")), (1, 1));
}

#[test]
fn blocks_share_unless_that_is_switched_off() {
    let hand = by_hand(twice().exit(), 2, 32).with_memory();
    assert_eq!(supplied(&run(&hand, &[])), 3);
    assert_eq!(supplied(&run(&hand, &["technique.larf.across_blocks=false"])), 2);
}

#[test]
fn a_value_that_another_sm_has_changed_is_loaded_when_another_block_brought_it() {
    // Block 0 loads on SM 0 and keeps the value; block 1 stores on SM 1; then block 2 loads on SM 0.
    let mut b = start();
    b.special(1, SpecialReg::CtaidX).mov(9, 0);
    let (zero, one) = (b.here() + 10, b.here() + 16);
    b.branch_below(1, 1, zero).branch_below(1, 2, one);
    wait(&mut b, 400);
    b.ldg(8, 4, 0);
    keep(&mut b, 8, 8);
    b.push(Inst::new(Op::Exit {}));
    assert_eq!(b.here(), zero);
    b.ldg(6, 4, 0);
    wait(&mut b, 900);
    keep(&mut b, 6, 6);
    b.push(Inst::new(Op::Exit {}));
    assert_eq!(b.here(), one);
    wait(&mut b, 200);
    b.stg(4, 0, 0);
    let hand = by_hand(b.exit(), 3, 32).with_memory();
    let stats = run(&hand, &["gpu.sms=2"]);
    assert_eq!((supplied(&stats), lost(&stats, Lost::OtherBlock)), (0, 1));
}

#[test]
fn switched_off_it_is_the_plain_machine() {
    for hand in [one_warp(&twice()), one_warp(&window()), crate::testing::stream(6)] {
        for gpu in ["gtx480", "larf-pascal", "qv100-collectors"] {
            let set = ["technique.larf.mechanism=false"];
            let off = hand.run(gpu, &set, &["larf"]);
            let plain = hand.run(gpu, &[], &[]);
            assert_eq!(off.counters.values(), plain.counters.values(), "{gpu}");
            assert_eq!(off.stalls, plain.stalls, "{gpu}");
            assert_eq!(lost(&off, Lost::Off), off.techniques[0].ledger.opportunities);
        }
    }
}

/// Kernels with a fault that makes each of them fail.
fn faults() -> Vec<(Fault, Hand)> {
    use Fault::*;
    let changed = |atomic: bool| {
        let mut b = start();
        b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
        if atomic {
            b.atomic_add(9, 4, 7)
        } else {
            b.stg(4, 7, 0)
        };
        b.bar().ldg(8, 4, 0);
        keep(&mut b, 8, 6);
        one_warp(&b)
    };
    let then = |more: &dyn Fn(&mut Builder)| {
        let mut b = start();
        b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
        more(&mut b);
        one_warp(&b)
    };
    let guarded = {
        let mut b = start();
        b.below(0, 16).ldg(6, 4, 0).guarded().iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0);
        keep(&mut b, 8, 6);
        one_warp(&b)
    };
    let other_lanes = {
        let mut b = start();
        b.mov(8, 7).below(0, 16).ldg(6, 4, 0).guarded().iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0).guarded();
        keep(&mut b, 8, 6);
        one_warp(&b)
    };
    let pairs = {
        let mut b = start();
        b.load(16, 12, 0, MemWidth::B64, MemOrder::Weak).iadd(7, r(16), r(17), r(16));
        b.load(18, 12, 0, MemWidth::B64, MemOrder::Weak);
        keep(&mut b, 18, 19);
        keep(&mut b, 16, 17);
        one_warp(&b)
    };
    let overtaken = {
        let mut b = start();
        b.ldg(6, 4, 0).stg(4, 0, 0).bar().iadd(7, r(6), r(6), r(6)).ldg(8, 4, 0);
        keep(&mut b, 8, 6);
        one_warp(&b)
    };
    vec![
        (MissedStore, changed(false)),
        (MissedAtomic, changed(true)),
        (
            StaleEntry,
            then(&|b| {
                // In some lanes, so that the register is not released first.
                b.below(0, 16).iadd(6, r(6), r(0), r(0)).guarded();
                b.iadd(9, r(6), r(6), r(6)).ldg(8, 4, 0);
                keep(b, 8, 6);
            }),
        ),
        (
            DanglingEntry,
            then(&|b| {
                // Enough results to take every physical register that is free.
                for reg in 16..24 {
                    b.mov(reg, 5);
                }
                b.iadd(9, r(22), r(23), r(22)).iadd(9, r(9), r(9), r(9)).ldg(8, 4, 0);
                keep(b, 8, 7);
                (16..24).for_each(|reg| keep(b, reg, reg));
            }),
        ),
        (WrongShift, one_warp(&window())),
        (OnePartTwice, one_warp(&window())),
        (WrongMask, guarded),
        (
            WrongStride,
            then(&|b| {
                b.ldg(8, 12, 0);
                keep(b, 8, 6);
            }),
        ),
        (
            WrongWidth,
            then(&|b| {
                b.load(8, 4, 0, MemWidth::U8, MemOrder::Weak);
                keep(b, 8, 6);
            }),
        ),
        (
            WrongRegion,
            then(&|b| {
                b.shl(14, 0, 2).mov(15, 1).ldg(8, 14, 0);
                keep(b, 8, 6);
            }),
        ),
        (
            SharedWrite,
            then(&|b| {
                b.below(0, 16).ldg(8, 4, 0).iadd(6, r(8), r(0), r(0)).guarded();
                b.iadd(9, r(6), r(6), r(6));
                keep(b, 8, 6);
            }),
        ),
        (OtherLanes, other_lanes),
        (SwappedRegisters, pairs),
        (MissedOvertaking, overtaken),
        (EarlyRelease, one_warp(&twice())),
    ]
}

#[test]
fn every_seeded_fault_is_found() {
    let mut missed = Vec::new();
    for (fault, hand) in faults() {
        run(&hand, &[]);
        match run_with(&hand.clone().with_memory(), &[], Some(fault)) {
            Ok(_) => missed.push(fault),
            Err(why) => assert!(why.to_string().contains("technique larf"), "{fault:?}: {why}"),
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_shared_volatile_load_is_found_when_another_sm_has_stored() {
    // Both blocks load; block 1 stores on its SM; then both load again.
    let mut b = start();
    b.special(1, SpecialReg::CtaidX).mov(9, 0).ldg(6, 4, 0);
    wait(&mut b, 100);
    let after = b.here() + 3;
    b.branch_below(1, 1, after).stg(4, 0, 0);
    wait(&mut b, 300);
    b.load(8, 4, 0, MemWidth::B32, MemOrder::Strong);
    keep(&mut b, 8, 6);
    let hand = by_hand(b.exit(), 2, 32).with_memory();
    let set = ["gpu.sms=2"];
    assert_eq!(supplied(&run(&hand, &set)), 0);
    let why = run_with(&hand.clone().with_memory(), &set, Some(Fault::SharedVolatile))
        .map(drop)
        .expect_err("a stale value");
    assert!(why.to_string().contains("technique larf"), "{why}");
}

/// A kernel of loads, guarded or not, of all widths, stores, atomics, fences, barriers and arithmetic on few
/// addresses.
fn random_kernel(random: &mut Random) -> Builder {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).special(1, SpecialReg::TidX).mov(5, 0).mov(13, 0).mov(15, 0);
    b.shl(4, 0, 2).shl(12, 0, 4).shl(14, 1, 2).below(0, 20);
    let mut pick = |bound: u64| random.below(bound) as i32;
    let steps = 8 + pick(40);
    for _ in 0..steps {
        let address = [4, 12, 14][pick(3) as usize];
        let offset = 16 * pick(20);
        let reg = 16 + 4 * pick(5) as u8;
        match pick(14) {
            0..=4 => {
                b.ldg(reg, address, offset);
            }
            5 | 6 => {
                let width = MemWidth::ALL[pick(MemWidth::ALL.len() as u64) as usize];
                let order = if pick(6) == 0 { MemOrder::Acquire } else { MemOrder::Weak };
                let wide = if width.regs() > 1 { 12 } else { address };
                b.load(reg, wide, offset, width, order);
            }
            7 => {
                b.stg(address, reg, offset);
            }
            8 if pick(2) == 0 => {
                b.atomic_add(reg, address, 0);
            }
            9 if pick(2) == 0 => {
                b.bar();
                continue;
            }
            10 if pick(3) == 0 => {
                b.push(Inst::new(Op::Membar { scope: Scope::Gpu }));
                continue;
            }
            _ => {
                let other = 16 + 4 * pick(5) as u8;
                b.iadd(reg, r(other), r(reg), r(other + 1));
            }
        }
        if pick(4) == 0 {
            b.guarded();
        }
    }
    (0..5).for_each(|i| keep(&mut b, 16 + 4 * i, 17 + 4 * i));
    b
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// Whatever loads, stores and fences do, every shared value is the recorded one; accounts balance; and no
    /// register is left at the end.
    #[test]
    fn random_kernels_share_only_values_that_memory_has(
        seed: u64,
        entries in prop::sample::select(vec![0u32, 1, 3, 400]),
        overwrite: bool,
        across: bool,
        strides in 1u32..4,
    ) {
        let mut random = Random::new(seed);
        let hand = by_hand(random_kernel(&mut random).exit(), 3, 96).with_memory();
        let set = [
            format!("technique.larf.entries={entries}"),
            format!("technique.larf.release='{}'", if overwrite { "overwrite" } else { "last_read" }),
            format!("technique.larf.across_blocks={across}"),
            format!("technique.larf.strides={strides}"),
        ];
        let config = small_machine(&set.each_ref().map(String::as_str));
        let technique = Damaged { larf: larf(&config), fault: None };
        let stats = hand.run_techniques(&config, vec![Box::new(technique)]);
        let stats = stats.map_err(|why| TestCaseError::fail(why.to_string()))?;
        prop_assert_eq!(lost(&stats, Lost::OtherBlock), 0, "stores of this SM are seen");
        let ledger = &stats.techniques[0].ledger;
        prop_assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost());
    }
}
