//! Tests of the whole pipeline, on hand-written kernels whose cycles can be computed on paper.

use crate::config::load;
use crate::error::ReplayError;
use crate::sched::POLICIES;
use crate::stats::{Stall, Stats};
use crate::testing::{Builder, Hand, r, small, stream};
use trace_format::isa::*;

/// Cycles of `long` minus cycles of `short`.
fn difference(gpu: &str, set: &[&str], short: &Hand, long: &Hand) -> u64 {
    long.run(gpu, set, &[]).counters.cycles - short.run(gpu, set, &[]).counters.cycles
}

fn chain(length: usize, dependent: bool) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 0x3F80_0000).mov(2, 0x4000_0000);
    for i in 0..length {
        if dependent {
            b.ffma(3, 1, 2, 3);
        } else {
            b.ffma(3 + i as u8, 1, 2, 1);
        }
    }
    Hand::new(b.exit(), 1, 32)
}

/// All statistics of a replay as comparable text.
fn fingerprint(stats: &Stats) -> String {
    format!("{:?} {:?} {}", stats.counters, stats.stalls, stats.latency.to_json())
}

/// A kernel with arithmetic, loops without divergence, shared and global memory and barriers.
fn mixed(blocks: u32, threads: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX).shl(2, 0, 2).mov(3, 0).mov(20, 0);
    b.push(Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(1), Src::imm(4096), r(2)])).mov(9, 0);
    let top = b.here();
    for i in 0..4 {
        b.ldg(10 + i, 8, i32::from(i) * 1024).lds(14, 2).ffma(20, 10 + i, 14, 20);
    }
    b.bar().stg(8, 20, 1 << 20);
    b.iadd(3, r(3), Src::imm(1), Src::RZ).branch_below(3, 6, top);
    Hand::new(b.exit(), blocks, threads)
}

#[test]
fn warps_wait_at_a_barrier_from_their_arrival_to_the_cycle_after_the_last() {
    for warps in [1, 2, 4] {
        let mut b = Builder::default();
        b.bar();
        let stats = Hand::new(b.exit(), 1, 32 * warps).run("gtx480", &small(&[]), &[]);
        // The scheduler issues one arrival per cycle.
        let waits = &stats.latency.barrier_wait;
        assert_eq!((waits.count(), waits.max_cycles()), (u64::from(warps), u64::from(warps)));
        assert_eq!(waits.mean_cycles(), f64::from(warps + 1) / 2.0);
    }
}

#[test]
fn dependent_fma_chain_reaches_the_configured_latency() {
    for latency in [4u64, 9, 30] {
        let item = format!("latency.fp_fma={{ latency_cycles = {latency}, initiation_cycles = 1 }}");
        let cycles = difference("gtx480", &small(&[&item]), &chain(8, true), &chain(24, true));
        // One cycle to the first read, three reads through the collector's single port, then the latency; the
        // result leaves the bus in the cycle in which the next one issues.
        assert_eq!(cycles, 16 * (1 + 3 + latency), "latency {latency}");
    }
}

#[test]
fn independent_instructions_reach_the_issue_rate_and_the_initiation_interval() {
    let one_port = "collectors.ports=4";
    for initiation in [1u64, 2, 5] {
        let latency = format!("latency.fp_fma={{ latency_cycles = 4, initiation_cycles = {initiation} }}");
        let one_unit = "units.fp32={ count = 1, lanes = 32, runs_on = '' }";
        let fetch = "front_end.fetch_instructions=4";
        let buffer = "front_end.ibuffer_entries=8";
        let bus = "register_file.result_bus_width=4";
        let set = small(&[&latency, one_unit, one_port, fetch, buffer, bus, "register_file.bank_ports=4"]);
        let cycles = difference("gtx480", &set, &chain(4, false), &chain(20, false));
        assert_eq!(cycles, 16 * initiation, "initiation interval {initiation}");
    }
}

#[test]
fn narrow_units_occupy_a_warp_for_32_over_lanes_cycles() {
    for lanes in [8u64, 16, 32] {
        let unit = format!("units.fp32={{ count = 1, lanes = {lanes}, runs_on = '' }}");
        let wide = ["collectors.ports=4", "register_file.bank_ports=4", "front_end.ibuffer_entries=8"];
        let fetch = "front_end.fetch_instructions=4";
        let set = small(&[&unit, wide[0], wide[1], wide[2], fetch]);
        let cycles = difference("gtx480", &set, &chain(4, false), &chain(20, false));
        assert_eq!(cycles, 16 * 32 / lanes, "{lanes} lanes");
    }
}

/// Registers 1, 17 and 33 lie in one of 16 banks: of three requests two wait one cycle, then one waits another.
#[test]
fn bank_conflicts_are_counted_in_cycles_waited() {
    let kernel = |a, b, c| {
        let mut k = Builder::default();
        k.ffma(40, a, b, c);
        Hand::new(k.exit(), 1, 32)
    };
    let set = small(&["collectors.ports=3"]);
    let conflicting = kernel(1, 17, 33).run("gtx480", &set, &[]);
    let clear = kernel(1, 18, 35).run("gtx480", &set, &[]);
    assert_eq!(conflicting.counters.rf_bank_conflict_cycles, 3);
    assert_eq!(clear.counters.rf_bank_conflict_cycles, 0);
    assert_eq!(conflicting.counters.cycles - clear.counters.cycles, 2);
    assert_eq!((conflicting.counters.rf_reads, conflicting.counters.rf_writes), (3, 1));
    let one_port = kernel(1, 18, 35).run("gtx480", &small(&[]), &[]);
    assert_eq!(one_port.counters.collector_port_conflict_cycles, 3);
}

#[test]
fn a_register_read_twice_is_read_once() {
    let mut b = Builder::default();
    b.ffma(4, 1, 1, 1);
    let stats = Hand::new(b.exit(), 1, 32).run("gtx480", &small(&[]), &[]);
    assert_eq!((stats.counters.rf_reads, stats.counters.operand_reads), (1, 1));
}

/// A load whose address depends on the load before, through one multiply-add that yields zero.
fn chase(length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0);
    for _ in 0..length {
        b.ldg(10, 4, 0);
        b.push(Inst::new(Op::Imad {}).dst(Reg(4)).srcs([r(10), Src::RZ, Src::RZ]));
    }
    Hand::new(b.exit(), 1, 32)
}

/// Cycles around a load: two address registers through one port and the queue, then the multiply-add.
const AROUND_LOAD: u64 = (1 + 2 + 1) + (1 + 1 + 5);

#[test]
fn a_pointer_chase_measures_the_l1_latency() {
    for latency in [10u64, 35, 82] {
        let item = format!("l1.hit_latency_cycles={latency}");
        let cycles = difference("gtx480", &small(&[&item]), &chase(4), &chase(12));
        assert_eq!(cycles, 8 * (latency + AROUND_LOAD));
    }
}

#[test]
fn a_pointer_chase_past_l1_measures_the_way_to_l2() {
    for (l2, request, reply) in [(120u64, 24u64, 24u64), (160, 16, 40)] {
        let items = [
            "l1.bypass_global=true".to_owned(),
            format!("l2.latency_cycles={l2}"),
            format!("interconnect.request_latency_cycles={request}"),
            format!("interconnect.reply_latency_cycles={reply}"),
        ];
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let cycles = difference("gtx480", &small(&items), &chase(4), &chase(12));
        // One cycle for the request's flit; the slice's reply waits a cycle for its port, and 40 bytes are two
        // flits of 32; the reply completes the load in the cycle after its arrival.
        let network = 1 + request + l2 + 1 + 2 + reply + 1;
        assert_eq!(cycles, 8 * (network + AROUND_LOAD), "L2 {l2}");
    }
}

#[test]
fn shared_memory_conflicts_cost_their_degree() {
    let kernel = |shift: u32, length: usize| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).shl(1, 0, shift);
        for _ in 0..length {
            b.lds(10, 1).push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(10), Src::RZ, Src::RZ]));
        }
        Hand::new(b.exit(), 1, 32)
    };
    for (shift, degree) in [(2u32, 1u64), (3, 2), (4, 4), (7, 32)] {
        let run = |length| kernel(shift, length).run("gtx480", &small(&[]), &[]);
        let (short, long) = (run(2), run(10));
        assert_eq!(long.counters.shared_bank_conflict_cycles, 10 * (degree - 1));
        // One read, the queue, the latency and the conflicts; the multiply-add issues, and a cycle later the next
        // load, which writes the same register.
        let per_load = (long.counters.cycles - short.counters.cycles) / 8;
        assert_eq!(per_load, (1 + 1 + 1) + 26 + (degree - 1) + 1, "degree {degree}");
    }
}

#[test]
fn uncoalesced_loads_cost_their_lines_and_merge_in_mshrs() {
    let kernel = |shift: u32| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).shl(4, 0, shift).mov(5, 0).ldg(10, 4, 0).ldg(11, 4, 0);
        Hand::new(b.exit(), 1, 32)
    };
    for (shift, lines) in [(2u32, 1u64), (5, 8), (7, 32)] {
        let stats = kernel(shift).run("gtx480", &small(&[]), &[]);
        let c = &stats.counters;
        assert_eq!(c.coalesced_accesses, 2 * lines);
        assert_eq!((c.l1_accesses, c.l1_misses, c.l1_merges), (2 * lines, lines, lines));
        assert_eq!(c.l2_accesses - 2, lines, "besides the two halves of the code's line");
    }
}

#[test]
fn every_slot_has_one_cause() {
    let cases =
        [("gtx480", 15, 2, 1), ("titanx-pascal", 28, 4, 2), ("qv100", 80, 4, 1), ("gtx285", 30, 1, 1)];
    let hand = mixed(50, 128);
    for (gpu, sms, schedulers, width) in cases {
        let stats = hand.run(gpu, &[], &[]);
        let c = &stats.counters;
        assert_eq!(stats.stalls.total(), c.cycles * sms * schedulers * width, "{gpu}");
        assert_eq!(c.warp_instructions, stats.stalls.get(Stall::Issued), "{gpu}");
        assert_eq!(c.warp_instructions, 50 * 4 * (7 + 6 * 17 + 1), "{gpu}");
        assert_eq!((c.blocks, c.warps), (50, 200), "{gpu}");
        assert_eq!((c.global_loads, c.global_stores), (50 * 4 * 24, 50 * 4 * 6), "{gpu}");
        assert_eq!(c.barrier_arrivals, 50 * 4 * 6, "{gpu}");
    }
}

#[test]
fn statistics_do_not_depend_on_threads_nor_on_skipping() {
    let hand = mixed(60, 96);
    for gpu in ["gtx480", "titanx-pascal", "gtx285", "rtx2060"] {
        for policy in POLICIES.iter().map(|row| row.info.name) {
            let config = load(gpu, &[format!("scheduler.policy={policy}")]).expect("valid").config;
            let run = |threads, every_cycle| {
                let stats = hand.run_with(&config, &[], threads, every_cycle);
                fingerprint(&stats.expect("a replay without error"))
            };
            let plain = run(1, false);
            assert_eq!(plain, run(3, false), "{gpu} {policy}: three threads");
            assert_eq!(plain, run(1, true), "{gpu} {policy}: every cycle");
        }
    }
}

#[test]
fn the_hook_machinery_changes_no_cycle() {
    let hand = mixed(40, 128).knowing(warplab_techniques::BUILT_IN);
    for gpu in ["gtx480", "titanx-pascal", "rtx2060-collectors"] {
        let plain = hand.run(gpu, &[], &[]);
        let hooked = hand.run(gpu, &[], &["null"]);
        assert_eq!(fingerprint(&plain), fingerprint(&hooked), "{gpu}");
        // The same without techniques, in the code that has calls of them.
        let config = load(gpu, &[]).expect("built-in").config;
        let unused = hand.run_techniques(&config, Vec::new()).expect("a replay without error");
        assert_eq!(fingerprint(&plain), fingerprint(&unused), "{gpu}");
    }
}

#[test]
fn no_more_blocks_are_resident_than_registers_allow() {
    let hand = mixed(64, 64);
    let per_sm = |set: &[&str]| {
        let c = hand.run("gtx480", set, &[]).counters;
        (c.resident_warp_cycles as f64 / c.active_sm_cycles as f64, c.cycles)
    };
    // 22 registers are 704 per warp, rounded to 704; two warps per block: 3 blocks need 4224 registers.
    let (resident, slow) = per_sm(&["gpu.sms=1", "sm.registers=5631"]);
    assert!(resident > 5.0 && resident <= 6.0, "{resident} warps resident");
    let (resident, fast) = per_sm(&["gpu.sms=1", "sm.registers=5632"]);
    assert!(resident > 6.0 && resident <= 8.0, "{resident} warps resident");
    assert!(fast < slow);
}

#[test]
fn a_barrier_that_nobody_completes_is_reported_with_what_waits() {
    let mut b = Builder::default();
    b.mov(1, 1).push(Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(64)]));
    let config = load("gtx480", &[]).expect("valid").config;
    let error = Hand::new(b.exit(), 1, 32).run_on(&config, &[], 1).expect_err("a deadlock");
    let ReplayError::Stuck { state, .. } = &error else { panic!("unexpected {error}") };
    assert!(state.contains("lanes at a barrier 0xffffffff"), "{state}");
    assert!(error.to_string().contains("hand"));
}

#[test]
fn a_kernel_that_fits_no_sm_is_refused_with_the_resource() {
    let mut b = Builder::default();
    b.mov(200, 1);
    let config = load("gtx480", &[]).expect("valid").config;
    let error = Hand::new(b.exit(), 1, 1024).run_on(&config, &[], 1).expect_err("too many registers");
    assert!(error.to_string().contains("fits no SM of gtx480"), "{error}");
    assert!(error.to_string().contains("registers"), "{error}");
}

#[test]
fn dual_issue_pairs_only_different_units_when_asked() {
    let mut b = Builder::default();
    b.mov(1, 5).mov(2, 6);
    for i in 0..8 {
        b.ffma(10 + i, 1, 2, 1)
            .push(Inst::new(Op::Mufu { func: MufuFn::Rcp, ftz: Ftz(false) }).dst(Reg(20 + i)).srcs([r(1)]));
    }
    let mixed_units = Hand::new(b.exit(), 1, 32);
    let ipc = |set: &[&str]| mixed_units.run("titanx-pascal", set, &[]).counters.cycles;
    let base = ["gpu.sms=1", "front_end.fetch_instructions=4", "front_end.ibuffer_entries=8"];
    let with = |more: &str| ipc(&base.iter().copied().chain([more]).collect::<Vec<_>>());
    assert!(with("scheduler.issue_width=2") < with("scheduler.issue_width=1"));
    let same = chain(16, false);
    let run = |distinct: bool| {
        let item = format!("scheduler.dual_issue_distinct_units={distinct}");
        same.run("titanx-pascal", &[base[0], base[1], base[2], &item], &[])
    };
    assert!(run(true).stalls.get(Stall::DualIssue) > 10);
    assert!(run(false).counters.cycles <= run(true).counters.cycles);
}

#[test]
fn streaming_comes_close_to_the_dram_bandwidth_and_never_exceeds_it() {
    let hand = stream(300);
    let config =
        load("titanx-pascal", &["gpu.sms=8".into(), "dram.channels=3".into()]).expect("valid").config;
    let stats = hand.run_on(&config, &[], 2).expect("a replay");
    let c = &stats.counters;
    let cycles = (c.cycles - config.launch.latency_cycles) as f64;
    let dram_cycles = cycles * config.gpu.dram_clock_khz as f64 / config.gpu.core_clock_khz as f64;
    let used = c.dram_busy_cycles as f64 / (dram_cycles * f64::from(config.dram.channels));
    assert!((0.9..=1.0).contains(&used), "{used:.3} of the bandwidth");
    let data = 300 * 256 * 16 * 4;
    assert!((data..data + 4096).contains(&(c.dram_reads * 32)), "{} bursts, beside the code", c.dram_reads);
}

/// Back-pressure from DRAM to the scheduler does not deadlock.
#[test]
fn every_queue_at_its_smallest_still_ends() {
    let tiny = [
        "load_store.queue_entries=1",
        "load_store.miss_queue_entries=1",
        "l1.mshrs=1",
        "l1.mshr_merges=1",
        "constant_cache.mshrs=1",
        "front_end.icache.mshrs=1",
        "front_end.ibuffer_entries=1",
        "interconnect.sm_credits=1",
        "interconnect.reply_queue_entries=1",
        "l2.mshrs=1",
        "l2.mshr_merges=1",
        "l2.queue_entries=1",
        "l2.dram_queue_entries=1",
        "dram.queue_entries=1",
        "register_file.result_bus_width=1",
        "gpu.sms=3",
        "dram.channels=2",
        "launch.latency_cycles=0",
    ];
    let hand = mixed(12, 96);
    for gpu in ["gtx480", "titanx-pascal", "qv100"] {
        let small = hand.run(gpu, &tiny, &[]);
        let usual = hand.run(gpu, &tiny[15..], &[]);
        assert_eq!(small.counters.warp_instructions, usual.counters.warp_instructions, "{gpu}");
        assert!(small.counters.cycles > usual.counters.cycles, "{gpu}");
        assert!(small.stalls.get(Stall::MemoryQueueFull) > 0, "{gpu}");
    }
}

#[test]
fn warps_run_in_the_order_of_the_policy() {
    // Two warps of eight independent instructions each on one scheduler: greedy finishes one warp's run before
    // the other's, round robin alternates. Seen from the cycle in which the first warp ends.
    let mut b = Builder::default();
    for i in 0..12 {
        b.mov(10 + i, 7);
    }
    let hand = Hand::new(b.exit(), 1, 64);
    let wide = ["front_end.fetch_instructions=8", "front_end.ibuffer_entries=8", "collectors.alu=32"];
    let resident = |policy: &str| {
        let policy = format!("scheduler.policy={policy}");
        let set = small(&[wide[0], wide[1], wide[2], &policy]);
        let c = hand.run("gtx480", &set, &[]).counters;
        // Two warps resident for c cycles, less the time by which one ended earlier.
        (2 * c.active_sm_cycles - c.resident_warp_cycles, c.cycles)
    };
    let ((lrr, lrr_cycles), (gto, gto_cycles)) = (resident("lrr"), resident("gto"));
    assert!(lrr_cycles.abs_diff(gto_cycles) <= 2, "the same work takes {lrr_cycles} and {gto_cycles} cycles");
    assert!(lrr <= 2, "round robin ends both warps together, not {lrr} cycles apart");
    assert!(gto >= 8, "greedy ends one warp well before the other, not {gto} cycles apart");
}

/// Registers 1, 17 and 33 lie in one single-ported bank: the multiply-add has read its last operand four cycles after
/// its issue at the earliest. The move into that operand, issued in the next cycle, has its result sooner when its unit is
/// fast; it must wait for the read, and only then.
#[test]
fn a_result_waits_until_earlier_instructions_have_read_its_register() {
    let run = |written: u8, latency: u64| {
        let mut b = Builder::default();
        b.ffma(40, 1, 17, 33).mov(written, 7);
        let latency = format!("latency.int_add={{ latency_cycles = {latency}, initiation_cycles = 1 }}");
        let fetch = ["front_end.fetch_instructions=4", "front_end.ibuffer_entries=4"];
        Hand::new(b.exit(), 1, 32).run("gtx480", &small(&[&latency, fetch[0], fetch[1]]), &[]).counters
    };
    // Issue at 0: reads granted at 1, 2, 3 and in the collector at 2, 3, 4. The move issues at 1, needs no read, is
    // dispatched at 2, and has its result at 3 with a latency of 1.
    assert_eq!(run(33, 1).result_bus_wait_cycles - run(50, 1).result_bus_wait_cycles, 1);
    assert_eq!(run(33, 2).result_bus_wait_cycles, run(50, 2).result_bus_wait_cycles);
}

#[test]
fn lanes_that_compute_are_counted_by_unit() {
    // Two warps of 48 threads: each instruction computes in 48 lanes; a guard that is false in every lane in none.
    let mut b = Builder::default();
    b.mov(1, 5).ffma(2, 1, 1, 1).below(1, 3).mov(3, 6).guarded();
    let stats = Hand::new(b.exit(), 1, 48).run("gtx480", &small(&[]), &[]);
    let c = &stats.counters;
    assert_eq!((c.int_lanes, c.fp32_lanes), (2 * 48, 48));
    assert_eq!((c.int_instructions, c.fp32_instructions), (2 * 3, 2));
    assert_eq!((c.fp64_lanes, c.sfu_lanes, c.lanes()), (0, 0, 3 * 48));
}
