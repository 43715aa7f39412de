//! The pipeline as a whole, on kernels made by hand whose cycles can be worked out on paper.

use crate::stats::{Stall, Stats};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::SpecialReg;

/// One SM, no launch latency, one scheduler, and I-cache lines that hold a whole test kernel.
const SMALL: [&str; 7] = [
    "front_end.icache.line_bytes=256",
    "front_end.icache.size_bytes=4096",
    "gpu.sms=1",
    "launch.latency_cycles=0",
    "scheduler.count=1",
    "scheduler.policy=lrr",
    "front_end.fetch_warps_per_cycle=4",
];

fn slots(stats: &Stats, sms: u64, schedulers: u64, width: u64) -> u64 {
    stats.counters.cycles * sms * schedulers * width
}

fn chain(length: usize, dependent: bool) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 0x3F80_0000).mov(2, 0x4000_0000);
    for i in 0..length {
        let d = if dependent { 3 } else { 3 + (i % 16) as u8 };
        b.ffma(d, 1, 2, if dependent { 3 } else { 1 });
    }
    Hand::new(b.exit(), 1, 32)
}

fn difference(gpu: &str, set: &[&str], short: &Hand, long: &Hand) -> u64 {
    long.run(gpu, set, &[]).counters.cycles - short.run(gpu, set, &[]).counters.cycles
}

/// A dependent instruction issues after collection (issue to read 1, read 1), dispatch, latency and writeback.
#[test]
fn dependent_fma_chain_reaches_the_configured_latency() {
    for latency in [4u64, 9, 30] {
        let item = format!("latency.fp_fma={{ latency_cycles = {latency}, initiation_cycles = 1 }}");
        let set: Vec<&str> = SMALL.iter().copied().chain([item.as_str()]).collect();
        let cycles = difference("gtx480", &set, &chain(8, true), &chain(24, true));
        // One cycle to the first read, three reads through the collector's single port, then the latency; the
        // result leaves the bus in the cycle in which the next one issues.
        assert_eq!(cycles, 16 * (1 + 3 + latency), "latency {latency}");
    }
}

#[test]
fn every_slot_has_one_cause() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0);
    for i in 0..8 {
        b.ldg(4, 2, i * 128).iadd(5, r(4), r(5), r(0)).stg(2, 5, 65536 + i * 128);
    }
    b.bar();
    let hand = Hand::new(b.exit(), 20, 128);
    for (gpu, sms, schedulers, width) in [("gtx480", 15, 2, 1), ("titanx-pascal", 28, 4, 2), ("qv100", 80, 4, 1)] {
        let stats = hand.run(gpu, &[], &[]);
        assert_eq!(stats.stalls.total(), slots(&stats, sms, schedulers, width), "{gpu}");
        assert_eq!(stats.counters.warp_instructions, stats.stalls.get(Stall::Issued), "{gpu}");
        assert_eq!(stats.counters.warp_instructions, 20 * 4 * (3 + 24 + 2), "{gpu}");
        assert_eq!((stats.counters.blocks, stats.counters.warps), (20, 80), "{gpu}");
        assert_eq!(stats.counters.global_loads, 20 * 4 * 8, "{gpu}");
    }
}
