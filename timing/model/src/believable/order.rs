//! Tests of the issue order of each policy, and of independence from hooks, threads and their order.

use super::{GPUS, one_sm};
use crate::config::{GpuConfig, load};
use crate::engine::{Disorder, RunOptions};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::*;

/// A machine that can issue in every cycle from the first on: code and buffers are large, collectors many.
fn wide(more: &[&str]) -> GpuConfig {
    let set = [
        "scheduler.count=1",
        "front_end.icache.line_bytes=256",
        "front_end.icache.size_bytes=4096",
        "front_end.fetch_warps_per_cycle=4",
        "front_end.fetch_instructions=8",
        "front_end.ibuffer_entries=8",
        "collectors.alu=32",
    ];
    one_sm("gtx480", &[&set[..], more].concat())
}

/// Warps in order of issue with the cycle since the first, for the instructions of a range.
fn issues(hand: &Hand, config: &GpuConfig, pcs: std::ops::Range<u32>) -> Vec<(u64, u8)> {
    let insts = hand.observe(config);
    let first = insts.iter().find(|inst| pcs.contains(&inst.pc)).map_or(0, |inst| inst.issued);
    let within = insts.iter().filter(|inst| pcs.contains(&inst.pc));
    within.map(|inst| (inst.issued - first, inst.warp_slot)).collect()
}

/// Three warps of four independent instructions each, all decoded when the first issues because a barrier holds them.
fn independent() -> Hand {
    let mut b = Builder::default();
    b.bar();
    for i in 0..4 {
        b.mov(10 + i, 7);
    }
    Hand::new(b.exit(), 1, 96)
}

fn warps(list: &[(u64, u8)]) -> Vec<u8> {
    list.iter().map(|(_, warp)| *warp).collect()
}

#[test]
fn round_robin_alternates_cycle_by_cycle() {
    let list = issues(&independent(), &wide(&["scheduler.policy=lrr"]), 1..5);
    // The barrier's last arrival was that of warp 2.
    assert_eq!(warps(&list), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert!(list.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "{list:?}");
}

#[test]
fn greedy_stays_with_a_warp_and_goes_on_with_the_oldest() {
    let list = issues(&independent(), &wide(&["scheduler.policy=gto"]), 1..5);
    // Greedy: the warp that issued last, which is the barrier's last, before the oldest.
    assert_eq!(warps(&list), [2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1]);
    let cycles: Vec<u64> = list.iter().map(|(cycle, _)| *cycle).collect();
    // Between two runs the exit of the warp issues.
    assert_eq!(cycles, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]);
}

#[test]
fn oldest_first_prefers_age_in_every_cycle() {
    let list = issues(&independent(), &wide(&["scheduler.policy=oldest"]), 1..5);
    assert_eq!(warps(&list), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
}

/// Dependent pairs: a warp waits after its multiply-add, and each policy issues other warps meanwhile.
#[test]
fn a_dependence_hands_the_slot_on() {
    let mut b = Builder::default();
    b.bar();
    b.ffma(3, 1, 1, 1).ffma(4, 3, 3, 3);
    let hand = Hand::new(b.exit(), 1, 96);
    // One read, then the latency of 5: the second multiply-add issues 1 + 1 + 5 cycles after the first.
    let gto = issues(&hand, &wide(&["scheduler.policy=gto"]), 1..3);
    // Then each warp's exit follows its multiply-add at once, as the warp is still the greedy one.
    assert_eq!(gto, [(0, 2), (1, 0), (2, 1), (7, 2), (9, 0), (11, 1)]);
    let lrr = issues(&hand, &wide(&["scheduler.policy=lrr"]), 1..3);
    assert_eq!(warps(&lrr), [0, 1, 2, 0, 1, 2]);
    assert_eq!(lrr[3].0, 7);
}

/// Two active warps of four: the others come in when these wait for memory, in the order in which they queued.
#[test]
fn two_level_issues_from_its_active_set_alone() {
    let mut b = Builder::default();
    b.mov(4, 0x1000).mov(5, 0).mov(6, 1).ldg(10, 4, 0).iadd(11, r(10), r(10), Src::RZ);
    let hand = Hand::new(b.exit(), 1, 128);
    let config = wide(&["scheduler.policy=two_level", "scheduler.two_level_active_warps=2"]);
    let insts = hand.observe(&config);
    let before_load: Vec<u8> = insts.iter().filter(|inst| inst.pc < 4).map(|inst| inst.warp_slot).collect();
    assert_eq!(before_load[..8].iter().filter(|warp| **warp > 1).count(), 0, "{before_load:?}");
    assert_eq!(before_load[8..].iter().filter(|warp| **warp < 2).count(), 0, "{before_load:?}");
    // Whoever waits for its load has left: warps 2 and 3 have loaded before warps 0 and 1 add.
    let issued = |pc: u32, warp: u8| {
        insts.iter().find(|inst| inst.pc == pc && inst.warp_slot == warp).expect("issued").issued
    };
    assert!(issued(3, 3) < issued(4, 0));
    // With all four active, they go round together.
    let all = wide(&["scheduler.policy=two_level", "scheduler.two_level_active_warps=4"]);
    let insts = hand.observe(&all);
    let first: Vec<u8> = insts.iter().take(4).map(|inst| inst.warp_slot).collect();
    assert_eq!(first, [0, 1, 2, 3]);
}

/// Dual issue: two instructions of one warp in a cycle, of different units if the configuration requires it.
#[test]
fn dual_issue_pairs_as_its_units_allow() {
    let mut b = Builder::default();
    b.bar();
    b.mov(10, 1).ffma(11, 1, 1, 1).mov(12, 1).mov(13, 1);
    let hand = Hand::new(b.exit(), 1, 32);
    let units = "units.int={ count = 2, lanes = 32, runs_on = '' }";
    let at = |more: &[&str]| -> Vec<u64> {
        issues(&hand, &wide(&[&[units], more].concat()), 1..5).iter().map(|issue| issue.0).collect()
    };
    assert_eq!(at(&["scheduler.issue_width=1"]), [0, 1, 2, 3]);
    assert_eq!(at(&["scheduler.issue_width=2", "scheduler.dual_issue_distinct_units=false"]), [0, 0, 1, 1]);
    assert_eq!(at(&["scheduler.issue_width=2", "scheduler.dual_issue_distinct_units=true"]), [0, 0, 1, 2]);
}

/// Arithmetic, loops, shared, local, global and texture memory, atomics and barriers.
fn everything(blocks: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX).shl(2, 0, 2).mov(3, 0).mov(20, 0);
    b.push(Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(1), Src::imm(4096), r(2)])).mov(9, 0);
    let top = b.here();
    b.ldg(10, 8, 0).ldg(11, 8, 1024).lds(14, 2).ffma(20, 10, 14, 20).tex(24, 8);
    b.stl(2, 20).ldl(15, 2).atomic_add(16, 8, 15).sts(2, 16).bar().stg(8, 20, 1 << 20);
    b.iadd(3, r(3), Src::imm(1), Src::RZ).branch_below(3, 4, top);
    Hand::new(b.exit(), blocks, 96)
}

fn fingerprint(hand: &Hand, config: &GpuConfig, techniques: &[&str], options: &RunOptions<'_>) -> String {
    let outcome = hand.run_as(hand, config, techniques, options).expect("a replay without error");
    format!("{:?}", outcome.total)
}

#[test]
fn no_order_of_threads_changes_anything() {
    for gpu in ["gtx285", "titanx-pascal", "qv100"] {
        let set = ["launch.latency_cycles=0".to_owned(), "gpu.sms=7".to_owned()];
        let config = load(gpu, &set).expect("built-in").config;
        let hand = everything(17);
        let run = |threads, shuffle| {
            let disorder = Disorder { shuffle, ..Disorder::default() };
            fingerprint(&hand, &config, &[], &RunOptions { threads, disorder, ..RunOptions::default() })
        };
        let plain = run(1, None);
        for (threads, seed) in [(1, 1), (2, 2), (3, 3), (5, 4)] {
            assert_eq!(plain, run(threads, Some(seed)), "{gpu}: {threads} threads, seed {seed}");
        }
    }
}

/// Threads that the host does not schedule, as on a busy machine, do not delay a launch.
#[test]
fn threads_that_never_run_hold_nobody_up() {
    let _watchdog = test_kit::Watchdog::over("a launch of which seven threads never run");
    let config = load("gtx480", &["gpu.sms=8".to_owned()]).expect("built-in").config;
    let hand = everything(33);
    let run = |threads, kept_off| {
        let disorder = Disorder { kept_off, ..Disorder::default() };
        fingerprint(&hand, &config, &[], &RunOptions { threads, disorder, ..RunOptions::default() })
    };
    assert_eq!(run(1, false), run(8, true));
}

/// With one entry in every queue, one line in every cache set and one MSHR, all components block each other
/// and every access evicts a dirty line; the kernel still ends, later and with the same work.
#[test]
fn queues_of_one_place_hold_back_and_do_not_lock() {
    let tiny = [
        "load_store.queue_entries=1",
        "load_store.miss_queue_entries=1",
        "l1.mshrs=1",
        "l1.mshr_merges=1",
        "texture_cache.mshrs=1",
        "texture_cache.fragments=32",
        "constant_cache.mshrs=1",
        "front_end.icache.mshrs=1",
        "front_end.ibuffer_entries=1",
        "interconnect.sm_credits=1",
        "interconnect.reply_queue_entries=1",
        "l2.mshrs=1",
        "l2.mshr_merges=1",
        "l2.queue_entries=1",
        "l2.dram_queue_entries=1",
        "l2.sets=1",
        "l2.ways=1",
        "l2.size_bytes=128",
        "l2.set_hash=linear",
        "dram.queue_entries=1",
        "dram.return_queue_entries=1",
        "register_file.result_bus_width=1",
        "l1.sets=1",
        "l1.ways=1",
        "l1.size_bytes=128",
        "l1.set_hash=linear",
        "l1.unified_bytes=0",
        "shared_memory.carveouts_bytes=[]",
        "launch.latency_cycles=0",
        "gpu.sms=2",
        "dram.channels=2",
    ];
    let set = |items: &[&str]| -> Vec<String> { items.iter().map(|item| (*item).to_owned()).collect() };
    let hand = everything(4);
    for gpu in GPUS {
        let small = load(gpu, &set(&tiny)).expect("a valid configuration").config;
        let usual = load(gpu, &set(&tiny[28..])).expect("a valid configuration").config;
        let run = |config| hand.run_on(config, &[], 1).expect("a replay without error").counters;
        let (small, usual) = (run(&small), run(&usual));
        assert_eq!(small.warp_instructions, usual.warp_instructions, "{gpu}");
        assert!(small.cycles > usual.cycles, "{gpu}");
    }
}

#[test]
fn hooks_that_do_nothing_change_nothing() {
    for gpu in GPUS {
        let config = load(gpu, &[]).expect("built-in").config;
        let hand = everything(20).knowing(warplab_techniques::BUILT_IN);
        let options = RunOptions::default();
        let plain = fingerprint(&hand, &config, &[], &options);
        let mut asked =
            hand.run_as(&hand, &config, &["null"], &options).expect("a replay without error").total;
        assert_eq!(asked.techniques.len(), 1);
        asked.techniques.clear();
        assert_eq!(plain, format!("{asked:?}"), "{gpu}");
    }
}
