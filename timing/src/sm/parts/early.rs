//! Early loads, which techniques make ahead of the instructions that need them: L1 looks up one per cycle.

use crate::techniques::EarlyLoad;
use std::collections::VecDeque;

/// Early loads of an SM.
#[derive(Clone, Debug, Default)]
pub struct EarlyLoads {
    /// Loads not yet looked up, in order.
    waiting: VecDeque<EarlyLoad>,
    /// Loads in flight, by slot.
    in_flight: Vec<(u16, EarlyLoad)>,
}

impl EarlyLoads {
    /// Position that the flight of an early load has in place of an instruction's.
    pub const PC: u32 = u32::MAX;

    /// Adds loads of techniques.
    pub fn extend(&mut self, loads: impl Iterator<Item = EarlyLoad>) {
        self.waiting.extend(loads);
    }

    /// Whether no load waits for its lookup.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The load that is looked up next.
    #[must_use]
    pub fn next(&self) -> Option<EarlyLoad> {
        self.waiting.front().copied()
    }

    /// Notes that this load is in flight in a slot.
    pub fn begin(&mut self, slot: u16) {
        self.in_flight.extend(self.waiting.pop_front().map(|load| (slot, load)));
    }

    /// Removes the load in a slot, which has completed.
    pub fn end(&mut self, slot: u16) -> Option<EarlyLoad> {
        let at = self.in_flight.iter().position(|(held, _)| *held == slot)?;
        Some(self.in_flight.swap_remove(at).1)
    }
}
