//! Streaming reaches the DRAM's bandwidth and never exceeds it; uncoalesced accesses cost their sectors.

use super::one_sm;
use crate::config::{GpuConfig, load};
use crate::testing::{Builder, Hand, stream};
use trace_format::isa::*;

/// Two channels with enough SMs; everything else as configured. The bound: between a kernel that fills the
/// SMs once and one that fills them three times, the buses are busy for 90 to 100 % of the cycles (and a
/// hundredth more, as the two end differently). Over the whole of a kernel, its ends included, no more bytes
/// are transferred than the buses can carry.
#[test]
fn streaming_reaches_nine_tenths_of_the_dram_bandwidth_and_never_more() {
    for gpu in ["gtx480", "titanx-pascal", "qv100-collectors", "rtx2060-collectors", "rtx3070-collectors"] {
        let set = ["gpu.sms=6", "dram.channels=2", "launch.latency_cycles=0", "l2.dram_bytes_per_cycle=0"];
        let set = set.map(str::to_owned);
        let config = load(gpu, &set).expect("a valid configuration").config;
        let resident = config.gpu.sms * config.sm.max_warps / 8;
        let run = |blocks| stream(blocks).run_on(&config, &[], 1).expect("a replay without error").counters;
        let (short, long) = (run(resident), run(3 * resident));
        let in_dram_clock = config.gpu.dram_clock_khz as f64 / config.gpu.core_clock_khz as f64;
        let cycles = (long.cycles - short.cycles) as f64 * in_dram_clock;
        let used = (long.dram_busy_cycles - short.dram_busy_cycles) as f64 / (cycles * 2.0);
        assert!((0.9..=1.01).contains(&used), "{gpu}: {used:.3} of the bandwidth");
        for (counted, blocks) in [(&short, resident), (&long, 3 * resident)] {
            let data = u64::from(blocks) * 256 * 64;
            let per_cycle = f64::from(2 * config.dram.bus_bytes * config.dram.data_rate) * in_dram_clock;
            assert!(data as f64 <= per_cycle * counted.cycles as f64, "{gpu}");
            assert!((data..data + 4096).contains(&counted.dram_bytes), "{gpu}: {} bytes", counted.dram_bytes);
        }
    }
}

fn strided(shift: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(4, 0, shift).mov(5, 0);
    for i in 0..8 {
        b.ldg(10 + i, 4, i32::from(i) << 16);
    }
    Hand::new(b.exit(), 1, 32)
}

fn counted(gpu: &str, shift: u32) -> crate::stats::Counters {
    let sector = "l2.fetch_bytes=32";
    let config = one_sm(gpu, &["l1.bypass_global=true", "front_end.icache.line_bytes=128", sector]);
    strided(shift).run_on(&config, &[], 1).expect("a replay without error").counters
}

/// Words that lie 4, 8, 16, 32 and 128 bytes apart touch 4, 8, 16, 32 and 32 sectors, and each is read from DRAM once.
#[test]
fn uncoalesced_loads_cost_their_sectors() {
    for gpu in ["gtx480", "titanx-pascal", "qv100-collectors", "rtx3070-collectors"] {
        let code = counted(gpu, 2);
        for (shift, sectors) in [(3u32, 8u64), (4, 16), (5, 32), (7, 32)] {
            let c = counted(gpu, shift);
            assert_eq!(c.coalesced_sectors, 8 * sectors, "{gpu}: stride {}", 1 << shift);
            assert_eq!(code.coalesced_sectors, 8 * 4, "{gpu}");
            if c.dram_bytes / c.dram_reads == 32 {
                assert_eq!(c.dram_reads - code.dram_reads, 8 * (sectors - 4), "{gpu}: stride {}", 1 << shift);
            }
        }
    }
}

/// The unit sends one line per cycle: each of eight loads of 32 lines occupies it 31 cycles longer than a
/// load of one line, and delays the loads after it.
#[test]
fn uncoalesced_loads_hold_the_unit_for_their_lines() {
    let config = one_sm("titanx-pascal", &["load_store.miss_queue_entries=64"]);
    let (one, all) = (super::cycles(&strided(2), &config), super::cycles(&strided(7), &config));
    assert!(all - one >= 7 * 31, "{} cycles more", all - one);
}

/// A whole warp on one bank, and on two, four, … of them.
#[test]
fn conflicts_of_k_ways_cost_k() {
    let kernel = |shift: u32, length: usize| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).shl(4, 0, shift);
        for _ in 0..length {
            b.lds(10, 4).value_after(2, 10, 0);
        }
        Hand::new(b.exit(), 1, 32)
    };
    for gpu in super::GPUS {
        let config: GpuConfig = one_sm(gpu, &[]);
        let of = |shift| super::per_step(&kernel(shift, 16), &config, 2, 2);
        // A half warp and 16 banks conflict as a warp and 32 do, twice over.
        let parts = u64::from(config.shared_memory.warp_parts);
        let free = of(2);
        for (shift, ways) in [(3u32, 2), (4, 4), (5, 8), (6, 16), (7, 32 / parts)] {
            assert_eq!(of(shift) - free, parts * (ways - 1), "{gpu}: {ways} ways");
        }
    }
}
