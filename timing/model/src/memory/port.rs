//! A port in another clock domain: it moves one flit per cycle of its own clock.

/// Ratio between a clock and the core clock, as exact integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockRatio {
    core_khz: u64,
    other_khz: u64,
}

impl ClockRatio {
    /// Ratio of `other_khz` to `core_khz`.
    #[must_use]
    pub(crate) fn new(core_khz: u64, other_khz: u64) -> ClockRatio {
        let divisor = gcd(core_khz, other_khz).max(1);
        ClockRatio { core_khz: core_khz / divisor, other_khz: other_khz / divisor }
    }

    /// Cycles of the other clock that have begun by the start of a core cycle.
    #[must_use]
    #[inline]
    pub(crate) fn cycle_at(self, core_cycle: u64) -> u64 {
        if self.core_khz == self.other_khz { core_cycle } else { core_cycle * self.other_khz / self.core_khz }
    }

    /// First core cycle at which the other clock's cycle has begun.
    #[must_use]
    #[inline]
    pub(crate) fn to_core(self, cycle: u64) -> u64 {
        if self.core_khz == self.other_khz { cycle } else { (cycle * self.core_khz).div_ceil(self.other_khz) }
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One port of the crossbar.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    clock: ClockRatio,
    /// First free cycle of the port's clock.
    free_at: u64,
    /// First core cycle in which that cycle has begun.
    free_at_core: u64,
}

impl Port {
    /// A port that moves one flit per cycle of a clock.
    #[must_use]
    pub(crate) fn new(clock: ClockRatio) -> Port {
        Port { clock, free_at: 0, free_at_core: 0 }
    }

    /// Whether the port can start a packet in this core cycle.
    #[must_use]
    #[inline]
    pub(crate) fn is_free(&self, core_cycle: u64) -> bool {
        core_cycle >= self.free_at_core
    }

    /// First core cycle in which the port can start a packet.
    #[must_use]
    pub(crate) fn free_at_core(&self) -> u64 {
        self.free_at_core
    }

    /// Occupies the port with a packet and returns the core cycle at which its last flit has passed.
    #[inline]
    pub(crate) fn send(&mut self, core_cycle: u64, flits: u8) -> u64 {
        let start = self.clock.cycle_at(core_cycle).max(self.free_at);
        self.free_at = start + u64::from(flits);
        self.free_at_core = self.clock.to_core(self.free_at);
        self.free_at_core.max(core_cycle + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_moves_one_flit_per_cycle_of_its_clock() {
        let mut same = Port::new(ClockRatio::new(1000, 1000));
        assert_eq!(same.send(10, 3), 13);
        assert!(!same.is_free(12) && same.is_free(13));
        let mut double = Port::new(ClockRatio::new(1000, 2000));
        assert_eq!(double.send(10, 4), 12);
        let mut half = Port::new(ClockRatio::new(1300, 650));
        assert_eq!(half.send(10, 2), 14);
        assert_eq!(half.free_at_core(), 14);
    }

    #[test]
    fn clock_conversions_agree_in_both_directions() {
        for (core, other) in [(1417, 2500), (700, 924), (1300, 650), (5, 5)] {
            let ratio = ClockRatio::new(core, other);
            for cycle in 0..5000 {
                assert!(ratio.cycle_at(ratio.to_core(cycle)) >= cycle);
                assert!(ratio.to_core(ratio.cycle_at(cycle)) <= cycle);
            }
        }
    }
}
