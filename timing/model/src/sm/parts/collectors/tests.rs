//! Tests of collectors and banks between stand-ins for issue and units.

use super::*;
use crate::testing::{config, supplied};

/// Two generic collectors of one port, four banks of one port, two cycles from a bank to a collector, the
/// first of which passes between issue and the banks.
const SMALL: [&str; 12] = [
    "scheduler.count=1",
    "collectors.generic=2",
    "collectors.alu=0",
    "collectors.sfu=0",
    "collectors.mem=0",
    "collectors.ports=1",
    "collectors.issue_to_read_cycles=1",
    "collectors.dispatch_per_scheduler=1",
    "register_file.banks=4",
    "register_file.bank_ports=1",
    "register_file.sub_core=false",
    "register_file.read_latency_cycles=2",
];

/// Stand-in for the collectors' neighbours: issue before them, units after them.
struct Bench {
    collectors: Collectors,
    counters: Counters,
    now: u64,
    /// Slots that units refuse.
    refused: Vec<u16>,
    /// Cycle and slot of collected instructions, and of those that have left.
    collected: Vec<(u64, u16)>,
    left: Vec<(u64, u16)>,
}

impl Bench {
    fn new(set: &[&str], per_warp: Option<CollectorPlan>) -> Bench {
        let set: Vec<&str> = SMALL.iter().chain(set).copied().collect();
        Bench {
            collectors: Collectors::new(&config("gtx480", &set), per_warp, 0),
            counters: Counters::default(),
            now: 0,
            refused: Vec::new(),
            collected: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Issues an instruction of a warp at the end of the cycle; its sources are in these banks.
    fn issue(&mut self, slot: u16, warp: usize, banks: &[u8]) {
        self.issue_from(slot, warp, 0, banks.iter().map(|bank| ReadFrom::Bank(*bank)));
    }

    fn issue_from(&mut self, slot: u16, warp: usize, unit: u8, from: impl Iterator<Item = ReadFrom>) {
        let id = InFlightId::new(slot, 0);
        let who = Collecting { id, warp, scheduler: 0, class: 0, leaves_for: unit };
        assert_ne!(self.collectors.with_room(1 << warp, 0, 0), 0, "there is room");
        self.collectors.collect(who, from, self.now);
    }

    /// The next cycle up to issue, in the order of the SM's stages.
    fn cycle(&mut self) {
        self.now += 1;
        let mut collected = Vec::new();
        self.collectors.take_operands(self.now, &mut collected);
        self.collected.extend(collected.iter().map(|collected| (self.now, collected.slot)));
        let mut offers = self.collectors.offers();
        while let Some(slot) = self.collectors.offer(&mut offers) {
            if self.refused.contains(&slot) {
                self.collectors.refused(&mut offers);
            } else {
                self.collectors.taken(&mut offers);
                self.left.push((self.now, slot));
            }
        }
        self.collectors.serve_banks(self.now, &mut self.counters);
    }

    fn cycles(&mut self, count: u32) {
        (0..count).for_each(|_| self.cycle());
    }
}

#[test]
fn operands_of_one_instruction_pass_its_port_one_by_one() {
    let mut bench = Bench::new(&[], None);
    bench.issue(7, 0, &[0, 1, 2]);
    bench.cycles(10);
    // Read in cycles 1, 2 and 3; the last arrives two cycles later.
    assert_eq!((bench.collected, bench.left), (vec![(5, 7)], vec![(5, 7)]));
    assert_eq!(bench.counters.rf_reads, 3);
    assert_eq!(bench.counters.collector_port_conflict_cycles, 2 + 1);
    assert_eq!(bench.counters.rf_bank_conflict_cycles, 0);
}

#[test]
fn operands_in_one_bank_are_read_one_by_one() {
    let mut bench = Bench::new(&["collectors.ports=2"], None);
    bench.issue(7, 0, &[1, 1]);
    bench.cycles(10);
    assert_eq!(bench.collected, [(4, 7)]);
    assert_eq!(bench.counters.rf_bank_conflict_cycles, 1);
    assert_eq!(bench.counters.collector_port_conflict_cycles, 0);
}

#[test]
fn a_write_precedes_a_read_at_its_bank() {
    let mut bench = Bench::new(&[], None);
    bench.issue(7, 0, &[1]);
    bench.collectors.access(1);
    bench.cycles(10);
    assert_eq!(bench.collected, [(4, 7)]);
    assert_eq!(bench.counters.rf_bank_conflict_cycles, 1);
}

#[test]
fn a_write_with_a_port_of_its_own_leaves_the_bank_to_reads() {
    let mut bench = Bench::new(&["register_file.bank_write_ports=1"], None);
    bench.issue(7, 0, &[1]);
    bench.collectors.access(1);
    bench.collectors.access(1);
    bench.cycles(10);
    assert_eq!(bench.collected, [(3, 7)]);
    assert_eq!(bench.counters.rf_bank_conflict_cycles, 1, "the second write");
}

#[test]
fn an_instruction_without_operands_is_collected_when_banks_would_be_read() {
    let mut bench = Bench::new(&[], None);
    bench.issue(7, 0, &[]);
    bench.cycles(3);
    assert_eq!(bench.left, [(1, 7)]);
}

#[test]
fn a_collector_is_held_until_the_unit_takes_what_is_in_it_and_says_why() {
    let mut bench = Bench::new(&[], None);
    bench.refused = vec![7];
    bench.issue(7, 0, &[0]);
    bench.cycle();
    bench.issue(8, 1, &[1]);
    assert_eq!(bench.collectors.with_room(1 << 2, 0, 0), 0);
    assert_eq!(bench.collectors.refuses(2, 0, 0), Stall::CollectorFull);
    bench.cycles(3);
    // Slot 7 is refused, and so are the younger instructions for the same unit.
    assert_eq!((bench.collected.len(), bench.left.len()), (2, 0));
    assert_eq!(bench.collectors.refuses(2, 0, 0), Stall::UnitBusy);
    bench.refused.clear();
    bench.cycles(2);
    assert_eq!(bench.left, [(5, 7), (6, 8)], "one is dispatched per cycle, oldest first");
    assert_ne!(bench.collectors.with_room(1 << 2, 0, 0), 0);
}

#[test]
fn an_instruction_for_another_unit_passes_one_that_is_refused() {
    let mut bench = Bench::new(&[], None);
    bench.refused = vec![7];
    bench.issue_from(7, 0, LOAD_STORE_QUEUE, std::iter::once(ReadFrom::Bank(0)));
    bench.issue(8, 1, &[1]);
    bench.cycles(3);
    assert_eq!(bench.left, [(3, 8)]);
    assert_eq!(bench.collectors.refuses(2, 0, 0), Stall::MemoryQueueFull);
}

#[test]
fn a_collector_of_a_warp_takes_as_many_instructions_as_it_is_said_to() {
    let plan = CollectorPlan::new(2, 2);
    let mut bench = Bench::new(&[], Some(plan));
    bench.issue(7, 3, &[0]);
    assert_ne!(bench.collectors.with_room(1 << 3, 0, 0), 0);
    bench.issue(8, 3, &[1]);
    assert_eq!(bench.collectors.with_room(1 << 3 | 1 << 4, 0, 0), 1 << 4, "another warp has its own");
    bench.cycles(3);
    bench.collected.sort_unstable();
    assert_eq!(bench.collected, [(3, 7), (3, 8)], "two ports");
}

#[test]
fn collectors_of_warps_together_hold_no_more_than_those_of_the_machine_if_they_are_bounded() {
    let plan = CollectorPlan::new(2, 1).bounded();
    let mut bench = Bench::new(&["collectors.generic=3"], Some(plan));
    bench.issue(6, 3, &[0]);
    bench.issue(7, 3, &[0]);
    assert_eq!(bench.collectors.with_room(1 << 3 | 1 << 4, 0, 0), 1 << 4, "warp 3 holds two");
    bench.refused = vec![8];
    bench.issue(8, 4, &[]);
    assert_eq!(bench.collectors.with_room(u64::MAX, 0, 0), 0, "three in all");
    assert_eq!(bench.collectors.refuses(5, 0, 0), Stall::CollectorFull);
    bench.cycles(8);
    assert_eq!(bench.left, [], "younger instructions for the same unit wait too");
    assert_eq!(bench.collectors.refuses(5, 0, 0), Stall::UnitBusy);
    bench.refused.clear();
    bench.cycle();
    assert_ne!(bench.collectors.with_room(1 << 5, 0, 0), 0);
}

#[test]
fn operands_arrive_together_and_after_those_of_another_instruction() {
    let same = supplied();
    let plan = CollectorPlan::new(3, 1);
    let mut bench = Bench::new(&[], Some(plan));
    let first = InFlightId::new(7, 0);
    bench.issue_from(7, 0, 0, [ReadFrom::Bank(0), ReadFrom::With(0, same)].into_iter());
    bench.issue_from(8, 0, 0, std::iter::once(ReadFrom::After(first, 1, same)));
    bench.cycles(3);
    assert_eq!(bench.collected, [(3, 7), (3, 8)]);
    // An operand that has already arrived costs nothing.
    bench.issue_from(9, 0, 0, std::iter::once(ReadFrom::After(first, 1, same)));
    bench.cycle();
    assert_eq!(bench.collected.last(), Some(&(4, 9)));
    assert_eq!(bench.counters.rf_reads, 1);
}

#[test]
fn an_earlier_arrival_does_not_wait_behind_a_later_one() {
    // Slot 7 is read in cycle 5 and arrives in cycle 6; the arrival of slot 8, which needs no bank, was
    // scheduled in cycle 3 for cycle 8.
    let set = ["collectors.issue_to_read_cycles=5", "register_file.read_latency_cycles=1"];
    let mut bench = Bench::new(&set, None);
    bench.issue(7, 0, &[0]);
    bench.cycles(3);
    bench.issue(8, 1, &[]);
    bench.cycles(10);
    assert_eq!(bench.collected, [(6, 7), (8, 8)]);
}
