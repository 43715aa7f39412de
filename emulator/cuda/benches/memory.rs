//! What an allocation costs beside many others, and what finding the allocation of an address does: both should hardly
//! depend on how many there are.

use cuda::internals::{Memory, Purpose};

/// Allocations that live meanwhile.
const LIVE: [usize; 3] = [10_000, 100_000, 1_000_000];

fn main() {
    divan::main();
}

/// Memory with so many allocations.
fn filled(live: usize) -> (Memory, Vec<u64>) {
    let mut memory = Memory::new(1 << 40).expect("there are addresses");
    let mut allocate = || memory.allocate("cudaMalloc", 256, Purpose::Device, 0).expect("there is room");
    let all = (0..live).map(|_| allocate()).collect();
    (memory, all)
}

/// A pseudo-random walk over places.
fn next(place: usize, count: usize) -> usize {
    (place + 7919) % count
}

#[divan::bench(args = LIVE)]
fn free_and_allocate(bencher: divan::Bencher<'_, '_>, live: usize) {
    let (mut memory, mut all) = filled(live);
    let mut at = 0;
    bencher.bench_local(|| {
        at = next(at, live);
        memory.free(all[at], &[Purpose::Device]).expect("it is allocated");
        all[at] = memory.allocate("cudaMalloc", 256, Purpose::Device, 0).expect("there is room");
    });
}

#[divan::bench(args = LIVE)]
fn find(bencher: divan::Bencher<'_, '_>, live: usize) {
    let (memory, all) = filled(live);
    let mut at = 0;
    bencher.bench_local(|| {
        at = next(at, live);
        memory.global.find(all[at] + 128, 4)
    });
}
