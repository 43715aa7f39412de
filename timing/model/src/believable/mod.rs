//! Validation of the baseline: microbenchmarks with cycles computed by hand from a configuration, run on the
//! published configurations. Each test is exact or states its bound.
//!
//! The pipeline's own tests use one small configuration ([`crate::sm`]); these tests vary it.

mod arithmetic;
mod bandwidth;
mod control_bits;
mod latency;
mod memory_paths;
mod operands;
mod order;
mod residency;

use crate::config::{GpuConfig, load};
use crate::testing::Hand;

/// The configurations of simulators with published figures; `control_bits` has those of the sub-cores of Volta and later.
const GPUS: [&str; 7] = [
    "gtx285",
    "gtx480",
    "gtx1080ti",
    "titanx-pascal",
    "qv100-collectors",
    "rtx2060-collectors",
    "rtx3070-collectors",
];

/// A built-in configuration with one SM, no launch latency, and code that is in the I-cache before it is
/// needed.
fn one_sm(gpu: &str, more: &[&str]) -> GpuConfig {
    let set = [
        "gpu.sms=1",
        "launch.latency_cycles=0",
        "front_end.l0.size_bytes=0",
        "front_end.code_group_instructions=1",
        "front_end.code_group_bytes=8",
        "front_end.icache_prefetch_lines=8",
        "front_end.icache.mshrs=16",
        "load_store.miss_queue_entries=32",
    ];
    let set: Vec<String> = set.iter().chain(more).map(|item| (*item).to_owned()).collect();
    load(gpu, &set).expect("a valid configuration").config
}

fn cycles(hand: &Hand, config: &GpuConfig) -> u64 {
    hand.run_on(config, &[], 1).expect("a replay without error").counters.cycles
}

/// Cycles from one issue of an instruction to the next, of those that a kernel repeats from `first` on in steps of
/// `stride`. The later half of them, of which all must take the same.
fn per_step(hand: &Hand, config: &GpuConfig, first: u32, stride: u32) -> u64 {
    let insts = hand.observe(config);
    let last = hand.kernel.insts.len() as u32 - 1;
    let repeated = |pc: u32| pc >= first && pc < last && (pc - first).is_multiple_of(stride);
    let issued: Vec<u64> = insts.iter().filter(|inst| repeated(inst.pc)).map(|inst| inst.issued).collect();
    let steps: Vec<u64> = issued.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let later = &steps[steps.len() / 2..];
    assert!(later.iter().all(|step| *step == later[0]), "{}: steps differ: {steps:?}", config.name);
    later[0]
}
