//! A cache between the load/store unit and the crossbar: both are stood in for.

use super::super::mock::{Sent, reply};
use super::*;
use crate::sm::parts::load_store::SmCaches;
use crate::testing::config;

/// Both caches of one set of two ways, with two MSHRs of two waiters and lines of four sectors.
fn small(set: &[&str]) -> GpuConfig {
    let mut all = vec![
        "l1.sets=1",
        "l1.ways=2",
        "l1.size_bytes=256",
        "l1.mshrs=2",
        "l1.mshr_merges=2",
        "l1.hit_latency_cycles=20",
        "l1.sector_bytes=32",
        "texture_cache.sets=1",
        "texture_cache.ways=2",
        "texture_cache.size_bytes=256",
        "texture_cache.mshrs=2",
        "texture_cache.fragments=32",
        "texture_cache.hit_latency_cycles=30",
        "texture_cache.sector_bytes=32",
    ];
    all.extend(set);
    config("titanx-pascal", &all)
}

struct Bench<I> {
    cache: SectoredCache<I>,
    sent: Sent,
    counters: Counters,
    woken: Vec<u16>,
}

fn bench<I>(cache: SectoredCache<I>) -> Bench<I> {
    Bench { cache, sent: Sent::with_room(8), counters: Counters::default(), woken: Vec::new() }
}

fn l1(set: &[&str]) -> Bench<IsL1> {
    let config = small(set);
    bench(SectoredCache::l1(&config, 2, SmCaches::new(&config).l1))
}

fn texture(set: &[&str]) -> Bench<IsTexture> {
    let config = small(set);
    bench(SectoredCache::texture(&config, SmCaches::new(&config).texture))
}

impl<I: Identity> Bench<I> {
    /// Looks sectors of a line up in cycle 100.
    fn look_up(&mut self, slot: u16, line: u64, sectors: u8) -> Lookup {
        let Bench { cache, sent, counters, .. } = self;
        cache.look_up(slot, line * LINE_BYTES, sectors, 100, sent, counters)
    }

    fn fill(&mut self, line: u64, sectors: u8) -> Option<Evicted> {
        let Bench { cache, woken, .. } = self;
        cache.fill(&reply(line * LINE_BYTES, sectors, I::TOKEN), |slot| woken.push(slot))
    }

    /// Lines and sectors that were asked for.
    fn asked(&self) -> Vec<(u64, u8)> {
        let requests = self.sent.requests.iter();
        let reads = requests.map(|(line, sectors, kind, token)| {
            assert_eq!((*kind, *token), (RequestKind::Read, I::TOKEN));
            (line / LINE_BYTES, *sectors)
        });
        reads.collect()
    }

    /// What holds for every such cache.
    fn misses_merges_and_hits(&mut self, latency: u64) {
        assert_eq!(self.look_up(1, 7, 0b0011), Lookup::Miss);
        assert_eq!(self.look_up(2, 7, 0b0110), Lookup::Miss, "one of its sectors is on its way");
        assert_eq!(self.asked(), [(7, 0b0011), (7, 0b0100)]);
        assert_eq!(self.cache.misses(), 1);
        self.fill(7, 0b0011);
        assert_eq!(self.woken.len(), 0, "a sector of the line is missing");
        self.fill(7, 0b0100);
        assert_eq!((&self.woken[..], self.cache.misses()), (&[1, 2][..], 0));
        assert_eq!(self.look_up(3, 7, 0b0111), Lookup::Hit(100 + latency));
        assert_eq!(self.cache.hit_at(100), 100 + latency);
        assert_eq!(self.look_up(4, 7, 0b1000), Lookup::Miss);
        assert_eq!(self.look_up(5, 7, 0b1001), Lookup::Miss, "the sector that is missing is on its way");
        assert_eq!(self.asked()[2..], [(7, 0b1000)]);
    }

    fn refuses_and_counts_nothing(&mut self) {
        assert_eq!(
            [1, 2, 3].map(|line| self.look_up(0, line, 1)),
            [Lookup::Miss, Lookup::Miss, Lookup::Refused]
        );
        assert_eq!(self.look_up(4, 1, 1), Lookup::Miss, "merges");
        self.fill(2, 1);
        self.sent.room = 0;
        let before = self.counters.clone();
        assert_eq!(self.look_up(0, 3, 1), Lookup::Refused, "the miss queue is full");
        assert_eq!((&self.counters, self.cache.misses()), (&before, 1));
        self.sent.room = 1;
        assert_eq!(self.look_up(0, 3, 1), Lookup::Miss);
    }
}

#[test]
fn l1_merges_as_many_loads_as_an_mshr_has_room_for() {
    let mut bench = l1(&[]);
    assert_eq!(
        [1, 2, 3].map(|slot| bench.look_up(slot, 1, 1)),
        [Lookup::Miss, Lookup::Miss, Lookup::Refused]
    );
    let mut bench = texture(&[]);
    assert!((0..32).all(|slot| bench.look_up(slot, 1, 1) == Lookup::Miss), "any fetch in flight may wait");
}

#[test]
fn l1_asks_for_missing_sectors_once_and_hits_when_they_are_there() {
    let mut bench = l1(&[]);
    bench.misses_merges_and_hits(20);
    let c = bench.counters;
    assert_eq!((c.l1_accesses, c.l1_hits, c.l1_misses, c.l1_merges), (5, 1, 3, 1));
    assert_eq!((c.texture_accesses, c.texture_misses), (0, 0));
}

#[test]
fn the_texture_cache_does_so_under_its_own_counters() {
    let mut bench = texture(&[]);
    bench.misses_merges_and_hits(30);
    let c = bench.counters;
    assert_eq!((c.texture_accesses, c.texture_misses), (5, 3));
    assert_eq!((c.l1_accesses, c.l1_hits, c.l1_misses, c.l1_merges), (0, 0, 0, 0));
}

#[test]
fn both_refuse_without_an_mshr_without_a_merge_and_without_room() {
    l1(&[]).refuses_and_counts_nothing();
    texture(&[]).refuses_and_counts_nothing();
}

#[test]
fn a_cache_whose_sector_is_its_line_asks_for_all_of_it() {
    let mut bench = l1(&["l1.sector_bytes=128"]);
    bench.look_up(0, 3, 0b0001);
    assert_eq!(bench.asked(), [(3, 0b1111)]);
    let mut bench = texture(&["texture_cache.sector_bytes=128"]);
    bench.look_up(0, 3, 0b0001);
    assert_eq!(bench.asked(), [(3, 0b1111)]);
}

#[test]
fn a_fill_evicts_the_line_that_was_used_least_recently_and_says_what_it_held() {
    let mut bench = l1(&[]);
    assert_eq!([1, 2].map(|line| bench.fill(line, 1)), [None, None]);
    bench.cache.tags.insert(2, 0b0100, 0b0100);
    assert_eq!(bench.look_up(0, 1, 1), Lookup::Hit(120));
    assert_eq!(bench.fill(3, 1), Some(Evicted { line: 2, dirty: 0b0100 }));
    assert_eq!(bench.fill(4, 1), Some(Evicted { line: 1, dirty: 0 }));
}

#[test]
fn lines_stay_for_the_next_kernel_unless_l1_is_split_otherwise() {
    let config = small(&[]);
    let mut bench = l1(&[]);
    bench.fill(1, 1);
    let same = SectoredCache::l1(&config, 2, bench.cache.tags.clone());
    assert!(same.tags.contains(1));
    let other = SectoredCache::l1(&config, 1, bench.cache.tags);
    assert_eq!((other.tags.ways(), other.tags.contains(1)), (1, false));
}
