//! Tests of DARSIE on small kernels: what is skipped, the path of the majority, stores, registers, faults.

mod faults;

use super::{Darsie, Lost, Stall};
use crate::testing::{Builder, Hand, by_hand, r, small};
use trace_format::isa::{
    BoolOp, Extended, ICmp, Inst, Op, Pc, Pred, PredSrc, Sign, SpecialReg, Src, UniformReg,
};
use warplab_model::stats::Stats;
use warplab_technique::config::GpuConfig;
use warplab_technique::declare::Cause;

/// A machine of one SM.
fn machine(set: &[&str]) -> GpuConfig {
    warplab_model::testing::config("gtx480", &small(set))
}

fn run(hand: &Hand, set: &[&str]) -> Stats {
    hand.run("gtx480", &small(set), &["darsie"])
}

fn count(stats: &Stats, name: &str) -> u64 {
    stats.of_techniques(name)
}

fn lost(stats: &Stats, cause: Lost) -> u64 {
    stats.techniques[0].ledger.lost[usize::from(cause.index())]
}

fn stalls(stats: &Stats, cause: Stall) -> u64 {
    stats.techniques[0].ledger.stalls[usize::from(cause.index())]
}

/// Every result is supplied or lost.
fn closes(stats: &Stats) {
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.supplied + ledger.all_lost(), ledger.opportunities);
}

/// Four warps compute with block, x- and y-indices, eight by sixteen threads.
fn indices(block: [u32; 3]) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::TidY).special(2, SpecialReg::CtaidX);
    b.iadd(3, r(2), Src::imm(1), Src::RZ).iadd(4, r(0), r(3), Src::RZ).iadd(5, r(1), r(4), Src::RZ);
    b.iadd(6, r(4), r(4), r(5));
    by_hand(b.exit(), 2, block.iter().product()).with_block(block)
}

#[test]
fn what_repeats_in_every_warp_is_executed_once_for_a_block() {
    let stats = run(&indices([8, 16, 1]), &[]);
    // The x-index, the block's index, r3 and r4, in three of four warps of two blocks.
    assert_eq!(count(&stats, "skipped_by_followers"), 2 * 3 * 4);
    assert_eq!(stats.counters.skipped_instructions, 2 * 3 * 4);
    assert_eq!(count(&stats, "led_instructions"), 2 * 4);
    assert_eq!((lost(&stats, Lost::Leader), lost(&stats, Lost::Unmarked)), (8, 2 * 4 * 3));
    assert_eq!(stats.counters.warp_instructions, 2 * 4 * 8);
    closes(&stats);
    let line = run(&indices([128, 1, 1]), &[]);
    assert_eq!(count(&line, "skipped_by_followers"), 2 * 3 * 2, "in one dimension the block's index and r3");
    assert_eq!(count(&line, "marked_instructions"), 2);
}

#[test]
fn in_three_dimensions_y_repeats_as_well_with_the_extension() {
    let plain = run(&indices([4, 8, 4]), &[]);
    let extended = run(&indices([4, 8, 4]), &["technique.darsie.third_dimension=true"]);
    assert_eq!(count(&plain, "marked_instructions"), 4);
    assert_eq!(count(&extended, "marked_instructions"), 7);
    assert!(count(&extended, "skipped_by_followers") > count(&plain, "skipped_by_followers"));
}

#[test]
fn switched_off_or_with_one_warp_nothing_changes() {
    for (hand, set) in
        [(indices([8, 16, 1]), &["technique.darsie.mechanism=false"][..]), (indices([8, 4, 1]), &[])]
    {
        let (with, plain) = (run(&hand, set), hand.run("gtx480", &small(set), &[]));
        assert_eq!(with.counters.values(), plain.counters.values());
    }
}

#[test]
fn followers_wait_until_the_leader_has_written() {
    // A load that takes long, of an address that all warps have.
    let mut b = Builder::default();
    b.mov(2, 0).mov(3, 0).ldg(4, 2, 0).iadd(5, r(4), Src::imm(1), Src::RZ);
    let hand = by_hand(b.exit(), 1, 128).with_block([16, 8, 1]);
    let stats = run(&hand, &[]);
    assert_eq!(count(&stats, "skipped_loads"), 3);
    assert!(stalls(&stats, Stall::Leader) > 0, "three warps wait for the load");
    let plain = hand.run("gtx480", &small(&[]), &[]);
    assert!(stats.counters.ldst_instructions < plain.counters.ldst_instructions);
}

/// Warps below `leavers` leave out two instructions, then all meet at a barrier.
fn paths(leavers: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::WarpId).mov(1, 1);
    let behind = b.here() + 4;
    b.branch_below(0, leavers, behind);
    b.iadd(2, r(1), Src::imm(2), Src::RZ).iadd(3, r(2), Src::imm(3), Src::RZ);
    assert_eq!(b.here(), behind);
    b.iadd(4, r(1), Src::imm(4), Src::RZ).bar();
    b.mov(5, 9).iadd(6, r(5), r(1), Src::RZ);
    by_hand(b.exit(), 1, 160).with_block([16, 10, 1])
}

#[test]
fn warps_that_leave_the_majority_copy_what_they_share_and_come_back_at_a_barrier() {
    let stats = run(&paths(2), &[]);
    assert_eq!((count(&stats, "left_path"), count(&stats, "joined_path")), (2, 1));
    assert!(count(&stats, "copies") >= 2, "each of them has at least r1 from the leader or is the leader");
    assert!(lost(&stats, Lost::OffPath) > 0);
    assert!(count(&stats, "synchronised_branches") > 0 && stalls(&stats, Stall::Branch) > 0);
    closes(&stats);
    let all = run(&paths(0), &[]);
    assert_eq!((count(&all, "left_path"), lost(&all, Lost::OffPath)), (0, 0));
    let free = run(&paths(2), &["technique.darsie.cf_sync=false"]);
    assert_eq!(stalls(&free, Stall::Branch), 0);
    closes(&free);
}

/// As [`paths`], where the warp's number is in a uniform register and a uniform predicate decides, alone or together with one
/// of lanes.
fn uniform_paths(leavers: u32, together: bool) -> Hand {
    let mut b = Builder::default();
    let up = Pred::uniform(0);
    b.special(0, SpecialReg::WarpId).mov(1, 1);
    b.push(Inst { udst: UniformReg(0), ..Inst::new(Op::R2ur {}).srcs([r(0)]) });
    b.push(Inst { udst: UniformReg(1), ..Inst::new(Op::Mov {}).srcs([Src::imm(7)]) });
    let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut below = Inst::new(op).srcs([Src::uniform(UniformReg(0)), Src::imm(leavers)]);
    below.pdst[0] = up;
    b.below(0, 1000).push(below);
    let mut bra = Inst::new(Op::Bra {}).guarded(PredSrc::of(up));
    if together {
        bra = Inst::new(Op::BraIf {}).guarded(PredSrc::of(Pred(0)));
        bra.psrc[0] = PredSrc::of(up);
    }
    bra.target = Pc(b.here() + 3);
    b.push(bra).iadd(2, r(1), Src::uniform(UniformReg(1)), Src::RZ).iadd(3, r(2), Src::imm(3), Src::RZ);
    assert_eq!(b.here(), bra.target.0);
    b.iadd(4, r(1), Src::imm(4), Src::RZ).bar();
    b.mov(5, 9).iadd(6, r(5), Src::uniform(UniformReg(1)), Src::RZ);
    by_hand(b.exit(), 1, 160).with_block([16, 10, 1])
}

#[test]
fn uniform_predicates_part_warps_and_uniform_registers_are_operands_of_what_is_skipped() {
    for together in [false, true] {
        let stats = run(&uniform_paths(2, together), &[]);
        assert_eq!((count(&stats, "left_path"), count(&stats, "joined_path")), (2, 1));
        closes(&stats);
        let all = run(&uniform_paths(0, together), &[]);
        assert_eq!((count(&all, "left_path"), lost(&all, Lost::OffPath)), (0, 0));
        // r1 to r6; the comparison of the warp's number is each warp's own, and so are uniform registers.
        assert_eq!(count(&all, "skipped_by_followers"), 4 * 6);
        assert_eq!(count(&all, "marked_instructions"), 6);
    }
}

/// In each turn of a loop warps below `leavers` leave out an instruction, and all meet at a barrier behind which they share.
fn meetings(leavers: u32, trips: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::WarpId).mov(1, 0);
    let head = b.here();
    let behind = b.here() + 3;
    b.branch_below(0, leavers, behind).iadd(2, r(1), Src::imm(2), Src::RZ);
    assert_eq!(b.here(), behind);
    b.bar().mov(5, 9).iadd(6, r(5), r(1), Src::RZ).iadd(1, r(1), Src::imm(1), Src::RZ);
    b.branch_below(1, trips, head);
    by_hand(b.exit(), 1, 160).with_block([16, 10, 1])
}

#[test]
fn what_a_warp_has_fetched_behind_the_barrier_at_which_it_comes_back_counts_as_passed() {
    // A leaver that waits at the barrier has fetched r5's instruction; the one that takes the last register gathers it.
    for registers in 1..6 {
        for entries in [1, 8] {
            let set = [
                format!("technique.darsie.registers={registers}"),
                format!("technique.darsie.entries={entries}"),
            ];
            let stats = run(&meetings(2, 4), &set.each_ref().map(String::as_str));
            assert_eq!(count(&stats, "left_path"), 2 * 4);
            closes(&stats);
        }
    }
}

/// A loop of a few turns around redundant instructions.
fn turns(trips: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).special(7, SpecialReg::TidY);
    let head = b.here();
    b.iadd(2, r(0), r(1), Src::RZ).iadd(3, r(2), r(7), Src::RZ).iadd(4, r(2), r(2), Src::RZ);
    b.iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, trips, head);
    b.iadd(5, r(4), r(3), Src::RZ);
    by_hand(b.exit(), 1, 128).with_block([16, 8, 1])
}

#[test]
fn every_turn_of_a_loop_has_a_leader_of_its_own() {
    let stats = run(&turns(6), &[]);
    // r2, r4, r1 and the branch's predicate in each turn; r0 and r1 before.
    assert_eq!(count(&stats, "led_instructions"), 6 * 4 + 2);
    assert_eq!(count(&stats, "skipped_by_followers"), 3 * (6 * 4 + 2));
    let few = run(&turns(6), &["technique.darsie.entries=1"]);
    assert!(count(&few, "skipped_by_followers") <= count(&stats, "skipped_by_followers"));
    closes(&few);
}

#[test]
fn a_collector_forgets_a_register_that_a_skipped_instruction_writes() {
    // A follower has r4 in its collector from its own load when it skips the next write of r4.
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(7, SpecialReg::TidY).mov(1, 0);
    let head = b.here();
    b.iadd(4, r(7), r(1), Src::RZ).iadd(5, r(4), r(4), Src::RZ).iadd(4, r(0), r(1), Src::RZ);
    b.iadd(6, r(4), r(5), Src::RZ).iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 6, head);
    let hand = by_hand(b.exit(), 2, 128).with_block([16, 8, 1]);
    for window in ["3", "7"] {
        let set = format!("technique.bow.window={window}");
        let both = hand.run("gtx480", &small(&[&set]), &["bow", "darsie"]);
        assert!(count(&both, "forwarded_operands") > 0 && count(&both, "skipped_by_followers") > 0);
        for technique in &both.techniques {
            let ledger = &technique.ledger;
            assert_eq!(ledger.supplied + ledger.all_lost(), ledger.opportunities);
        }
    }
}

#[test]
fn a_write_on_its_way_keeps_its_register_when_the_name_is_mapped_anew() {
    // The leader's load takes long; before it arrives the same register is written by an instruction that it skips.
    let mut b = Builder::default();
    b.mov(2, 0).mov(3, 0).mov(1, 0);
    let head = b.here();
    b.ldg(4, 2, 0).mov(4, 5);
    for reg in 5..12 {
        b.iadd(reg, r(1), Src::imm(u32::from(reg)), Src::RZ);
    }
    b.iadd(12, r(4), r(5), Src::RZ).iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 6, head);
    let hand = by_hand(b.exit(), 2, 256).with_block([16, 16, 1]);
    for entries in [1, 2, 3, 8] {
        let set = [format!("technique.darsie.entries={entries}"), "technique.darsie.registers=8".to_owned()];
        closes(&run(&hand, &set.each_ref().map(String::as_str)));
    }
}

#[test]
fn fewer_registers_share_no_more() {
    let skipped = |registers: u32| {
        let stats = run(&turns(6), &[&format!("technique.darsie.registers={registers}")]);
        closes(&stats);
        count(&stats, "skipped_by_followers")
    };
    let by_size: Vec<u64> = [1, 2, 4, 32].map(skipped).to_vec();
    assert!(by_size.is_sorted(), "{by_size:?}");
    let one = run(&turns(6), &["technique.darsie.registers=1"]);
    assert!(lost(&one, Lost::NoRegister) > 0);
}

/// A loop in whose turns fast warps make new versions while a slow warp, which loads first, still needs the old ones.
fn versions(trips: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).special(7, SpecialReg::TidY).mov(2, 0).mov(3, 0);
    for _ in 0..trips {
        b.iadd(4, r(0), r(1), Src::RZ).iadd(5, r(4), r(7), Src::RZ).iadd(1, r(4), Src::imm(1), Src::RZ);
    }
    by_hand(b.exit(), 2, 256).with_block([16, 16, 1])
}

#[test]
fn the_instruction_that_takes_the_last_register_gathers_the_warps_of_the_path() {
    let of = |registers: u32, sync: bool| {
        let set = [
            format!("technique.darsie.registers={registers}"),
            format!("technique.darsie.register_sync={sync}"),
        ];
        let stats = run(&versions(12), &set.each_ref().map(String::as_str));
        closes(&stats);
        stats
    };
    // r0 to r4 are shared: with two registers more for their next versions, the paper's synchronisation keeps sharing.
    let (with, without) = (of(7, true), of(7, false));
    assert!(count(&with, "synchronised_registers") > 0 && count(&without, "synchronised_registers") == 0);
    assert_eq!(lost(&with, Lost::NoRegister), 0);
    assert!(lost(&without, Lost::NoRegister) > 0);
    assert!(count(&with, "skipped_by_followers") > count(&without, "skipped_by_followers"));
    let many = of(32, true);
    assert_eq!((count(&many, "synchronised_registers"), lost(&many, Lost::NoRegister)), (0, 0));
    let ideal = run(&versions(12), &["technique.darsie.ideal=true", "technique.darsie.registers=1"]);
    assert_eq!(count(&ideal, "synchronised_registers"), 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    /// Whatever the number of registers and entries, no warp waits for ever, and every value agrees.
    #[test]
    fn warps_that_meet_for_registers_all_go_on(
        registers in 1u32..9,
        entries in 1u32..9,
        leavers in 0u32..5,
        trips in 1u32..6,
        cf_sync in proptest::prelude::any::<bool>(),
        policy in 0usize..4,
    ) {
        let set = [
            format!("technique.darsie.registers={registers}"),
            format!("technique.darsie.entries={entries}"),
            format!("technique.darsie.cf_sync={cf_sync}"),
            format!("scheduler.policy={}", ["lrr", "gto", "two_level", "swl"][policy]),
            "scheduler.two_level_active_warps=2".to_owned(),
        ];
        let set = set.each_ref().map(String::as_str);
        let hands =
            [paths(leavers), meetings(leavers, trips), turns(trips), versions(trips), indices([8, 16, 1])];
        for hand in hands {
            closes(&run(&hand, &set));
        }
    }
}

#[test]
fn a_store_ends_the_sharing_of_loads() {
    // Warp by warp: a load of what all share, a store elsewhere, the load again in a loop.
    let mut b = Builder::default();
    b.mov(2, 0).mov(3, 0).mov(8, 4096).mov(9, 0).mov(1, 0);
    let head = b.here();
    b.ldg(4, 2, 0).stg(8, 4, 0).iadd(5, r(4), r(1), Src::RZ);
    b.iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 4, head);
    let kernel = b.exit();
    // The second block's last warp has eight lanes.
    for (threads, block) in [(128, [16, 8, 1]), (104, [8, 13, 1])] {
        let hand = by_hand(kernel.clone(), 1, threads).with_block(block);
        let (stored, ignored) = (run(&hand, &[]), run(&hand, &["technique.darsie.ignore_store=true"]));
        closes(&stored);
        closes(&ignored);
        assert_eq!((count(&ignored, "loads_forgotten"), count(&ignored, "stale_loads")), (0, 0));
        assert!(count(&ignored, "skipped_loads") >= count(&stored, "skipped_loads"));
        assert!(count(&ignored, "skipped_loads") > 0, "{block:?}");
    }
}

#[test]
fn a_load_that_a_store_has_changed_is_counted_where_stores_are_ignored() {
    // Each turn reads what the turn before has stored.
    let mut b = Builder::default();
    b.mov(2, 64).mov(3, 0).mov(1, 0);
    let head = b.here();
    b.ldg(4, 2, 0).iadd(5, r(4), Src::imm(1), Src::RZ).bar().stg(2, 5, 0).bar();
    b.iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 3, head);
    let hand = by_hand(b.exit(), 1, 64).with_block([16, 4, 1]).with_memory();
    let stats = run(&hand, &[]);
    assert!(count(&stats, "skipped_loads") > 0);
    closes(&stats);
}

#[test]
fn a_guard_that_is_false_in_every_warp_leaves_nothing_to_share() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::CtaidX).mov(1, 5).below(0, 1).mov(1, 6).guarded().iadd(2, r(1), r(1), Src::RZ);
    let hand = by_hand(b.exit(), 2, 128).with_block([16, 8, 1]);
    let stats = run(&hand, &[]);
    // The second block's move has no effect, and its followers skip it all the same.
    assert_eq!(count(&stats, "skipped_by_followers"), 2 * 3 * 5);
    closes(&stats);
}

#[test]
fn the_structures_have_the_paper_s_sizes() {
    // 256 entries of 82 bits and 32 x 32 of 21 bits for 32 blocks (section 6.3).
    let mut darsie = Darsie::new(&toml::Table::new()).expect("valid");
    let config = warplab_model::testing::config("darsie-pascal", &[]);
    let hand = indices([8, 16, 1]);
    let program = warplab_technique::program::Program::new(&hand.kernel, &config).expect("a kernel");
    let mut plan = crate::Plan::of(&program);
    let launch = crate::Launch::new(&program, &config, [2, 1, 1], [8, 16, 1]);
    crate::Technique::prepare(&mut darsie, &launch, &mut plan).expect("accepted");
    assert_eq!((darsie.skip_table.bits(), darsie.version_table.bits()), (256 * 82, 32 * 32 * 21));
    assert_eq!(crate::Technique::further_bits(&darsie), 1024);
}
