//! Early loads, which techniques make ahead of the instructions that need them: L1 looks up one per cycle.

use crate::techniques::EarlyLoad;
use std::collections::VecDeque;

/// Early loads of an SM.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlyLoads {
    /// Loads not yet looked up, in order.
    waiting: VecDeque<EarlyLoad>,
    /// Loads in flight, by slot.
    in_flight: Vec<(u16, EarlyLoad)>,
}

impl EarlyLoads {
    /// Position that the flight of an early load has in place of an instruction's.
    pub(crate) const PC: u32 = u32::MAX;

    /// Adds loads of techniques.
    pub(crate) fn extend(&mut self, loads: impl Iterator<Item = EarlyLoad>) {
        self.waiting.extend(loads);
    }

    /// Whether no load waits for its lookup.
    #[must_use]
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The load that is looked up next.
    #[must_use]
    pub(crate) fn next(&self) -> Option<EarlyLoad> {
        self.waiting.front().copied()
    }

    /// Notes that this load is in flight in a slot.
    pub(crate) fn begin(&mut self, slot: u16) {
        self.in_flight.extend(self.waiting.pop_front().map(|load| (slot, load)));
    }

    /// Removes the load that would be looked up next.
    pub(crate) fn drop_next(&mut self) {
        self.waiting.pop_front();
    }

    /// Removes the load in a slot, which has completed.
    pub(crate) fn end(&mut self, slot: u16) -> Option<EarlyLoad> {
        let at = self.in_flight.iter().position(|(held, _)| *held == slot)?;
        Some(self.in_flight.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load of a line, which is its name as well.
    fn load(line: u64, lock: bool) -> EarlyLoad {
        EarlyLoad { line, sectors: 0b11, lock, tag: line as u32, into_buffer: false }
    }

    fn line(load: Option<EarlyLoad>) -> Option<u64> {
        load.map(|load| load.line)
    }

    #[test]
    fn loads_are_looked_up_in_the_order_in_which_techniques_want_them() {
        let mut early = EarlyLoads::default();
        assert!(early.is_empty() && early.next().is_none());
        early.extend([load(128, false), load(0, true)].into_iter());
        early.extend([load(256, false)].into_iter());
        assert_eq!(line(early.next()), Some(128));
        assert_eq!(line(early.next()), Some(128), "a load that is refused stays the next one");
        early.begin(7);
        assert_eq!(line(early.next()), Some(0));
        early.begin(9);
        early.begin(8);
        assert!(early.is_empty() && early.next().is_none());
    }

    #[test]
    fn a_load_ends_once_by_its_slot_whatever_the_order() {
        let mut early = EarlyLoads::default();
        early.extend([load(0, true), load(128, false), load(256, true)].into_iter());
        for slot in [7, 8, 9] {
            early.begin(slot);
        }
        let ended = early.end(7).expect("the first load");
        assert_eq!((ended.line, ended.sectors, ended.lock, ended.tag), (0, 0b11, true, 0));
        assert!(early.end(7).is_none());
        assert_eq!(line(early.end(9)), Some(256));
        assert_eq!(line(early.end(8)), Some(128));
    }

    #[test]
    fn a_slot_is_used_by_one_load_after_another() {
        let mut early = EarlyLoads::default();
        early.extend([load(0, false), load(128, false)].into_iter());
        early.begin(3);
        assert_eq!(line(early.end(3)), Some(0));
        early.begin(3);
        assert_eq!(line(early.end(3)), Some(128));
    }
}
