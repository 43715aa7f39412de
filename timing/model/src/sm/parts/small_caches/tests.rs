//! The I-cache between the front end and the crossbar, and the constant cache between the load/store unit and it: both
//! sides are stood in for.

use super::super::mock::{Sent, reply};
use super::*;
use crate::sm::parts::load_store::SmCaches;
use crate::testing::config;

/// Two sets of two ways, two misses at once, one line prefetched.
const ICACHE: [&str; 5] = [
    "front_end.icache.sets=2",
    "front_end.icache.ways=2",
    "front_end.icache.size_bytes=512",
    "front_end.icache.mshrs=2",
    "front_end.icache_prefetch_lines=1",
];

fn small(set: &[&str]) -> GpuConfig {
    let mut all = ICACHE.to_vec();
    all.extend(set);
    config("gtx480", &all)
}

struct Bench {
    cache: CodeCache,
    sent: Sent,
    counters: Counters,
}

impl Bench {
    /// The I-cache of a kernel that ends in line 19.
    fn new(set: &[&str]) -> Bench {
        let config = small(set);
        let cache = CodeCache::new(&config, SmCaches::new(&config).code, 19);
        Bench { cache, sent: Sent::with_room(8), counters: Counters::default() }
    }

    fn fetch(&mut self, line: u64, warp: usize) -> CodeFetch {
        self.cache.fetch(line, warp, &mut self.sent, &mut self.counters)
    }

    fn fill(&mut self, address: u64, sectors: u8) -> Option<u64> {
        let (_, warps) = self.cache.fill(&reply(address, sectors, Token::InstructionCache))?;
        Some(warps)
    }

    /// Addresses and sectors that have been asked for since this was last called.
    fn asked(&mut self) -> Vec<(u64, u8)> {
        let of_code = |(line, sectors, kind, token)| {
            assert_eq!((kind, token), (RequestKind::Read, Token::InstructionCache));
            (line, sectors)
        };
        self.sent.requests.drain(..).map(of_code).collect()
    }
}

#[test]
fn a_miss_asks_for_the_line_and_the_next_and_wakes_the_warps_that_wait() {
    let mut bench = Bench::new(&[]);
    assert_eq!(bench.fetch(8, 5), CodeFetch::Miss);
    assert_eq!(bench.asked(), [(8 * 128, 0b1111), (9 * 128, 0b1111)]);
    assert_eq!(bench.fetch(8, 63), CodeFetch::Miss, "the line is on its way");
    assert_eq!((bench.asked(), bench.counters.icache_misses, bench.cache.misses()), (vec![], 2, 2));
    assert_eq!(bench.fill(9 * 128, 0b1111), Some(0), "nobody waits for a prefetched line");
    assert_eq!(bench.fill(8 * 128, 0b1111), Some(1 << 5 | 1 << 63));
    assert_eq!(bench.cache.misses(), 0);
    assert_eq!(bench.fetch(8, 5), CodeFetch::Hit);
    assert_eq!(bench.counters.icache_misses, 2);
}

#[test]
fn a_warp_that_misses_a_prefetched_line_waits_for_it() {
    let mut bench = Bench::new(&["front_end.icache.mshrs=3"]);
    bench.fetch(8, 0);
    assert_eq!(bench.fetch(9, 2), CodeFetch::Miss);
    assert_eq!(bench.asked(), [8, 9, 10].map(|line| (line * 128, 0b1111)), "each line is asked for once");
    assert_eq!(bench.fill(9 * 128, 0b1111), Some(1 << 2));
}

#[test]
fn the_line_that_was_fetched_from_last_prefetches_nothing() {
    let mut bench = Bench::new(&["front_end.icache.mshrs=1"]);
    bench.fetch(8, 0);
    assert_eq!(bench.asked(), [(8 * 128, 0b1111)], "no miss register is left for line 9");
    bench.fill(8 * 128, 0b1111);
    assert_eq!((bench.fetch(8, 0), bench.asked()), (CodeFetch::Hit, vec![]));
    bench.fetch(7, 0);
    bench.fill(7 * 128, 0b1111);
    assert_eq!(
        (bench.fetch(8, 0), bench.asked()),
        (CodeFetch::Hit, vec![(7 * 128, 0b1111), (9 * 128, 0b1111)])
    );
}

#[test]
fn nothing_is_prefetched_behind_the_kernel() {
    let mut bench = Bench::new(&["front_end.icache_prefetch_lines=2", "front_end.icache.mshrs=8"]);
    bench.fetch(17, 0);
    assert_eq!(bench.asked(), [17, 18, 19].map(|line| (line * 128, 0b1111)));
    for line in [17, 18, 19] {
        bench.fill(line * 128, 0b1111);
    }
    assert_eq!(bench.fetch(17, 0), CodeFetch::Hit);
    assert_eq!(bench.fetch(18, 0), CodeFetch::Hit);
    assert_eq!(bench.asked(), [], "line 20 lies behind the kernel");
}

#[test]
fn a_fetch_is_refused_without_a_miss_register_or_without_room() {
    let mut bench = Bench::new(&["front_end.icache_prefetch_lines=0"]);
    assert_eq!(
        [0, 1, 2].map(|line| bench.fetch(line, 0)),
        [CodeFetch::Miss, CodeFetch::Miss, CodeFetch::Busy]
    );
    assert_eq!(bench.counters.icache_misses, 2);
    bench.fill(0, 0b1111);
    bench.sent.room = 0;
    assert_eq!(bench.fetch(2, 0), CodeFetch::Busy, "the miss queue is full");
    bench.sent.room = 1;
    assert_eq!(bench.fetch(2, 0), CodeFetch::Miss);
    assert_eq!(bench.counters.icache_misses, 3);
}

#[test]
fn a_refused_fetch_prefetches_when_it_is_tried_again() {
    let mut bench = Bench::new(&[]);
    bench.sent.room = 0;
    assert_eq!(bench.fetch(4, 0), CodeFetch::Busy);
    bench.sent.room = 8;
    assert_eq!(bench.fetch(4, 0), CodeFetch::Miss);
    assert_eq!(bench.asked(), [(4 * 128, 0b1111), (5 * 128, 0b1111)]);
}

#[test]
fn the_line_that_was_used_least_recently_is_evicted_and_the_next_kernel_finds_the_others() {
    let mut bench = Bench::new(&["front_end.icache_prefetch_lines=0"]);
    for line in [0, 2] {
        bench.fetch(line, 0);
        bench.fill(line * 128, 0b1111);
    }
    assert_eq!(bench.fetch(0, 0), CodeFetch::Hit);
    bench.fetch(4, 0);
    bench.fill(4 * 128, 0b1111);
    let config = small(&[]);
    bench.cache = CodeCache::new(&config, bench.cache.into_tags(), 19);
    assert_eq!(bench.fetch(0, 0), CodeFetch::Hit);
    assert_eq!(bench.fetch(2, 0), CodeFetch::Miss, "evicted by line 4");
}

#[test]
fn lines_shorter_and_longer_than_those_of_l2_are_whole_when_all_their_sectors_are_there() {
    let short = ["front_end.icache.line_bytes=64", "front_end.icache.size_bytes=256"];
    let mut bench = Bench::new(&short);
    bench.fetch(3, 1);
    assert_eq!(bench.asked(), [(128, 0b1100), (256, 0b0011)], "line 3 is the second half of 128 to 255");
    assert_eq!(bench.fill(128, 0b1100), Some(1 << 1));

    let long = ["front_end.icache.line_bytes=256", "front_end.icache.size_bytes=1024"];
    let mut bench = Bench::new(&[&long[..], &["front_end.icache_prefetch_lines=0"]].concat());
    bench.fetch(3, 1);
    assert_eq!(bench.asked(), [(768, 0b1111), (896, 0b1111)]);
    assert_eq!((bench.fill(896, 0b1111), bench.cache.misses()), (None, 1));
    assert_eq!((bench.fill(768, 0b1111), bench.cache.misses()), (Some(1 << 1), 0));
}

/// A constant cache with 4 cycles of hit latency, lines of 64 bytes and one miss at once.
fn constants() -> ConstantCache {
    let set = [
        "constant_cache.hit_latency_cycles=4",
        "constant_cache.line_bytes=64",
        "constant_cache.sets=16",
        "constant_cache.ways=2",
        "constant_cache.size_bytes=2048",
        "constant_cache.mshrs=1",
    ];
    let config = config("gtx480", &set);
    ConstantCache::new(&config, SmCaches::new(&config).constants)
}

#[test]
fn loads_of_constants_wait_for_their_line_together_and_hit_after_it() {
    let (mut cache, mut sent, mut counters) = (constants(), Sent::with_room(8), Counters::default());
    let upper = LineAccess { line: 256, sectors: 0b0100, words: 0 };
    assert_eq!(cache.load(7, upper, 10, &mut sent, &mut counters), Lookup::Miss);
    assert_eq!(cache.load(9, upper, 11, &mut sent, &mut counters), Lookup::Miss);
    let token = Token::ConstantCache;
    assert_eq!(sent.requests, [(CONSTANT_BASE + 256, 0b1100, RequestKind::Read, token)]);
    assert_eq!((counters.constant_misses, cache.misses()), (1, 1));
    let lower = LineAccess { sectors: 0b0001, ..upper };
    assert_eq!(cache.load(8, lower, 12, &mut sent, &mut counters), Lookup::Refused, "one miss at once");
    let mut woken = Vec::new();
    cache.fill(&reply(CONSTANT_BASE + 256, 0b1100, token), |slot| woken.push(slot));
    assert_eq!((woken, cache.misses()), (vec![7, 9], 0));
    assert_eq!(cache.load(7, upper, 20, &mut sent, &mut counters), Lookup::Hit(24));
    sent.room = 0;
    assert_eq!(cache.load(8, lower, 21, &mut sent, &mut counters), Lookup::Refused, "the miss queue is full");
    assert_eq!((counters.constant_misses, cache.misses()), (1, 0));
}
