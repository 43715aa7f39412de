//! Tests of the unit between stand-ins (lists) for issue and the crossbar.

use super::super::mock::{Sent, reply};
use super::*;
use crate::memory::coalesce::words_of;
use crate::testing::config;

/// Completions in the order of their calls: slot and cycle.
#[derive(Default)]
struct Done(Vec<(u16, u64)>);

impl Completions for Done {
    fn complete_at(&mut self, slot: u16, cycle: u64) {
        self.0.push((slot, cycle));
    }
}

/// A unit with 20 cycles of L1 hit latency, 10 of shared memory, sectors of 32 bytes and two MSHRs.
fn small(set: &[&str]) -> GpuConfig {
    let mut all = vec![
        "l1.hit_latency_cycles=20",
        "l1.mshrs=2",
        "l1.bypass_global=false",
        "shared_memory.latency_cycles=10",
        "load_store.queue_entries=2",
        "load_store.accesses_per_cycle=1",
    ];
    all.extend(set);
    config("titanx-pascal", &all)
}

struct Bench<'a> {
    unit: LoadStore<'a>,
    sent: Sent,
    done: Done,
    counters: Counters,
    now: u64,
}

impl<'a> Bench<'a> {
    fn new(config: &'a GpuConfig) -> Bench<'a> {
        let SmCaches { l1, texture, constants, .. } = SmCaches::new(config);
        Bench {
            unit: LoadStore::new(config, l1.ways() as u32, l1, texture, constants),
            sent: Sent::with_room(8),
            done: Done::default(),
            counters: Counters::default(),
            now: 0,
        }
    }

    /// Queues an instruction of warp 5 that accesses sectors of lines.
    fn push(&mut self, slot: u16, kind: MemoryKind, lines: &[(u64, u8)]) {
        let op = self.unit.begin(slot, kind, 5, false);
        for (line, sectors) in lines {
            op.accesses.push(LineAccess { line: *line, sectors: *sectors, words: words_of(*sectors) });
        }
        assert!(self.unit.has_queue_room());
        self.unit.push(slot);
    }

    fn with<T>(&mut self, call: impl FnOnce(&mut LoadStore<'a>, &mut Neighbours<'_, Sent, Done>) -> T) -> T {
        let Bench { unit, sent, done, counters, now } = self;
        call(unit, &mut Neighbours { now: *now, requests: sent, completions: done, counters })
    }

    fn cycle(&mut self) {
        self.now += 1;
        self.with(LoadStore::run);
    }

    fn reply(&mut self, line: u64, sectors: u8, token: Token) {
        let reply = Reply { arrival: self.now, ..reply(line, sectors, token) };
        self.with(|unit, around| {
            assert!(unit.has_room_for_fill(&reply, around.requests));
            unit.take_reply(&reply, around);
        });
    }
}

const LOAD: MemoryKind = MemoryKind::Load(Space::Global);
const STORE: MemoryKind = MemoryKind::Store(Space::Global);

#[test]
fn a_miss_waits_for_its_fill_and_the_next_load_hits() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(1280, 0b0011)]);
    bench.cycle();
    assert_eq!(bench.sent.requests, [(1280, 0b0011, RequestKind::Read, Token::L1Fill)]);
    assert_eq!(bench.done.0, []);
    bench.now = 100;
    bench.reply(1280, 0b0011, Token::L1Fill);
    assert_eq!(bench.done.0, [(0, 100)]);
    assert_eq!(bench.unit.op(0).served, Served::Dram);
    bench.push(1, LOAD, &[(1280, 0b0010)]);
    bench.cycle();
    assert_eq!(bench.done.0, [(0, 100), (1, 101 + 20)]);
    assert_eq!((bench.counters.l1_misses, bench.counters.l1_hits), (1, 1));
}

#[test]
fn data_of_a_miss_never_come_sooner_than_those_of_a_hit() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1)]);
    bench.cycle();
    bench.now = 4;
    bench.reply(0, 1, Token::L1Fill);
    assert_eq!(bench.done.0, [(0, 1 + 20)]);
}

#[test]
fn a_second_miss_of_a_sector_merges_and_both_complete_with_the_fill() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1)]);
    bench.push(1, LOAD, &[(0, 1)]);
    bench.cycle();
    bench.cycle();
    assert_eq!((bench.sent.requests.len(), bench.counters.l1_merges), (1, 1));
    bench.now = 50;
    bench.reply(0, 1, Token::L1Fill);
    assert_eq!(bench.done.0, [(0, 50), (1, 50)]);
}

#[test]
fn lines_are_accessed_one_per_cycle_and_the_instruction_completes_with_the_last() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1), (128, 1)]);
    bench.cycle();
    assert_eq!(bench.sent.requests.len(), 1);
    bench.cycle();
    assert_eq!(bench.sent.requests.len(), 2);
    bench.now = 60;
    bench.reply(128, 1, Token::L1Fill);
    assert_eq!(bench.done.0, []);
    bench.now = 70;
    bench.reply(0, 1, Token::L1Fill);
    assert_eq!(bench.done.0, [(0, 70)]);
}

#[test]
fn a_head_that_is_refused_holds_back_what_is_behind_it_and_is_counted() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1)]);
    bench.push(1, MemoryKind::Load(Space::Shared), &[]);
    bench.unit.op_mut(1).shared_cycles = 1;
    bench.sent.room = 0;
    bench.cycle();
    bench.cycle();
    assert_eq!((bench.counters.l1_stall_cycles, bench.done.0.len()), (2, 0));
    bench.sent.room = 1;
    bench.cycle();
    bench.cycle();
    assert_eq!(bench.done.0, [(1, 4 + 10)]);
}

#[test]
fn the_mshrs_bound_the_lines_on_their_way() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1), (128, 1), (256, 1)]);
    for _ in 0..4 {
        bench.cycle();
    }
    assert_eq!((bench.sent.requests.len(), bench.counters.l1_stall_cycles), (2, 2));
    bench.reply(0, 1, Token::L1Fill);
    bench.cycle();
    assert_eq!(bench.sent.requests.len(), 3);
}

#[test]
fn shared_memory_takes_the_unit_for_every_cycle_of_a_conflict() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    for slot in [0, 1] {
        bench.push(slot, MemoryKind::Load(Space::Shared), &[]);
    }
    bench.unit.op_mut(0).shared_cycles = 4;
    bench.unit.op_mut(1).shared_cycles = 1;
    for _ in 0..6 {
        bench.cycle();
    }
    // The first begins in cycle 1 and has its last word 3 cycles later than without conflicts.
    assert_eq!(bench.done.0, [(0, 1 + 10 + 3), (1, 5 + 10)]);
}

#[test]
fn a_head_that_is_refused_takes_the_units_time_once() {
    // A generic access: two conflicts in shared memory, and a line whose request finds no room for a while.
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1)]);
    bench.unit.op_mut(0).shared_cycles = 3;
    bench.push(1, MemoryKind::Load(Space::Shared), &[]);
    bench.unit.op_mut(1).shared_cycles = 1;
    bench.sent.room = 0;
    for _ in 0..4 {
        bench.cycle();
    }
    bench.sent.room = 1;
    bench.cycle();
    assert_eq!(bench.sent.requests.len(), 1, "looked at again in cycle 5");
    // Regression: each retry charged the three cycles again, so that the next instruction began in cycle 8.
    bench.cycle();
    assert_eq!(bench.done.0, [(1, 6 + 10)]);
    assert_eq!(bench.counters.l1_stall_cycles, 2, "refused in cycles 1 and 4");
}

#[test]
fn stores_are_outstanding_until_l2_has_them_and_fences_wait_for_them() {
    let config = small(&["l1.write_policy=write_through", "l1.write_allocate=false"]);
    let mut bench = Bench::new(&config);
    bench.unit.fence(5);
    assert_eq!(bench.unit.fenced(), 0, "nothing to wait for");
    bench.push(0, STORE, &[(0, 0b11)]);
    bench.cycle();
    let write = RequestKind::Write { words: 0xFFFF };
    assert_eq!(bench.sent.requests, [(0, 0b11, write, Token::StoreDone(5))]);
    assert_eq!(bench.done.0, [(0, 2)], "a store completes when it has been sent");
    bench.unit.end(5);
    bench.unit.fence(5);
    assert_eq!((bench.unit.fenced(), bench.unit.refuses(1 << 5)), (1 << 5, Some(Stall::Fence)));
    bench.reply(0, 0, Token::StoreDone(5));
    assert_eq!((bench.unit.fenced(), bench.unit.busy_warps()), (0, 0));
    assert!(bench.unit.is_drained());
}

#[test]
fn a_bypassing_load_and_an_atomic_with_a_result_wait_for_their_own_replies() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    bench.push(0, LOAD, &[(0, 1), (128, 1)]);
    bench.unit.op_mut(0).route = Route::Bypass;
    bench.push(1, MemoryKind::Atomic(Space::Global), &[(256, 1)]);
    (bench.unit.op_mut(1).returns, bench.unit.op_mut(1).collisions) = (true, 4);
    for _ in 0..3 {
        bench.cycle();
    }
    let tokens: Vec<Token> = bench.sent.requests.iter().map(|request| request.3).collect();
    assert_eq!(tokens, [0, 0, 1].map(Token::Instruction));
    assert_eq!(bench.sent.requests[2].2, RequestKind::Atomic { collisions: 4 });
    bench.now = 80;
    bench.reply(0, 1, Token::Instruction(0));
    bench.reply(256, 1, Token::Instruction(1));
    assert_eq!(bench.done.0, [(1, 80)]);
    bench.now = 90;
    bench.reply(128, 1, Token::Instruction(0));
    assert_eq!(bench.done.0, [(1, 80), (0, 90)]);
}

#[test]
fn constants_come_line_by_line_and_loads_of_one_line_wait_together() {
    let config = small(&["constant_cache.hit_latency_cycles=8", "constant_cache.line_bytes=64"]);
    let mut bench = Bench::new(&config);
    let constant = MemoryKind::Load(Space::Const);
    bench.push(0, constant, &[(0, 0b0001)]);
    bench.push(1, constant, &[(0, 0b0010)]);
    bench.cycle();
    bench.cycle();
    let [(line, sectors, RequestKind::Read, Token::ConstantCache)] = bench.sent.requests[..] else {
        panic!("one request for a line of two sectors: {:?}", bench.sent.requests);
    };
    assert_eq!(sectors, 0b0011);
    bench.now = 40;
    bench.reply(line, sectors, Token::ConstantCache);
    assert_eq!(bench.done.0, [(0, 40), (1, 40)]);
    bench.push(2, constant, &[(0, 0b0001)]);
    bench.cycle();
    assert_eq!(bench.done.0.last(), Some(&(2, 41 + 8)));
}

#[test]
fn an_early_load_completes_when_its_line_can_be_locked() {
    let config = small(&[]);
    let mut bench = Bench::new(&config);
    assert!(bench.with(|unit, around| unit.load_early(9, 256, 1, around)));
    bench.now = 30;
    bench.reply(256, 1, Token::L1Fill);
    assert_eq!(bench.done.0, [(9, 30)]);
    assert!(bench.unit.lock(256));
    bench.sent.room = 0;
    assert!(!bench.with(|unit, around| unit.load_early(10, 512, 1, around)), "no room for its request");
}

/// Queues a texture fetch of lines.
fn push_fetch(bench: &mut Bench<'_>, slot: u16, lines: &[(u64, u8)]) {
    bench.push(slot, MemoryKind::Load(Space::Texture), lines);
    bench.unit.op_mut(slot).route = Route::Texture;
}

#[test]
fn texture_fetches_complete_in_order() {
    let set = [
        "texture_cache.hit_latency_cycles=5",
        "texture_cache.sector_bytes=32",
        "texture_cache.lanes_per_cycle=32",
    ];
    let config = small(&set);
    let mut bench = Bench::new(&config);
    push_fetch(&mut bench, 0, &[(0, 1)]);
    bench.cycle();
    bench.now = 50;
    bench.reply(0, 1, Token::TextureFill);
    assert_eq!(bench.done.0, [(0, 50)]);
    // A miss, then a hit, which waits for the miss.
    push_fetch(&mut bench, 1, &[(1280, 1)]);
    push_fetch(&mut bench, 2, &[(0, 1)]);
    bench.cycle();
    bench.cycle();
    assert_eq!(bench.done.0.len(), 1, "the hit has not overtaken the miss");
    bench.now = 90;
    bench.reply(1280, 1, Token::TextureFill);
    assert_eq!(bench.done.0[1..], [(1, 90), (2, 90)]);
}

#[test]
fn texture_fetches_wait_for_fragments() {
    let set = ["texture_cache.fragments=32", "texture_cache.mshrs=64", "texture_cache.lanes_per_cycle=32"];
    let config =
        small(&[&set[..], &["load_store.accesses_per_cycle=32", "texture_cache.sector_bytes=32"]].concat());
    let mut bench = Bench::new(&config);
    bench.sent = Sent::with_room(64);
    let lines: Vec<(u64, u8)> = (0..32).map(|line| (128 * line, 1)).collect();
    push_fetch(&mut bench, 0, &lines);
    push_fetch(&mut bench, 1, &[(1 << 20, 1)]);
    (0..4).for_each(|_| bench.cycle());
    assert_eq!(bench.sent.requests.len(), 32, "all fragments are in flight");
    bench.now = 50;
    lines.iter().for_each(|(line, sectors)| bench.reply(*line, *sectors, Token::TextureFill));
    assert_eq!(bench.done.0, [(0, 50)]);
    (0..2).for_each(|_| bench.cycle());
    assert_eq!(bench.sent.requests.len(), 33);
}

#[test]
fn a_texture_fetch_holds_the_unit_for_its_lanes_or_its_lines() {
    let cycles = |lines: u64| {
        let config = small(&["texture_cache.lanes_per_cycle=4", "texture_cache.mshrs=64"]);
        let mut bench = Bench::new(&config);
        bench.sent = Sent::with_room(64);
        let of = |from: u64| (from..from + lines).map(|line| (1024 * line, 1)).collect::<Vec<_>>();
        push_fetch(&mut bench, 0, &of(0));
        push_fetch(&mut bench, 1, &of(100));
        let begins = |bench: &mut Bench<'_>, sent: usize| {
            while bench.sent.requests.len() < sent {
                bench.cycle();
            }
            bench.now
        };
        let first = begins(&mut bench, 1);
        begins(&mut bench, lines as usize + 1) - first
    };
    // 32 lanes at four a cycle, one line a cycle.
    assert_eq!([1, 3, 8, 9, 16].map(cycles), [8, 8, 8, 9, 16]);
}

#[test]
fn a_load_of_several_constants_holds_the_unit_for_each_address() {
    let config = small(&["constant_cache.hit_latency_cycles=8", "load_store.constant_address_cycles=2"]);
    let mut bench = Bench::new(&config);
    bench.push(0, MemoryKind::Load(Space::Const), &[(0, 1)]);
    bench.cycle();
    bench.now = 50;
    let line = config.constant_cache.line_bytes / 32;
    bench.reply(bench.sent.requests[0].0, ((1u32 << line) - 1) as u8, Token::ConstantCache);
    // Five addresses of two cycles, one of three, one of two.
    for (slot, addresses, cycles) in [(1, 5, 2), (2, 1, 3), (3, 1, 2)] {
        bench.push(slot, MemoryKind::Load(Space::Const), &[(0, 1)]);
        let op = bench.unit.op_mut(slot);
        (op.constants, op.constant_cycles) = (addresses, cycles);
        (0..4).for_each(|_| bench.cycle());
    }
    (0..6).for_each(|_| bench.cycle());
    assert_eq!(bench.done.0[1..], [(1, 51 + 8 + 8), (2, 61 + 8), (3, 64 + 8)]);
}
