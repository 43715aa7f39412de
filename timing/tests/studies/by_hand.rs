//! Launches with counts computed by hand.

use super::agree::check;
use super::insts::{add, exit, ldg, less, mov, r, s2r, stg};
use super::memory::{MemoryLaunch, Recorded, kernel};
use std::collections::BTreeMap;
use timing::studies;
use trace_format::isa::*;
use trace_format::semantics::{Geometry, Row};

const ALL: u32 = u32::MAX;

fn imad(dst: u8, a: u8, b: Src, c: Src) -> Inst {
    Inst::new(Op::Imad {}).dst(Reg(dst)).srcs([r(a), b, c])
}

/// A pair: a · scale + pair c.
fn wide(dst: u8, a: u8, scale: u32, c: u8) -> Inst {
    Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(dst)).srcs([r(a), Src::imm(scale), r(c)])
}

fn lds(dst: u8, address: u8) -> Inst {
    Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 }).dst(Reg(dst)).srcs([r(address)])
}

fn sts(address: u8, data: u8) -> Inst {
    Inst::new(Op::Sts { width: MemWidth::B32, scale: Scale::X1 }).srcs([r(address), r(data)])
}

/// A launch with a number of blocks and of warps per block, whose warps execute the code from first to last, with
/// changes.
fn launch(code: &[Inst], blocks: u32, warps: u32, change: impl Fn(&mut Vec<Recorded>)) -> MemoryLaunch {
    let geometry = Geometry { grid: [blocks, 1, 1], block: [32 * warps, 1, 1] };
    MemoryLaunch::new(kernel(code), geometry, |_, _| {
        let outside = |inst: &Inst| inst.dst_regs().map(|_| noise()).collect();
        let mut path: Vec<_> =
            (0..).zip(code).map(|(pc, inst)| Recorded { pc, active: ALL, rows: outside(inst) }).collect();
        change(&mut path);
        path
    })
}

fn noise() -> Row {
    Row::from_fn(|lane| (lane as u32 * lane as u32 + 1).wrapping_mul(0x9E37_79B9))
}

/// Sums of a study's counts, after checking that the study and its twin agree.
fn counts(launch: &MemoryLaunch, name: &str) -> BTreeMap<&'static str, u64> {
    let checked = check(launch, &[1, 3]);
    assert!(checked.is_ok(), "{}", checked.err().unwrap_or_default());
    let outcome = studies::of_launch(launch, &[name], 1).expect("a count").remove(0);
    let study = studies::find(name).expect("a study");
    study.counters.iter().map(|counter| counter.key).zip(study.sum(&outcome.counts)).collect()
}

/// Asserts the counts named, and that all others are 0.
fn expect(launch: &MemoryLaunch, name: &str, expected: &[(&str, u64)]) {
    let found: Vec<_> = counts(launch, name).into_iter().filter(|(_, count)| *count != 0).collect();
    let mut expected: Vec<_> = expected.iter().copied().filter(|(_, count)| *count != 0).collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn width() {
    let code = [
        s2r(0, SpecialReg::LaneId),
        mov(1, 200),
        add(2, r(0), r(1)),
        mov(3, 0x3F80_0000),
        add(4, r(2), r(3)),
        exit(),
    ];
    let expected = [
        ("warp_instructions", 6),
        // lane index | 200 and the sum | one
        ("reads_1_byte", 1),
        ("reads_2_bytes", 2),
        ("reads_4_bytes", 1),
        ("unused_read_bytes", 3 + 2 + 2),
        ("writes_1_byte", 1),
        ("writes_2_bytes", 2),
        ("writes_4_bytes", 2),
        ("multi_operand_instructions", 2),
        ("multi_operand_reads", 4),
        ("coalesceable_instructions", 1),
        ("pair_reads", 2),
        ("pair_reads_that_fit", 1),
    ];
    expect(&launch(&code, 1, 1, |_| {}), "width", &expected);
}

#[test]
fn reuse_of_bow_figure_3_6() {
    let code = [
        lds(3, 8),
        mov(2, 4084),
        imad(1, 0, r(2), Src::RZ),
        imad(1, 0, r(2), r(1)),
        add(1, r(1), Src::imm(16)),
        imad(0, 0, r(2), r(1)),
        add(0, r(0), Src::imm(24)),
        add(0, r(9), r(0)),
        add(1, r(0), Src::imm(2040)),
        lds(2, 1),
        add(2, r(2), Src::imm(256)),
        add(4, r(2), Src::imm(143)),
        less(0, r(3), r(1)),
        exit(),
    ];
    let expected = [
        ("warp_instructions", 14),
        ("reads_at_1", 12),
        ("reads_at_2", 2),
        ("reads_at_3", 1),
        ("reads_at_12", 1),
        // r8, r0 and r9 were written before the snippet
        ("reads_far", 3),
        ("transient_at_1", 8),
        ("transient_at_2", 1),
        ("transient_at_3", 1),
        ("transient_at_12", 1),
        ("replaced_far", 1),
        // The hints of table 3.1: r3 and r4 | nine transient values | r1 of line 10
        ("to_file", 2),
        ("to_collector", 9),
        ("to_both", 1),
        ("operands_0", 2),
        ("operands_1", 7),
        ("operands_2", 3),
        ("operands_3", 2),
    ];
    expect(&launch(&code, 1, 1, |_| {}), "reuse", &expected);
}

#[test]
fn reuse_counts_uniform_registers_apart() {
    let uniform = |number: u8| Src::uniform(UniformReg(number));
    let mut set = mov(0, 7);
    (set.dst, set.udst) = (Reg::RZ, UniformReg(3));
    let code = [set, add(1, uniform(3), Src::imm(1)), add(2, r(1), uniform(3)), exit()];
    let expected = [
        ("warp_instructions", 4),
        ("reads_at_1", 1),
        ("transient_at_1", 1),
        ("replaced_far", 1),
        ("to_collector", 1),
        ("to_file", 1),
        ("uniform_reads", 2),
        ("uniform_writes", 1),
        ("operands_0", 3),
        ("operands_1", 1),
    ];
    expect(&launch(&code, 1, 1, |_| {}), "reuse", &expected);
}

#[test]
fn reuse_keeps_what_a_partial_write_leaves() {
    let code = [mov(0, 1), mov(0, 2), add(1, r(0), r(0)), mov(0, 3), exit()];
    let launch = launch(&code, 1, 1, |path| path[1].active = 0xFF);
    let expected = [
        ("warp_instructions", 5),
        ("reads_at_1", 1),
        // the write to eight lanes keeps 1, 2 is read; the sum and 3 are never read
        ("transient_at_1", 2),
        ("replaced_far", 2),
        ("to_collector", 2),
        ("to_file", 2),
        ("operands_0", 4),
        ("operands_2", 1),
    ];
    expect(&launch, "reuse", &expected);
}

#[test]
fn lifetime() {
    let code = [
        mov(0, 1),
        add(1, r(0), r(0)),
        mov(2, 3),
        add(3, r(2), r(1)),
        add(3, r(2), r(3)),
        mov(0, 4),
        mov(0, 5),
        mov(4, 6),
        add(5, r(0), r(2)),
        add(5, r(4), r(0)),
        add(5, r(1), r(0)),
        add(5, r(2), r(2)),
        exit(),
    ];
    // The last write to r0 is to eight lanes: the others keep the 4.
    let expected = [
        ("warp_instructions", 13),
        // the second r3, and r5 four times
        ("read_never", 5),
        // 1, the first r3, 4
        ("read_once_after_1", 3),
        // 6
        ("read_once_after_2", 1),
        // r1 at 4 and 11
        ("read_twice", 1),
        // 3 at 4, 5, 9 and 12; 5 at 9, 10 and 11
        ("read_more", 2),
        ("lifetime_instructions", 1 + 1 + 1 + 2 + 9 + 9 + 4),
    ];
    expect(&launch(&code, 1, 1, |path| path[6].active = 0xFF), "lifetime", &expected);
    let later = [mov(0, 1), mov(1, 2), mov(2, 3), mov(3, 4), add(4, r(0), r(1)), exit()];
    let found = counts(&launch(&later, 1, 1, |_| {}), "lifetime");
    assert_eq!((found["read_once_later"], found["read_once_after_3"]), (1, 1));
}

#[test]
fn liveness() {
    let code = [mov(0, 1), mov(1, 2), add(2, r(0), r(1)), stg(4, 2), exit()];
    let found = counts(&launch(&code, 1, 1, |_| {}), "liveness");
    // r4 and r5 | with r0 | with r1 | r2, r4, r5 | none
    assert_eq!(found["live_registers"], 2 + 3 + 4 + 3);
    assert_eq!((found["least_live"], found["most_live"], found["registers"]), (0, 4, 16));
    assert_eq!(found["allocated_registers"], 5 * 16);
    assert_eq!(found["needed_registers"], 2 + 1 + 1, "r0 for two instructions, r1 and r2 for one");
    let dead = [mov(0, 1), mov(0, 2), exit()];
    assert_eq!(counts(&launch(&dead, 1, 1, |_| {}), "liveness")["needed_registers"], 0);
}

#[test]
fn copies() {
    let code = [mov(0, 7), mov(1, 7), add(2, r(0), r(1)), stg(4, 2), exit()];
    let found = counts(&launch(&code, 1, 1, |_| {}), "copies");
    // r0 for two rounds, r1 for one of them, r2 for one.
    assert_eq!((found["needed_rounds"], found["copies_in_warp"], found["copies_in_block"]), (4, 1, 1));
    let found = counts(&launch(&code, 3, 2, |_| {}), "copies");
    // In each of three blocks all that the second warp holds is in the first one too.
    let expected = (3 * 8, 3 * 2, 3 * (1 + 4));
    assert_eq!((found["needed_rounds"], found["copies_in_warp"], found["copies_in_block"]), expected);
    // Some lanes of r0 are replaced: its value in the others is read, and the new one is another.
    let half = [mov(0, 7), mov(1, 7), mov(0, 9), add(2, r(0), r(1)), stg(4, 2), exit()];
    let found = counts(&launch(&half, 1, 1, |path| path[2].active = 0xFF), "copies");
    assert_eq!((found["needed_rounds"], found["copies_in_warp"]), (2 + 2 + 1 + 1, 1));
}

#[test]
fn divergence() {
    let mut branch = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
    branch.target = Pc(6);
    let code = [
        s2r(0, SpecialReg::LaneId),
        add(1, r(0), r(0)), // 8 lanes, affine
        mov(2, 7),          // 16 lanes, no operand
        add(3, r(2), r(2)), // 4 lanes, uniform there
        less(0, r(0), Src::imm(16)),
        branch, // half of the lanes
        exit(),
    ];
    let launch = launch(&code, 1, 1, |path| {
        (path[1].active, path[2].active, path[3].active) = (0xFF, 0xFFFF, 0xF);
    });
    let lanes = 32 + 8 + 16 + 4 + 3 * 32;
    let expected = [
        ("warp_instructions", 7),
        ("lanes_1_to_8", 2),
        ("lanes_9_to_16", 1),
        ("lanes_32", 4),
        ("lane_slots", 7 * 32),
        ("launched_lane_slots", 7 * 32),
        ("active_lane_operations", lanes),
        ("effective_lane_operations", lanes - 16),
        ("diverged_instructions", 3),
        ("conditional_branches", 1),
        ("divergent_branches", 1),
        ("hidden_uniform_instructions", 1),
        ("hidden_affine_instructions", 1),
    ];
    expect(&launch, "divergence", &expected);
}

#[test]
fn uniform() {
    let code = [
        s2r(0, SpecialReg::CtaidX),
        mov(1, 5),
        add(2, r(1), r(1)),
        s2r(3, SpecialReg::LaneId),
        add(4, r(3), r(1)),
        exit(),
    ];
    // Three instructions are uniform in each of two warps; the second warp reuses the first one's results, in each
    // of two blocks.
    let mut expected = vec![
        ("warp_instructions", 24),
        ("scalar_operations", 24 * 32),
        ("uniform_instructions", 12),
        ("uniform_redundant", 12 * 31),
    ];
    for (hits, lanes) in [
        ("hits_2", "hit_lanes_2"),
        ("hits_4", "hit_lanes_4"),
        ("hits_8", "hit_lanes_8"),
        ("hits_16", "hit_lanes_16"),
        ("hits_32", "hit_lanes_32"),
        ("hits_infinite", "hit_lanes_infinite"),
    ] {
        expected.extend([(hits, 6), (lanes, 6 * 32)]);
    }
    expect(&launch(&code, 2, 2, |_| {}), "uniform", &expected);
}

#[test]
fn reuse_buffers_forget_what_was_used_least_recently() {
    // A loop of three uniform instructions: a buffer of two entries always misses, three entries suffice.
    let code = [mov(0, 1), mov(1, 2), mov(2, 3), exit()];
    let launch = launch(&code, 1, 1, |path| {
        let circle = path[..3].to_vec();
        path.splice(0..0, std::iter::repeat_n(circle, 4).flatten());
    });
    let found = counts(&launch, "uniform");
    assert_eq!((found["hits_2"], found["hits_4"], found["hits_infinite"]), (0, 12, 12));
    assert_eq!(found["uniform_instructions"], 15);
}

#[test]
fn affine() {
    let code = [
        s2r(0, SpecialReg::TidX),
        wide(2, 0, 4, 4),
        ldg(6, 2, 0),
        add(7, r(6), r(6)),           // loaded values
        less(0, r(0), Src::imm(100)), // true in every lane
        less(0, r(0), Src::imm(5)),   // true in some
        less(0, r(4), Src::imm(1)),   // two scalars
        add(8, r(0), r(0)),           // 4 lanes
        exit(),
    ];
    let launch = launch(&code, 1, 1, |path| path[7].active = 0xF);
    let expected = [
        ("warp_instructions", 9),
        ("static_instructions", 9),
        ("potentially_affine_static", 7),
        ("potentially_affine", 7),
        ("affine_instructions", 5),
        ("affine_diverged", 1),
        ("predicates_scalar", 1),
        ("predicates_end_points", 1),
        ("predicates_all_lanes", 1),
        ("loads", 1),
        ("affine_loads", 1),
    ];
    expect(&launch, "affine", &expected);
}

#[test]
fn affine_by_index() {
    // 8 x 4 threads: x starts again at 0 every eight lanes.
    let code = [
        s2r(0, SpecialReg::TidX),
        s2r(1, SpecialReg::TidY),
        imad(2, 1, Src::imm(8), r(0)),  // the lane
        imad(3, 1, Src::imm(64), r(0)), // 64 y + x
        wide(4, 3, 4, 6),
        ldg(8, 4, 0),
        imad(9, 0, r(1), Src::RZ),        // x · y
        less(0, r(3), Src::imm(1 << 20)), // true in every lane
        less(0, r(3), Src::imm(64)),      // true where y is 0
        less(0, r(0), r(1)),              // two operands that are not scalar
        imad(10, 3, Src::imm(2), r(0)),   // 4 lanes, all of one line
        exit(),
    ];
    let geometry = Geometry { grid: [1, 1, 1], block: [8, 4, 1] };
    let launch = MemoryLaunch::new(kernel(&code), geometry, |_, _| {
        let row = |inst: &Inst| inst.dst_regs().map(|_| noise()).collect();
        let active = |pc| if pc == 10 { 0xF } else { ALL };
        (0..).zip(&code).map(|(pc, inst)| Recorded { pc, active: active(pc), rows: row(inst) }).collect()
    });
    let expected = [
        ("warp_instructions", 12),
        ("static_instructions", 12),
        ("potentially_affine_static", 11),
        ("potentially_affine", 11),
        ("affine_by_index", 7),
        ("affine_diverged", 1),
        ("predicates_end_points", 1),
        ("predicates_all_lanes", 1),
        ("loads", 1),
        ("affine_loads_by_index", 1),
    ];
    expect(&launch, "affine", &expected);
}

#[test]
fn what_depends_on_a_load_is_not_potentially_affine() {
    // r0 is loaded on one of two paths that join: neither the sum nor the branch on it is affine.
    let mut skip = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
    skip.target = Pc(3);
    let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(1)));
    back.target = Pc(0);
    let code = [
        mov(0, 1),
        skip,
        ldg(0, 4, 0),
        add(1, r(0), r(0)),
        less(1, r(1), Src::imm(9)),
        back,
        mov(2, 1),
        exit(),
    ];
    let found = counts(&launch(&code, 1, 1, |_| {}), "affine");
    // mov, the load by its address, mov; the first branch is on p0, which nothing writes
    assert_eq!((found["potentially_affine_static"], found["static_instructions"]), (4, 8));
}

#[test]
fn entropy() {
    let code = [s2r(0, SpecialReg::LaneId), mov(1, 5), ldg(2, 4, 0), exit()];
    let launch = launch(&code, 1, 1, |path| {
        path[2].rows = vec![Row::from_fn(|lane| if lane % 4 == 0 { 0x0123_4567 } else { 0x0765_4321 })];
    });
    // 32 different values; one; one of four: 32 (2 - 3/4 log2 3)
    let bits = (32.0 * (2.0 - 0.75 * 3f64.log2())).round() as u64;
    let expected = [
        ("warp_instructions", 4),
        ("register_values", 96),
        ("sampled_values", 96),
        ("stored_bits", 96 * 32),
        ("narrow_bits", 8 * 32 + 8 * 32 + 32 * 32),
        ("pattern_bits", 64 + 32 + 32 * 32),
        ("information_bits", 160 + bits),
    ];
    expect(&launch, "entropy", &expected);
}

#[test]
fn memo() {
    let code = [mov(1, 5), add(2, r(1), r(1)), s2r(3, SpecialReg::CtaidX), add(4, r(3), r(1)), exit()];
    // Of two blocks of two warps: the first sum is always the same, the second the same in each block.
    let expected = [
        ("warp_instructions", 20),
        ("candidates", 8),
        ("repeated_in_block", 4),
        ("repeated_in_launch", 3 + 2),
        ("repeated_in_program", 3 + 2),
        ("distinct_operands", 1 + 2),
    ];
    expect(&launch(&code, 2, 2, |_| {}), "memo", &expected);
}

#[test]
fn dead() {
    let code = [
        s2r(9, SpecialReg::LaneId),
        imad(8, 9, Src::imm(4), Src::RZ),
        mov(0, 1),             // replaced unread in 8 lanes, in the others at the end
        mov(0, 2),             // 8 lanes
        add(1, r(0), Src::RZ), // 8 lanes, never read
        sts(8, 9),             // overwritten
        sts(8, 9),             // half of it read
        lds(2, 8),             // 16 lanes, never read
        stg(4, 9),             // every lane the same word
        exit(),
    ];
    let launch = launch(&code, 1, 1, |path| {
        (path[3].active, path[4].active, path[7].active) = (0xFF, 0xFF, 0xFFFF);
    });
    let expected = [
        ("warp_instructions", 10),
        ("register_values", 3 * 32 + 2 * 8 + 16),
        ("dead_values", 32 + 8 + 16),
        ("stored_bytes", 3 * 128),
        ("overwritten_bytes", 128 + 31 * 4),
        ("lost_bytes", 64),
    ];
    expect(&launch, "dead", &expected);
    let dead = studies::of_launch(&launch, &["dead"], 1).expect("a count").remove(0);
    let counters = studies::find("dead").expect("it is known").counters;
    let counter = counters.iter().position(|counter| counter.key == "dead_values").expect("it is counted");
    let of = |pc: usize| dead.counts[pc * counters.len() + counter];
    assert_eq!([2, 3, 4, 7].map(of), [32, 0, 8, 16], "counted with the writer");
}

#[test]
fn memory() {
    let code = [
        s2r(0, SpecialReg::LaneId),
        wide(2, 0, 4, 8),
        wide(4, 0, 128, 8),
        ldg(6, 2, 0),
        ldg(6, 2, 0),
        ldg(6, 4, 0),
        ldg(6, 4, 0),
        stg(2, 0),
        exit(),
    ];
    let expected = [
        ("warp_instructions", 9),
        ("load_requests", 4),
        ("store_requests", 1),
        ("lines", 1 + 1 + 32 + 32 + 1),
        ("sectors", 4 + 4 + 32 + 32 + 4),
        ("lane_bytes", 5 * 128),
        // line 0 | 31 others | all of them again | line 0 after the other 31
        ("first_accesses", 1 + 31),
        ("distance_0", 1 + 1),
        ("distance_16_to_63", 32 + 1),
        ("footprint_lines", 32),
    ];
    expect(&launch(&code, 1, 1, |_| {}), "memory", &expected);
}

#[test]
fn sharing() {
    let code = [
        s2r(0, SpecialReg::LaneId),
        wide(2, 0, 4, 8),
        ldg(6, 2, 0),
        ldg(6, 2, 128),
        ldg(6, 2, 12), // 29 lanes of the first and 3 of the second
        stg(2, 0),     // the first is of no use any more
        ldg(6, 2, 0),
        exit(),
    ];
    let mut expected = vec![("warp_instructions", 16), ("global_loads", 8)];
    for key in ["perfect_200", "perfect_400", "perfect_infinite"] {
        // The second warp finds the first one's vectors, before and after the stores.
        expected.push((key, 3));
    }
    for key in ["greedy_perfect_200", "greedy_perfect_400", "greedy_perfect_infinite"] {
        // The second warp finds the vector that the first warp reloaded after its store, and invalidates it by its
        // own store.
        expected.push((key, 2));
    }
    for key in ["partial_200", "partial_400", "partial_infinite"] {
        expected.push((key, 2));
    }
    for key in ["greedy_partial_200", "greedy_partial_400", "greedy_partial_infinite"] {
        expected.push((key, 2));
    }
    expect(&launch(&code, 1, 2, |_| {}), "sharing", &expected);
}

#[test]
fn a_small_table_forgets_first_in_first_out() {
    // 201 vectors, then the first and the last again.
    let mut code = vec![s2r(0, SpecialReg::LaneId), wide(2, 0, 4, 8)];
    code.extend((0..201).map(|i| ldg(6, 2, i * 4096)));
    code.extend([ldg(6, 2, 0), ldg(6, 2, 200 * 4096), exit()]);
    let found = counts(&launch(&code, 1, 1, |_| {}), "sharing");
    assert_eq!((found["perfect_200"], found["perfect_400"], found["perfect_infinite"]), (1, 2, 2));
}

#[test]
fn warps_wait_for_one_another_at_barriers() {
    // The first warp stores, both wait, the second loads: nothing is overwritten or lost.
    let bar = Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]);
    let code = [
        s2r(9, SpecialReg::LaneId),
        imad(8, 9, Src::imm(4), Src::RZ),
        sts(8, 9),
        bar,
        lds(2, 8),
        bar,
        exit(),
    ];
    let geometry = Geometry { grid: [1, 1, 1], block: [64, 1, 1] };
    // The warp that loads comes first in the block.
    let path = |_, warp: u32| -> Vec<Recorded> {
        let pcs: &[u32] = if warp == 1 { &[0, 1, 2, 3, 5, 2, 6] } else { &[0, 1, 3, 4, 5, 6] };
        pcs.iter().map(|&pc| Recorded { pc, active: ALL, rows: vec![noise()] }).collect()
    };
    let found = counts(&MemoryLaunch::new(kernel(&code), geometry, path), "dead");
    // Only the store after the second barrier is dead.
    assert_eq!((found["stored_bytes"], found["overwritten_bytes"], found["lost_bytes"]), (256, 0, 128));
}
