//! The result bus: results wait for it in order, except results that must wait for an earlier instruction's
//! read of the same register.

use crate::config::GpuConfig;
use std::collections::VecDeque;

/// Results that wait for the bus of an SM.
#[derive(Clone, Debug)]
pub(crate) struct ResultBus {
    /// Waiting results: cycle of arrival, and slot of the instruction.
    waiting: VecDeque<(u64, u16)>,
    width: usize,
}

/// State of the bus within a cycle: how many more results it takes, and how many were skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusCycle {
    left: usize,
    index: usize,
}

impl ResultBus {
    /// The bus of a configuration.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> ResultBus {
        ResultBus { waiting: VecDeque::new(), width: config.register_file.result_bus_width as usize }
    }

    /// Adds a result.
    #[inline]
    pub(crate) fn push(&mut self, slot: u16, now: u64) {
        self.waiting.push_back((now, slot));
    }

    /// Whether results wait.
    #[must_use]
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Begins a cycle.
    #[must_use]
    #[inline]
    pub(crate) fn cycle(&self) -> BusCycle {
        BusCycle { left: self.width, index: 0 }
    }

    /// Takes the oldest result that is not held, with its cycle of arrival; at most as many per cycle as the
    /// bus is wide.
    #[inline]
    pub(crate) fn take(&mut self, cycle: &mut BusCycle, is_held: impl Fn(u16) -> bool) -> Option<(u64, u16)> {
        while cycle.left > 0 {
            let (since, slot) = self.waiting.get(cycle.index).copied()?;
            if is_held(slot) {
                cycle.index += 1;
                continue;
            }
            cycle.left -= 1;
            if cycle.index == 0 {
                self.waiting.pop_front();
            } else {
                self.waiting.remove(cycle.index);
            }
            return Some((since, slot));
        }
        None
    }

    /// Number of waiting results, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        format!("  result bus: {} results waiting\n", self.waiting.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus(width: usize) -> ResultBus {
        ResultBus { waiting: VecDeque::new(), width }
    }

    /// Results that leave in one cycle while some slots are held.
    fn leave(bus: &mut ResultBus, held: &[u16]) -> Vec<(u64, u16)> {
        let mut cycle = bus.cycle();
        std::iter::from_fn(|| bus.take(&mut cycle, |slot| held.contains(&slot))).collect()
    }

    #[test]
    fn as_many_results_leave_as_the_bus_is_wide_oldest_first() {
        let mut bus = bus(2);
        for (slot, now) in [(4, 10), (1, 10), (3, 11)] {
            bus.push(slot, now);
        }
        assert_eq!(leave(&mut bus, &[]), [(10, 4), (10, 1)]);
        assert_eq!(leave(&mut bus, &[]), [(11, 3)]);
        assert!(!bus.is_active());
    }

    #[test]
    fn a_result_whose_register_is_still_to_be_read_lets_later_ones_pass() {
        let mut bus = bus(1);
        for slot in [7, 8, 9] {
            bus.push(slot, 5);
        }
        assert_eq!(leave(&mut bus, &[7]), [(5, 8)]);
        assert_eq!(leave(&mut bus, &[7, 9]), []);
        assert!(bus.is_active());
        assert_eq!(leave(&mut bus, &[]), [(5, 7)]);
        assert_eq!(leave(&mut bus, &[]), [(5, 9)]);
    }
}
