//! Tests of memory paths: textures, constants, local memory, stores by policy, atomics, splits of L1, copies.

use super::{GPUS, one_sm};
use crate::config::{GpuConfig, load};
use crate::engine::Gpu;
use crate::memory::partition::Partition;
use crate::stats::Counters;
use crate::testing::{Builder, Hand, r};
use std::sync::Arc;
use trace_format::isa::*;

fn counters(hand: &Hand, config: &GpuConfig) -> Counters {
    hand.run_on(config, &[], 1).expect("a replay without error").counters
}

fn kernel(build: impl Fn(&mut Builder)) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(4, 0, 2).mov(5, 0);
    build(&mut b);
    Hand::new(b.exit(), 1, 32)
}

/// Three fetches of one line, one after the other: a miss and two hits, none of which access L1.
#[test]
fn textures_have_a_cache_of_their_own() {
    for gpu in GPUS {
        let hand = kernel(|b| {
            for i in 0..3 {
                b.tex(12, 4).iadd(16 + i, r(12), r(12), Src::RZ);
            }
        });
        let c = counters(&hand, &one_sm(gpu, &[]));
        assert_eq!((c.texture_accesses, c.texture_misses), (3, 1), "{gpu}");
        assert_eq!(c.l1_accesses + c.l1_bypasses, 0, "{gpu}");
    }
}

/// A warp's fetch holds the texture unit for 32 / lanes cycles.
#[test]
fn texture_units_have_a_rate() {
    let hand = |count: u8| {
        kernel(|b| {
            b.tex(12, 4).iadd(16, r(12), r(12), Src::RZ);
            for i in 0..count {
                b.tex(20 + 4 * i, 4);
            }
        })
    };
    for lanes in [2u64, 4, 8] {
        let lane = format!("texture_cache.lanes_per_cycle={lanes}");
        let config = one_sm("titanx-pascal", &[&lane, "register_file.result_bus_width=16"]);
        let (few, many) = (counters(&hand(8), &config).cycles, counters(&hand(24), &config).cycles);
        assert_eq!(many - few, 16 * 32 / lanes, "{lanes} lanes per cycle");
    }
}

/// Local memory of Fermi: stores stay in L1, loads hit there, nothing reaches L2; Volta's reach it.
#[test]
fn local_stores_are_kept_or_written_through_by_policy() {
    let hand = kernel(|b| {
        b.mov(6, 7).mov(7, 16);
        b.stl(7, 6).ldl(10, 7).iadd(11, r(10), r(10), Src::RZ).stl(7, 11);
    });
    let c = counters(&hand, &one_sm("gtx480", &[]));
    assert_eq!((c.l1_writes, c.l1_hits, c.l1_misses, c.l1_writeback_sectors), (2, 1, 0, 0));
    assert_eq!(c.request_packets, counters(&kernel(|_| {}), &one_sm("gtx480", &[])).request_packets);
    let c = counters(&hand, &one_sm("qv100", &[]));
    assert_eq!((c.l1_writes, c.l1_hits, c.l1_misses), (2, 1, 0));
    let without = counters(&kernel(|_| {}), &one_sm("qv100", &[])).request_packets;
    assert_eq!(c.request_packets - without, 2);
    // GT200 has no cache for it.
    let c = counters(&hand, &one_sm("gtx285", &[]));
    assert_eq!((c.l1_accesses, c.l1_bypasses), (0, 2), "two half warps");
}

/// A load evicts a dirty line of local memory from L1; it is written to L2.
#[test]
fn dirty_local_lines_are_written_back_when_they_leave() {
    let set = ["l1.sets=1", "l1.ways=2", "l1.size_bytes=256", "l1.set_hash=linear"];
    let hand = kernel(|b| {
        b.mov(6, 7).mov(7, 16).stl(7, 6);
        for i in 0..2 {
            b.ldg(10, 4, 4096 * i).iadd(11, r(10), r(10), Src::RZ);
        }
        b.ldl(10, 7).iadd(11, r(10), r(10), Src::RZ);
    });
    let c = counters(&hand, &one_sm("gtx480", &set));
    assert_eq!(c.l1_writeback_sectors, 4);
    assert_eq!((c.l1_hits, c.l1_misses), (0, 3));
}

/// After a store, a load of the same line: Volta's L1 has it, Pascal's (through L1) and Fermi's have dropped it.
#[test]
fn stores_bring_lines_in_or_drop_them() {
    let hand = kernel(|b| {
        b.ldg(10, 4, 0).iadd(11, r(10), r(10), Src::RZ).stg(4, 11, 0).stg(4, 11, 4096);
        b.ldg(12, 4, 0).ldg(13, 4, 4096).iadd(14, r(12), r(13), Src::RZ);
    });
    let c = counters(&hand, &one_sm("qv100", &[]));
    assert_eq!((c.l1_hits, c.l1_misses), (2, 1), "write-through with allocation");
    let c = counters(&hand, &one_sm("qv100", &["l1.write_allocate=false"]));
    assert_eq!((c.l1_hits, c.l1_misses), (1, 2), "write-through without");
    let c = counters(&hand, &one_sm("gtx480", &[]));
    assert_eq!((c.l1_hits, c.l1_misses), (0, 3), "write-evict");
    let c = counters(&hand, &one_sm("titanx-pascal", &[]));
    assert_eq!((c.l1_accesses, c.l1_bypasses), (0, 3), "past L1");
}

/// Lanes on one address are served one after the other at L2, lanes on addresses of their own together.
#[test]
fn atomics_pay_for_collisions_at_l2() {
    let hand = |shift: u32| {
        kernel(|b| {
            b.shl(6, 0, shift).mov(7, 0).mov(8, 1);
            b.atomic_add(10, 6, 8).iadd(11, r(10), r(10), Src::RZ);
            b.atomic_add(10, 6, 8).iadd(11, r(10), r(10), Src::RZ);
        })
    };
    for gpu in ["gtx480", "titanx-pascal", "qv100"] {
        let of = |cycles: u32, shift| {
            let item = format!("l2.atomic_cycles={cycles}");
            counters(&hand(shift), &one_sm(gpu, &[&item])).cycles
        };
        assert_eq!(of(5, 2), of(1, 2), "{gpu}: no collisions");
        // Shifting by 31 leaves two addresses in two slices. In each of the two atomics 15 further lanes come first.
        assert_eq!(of(5, 31) - of(1, 31), 2 * 4 * 15, "{gpu}: sixteen lanes on each of two addresses");
    }
}

/// Blocks that an SM holds and KiB of its L1, for a kernel with so much shared memory and a preferred carve-out in percent.
fn split(gpu: &str, shared: u32, threads: u32, preferred: Option<u8>) -> (u32, u32) {
    use crate::program::Program;
    use crate::sm::{Machine, Shape};
    use crate::techniques::{Launch, Stack};
    let config = load(gpu, &[]).expect("built-in").config;
    let mut hand = kernel(|_| {});
    hand.kernel.static_shared_bytes = shared;
    let program = Program::new(&hand.kernel, &config).expect("a kernel");
    let mut launch = Launch::new(&program, &config, [1, 1, 1], [threads, 1, 1]);
    launch.shared_carveout_percent = preferred;
    let (_, plan) = Stack::prepare(Vec::new(), &launch).expect("no technique");
    let shape = Shape::of(&launch, &plan, 0).expect("fits");
    let machine = Machine::new(&config, program, plan, shape, Arc::default()).expect("known operations");
    (machine.blocks_per_sm, machine.l1_ways * config.l1.sets * 128 / 1024)
}

/// L1 has the ways that the carve-out for the resident blocks' shared memory leaves.
#[test]
fn shared_memory_takes_its_part_of_the_unified_array() {
    let ways = |gpu: &str, shared: u32| split(gpu, shared, 1024, None);
    // Volta: 128 KiB, of which 0, 8, 16, 32, 64 or 96 are shared memory; two blocks are resident.
    assert_eq!(ways("qv100", 0), (2, 128));
    assert_eq!(ways("qv100", 4096), (2, 120));
    assert_eq!(ways("qv100", 8192), (2, 112));
    assert_eq!(ways("qv100", 40_000), (2, 32));
    // Turing: 96 KiB, of which 32 or 64 are.
    assert_eq!(ways("rtx2060", 0), (1, 64));
    assert_eq!(ways("rtx2060", 33_000), (1, 32));
    assert_eq!(ways("titanx-pascal", 0), (2, 48));
}

/// A preferred carve-out bounds the resident blocks and leaves the rest to L1; at least one block fits. The expected numbers
/// are those of `cuda_occupancy.h`. On a Quadro GV100, a kernel with 1.7 KiB per block (pennant) that prefers L1 has 8 KiB of
/// shared memory and four to five resident blocks.
#[test]
fn a_preferred_carve_out_is_obeyed() {
    let volta = |shared, preferred| split("qv100", shared, 64, preferred);
    assert_eq!(volta(1792, None), (32, 64));
    assert_eq!(volta(1792, Some(0)), (4, 120));
    assert_eq!(volta(1792, Some(100)), (32, 32));
    // 48 KiB are not a size: 64 are the next one.
    assert_eq!(volta(1792, Some(50)), (32, 64));
    assert_eq!(volta(1792, Some(30)), (18, 96));
    // A block that needs more than is preferred gets the next size that holds it.
    assert_eq!(volta(20_000, Some(0)), (1, 96));
    assert_eq!(volta(0, Some(0)), (32, 128));
    // Turing has two sizes; Ampere takes a KiB of each block for itself.
    let turing = |preferred| split("rtx2060", 1792, 64, preferred);
    assert_eq!([turing(Some(0)), turing(Some(50)), turing(Some(51))], [(16, 64), (16, 64), (16, 32)]);
    let ampere = |shared, preferred| split("rtx3070", shared, 64, preferred);
    assert_eq!([ampere(1792, Some(0)), ampere(0, Some(0))], [(2, 120), (8, 120)]);
    // L1 and shared memory of their own: nothing to prefer.
    assert_eq!(split("titanx-pascal", 1792, 64, Some(0)), split("titanx-pascal", 1792, 64, None));
}

/// The same loads, with and without a copy of the data to the device before.
#[test]
fn copies_leave_their_data_in_l2() {
    let config = load("qv100", &["launch.latency_cycles=0".to_owned()]).expect("built-in").config;
    let mut off = config.clone();
    off.launch.copies_fill_l2 = false;
    let dram = |config: &GpuConfig| {
        let mut gpu = Gpu::new(config);
        gpu.copied(config, 0x1000, 1 << 20);
        let mut partitions = gpu.partitions().to_vec();
        let map = crate::memory::address::PartitionMap::new(config);
        let mut in_l2 = |address: u64| {
            let home = map.home(address);
            let partition: &mut Partition = &mut partitions[home.channel as usize];
            partition.holds(home.slice as usize, home.slice_address / 128)
        };
        ((0..8192u64).filter(|line| in_l2(0x1000 + line * 128)).count(), in_l2(0xF80), in_l2(0x10_1000))
    };
    assert_eq!(dram(&config), (8192, false, false));
    assert_eq!(dram(&off), (0, false, false));
}

/// Two kernels on one GPU: the configuration decides whether the second finds the first one's data in caches.
#[test]
fn caches_are_kept_or_flushed_between_kernels() {
    let hand = kernel(|b| {
        b.ldg(10, 4, 0).iadd(11, r(10), r(10), Src::RZ);
    });
    let second = |flush_l1: bool, flush_l2: bool| {
        let mut config = one_sm("gtx480", &[]);
        (config.launch.flush_l1, config.launch.flush_l2) = (flush_l1, flush_l2);
        let stats = hand.run_twice(&config);
        (stats.counters.l1_hits, stats.counters.l2_misses)
    };
    assert_eq!(second(false, false), (1, 0));
    assert_eq!(second(true, false), (0, 0));
    let (hits, misses) = second(true, true);
    assert_eq!(hits, 0);
    assert!(misses >= 1);
    let code = |flushed: bool| {
        let mut config = one_sm("gtx480", &[]);
        config.launch.flush_code = flushed;
        hand.run_twice(&config).counters.icache_misses
    };
    assert_eq!(code(false), 0);
    assert!(code(true) > 0);
}
