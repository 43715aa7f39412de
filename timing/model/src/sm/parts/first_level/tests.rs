//! Tests of L0 and its stream buffer, between a mock of the front end and one of the port.

use super::*;
use crate::memory::{ALL_SECTORS, Token};
use crate::sm::parts::mock::{Sent, reply};
use crate::testing::config;

/// Two schedulers with an L0 of two lines, 10 cycles from the SM's cache, which holds the lines `0..held`.
struct Bench {
    path: CodePath,
    port: Sent,
    counters: Counters,
    now: u64,
}

impl Bench {
    fn new(held: u64, set: &[&str]) -> Bench {
        let mut all = vec![
            "scheduler.count=2",
            "front_end.icache.mshrs=2",
            "front_end.icache_prefetch_lines=0",
            "front_end.l0.size_bytes=256",
            "front_end.l0.sets=1",
            "front_end.l0.ways=2",
            "front_end.l0.latency_cycles=10",
            "front_end.l0.stream_lines=2",
        ];
        all.extend(set);
        let config = config("gtx480", &all);
        let icache = &config.front_end.icache;
        let replacement = Replacement::new(&config, &icache.replacement);
        let mut tags = Tags::new(icache.sets, icache.ways, SetHash::Linear, replacement);
        for line in 0..held {
            tags.insert(line, 1, 0);
        }
        let path = CodePath::new(&config, tags, 100);
        Bench { path, port: Sent::with_room(16), counters: Counters::default(), now: 0 }
    }

    fn fetch(&mut self, line: u64, warp: usize) -> CodeFetch {
        self.path.fetch(line, warp, self.now, &mut self.port, &mut self.counters)
    }

    /// Runs to a cycle; returns the warps that were woken, with the cycles.
    fn run(&mut self, until: u64) -> Vec<(u64, u64)> {
        let mut woken = Vec::new();
        while self.now < until {
            let warps = self.path.advance(self.now, &mut self.port, &mut self.counters);
            if warps != 0 {
                woken.push((self.now, warps));
            }
            self.now += 1;
        }
        woken
    }
}

#[test]
fn a_miss_takes_both_ways_and_the_next_lines_follow() {
    let mut bench = Bench::new(8, &[]);
    assert_eq!(bench.fetch(0, 1), CodeFetch::Miss);
    assert_eq!(bench.fetch(0, 3), CodeFetch::Miss, "the line is on its way");
    assert_eq!(bench.path.next_event(), Some(10));
    assert_eq!(bench.run(21), [(20, 0b1010)]);
    assert_eq!(bench.fetch(0, 1), CodeFetch::Hit);
    // The following lines arrive one per cycle, in the stream buffer, from where they are fetched at once.
    assert_eq!(bench.run(23), []);
    assert_eq!(bench.fetch(1, 1), CodeFetch::Hit);
    assert_eq!(bench.fetch(2, 3), CodeFetch::Hit);
    // Each of these had the buffer ask for another line.
    assert_eq!(bench.path.asked.len(), 2);
    assert_eq!(bench.fetch(3, 1), CodeFetch::Miss);
    assert_eq!(bench.run(60), [(43, 0b10)]);
    assert!(bench.path.is_drained());
    assert!(bench.port.requests.is_empty() && bench.counters.icache_misses == 0);
}

#[test]
fn schedulers_have_their_own_l0_and_a_jump_empties_the_buffer() {
    let mut bench = Bench::new(8, &[]);
    assert_eq!(bench.fetch(0, 0), CodeFetch::Miss);
    bench.run(30);
    assert_eq!(bench.fetch(0, 1), CodeFetch::Miss, "warp 1 is the other scheduler's");
    assert_eq!(bench.fetch(1, 0), CodeFetch::Hit);
    assert_eq!(bench.fetch(5, 0), CodeFetch::Miss);
    // Lines 2 and 3, of which one is on its way, are no longer in the buffer when they arrive.
    assert_eq!(bench.run(100), [(50, 0b10), (54, 0b1)]);
    assert_eq!(bench.fetch(2, 0), CodeFetch::Miss);
    assert_eq!(bench.fetch(1, 0), CodeFetch::Hit);
    assert_eq!(bench.fetch(0, 0), CodeFetch::Miss, "lines 1 and 5 took both ways");
}

#[test]
fn lines_from_l2_go_on_to_those_that_asked_for_them() {
    let mut bench = Bench::new(0, &["front_end.l0.stream_lines=0"]);
    assert_eq!((bench.fetch(0, 0), bench.fetch(1, 1)), (CodeFetch::Miss, CodeFetch::Miss));
    assert_eq!(bench.fetch(2, 2), CodeFetch::Miss);
    assert_eq!(bench.run(20), []);
    // Two misses at once: the third request waits at the cache.
    assert_eq!((bench.port.requests.len(), bench.path.misses()), (2, 2));
    assert_eq!(bench.path.fill(&reply(0, ALL_SECTORS, Token::InstructionCache), 20), 0);
    assert_eq!(bench.run(40), [(30, 0b1)]);
    assert_eq!((bench.port.requests.len(), bench.counters.icache_misses), (3, 3));
    for line in [128, 256] {
        assert_eq!(bench.path.fill(&reply(line, ALL_SECTORS, Token::InstructionCache), 40), 0);
    }
    assert_eq!(bench.run(60), [(50, 0b10), (51, 0b100)]);
    assert!(bench.path.is_drained());
}

#[test]
fn without_l0_warps_fetch_from_the_sms_cache() {
    let mut bench = Bench::new(1, &["front_end.l0.size_bytes=0"]);
    assert_eq!((bench.fetch(0, 0), bench.fetch(1, 1)), (CodeFetch::Hit, CodeFetch::Miss));
    assert_eq!(bench.path.next_event(), None);
    assert_eq!(bench.path.fill(&reply(128, ALL_SECTORS, Token::InstructionCache), 5), 0b10);
    assert_eq!(bench.fetch(1, 1), CodeFetch::Hit);
}

#[test]
fn the_stream_buffer_stops_at_the_kernels_end() {
    let mut bench = Bench::new(8, &["front_end.l0.stream_lines=8"]);
    assert_eq!(bench.fetch(99, 0), CodeFetch::Miss);
    assert_eq!(bench.path.asked.len(), 2, "lines 99 and 100");
}
