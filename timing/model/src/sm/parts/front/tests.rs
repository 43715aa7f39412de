//! Tests of the front end between stand-ins for the I-cache and issue.

use super::*;
use crate::config::GpuConfig;
use crate::testing::{Builder, Hand, config};

/// Stand-in for the I-cache, which misses only on chosen lines, and for techniques, with a verdict per
/// instruction.
#[derive(Default)]
struct Around {
    missing: Vec<u64>,
    verdicts: Vec<(u32, FetchVerdict)>,
    read: Vec<u64>,
    fetched: Vec<(usize, Entry, u64)>,
}

impl FetchNeighbours for Around {
    fn read_code(&mut self, line: u64, _warp: usize, _counters: &mut Counters) -> CodeFetch {
        self.read.push(line);
        if self.missing.contains(&line) { CodeFetch::Miss } else { CodeFetch::Hit }
    }

    fn verdict(&self, _warp: usize, pc: u32) -> Decision<FetchVerdict> {
        let verdict = self.verdicts.iter().find(|(at, _)| *at == pc).map(|(_, verdict)| *verdict);
        Decision { verdict: verdict.unwrap_or(FetchVerdict::Fetch), by: 2 }
    }

    fn held(&mut self, _warp: usize, _pc: u32, by: u8, _cause: u8) {
        assert_eq!(by, 2, "the technique whose verdict it was");
    }

    fn passes_over(&mut self, _warp: usize, _op: MicroId) -> bool {
        false
    }

    fn fetched(&mut self, fetched: Fetched) {
        self.fetched.push((fetched.warp, fetched.entry, fetched.ready_at));
    }
}

/// One warp fetches two instructions per cycle into three places; three cycles from fetch to decode; four
/// instructions per line.
fn small(set: &[&str]) -> GpuConfig {
    let mut all = vec![
        "front_end.fetch_warps_per_cycle=1",
        "front_end.fetch_instructions=2",
        "front_end.ibuffer_entries=3",
        "front_end.decode_cycles=2",
        "front_end.icache.hit_latency_cycles=1",
        "front_end.icache.line_bytes=32",
        "front_end.icache.size_bytes=512",
    ];
    all.extend(set);
    config("gtx480", &all)
}

/// The machine of a kernel of nine instructions.
fn machine(set: &[&str]) -> Machine {
    let mut b = Builder::default();
    for _ in 0..8 {
        b.mov(1, 0);
    }
    Hand::new(b.exit(), 1, 32).prepare(&small(set), Vec::new()).expect("a kernel").0
}

struct Bench<'a> {
    front: Front<'a>,
    around: Around,
    counters: Counters,
    now: u64,
}

impl<'a> Bench<'a> {
    /// A front end in which some warps begin at the first instruction.
    fn new(machine: &'a Machine, warps: &[usize]) -> Bench<'a> {
        let mut front = Front::new(machine);
        for warp in warps {
            front.place(*warp, 0);
            front.begin(*warp);
        }
        Bench { front, around: Around::default(), counters: Counters::default(), now: 0 }
    }

    /// One cycle; returns the warps that have a new head.
    fn cycle<const TECHNIQUES: bool>(&mut self) -> Vec<usize> {
        self.now += 1;
        let heads: Vec<usize> = std::iter::from_fn(|| self.front.take_decoded(self.now)).collect();
        self.front.run::<TECHNIQUES>(self.now, &mut self.around, &mut self.counters);
        heads
    }

    /// Positions fetched so far, with the cycles of their fetch.
    fn fetches(&self) -> Vec<(Entry, u64)> {
        self.around.fetched.iter().map(|(_, entry, ready)| (*entry, ready - 3)).collect()
    }
}

#[test]
fn a_warp_fetches_until_its_i_buffer_is_full_and_issues_after_decode() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[4]);
    let heads: Vec<Vec<usize>> = (0..4).map(|_| bench.cycle::<false>()).collect();
    // Fetched in cycle 1, decoded in cycle 4.
    assert_eq!(heads, [vec![], vec![], vec![], vec![4]]);
    assert_eq!(bench.front.head(4), Some(Entry::Program(0)));
    assert_eq!(bench.fetches(), [0, 1, 2].map(Entry::Program).into_iter().zip([1, 1, 2]).collect::<Vec<_>>());
    assert_eq!(bench.front.may_fetch(), 0, "three places are taken");
    bench.front.pop(4);
    bench.front.refresh(4);
    bench.cycle::<false>();
    assert_eq!(bench.fetches().last(), Some(&(Entry::Program(3), 5)));
    assert_eq!(bench.counters.fetched_instructions, 4);
}

#[test]
fn one_fetch_reads_one_line() {
    let machine = machine(&["front_end.fetch_instructions=8", "front_end.ibuffer_entries=8"]);
    let mut bench = Bench::new(&machine, &[0]);
    bench.cycle::<false>();
    assert_eq!(bench.around.fetched.len(), 4, "four instructions lie in the first line");
    bench.cycle::<false>();
    assert_eq!(bench.around.fetched.len(), 8);
    assert_eq!(bench.around.read.len(), 2);
    assert_eq!(bench.counters.icache_accesses, 2);
}

#[test]
fn a_miss_stops_the_warp_until_its_line_is_there_and_others_go_on() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[0, 1]);
    bench.around.missing = vec![machine.code_line(0)];
    bench.cycle::<false>();
    assert_eq!((bench.around.fetched.len(), bench.front.may_fetch()), (0, 0b10));
    assert_eq!(bench.front.refuses(0b01), Some(Stall::ICacheMiss));
    bench.around.missing.clear();
    bench.cycle::<false>();
    assert_eq!(bench.around.fetched[0].0, 1);
    bench.front.code_arrived(0b01);
    bench.cycle::<false>();
    assert_eq!(bench.around.fetched.last().map(|fetched| fetched.0), Some(0));
}

#[test]
fn warps_take_turns() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[3, 7, 40]);
    (0..3).for_each(|_| drop(bench.cycle::<false>()));
    let turns: Vec<usize> = bench.around.fetched.iter().step_by(2).map(|fetched| fetched.0).collect();
    assert_eq!(turns, [3, 7, 40]);
}

#[test]
fn a_redirection_discards_what_was_fetched_on_the_wrong_path() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[0]);
    bench.cycle::<false>();
    assert_eq!(bench.front.restart(0, 6, 1), 2);
    bench.front.refresh(0);
    let heads: Vec<Vec<usize>> = (0..4).map(|_| bench.cycle::<false>()).collect();
    assert_eq!(heads, [vec![], vec![], vec![], vec![0]], "what was in decode is dropped");
    assert_eq!(bench.front.head(0), Some(Entry::Program(6)));
}

#[test]
fn fetch_ends_with_the_kernel() {
    let machine = machine(&["front_end.fetch_instructions=8", "front_end.ibuffer_entries=8"]);
    let mut bench = Bench::new(&machine, &[0]);
    (0..6).for_each(|_| drop(bench.cycle::<false>()));
    assert_eq!(bench.around.fetched.len(), 8, "the I-buffer is full");
    (0..8).for_each(|_| bench.front.pop(0));
    bench.front.refresh(0);
    (0..6).for_each(|_| drop(bench.cycle::<false>()));
    assert_eq!(bench.around.fetched.len(), 9);
    assert_eq!(bench.front.may_fetch(), 0);
}

#[test]
fn a_skipped_instruction_takes_no_place_and_no_access() {
    let machine = machine(&["front_end.fetch_instructions=1"]);
    let mut bench = Bench::new(&machine, &[0]);
    bench.around.verdicts = vec![(0, FetchVerdict::Skip), (1, FetchVerdict::Skip)];
    bench.cycle::<true>();
    let expected = [Entry::Skipped(0, 2), Entry::Skipped(1, 2), Entry::Program(2)];
    assert_eq!(bench.fetches(), expected.map(|entry| (entry, 1)));
    assert_eq!((bench.counters.fetched_instructions, bench.counters.icache_accesses), (1, 1));
    (0..3).for_each(|_| drop(bench.cycle::<true>()));
    // Two skipped entries, and one of three places taken: two more fit.
    assert_eq!(bench.front.head(0), Some(Entry::Skipped(0, 2)));
}

#[test]
fn a_warp_that_a_technique_holds_leaves_its_turn_and_says_who_holds_it() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[0, 1]);
    bench.front.restart(1, 4, 0);
    bench.around.verdicts = vec![(0, FetchVerdict::Stall(3))];
    bench.cycle::<true>();
    assert_eq!(bench.around.fetched[0].0, 1);
    assert_eq!((bench.front.held(), bench.front.held_by(0)), (1, (2, 3)));
    assert_eq!(bench.front.refuses(0b01), Some(Stall::Technique));
    // Without techniques no verdict is asked for.
    let mut plain = Bench::new(&machine, &[0]);
    plain.around.verdicts = vec![(0, FetchVerdict::Stall(3))];
    plain.cycle::<false>();
    assert_eq!(plain.around.fetched.len(), 2);
}

#[test]
fn an_injected_micro_operation_issues_before_what_is_in_the_i_buffer() {
    let machine = machine(&[]);
    let mut bench = Bench::new(&machine, &[0]);
    (0..4).for_each(|_| drop(bench.cycle::<false>()));
    bench.front.inject(0, MicroId(5));
    assert_eq!(bench.front.head(0), Some(Entry::Micro(MicroId(5))));
    bench.front.pop_entry(0);
    bench.front.pop(0);
    assert_eq!(bench.front.head(0), Some(Entry::Program(1)), "the entry and the micro-operation are gone");
}
