//! Control bits at issue: per warp, the cycle from which its stall count lets it issue, and its dependence counters (Huerta et al.,
//! MICRO 2025, section 4).
//!
//! Nothing else keeps an instruction with control bits behind those that it depends on: the compiler has to be right.

use super::{WarpSet, cause_of_waits};
use crate::stats::Stall;
use trace_format::isa::{ControlBits, DEPENDENCE_COUNTERS};

/// The state of one warp.
#[derive(Clone, Copy, Debug, Default)]
struct OfWarp {
    /// Instructions that a counter stands for, and how many of them are memory instructions.
    counters: [u8; DEPENDENCE_COUNTERS],
    memory: [u8; DEPENDENCE_COUNTERS],
    /// Cycle from which it may issue.
    issues_from: u64,
}

/// The control bits of an SM's warps.
#[derive(Clone, Debug)]
pub(crate) struct Dependences {
    warps: Vec<OfWarp>,
    /// Warps whose stall count has not run down.
    stalled: u64,
    /// The first cycle in which one of them may issue.
    next: u64,
    /// Warps whose next instruction waits for a counter, and those of them whose counter stands for a memory instruction.
    waiting: u64,
    waiting_for_memory: u64,
    /// Cycles after an instruction with a stall count of zero that yields.
    yield_cycles: u32,
}

impl OfWarp {
    /// One more instruction in flight counts.
    #[inline]
    fn begin(&mut self, counter: u8, memory: bool) {
        self.counters[usize::from(counter)] += 1;
        self.memory[usize::from(counter)] += u8::from(memory);
    }
}

impl Dependences {
    /// Counters at zero.
    #[must_use]
    pub(crate) fn new(warps: usize, yield_cycles: u32) -> Dependences {
        Dependences {
            warps: vec![OfWarp::default(); warps],
            stalled: 0,
            next: u64::MAX,
            waiting: 0,
            waiting_for_memory: 0,
            yield_cycles,
        }
    }

    /// Warps that may not issue.
    #[must_use]
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.stalled | self.waiting
    }

    /// Warps whose next instruction waits for a counter that stands for a memory instruction.
    #[must_use]
    #[inline]
    pub(crate) fn held_by_memory(&self) -> u64 {
        self.waiting_for_memory
    }

    /// Stall cause of the held warps among `warps`: stall counts and counters of arithmetic take precedence over memory.
    #[must_use]
    pub(crate) fn refuses(&self, warps: u64) -> Option<Stall> {
        cause_of_waits(self.held() & warps, self.waiting_for_memory)
    }

    /// Lets the warps issue whose stall counts have run down.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        if self.next > now {
            return;
        }
        self.next = u64::MAX;
        for warp in WarpSet(self.stalled) {
            let from = self.warps[warp].issues_from;
            if from <= now {
                self.stalled &= !(1 << warp);
            } else {
                self.next = self.next.min(from);
            }
        }
    }

    /// The first cycle in which a stalled warp may issue.
    #[must_use]
    #[inline]
    pub(crate) fn next_event(&self) -> Option<u64> {
        (self.next != u64::MAX).then_some(self.next)
    }

    /// A warp has issued an instruction: its stall count begins. An instruction in flight counts until it is
    /// [read](Dependences::read) and [written](Dependences::written).
    #[inline]
    pub(crate) fn issued(
        &mut self,
        warp: usize,
        bits: &ControlBits,
        in_flight: bool,
        memory: bool,
        now: u64,
    ) {
        let cycles = u64::from(bits.cycles_to_next_issue(self.yield_cycles));
        let of = &mut self.warps[warp];
        if in_flight {
            for counter in [bits.read_counter, bits.write_counter].into_iter().flatten() {
                of.begin(counter, memory);
            }
        }
        if cycles > 1 {
            of.issues_from = now + cycles;
            self.stalled |= 1 << warp;
            self.next = self.next.min(now + cycles);
        }
    }

    /// The result of a barrier, whose sources were read at issue, counts until it is [written](Dependences::written).
    pub(crate) fn awaits_barrier(&mut self, warp: usize, bits: &ControlBits) {
        if let Some(counter) = bits.write_counter {
            self.warps[warp].begin(counter, false);
        }
    }

    /// An instruction in flight has read its sources.
    #[inline]
    pub(crate) fn read(&mut self, warp: usize, bits: &ControlBits, memory: bool) {
        self.end(warp, bits.read_counter, memory);
    }

    /// An instruction in flight has written its results.
    #[inline]
    pub(crate) fn written(&mut self, warp: usize, bits: &ControlBits, memory: bool) {
        self.end(warp, bits.write_counter, memory);
    }

    #[inline]
    fn end(&mut self, warp: usize, counter: Option<u8>, memory: bool) {
        if let Some(counter) = counter {
            let of = &mut self.warps[warp];
            of.counters[usize::from(counter)] -= 1;
            of.memory[usize::from(counter)] -= u8::from(memory);
        }
    }

    /// Looks up what a warp's next instruction waits for; without control bits it waits for nothing here.
    #[inline]
    pub(crate) fn look_at(&mut self, warp: usize, next: Option<&ControlBits>) {
        let bit = 1u64 << warp;
        self.waiting &= !bit;
        self.waiting_for_memory &= !bit;
        let Some(bits) = next else { return };
        let of = &self.warps[warp];
        let waits = |counter: usize| {
            let most = match bits.waits_until {
                _ if bits.waits_for >> counter & 1 != 0 => 0,
                Some((until, most)) if usize::from(until) == counter => most,
                _ => return false,
            };
            of.counters[counter] > most
        };
        for counter in (0..DEPENDENCE_COUNTERS).filter(|counter| waits(*counter)) {
            self.waiting |= bit;
            self.waiting_for_memory |= u64::from(of.memory[counter] > 0) << warp;
        }
    }

    /// Counters of a warp that are not zero, for the report of a stuck machine.
    #[must_use]
    pub(crate) fn describe(&self, warp: usize) -> String {
        let counters = self.warps[warp].counters.iter().enumerate().filter(|(_, count)| **count > 0);
        let all: Vec<String> = counters.map(|(counter, count)| format!("SB{counter} at {count}")).collect();
        if all.is_empty() { "no counter".to_owned() } else { all.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalling(stall_cycles: u8, yields: bool) -> ControlBits {
        ControlBits { stall_cycles, yields, ..ControlBits::default() }
    }

    /// Cycles from an issue at cycle 100 to the next one.
    fn cycles(bits: ControlBits) -> u64 {
        let mut dependences = Dependences::new(2, 46);
        dependences.issued(1, &bits, false, false, 100);
        let mut now = 101;
        loop {
            dependences.advance(now);
            assert!(dependences.held() & 1 == 0, "warp 0 has issued nothing");
            if dependences.held() == 0 {
                return now - 100;
            }
            assert_eq!(dependences.refuses(0b10), Some(Stall::AluDependency));
            assert!(dependences.next_event().is_some_and(|next| next > now));
            now += 1;
        }
    }

    #[test]
    fn the_stall_count_and_yield_set_the_distance_to_the_next_issue() {
        assert_eq!(cycles(stalling(1, false)), 1);
        assert_eq!(cycles(stalling(4, false)), 4);
        assert_eq!(cycles(stalling(1, true)), 2, "yield forbids the next cycle");
        assert_eq!(cycles(stalling(5, true)), 5, "and only that one");
        assert_eq!(cycles(stalling(0, true)), 46);
        assert_eq!(cycles(stalling(0, false)), 1);
    }

    #[test]
    fn an_instruction_waits_until_its_counters_are_zero() {
        let mut dependences = Dependences::new(1, 46);
        let load = ControlBits { write_counter: Some(2), read_counter: Some(5), ..ControlBits::default() };
        let special = ControlBits { write_counter: Some(1), ..ControlBits::default() };
        dependences.issued(0, &load, true, true, 0);
        dependences.issued(0, &load, true, true, 1);
        dependences.issued(0, &special, true, false, 2);
        dependences.issued(0, &special, false, false, 3); // Nothing is in flight of it.
        let waiting = |dependences: &mut Dependences, waits_for: u8| {
            dependences.look_at(0, Some(&ControlBits { waits_for, ..ControlBits::default() }));
            dependences.refuses(1)
        };
        assert_eq!(waiting(&mut dependences, 0), None);
        assert_eq!(waiting(&mut dependences, 1 << 2), Some(Stall::MemoryDependency));
        assert_eq!(waiting(&mut dependences, 1 << 1), Some(Stall::AluDependency));
        dependences.written(0, &special, false);
        assert_eq!(waiting(&mut dependences, 1 << 1), None);
        dependences.written(0, &load, true);
        assert_eq!(waiting(&mut dependences, 1 << 2), Some(Stall::MemoryDependency), "one more");
        dependences.written(0, &load, true);
        assert_eq!(waiting(&mut dependences, 1 << 2), None);
        assert_eq!(waiting(&mut dependences, 1 << 5), Some(Stall::MemoryDependency), "the sources");
        assert_eq!(dependences.describe(0), "SB5 at 2");
        dependences.read(0, &load, true);
        dependences.read(0, &load, true);
        assert_eq!(waiting(&mut dependences, 0x3F), None);
        dependences.look_at(0, None);
        assert_eq!((dependences.held(), dependences.held_by_memory()), (0, 0));
    }

    #[test]
    fn a_barrier_of_dependences_leaves_so_many_outstanding() {
        let mut dependences = Dependences::new(1, 46);
        let load = ControlBits { write_counter: Some(0), ..ControlBits::default() };
        (0..3).for_each(|now| dependences.issued(0, &load, true, true, now));
        let barrier = ControlBits { waits_until: Some((0, 1)), ..ControlBits::default() };
        for expected in [true, true, false, false] {
            dependences.look_at(0, Some(&barrier));
            assert_eq!(dependences.held_by_memory() != 0, expected);
            if dependences.warps[0].counters[0] > 0 {
                dependences.written(0, &load, true);
            }
        }
    }
}
