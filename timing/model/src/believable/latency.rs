//! A pointer chase takes the configured latency of each level, to the cycle.

use super::{GPUS, cycles, one_sm, per_step};
use crate::config::{Coalescing, GpuConfig};
use crate::testing::{Builder, Hand};
use trace_format::isa::SpecialReg;

/// Loads of given addresses, each issued when the load before has returned.
fn chase(addresses: impl Fn(usize) -> u32, length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(4, addresses(0)).mov(5, 0);
    for step in 1..=length {
        b.ldg(10, 4, 0).value_after(4, 10, addresses(step));
    }
    Hand::new(b.exit(), 1, 32)
}

/// Cycles outside the memory: the load collects its two address registers and passes its queue; the multiply-add that
/// computes the next address collects one register and has its latency.
fn around(config: &GpuConfig) -> u64 {
    around_load_of(2, config)
}

/// As [`around`], for an instruction that reads some address registers.
fn around_load_of(registers: u64, config: &GpuConfig) -> u64 {
    let read = u64::from(config.collectors.issue_to_read_cycles + config.register_file.read_latency_cycles);
    let collect = |count: u64| read - 1 + count.div_ceil(u64::from(config.collectors.ports));
    collect(registers) + 1 + collect(1) + u64::from(config.latency["int_mul"].latency_cycles)
}

/// Cycles from the SM's port to L2 and back, for one sector: one flit out, the lookup, a cycle to the slice's port,
/// the flits of the reply, and a cycle in which the load completes.
fn to_l2_and_back(config: &GpuConfig) -> u64 {
    let net = &config.interconnect;
    let flits = (32 + net.header_bytes).div_ceil(net.flit_bytes);
    // Where half warps are served apart, the flits of the second reply follow those of the first.
    let flits = if halves(config) { 2 * flits } else { flits };
    u64::from(1 + net.request_latency_cycles + config.l2.latency_cycles + 1 + flits)
        + u64::from(net.reply_latency_cycles)
        + 1
}

/// Whether a warp's access is two, one for each half.
fn halves(config: &GpuConfig) -> bool {
    config.load_store.coalescing == Coalescing::Segments
}

/// All memory components in the core clock, so that no cycle is lost between clock domains.
fn one_clock(gpu: &str, more: &[&str]) -> GpuConfig {
    let khz = one_sm(gpu, &[]).gpu.core_clock_khz;
    let clocks: Vec<String> =
        ["interconnect", "l2", "dram"].map(|of| format!("gpu.{of}_clock_khz={khz}")).into();
    let set: Vec<&str> = clocks.iter().map(String::as_str).chain(more.iter().copied()).collect();
    one_sm(gpu, &set)
}

#[test]
fn a_pointer_chase_takes_the_l1_latency() {
    for gpu in GPUS {
        let config = one_sm(gpu, &["l1.bypass_global=false"]);
        let expected = u64::from(config.l1.hit_latency_cycles) + around(&config) + u64::from(halves(&config));
        assert_eq!(per_step(&chase(|_| 0x1000, 16), &config, 2, 2), expected, "{gpu}");
    }
}

#[test]
fn a_pointer_chase_past_l1_takes_the_l2_latency() {
    for gpu in GPUS {
        // GT200's L2 holds textures alone.
        let config = one_clock(gpu, &["l1.bypass_global=true", "l2.texture_only=false"]);
        let expected = to_l2_and_back(&config) + around(&config);
        assert_eq!(per_step(&chase(|_| 0x1000, 16), &config, 2, 2), expected, "{gpu}");
    }
}

/// Rows from bit 16 on, banks in bits 12 to 15 (and fewer where there are fewer), one channel.
fn one_channel(gpu: &str) -> GpuConfig {
    let banks = one_sm(gpu, &[]).dram.banks.trailing_zeros() as usize;
    let map = format!("{}{}CCCCCCSSSSSS", "R".repeat(20 - banks), "B".repeat(banks));
    let map = format!("dram.address_map={map}");
    // One sector, and no path that bounds it.
    let set = [
        "dram.channels=1",
        "l2.slices_per_channel=1",
        "l2.partition_hash=linear",
        "l1.bypass_global=true",
        "l2.fetch_bytes=32",
        "l2.dram_bytes_per_cycle=0",
    ];
    one_clock(gpu, &[&set[..], &[map.as_str()]].concat())
}

#[test]
fn a_pointer_chase_past_l2_takes_the_dram_latency() {
    for gpu in GPUS {
        let config = one_channel(gpu);
        let d = &config.dram;
        let burst = (d.burst_length / d.data_rate).max(1) * (32 / (d.bus_bytes * d.burst_length)).max(1);
        let outside = to_l2_and_back(&config) + around(&config) + u64::from(d.fixed_latency_cycles);
        let row_hit = outside + u64::from(d.cl_cycles + burst);
        let closed = row_hit + u64::from(d.rcd_cycles);
        let conflict = closed + u64::from(d.rp_cycles);
        let bank_shift = 12;
        let row_shift = bank_shift + d.banks.trailing_zeros();
        let step = |addresses: &dyn Fn(usize) -> u32, n| per_step(&chase(addresses, n), &config, 2, 2);
        assert_eq!(step(&|n| n as u32 * 128, 16), row_hit, "{gpu}: open row");
        assert_eq!(step(&|n| (n as u32) << row_shift, 16), conflict, "{gpu}: another row");
        assert_eq!(step(&|n| (n as u32) << bank_shift, d.banks as usize - 1), closed, "{gpu}: closed row");
    }
}

/// The configured clocks: DRAM cycles become core cycles at their ratio, within the cycle that is lost at each of the
/// crossings there and back.
#[test]
fn clock_domains_scale_the_dram_latency() {
    for gpu in ["gtx480", "titanx-pascal", "qv100-collectors", "rtx2060-collectors", "rtx3070-collectors"] {
        let same = one_channel(gpu);
        let mut own = same.clone();
        own.gpu.dram_clock_khz = one_sm(gpu, &[]).gpu.dram_clock_khz;
        let of = |config: &GpuConfig| {
            let (short, long) = (chase(|n| (n as u32) << 16, 8), chase(|n| (n as u32) << 16, 24));
            (cycles(&long, config) - cycles(&short, config)) as f64 / 16.0
        };
        let d = &same.dram;
        let burst = (d.burst_length / d.data_rate).max(1) * (32 / (d.bus_bytes * d.burst_length)).max(1);
        let in_dram = f64::from(d.rp_cycles + d.rcd_cycles + d.cl_cycles + burst);
        let ratio = own.gpu.core_clock_khz as f64 / own.gpu.dram_clock_khz as f64;
        let expected = of(&same) - in_dram + in_dram * ratio;
        assert!((of(&own) - expected).abs() <= 2.0, "{gpu}: {} instead of {expected}", of(&own));
    }
}

#[test]
fn a_texture_chase_takes_the_texture_caches_latency() {
    for gpu in GPUS {
        let config = one_sm(gpu, &[]);
        let fetches = |length: usize| {
            let mut b = Builder::default();
            b.mov(4, 0x1000);
            for _ in 0..length {
                b.tex(12, 4).value_after(4, 12, 0x1000);
            }
            Hand::new(b.exit(), 1, 32)
        };
        let expected = u64::from(config.texture_cache.hit_latency_cycles) + around_load_of(1, &config);
        assert_eq!(per_step(&fetches(16), &config, 1, 2), expected, "{gpu}");
    }
}

/// A warp waits where lanes meet that a branch may have separated, behind the branch if it comes by one.
#[test]
fn lanes_meet_after_the_cycles_of_a_convergence() {
    let of = |taken: u32, converge: u32| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX);
        for _ in 0..8 {
            let behind = b.here() + 3;
            b.branch_below(0, taken, behind).mov(2, 1).mov(3, 2);
        }
        let set = format!("front_end.converge_cycles={converge}");
        let config = one_sm(
            "qv100-collectors",
            &[&set, "front_end.branch_resolve_cycles=7", "front_end.ibuffer_entries=8"],
        );
        let mut kernel = b.exit();
        kernel.set_reconvergence();
        cycles(&Hand::new(kernel, 1, 32), &config)
    };
    for taken in [0, 100] {
        assert_eq!(of(taken, 30) - of(taken, 20), 8 * 10, "{taken} of the lanes");
    }
}

#[test]
fn a_chase_through_shared_memory_takes_its_latency() {
    for gpu in GPUS {
        let config = one_sm(gpu, &[]);
        let loads = |length: usize| {
            let mut b = Builder::default();
            b.mov(4, 0);
            for _ in 0..length {
                b.lds(12, 4).value_after(4, 12, 0);
            }
            Hand::new(b.exit(), 1, 32)
        };
        // A broadcast; where a warp is served in parts, each is a cycle.
        let s = &config.shared_memory;
        let expected = u64::from(s.latency_cycles + s.warp_parts - 1) + around_load_of(1, &config);
        assert_eq!(per_step(&loads(16), &config, 1, 2), expected, "{gpu}");
    }
}
