//! Loads that techniques make ahead of the instructions that need them: one is looked up in L1 per cycle.

use crate::techniques::EarlyLoad;
use std::collections::VecDeque;

/// Early loads of an SM.
#[derive(Clone, Debug, Default)]
pub struct EarlyLoads {
    /// Those that have not been looked up, in order.
    waiting: VecDeque<EarlyLoad>,
    /// Those in flight, by slot.
    in_flight: Vec<(u16, EarlyLoad)>,
}

impl EarlyLoads {
    /// What stands for the position of an instruction in the flight of an early load.
    pub const PC: u32 = u32::MAX;

    /// Adds what techniques want to be loaded.
    pub fn extend(&mut self, loads: impl Iterator<Item = EarlyLoad>) {
        self.waiting.extend(loads);
    }

    /// Whether nothing is to be looked up.
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

    /// That load is in flight in a slot.
    pub fn begin(&mut self, slot: u16) {
        self.in_flight.extend(self.waiting.pop_front().map(|load| (slot, load)));
    }

    /// The load in a slot is done.
    pub fn end(&mut self, slot: u16) -> Option<EarlyLoad> {
        let at = self.in_flight.iter().position(|(held, _)| *held == slot)?;
        Some(self.in_flight.swap_remove(at).1)
    }
}
