//! Tests of the engine: a component that never replies, and invariants of the statistics for random kernels
//! on random configurations.

use super::RunOptions;
use super::job::STUCK_CYCLES;
use crate::config::{GpuConfig, load};
use crate::error::ReplayError;
use crate::stats::Stats;
use crate::testing::{Builder, Hand, r};
use proptest::prelude::*;
use trace_format::isa::*;

fn config(gpu: &str, set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load(gpu, &set).unwrap_or_else(|why| panic!("{why}")).config
}

/// A kernel that loads `loads` lines from global memory before it uses the first.
fn loads(loads: u8) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 7).mov(3, 0);
    for i in 0..loads {
        b.ldg(10 + i, 2, i32::from(i) * 8192);
    }
    b.iadd(4, r(10), r(10 + loads - 1), Src::RZ);
    Hand::new(b.exit(), 2, 64)
}

fn stuck(hand: &Hand, set: &[&str]) -> (u64, String) {
    let config = config("gtx480", set);
    let options = RunOptions { lose_replies_from: Some(0), ..RunOptions::default() };
    match hand.run_as(hand, &config, &[], &options).expect_err("nothing comes back") {
        ReplayError::Stuck { kernel, cycles, state } => {
            assert_eq!(kernel, "hand");
            (cycles, state)
        }
        other => panic!("unexpected {other}"),
    }
}

/// A crossbar that loses replies: no event is left, and the engine detects that at once.
#[test]
fn memory_that_never_answers_is_reported_with_what_every_component_holds() {
    // The code lies in no cache either: the first fetch waits for good.
    let (cycles, state) = stuck(&loads(2), &["gpu.sms=1"]);
    assert!(cycles <= STUCK_CYCLES + 1000);
    for part in ["SM 0 at cycle", "I-cache 0xf", "I-buffers (held + in decode): w0 0+0", "units: all free"] {
        assert!(state.contains(part), "{state}\nlacks {part}");
    }
    for part in
        ["collectors: 0 collecting", "load/store: 0 queued", "result bus: 0", "warp slot 3: block 1, warp 1"]
    {
        assert!(state.contains(part), "{state}\nlacks {part}");
    }
    assert!(state.contains("I-cache misses") && state.contains("events to come: none"), "{state}");
}

/// A livelock: the head of the load/store queue finds no MSHR in any cycle.
#[test]
fn a_machine_that_is_busy_without_progress_is_stopped_within_the_bound() {
    let hand = loads(3);
    let config = config("gtx480", &["gpu.sms=1", "l1.mshrs=1"]);
    // Replies are lost only after the code has been fetched.
    let options = RunOptions { lose_replies_from: Some(900), ..RunOptions::default() };
    let error = hand.run_as(&hand, &config, &[], &options).expect_err("nothing comes back");
    let ReplayError::Stuck { cycles, state, .. } = &error else { panic!("unexpected {error}") };
    assert!((STUCK_CYCLES..STUCK_CYCLES + 1000).contains(cycles), "{cycles} cycles");
    for part in ["1 L1 misses", "in memory", "outstanding R10 (memory)", "load/store: ", "PC 0x"] {
        assert!(state.contains(part), "{state}\nlacks {part}");
    }
    let message = error.to_string();
    assert!(message.contains("no instruction issued for") && message.contains("hand"), "{message}");
}

#[test]
fn a_barrier_that_is_never_full_names_who_is_there() {
    let mut b = Builder::default();
    b.mov(1, 1).push(Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(3), Src::imm(96)]));
    let hand = Hand::new(b.exit(), 1, 64);
    let error =
        hand.run_as(&hand, &config("gtx480", &[]), &[], &RunOptions::default()).expect_err("a deadlock");
    assert!(error.to_string().contains("block slot 0, barrier 3: 64 of 96 threads"), "{error}");
}

/// Overrides that select each variant of a component, each with the GPUs to which it applies.
const MACHINES: &[(&str, &[&str])] = &[
    ("gtx480", &["gpu.sms=2"]),
    ("gtx480", &["gpu.sms=3", "scheduler.policy=two_level", "launch.latency_cycles=70"]),
    ("gtx480", &["gpu.sms=1", "scheduler.policy=oldest", "register_file.banks=2", "l1.mshrs=2"]),
    ("gtx480", &["gpu.sms=2", "l1.bypass_global=true", "load_store.miss_queue_entries=1", "l2.mshrs=1"]),
    ("titanx-pascal", &["gpu.sms=2", "launch.latency_cycles=0"]),
    (
        "titanx-pascal",
        &["gpu.sms=1", "scheduler.issue_width=1", "dram.queue_entries=2", "dram.scheduler=fifo"],
    ),
    ("qv100", &["gpu.sms=2", "launch.latency_cycles=10"]),
    ("gtx285", &["gpu.sms=2"]),
    ("gtx480", &["gpu.sms=1", "sm.registers=4096", "scheduler.policy=two_level"]),
    ("rtx2060", &["gpu.sms=2", "interconnect.sm_credits=1", "interconnect.reply_queue_entries=1"]),
];

/// Techniques of random replays.
const TECHNIQUES: &[&[&str]] = &[
    &[],
    &["bow"],
    &["bow-wr"],
    &["rfc"],
    &["corf"],
    &["corf++"],
    &["packing", "rf-virtualization"],
    &["uv-token"],
    &["uv-scalar"],
    &["uv-reuse"],
    &["uv-token", "uv-reuse"],
    &["uv-scalar", "uv-reuse"],
    &["darsie"],
    &["darsie", "bow"],
    &["dac"],
    &["bow", "dac"],
    &["dac-ideal"],
    &["cae"],
    &["bow", "cae"],
    &["mta"],
    &["cae", "mta"],
    &["bow", "corf"],
    &["bow", "uv-scalar"],
    &["uv-scalar", "corf"],
    &["uv-scalar", "corf++"],
    &["uv-scalar", "rf-virtualization", "packing"],
    &["bow", "regmutex"],
    &["regmutex-pairs"],
    &["rfv"],
    &["bow", "rfv"],
    &["owf"],
    &["bow", "owf", "uv-scalar"],
];

/// A random kernel: arithmetic, loads, shared memory, atomics, stores, barriers, in a loop.
fn kernel(steps: &[(u8, u8, u8)], trips: u32) -> MachineKernel {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX).shl(2, 0, 2).mov(3, 0).mov(9, 0);
    b.push(Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(1), Src::imm(2048), r(2)]));
    let top = b.here();
    for (kind, a, d) in steps {
        let (a, d) = (10 + a % 12, 10 + d % 12);
        match kind % 8 {
            0 | 1 => b.ffma(d, a, 10, 11),
            2 => b.iadd(d, r(a), r(2), Src::imm(7)),
            3 => b.ldg(d, 8, i32::from(a) * 4096),
            4 => b.lds(d, 2),
            5 => b.stg(8, a, 1 << 20),
            6 => b.push(Inst::new(Op::Mufu { func: MufuFn::Rcp, ftz: Ftz(false) }).dst(Reg(d)).srcs([r(a)])),
            _ => b.bar(),
        };
    }
    b.iadd(3, r(3), Src::imm(1), Src::RZ).branch_below(3, trips, top);
    b.exit()
}

/// Invariants of the statistics of any replay.
fn figures_agree(stats: &Stats, config: &GpuConfig) {
    let (c, l) = (&stats.counters, &stats.latency);
    let slots = u64::from(config.gpu.sms * config.scheduler.count * config.scheduler.issue_width);
    assert_eq!(stats.stalls.total(), slots * c.cycles, "every slot of every cycle has one cause");
    let added = c.inserted_instructions + c.companion_instructions;
    let issued = c.warp_instructions + added - c.skipped_instructions;
    assert_eq!(stats.stalls.get(crate::stats::Stall::Issued) + c.shared_slots, issued, "an issue is a slot");
    assert_eq!(l.operand_collection.count(), c.collected_instructions);
    // Whoever writes a register was collected before; instructions of techniques are collected but not in the latencies.
    let written = l.load_issue_to_writeback.count() + l.alu_issue_to_writeback.count();
    let collected = l.memory_operand_collection.count() + l.alu_operand_collection.count();
    assert!(collected <= l.operand_collection.count());
    assert!(collected <= written + c.inserted_instructions && written <= collected + c.reused_instructions);
    let loads =
        [&l.l1_load_issue_to_writeback, &l.l2_load_issue_to_writeback, &l.dram_load_issue_to_writeback]
            .map(crate::stats::Latency::count);
    let others = l.atomic_issue_to_writeback.count() + l.constant_issue_to_writeback.count();
    assert_eq!(loads.iter().sum::<u64>() + others, l.load_issue_to_writeback.count(), "loads by level");
    assert_eq!(c.l1_hits + c.l1_misses + c.l1_merges, c.l1_accesses, "L1");
    assert_eq!(c.l2_hits + c.l2_misses + c.l2_merges, c.l2_accesses, "L2");
    assert_eq!((c.request_packets, c.reply_packets), (c.l2_accesses, c.l2_accesses), "the crossbar");
    assert_eq!(l.memory_round_trip.count(), c.reply_packets, "answers");
    assert!(l.barrier_wait.count() <= c.barrier_arrivals);
    assert!(c.reply_flits < c.interconnect_flits || c.interconnect_flits == 0);
    assert!(c.dram_bytes >= 32 * c.dram_reads && c.dram_row_hits <= c.dram_reads + c.dram_writes);
    assert!(c.resident_warp_cycles <= slots * c.cycles * 64);
    // The statistics are one list: JSON and CSV have every name, and a sum of parts has the parts' sums.
    let header = Stats::csv_header();
    assert_eq!(header.len(), stats.csv_row().len());
    let mut twice = stats.clone();
    twice.merge(stats);
    for (one, two) in c.values().iter().zip(twice.counters.values()) {
        assert_eq!(2 * one, two);
    }
    assert_eq!(2 * l.load_issue_to_writeback.count(), twice.latency.load_issue_to_writeback.count());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_slot_has_a_cause_on_any_machine(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..14),
        trips in 1u32..4,
        blocks in 1u32..9,
        threads in prop::sample::select(vec![32u32, 64, 96, 128]),
        machine in 0..MACHINES.len(),
        technique in 0..TECHNIQUES.len(),
    ) {
        let (gpu, set) = MACHINES[machine];
        let config = config(gpu, set);
        let hand = Hand::new(kernel(&steps, trips), blocks, threads).knowing(warplab_techniques::BUILT_IN);
        let techniques = TECHNIQUES[technique];
        let options = RunOptions { per_sm: true, ..RunOptions::default() };
        let outcome = hand.run_as(&hand, &config, techniques, &options).unwrap_or_else(|why| panic!("{why}"));
        figures_agree(&outcome.total, &config);
        // The SMs' statistics sum to the total, except counters of L2, DRAM and the launch.
        let mut sum = Stats::default();
        for sm in &outcome.jobs[0].per_sm {
            sum.merge(sm);
        }
        prop_assert_eq!(sum.counters.warp_instructions, outcome.total.counters.warp_instructions);
        prop_assert_eq!(sum.counters.rf_reads, outcome.total.counters.rf_reads);
        let launch = outcome.total.stalls.get(crate::stats::Stall::Launch);
        prop_assert_eq!(sum.stalls.total() + launch, outcome.total.stalls.total());
        let slots = outcome.total.stalls.total() - launch;
        let per_sm = slots / u64::from(config.gpu.sms);
        prop_assert!(outcome.jobs[0].per_sm.iter().all(|sm| sm.stalls.total() == per_sm));
        prop_assert_eq!(outcome.total.counters.blocks, u64::from(blocks));
    }
}

/// Sets every number of a configuration to typical mistakes and to the limits of its type: it is refused with
/// its key, or the replay runs or ends with an error that names the reason.
#[test]
fn every_value_is_refused_or_makes_a_machine_that_runs() {
    let hand =
        Hand::new(kernel(&[(3, 1, 2), (4, 1, 3), (0, 2, 3), (5, 3, 0), (7, 0, 0), (6, 2, 4)], 2), 3, 64);
    let base = config("gtx480", &["gpu.sms=1"]);
    let values = crate::config::flatten(&toml::Value::try_from(&base).expect("a table"));
    let (mut accepted, mut refused) = (0, 0);
    for (key, value) in values.iter().filter(|(_, value)| value.is_integer()) {
        let was = value.as_integer().unwrap_or(0);
        for hostile in [0, 1, was.saturating_mul(2), i64::from(u32::MAX), i64::MAX] {
            let set = ["gpu.sms=1".to_owned(), format!("{key}={hostile}")];
            let Ok(loaded) = load("gtx480", &set) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let options = RunOptions { max_cycles: Some(200_000), ..RunOptions::default() };
            match hand.run_as(&hand, &loaded.config, &[], &options) {
                Ok(outcome) => figures_agree(&outcome.total, &loaded.config),
                Err(ReplayError::Refused(_) | ReplayError::TooManyCycles { .. }) => {}
                Err(other) => panic!("{key}={hostile}: {other}"),
            }
        }
    }
    assert!(accepted > 200 && refused > 200, "{accepted} accepted, {refused} refused");
}

/// Dependent loads of one line: from DRAM, from L1, and, after a store that evicts the line from L1, from L2.
#[test]
fn loads_are_counted_by_the_level_that_served_them() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(2, 0, 2).mov(3, 0).ldg(10, 2, 0);
    // Each load depends on the previous one: zero times its result is added to the address.
    let again = |b: &mut Builder, from: u8, to: u8| {
        b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(from), Src::imm(0), r(2)])).ldg(to, 2, 0);
    };
    again(&mut b, 10, 11);
    again(&mut b, 11, 12);
    b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(12), Src::imm(0), r(2)])).stg(2, 12, 0);
    b.push(Inst::new(Op::Membar { scope: Scope::Gpu }));
    again(&mut b, 12, 13);
    let hand = Hand::new(b.exit(), 1, 32);
    let config = config("gtx480", &["gpu.sms=1", "launch.latency_cycles=0"]);
    let stats = hand.run_as(&hand, &config, &[], &RunOptions::default()).expect("a replay").total;
    let l = &stats.latency;
    let counts =
        [&l.l1_load_issue_to_writeback, &l.l2_load_issue_to_writeback, &l.dram_load_issue_to_writeback]
            .map(crate::stats::Latency::count);
    assert_eq!(counts, [2, 1, 1]);
    // Issue to read 1, two registers through one port 2, the queue 1, then the cache's latency.
    let hit = l.l1_load_issue_to_writeback.max_cycles();
    let configured = u64::from(config.l1.hit_latency_cycles);
    assert!((configured..configured + 6).contains(&hit), "{hit} cycles for a hit of {configured}");
    let of = |one: &crate::stats::Latency| one.percentile_cycles(50.0);
    let (l2, dram) = (of(&l.l2_load_issue_to_writeback), of(&l.dram_load_issue_to_writeback));
    assert!(hit < l2 && l2 + 100 < dram, "{hit}, {l2}, {dram}: DRAM adds at least its fixed 100 cycles");
}
