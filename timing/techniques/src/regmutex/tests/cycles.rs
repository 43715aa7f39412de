//! Cycles of acquires, releases and waiting in the pipeline, computed by hand.

use super::*;
use crate::testing::small;
use trace_format::isa::*;
use warplab_model::stats::Stats;

fn run(hand: &Hand, set: &[&str], techniques: &[&str]) -> Stats {
    hand.run("gtx480", &small(set), techniques)
}

/// A loop of `trips` iterations in which ten values are live, and at most four before and behind it.
fn stretch(trips: u32, warps: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0);
    for reg in 4..10 {
        b.mov(reg, u32::from(reg));
    }
    let top = b.here();
    b.iadd(4, r(4), r(5), r(6)).iadd(4, r(4), r(7), r(8)).iadd(1, r(1), Src::imm(1), Src::RZ);
    b.branch_below(1, trips, top);
    b.iadd(4, r(4), r(9), r(5)).iadd(4, r(4), r(6), r(7)).iadd(4, r(4), r(8), Src::RZ);
    for _ in 0..4 {
        b.iadd(1, r(1), r(4), Src::RZ);
    }
    b.shl(2, 0, 2).mov(3, 0).stg(2, 1, 0);
    by_hand(b.exit(), 1, warps * 32)
}

#[test]
fn an_acquire_and_a_release_cost_an_issue_slot_each() {
    let es = ["technique.regmutex.es=5"];
    let plain = run(&stretch(8, 1), &[], &[]);
    let shared = run(&stretch(8, 1), &es, &["regmutex"]);
    let c = &shared.counters;
    assert_eq!(c.inserted_instructions, 2 + shared.of_techniques("moves"));
    assert_eq!((shared.of_techniques("acquires"), shared.of_techniques("acquires_at_once")), (1, 1));
    assert_eq!(shared.of_techniques("releases") + shared.of_techniques("releases_at_exit"), 1);
    assert_eq!(c.warp_instructions, plain.counters.warp_instructions);
    assert_eq!(c.operand_reads - plain.counters.operand_reads, shared.of_techniques("moves"));
    assert_eq!(c.cycles, plain.counters.cycles, "one warp has empty slots enough");
}

/// A loop that crosses a peak of ten values in every iteration: 12 instructions without dependent neighbours.
fn crossings(trips: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).mov(2, 0).mov(3, 0);
    let top = b.here();
    for reg in 4..10 {
        b.mov(reg, u32::from(reg));
    }
    b.iadd(1, r(1), Src::imm(1), Src::RZ);
    b.iadd(2, r(4), r(5), r(6)).iadd(3, r(7), r(8), r(9));
    b.branch_below(1, trips, top);
    b.iadd(0, r(0), r(2), r(3)).stg(0, 0, 0);
    by_hand(b.exit(), 1, 256)
}

#[test]
fn where_slots_are_scarce_an_acquire_and_a_release_cost_one_each() {
    // Eight warps fill the one issue slot of a cycle.
    let set = ["technique.regmutex.es=7", "scheduler.policy=lrr"];
    let longer = |techniques: &[&str]| {
        let of = |trips| run(&crossings(trips), &set, techniques).counters.cycles;
        (of(40) - of(8)) as f64 / 32.0
    };
    let plain = longer(&[]);
    let shared = run(&crossings(40), &set, &["regmutex"]);
    assert_eq!(shared.of_techniques("moves"), 0, "what is kept is made in the base set");
    assert_eq!((plain, longer(&["regmutex"])), (88.0, 104.0), "two more of 11 instructions, for eight warps");
    assert_eq!(shared.counters.inserted_instructions, 8 * 40 * 2);
}

#[test]
fn a_warp_waits_for_as_long_as_another_one_has_the_section() {
    let of = |length: u32, warps: u32, set: &[&str]| {
        let set: Vec<&str> = ["technique.regmutex.es=5"].iter().chain(set).copied().collect();
        run(&stretch(length, warps), &set, &["regmutex"])
    };
    let one = ["technique.regmutex.sections=1"];
    // A warp begins its loop when the one before has left its own, so that an iteration more of the loop costs each
    // warp its cycles once.
    let longer = |warps: u32, set: &[&str]| {
        (of(40, warps, set).counters.cycles - of(8, warps, set).counters.cycles) as f64 / 32.0
    };
    let link = longer(1, &one);
    assert_eq!(longer(2, &one), 2.0 * link, "one after the other");
    assert_eq!(longer(3, &one), 3.0 * link);
    let beside = longer(2, &["technique.regmutex.sections=2"]);
    assert!(beside < 1.2 * link, "side by side: {beside} and {link}");
    assert_eq!(longer(2, &["technique.regmutex.sections=1", "technique.regmutex.ideal=true"]), beside);
    let stats = of(40, 3, &one);
    assert_eq!((stats.of_techniques("acquires"), stats.of_techniques("acquires_at_once")), (3, 1));
    let stalls = &stats.techniques[0].ledger.stalls;
    assert!(stalls[usize::from(Stall::NoSection.index())] > 40, "{stalls:?}");
}

/// A kernel of four warps whose peaks lie on both sides of barriers; warps 0 and 1 meet at one barrier, warps 2 and 3 at another
/// one, by a register that holds its number. With `threads`, it counts so many; else it waits for the block.
fn meetings(threads: u32, in_parts: bool) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::WarpId).mov(1, 0).mov(2, 1).mov(3, 0);
    // The barrier's number is that of the warp without its last bit.
    let shift =
        Inst::new(Op::ShfR { wide: Wide(false), wrap: Wrap(false), high: High(true), sign: Sign::U32 });
    b.push(shift.dst(Reg(2)).srcs([Src::RZ, Src::imm(1), r(0)]));
    let peak = |b: &mut Builder| {
        for reg in 4..10 {
            b.mov(reg, u32::from(reg));
        }
        b.iadd(4, r(4), r(5), r(6)).iadd(7, r(7), r(8), r(9)).iadd(3, r(3), r(4), r(7));
    };
    for _ in 0..3 {
        peak(&mut b);
        let barrier = Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([r(2), Src::imm(threads)]);
        if in_parts {
            b.below(1, 1);
            b.push(barrier).guarded();
        } else {
            b.push(barrier);
        }
        peak(&mut b);
    }
    b.mov(0, 0).stg(0, 3, 0);
    by_hand(b.exit(), 2, 128)
}

#[test]
fn warps_that_meet_at_barriers_of_their_own_do_not_wait_for_sections_there() {
    let set = ["technique.regmutex.es=5", "technique.regmutex.sections=1"];
    for policy in ["scheduler.policy=lrr", "scheduler.policy=two_level"] {
        let stats = run(&meetings(64, false), &[&set[..], &[policy]].concat(), &["regmutex"]);
        assert_eq!(stats.of_techniques("acquires"), 2 * 4 * 6, "{policy}");
        assert_eq!(stats.counters.barrier_arrivals, 2 * 4 * 3);
    }
}

#[test]
fn lanes_that_may_wait_alone_at_a_barrier_get_no_extended_set() {
    let set = ["technique.regmutex.es=5"];
    let of = |threads, in_parts| {
        run(&meetings(threads, in_parts), &set, &["regmutex"]).of_techniques("extended_registers") > 0
    };
    assert!(of(64, false), "all lanes of a warp arrive together");
    assert!(!of(64, true), "a guarded barrier that counts threads");
}

#[test]
fn more_sections_never_lose() {
    let mut last = u64::MAX;
    // Numbers by which the warps take turns evenly.
    for sections in [1, 2, 4, 8, 16] {
        let set = ["technique.regmutex.es=5".to_owned(), format!("technique.regmutex.sections={sections}")];
        let cycles = run(&stretch(60, 8), &set.each_ref().map(String::as_str), &["regmutex"]).counters.cycles;
        assert!(cycles <= last, "{sections} sections: {cycles} cycles after {last}");
        last = cycles;
    }
    let ideal = ["technique.regmutex.es=5", "technique.regmutex.sections=1", "technique.regmutex.ideal=true"];
    assert_eq!(run(&stretch(60, 8), &ideal, &["regmutex"]).counters.cycles, last);
}

#[test]
fn switched_off_it_is_the_machine_without_techniques() {
    for gpu in ["gtx480", "regmutex-fermi-half", "titanx-pascal"] {
        let hand = kernel_of(60, 50);
        let plain = hand.run(gpu, &["gpu.sms=1"], &[]);
        for name in ["regmutex", "regmutex-pairs"] {
            let off = format!("technique.{name}.mechanism=false");
            let stats = hand.run(gpu, &["gpu.sms=1", &off], &[name]);
            assert_eq!(stats.counters.values(), plain.counters.values(), "{gpu} {name}");
        }
    }
}

#[test]
fn more_warps_are_resident_and_a_pair_shares_a_section() {
    let config = ["gpu.sms=1"];
    let hand = kernel_of(40, 30);
    let plain = hand.run("regmutex-fermi-half", &config, &[]);
    let shared = hand.run("regmutex-fermi-half", &config, &["regmutex"]);
    assert!(shared.of_techniques("acquires") > 0);
    let resident = |stats: &Stats| stats.counters.resident_warp_cycles as f64 / stats.counters.cycles as f64;
    assert!(resident(&shared) > resident(&plain), "{} {}", resident(&shared), resident(&plain));
    let es = "technique.regmutex-pairs.es=12";
    let pairs = hand.run("regmutex-fermi-half", &["gpu.sms=1", es], &["regmutex-pairs"]);
    assert!(pairs.of_techniques("acquires_at_once") <= pairs.of_techniques("acquires"));
    assert_eq!(pairs.of_techniques("acquires"), 64 * 6);
    let per_warp = |stats: &Stats, name: &str| stats.of_techniques(name) / (64 * 6);
    assert_eq!((per_warp(&pairs, "base_registers"), per_warp(&pairs, "extended_registers")), (28, 12));
}

#[test]
fn bad_sections_are_refused_with_the_key() {
    let refuse = |section: &str| {
        let table: toml::Table = toml::from_str(section).expect("TOML");
        RegMutex::new(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("es = 255").contains("`es`: 255"));
    assert!(refuse("extended = 2").contains("extended"));
}
