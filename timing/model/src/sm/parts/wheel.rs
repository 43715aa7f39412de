//! A timing wheel: events at known cycles, found without visiting the cycles in between.

/// Slots of the wheel, a power of two; later events are kept in a separate list.
const SLOTS: usize = 512;

/// Something that happens at a known cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An instruction in flight has its result.
    Complete(u16),
    /// The data of a memory instruction in flight are in the registers.
    Written(u16),
    /// A warp's branch is resolved.
    BranchResolved(u8),
    /// Predicates of a warp, one bit each, can guard instructions.
    GuardsReady(u8, u8),
    /// A warp leaves its barrier.
    BarrierLeft(u8),
    /// A warp's block has been set up.
    WarpReady(u8),
}

/// Events by cycle.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    slots: Vec<Vec<Event>>,
    occupied: [u64; SLOTS / 64],
    far: Vec<(u64, Event)>,
    /// Earliest event of that list; `u64::MAX` without any.
    far_next: u64,
    now: u64,
    len: usize,
}

impl Wheel {
    /// An empty wheel whose current cycle is `now`.
    #[must_use]
    pub(crate) fn new(now: u64) -> Wheel {
        Wheel {
            slots: vec![Vec::new(); SLOTS],
            occupied: [0; SLOTS / 64],
            far: Vec::new(),
            far_next: u64::MAX,
            now,
            len: 0,
        }
    }

    /// Number of pending events and the cycle of the next, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        self.next().map_or("none".to_owned(), |next| format!("{}, the next at cycle {next}", self.len))
    }

    /// Adds an event; one in the past or present happens in the next cycle.
    #[inline]
    pub(crate) fn at(&mut self, cycle: u64, event: Event) {
        let cycle = cycle.max(self.now + 1);
        self.len += 1;
        if cycle - self.now >= SLOTS as u64 {
            self.far.push((cycle, event));
            self.far_next = self.far_next.min(cycle);
            return;
        }
        let slot = cycle as usize % SLOTS;
        self.slots[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Moves to a cycle not after the next event, and returns its events in order of insertion.
    #[inline]
    pub(crate) fn advance(&mut self, cycle: u64, out: &mut Vec<Event>) {
        self.now = cycle;
        if self.len == 0 {
            return;
        }
        if self.far_next.saturating_sub(cycle) < SLOTS as u64 {
            self.bring_in();
        }
        let slot = cycle as usize % SLOTS;
        if self.occupied[slot / 64] >> (slot % 64) & 1 != 0 {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            self.len -= self.slots[slot].len();
            out.append(&mut self.slots[slot]);
        }
    }

    fn bring_in(&mut self) {
        let now = self.now;
        let (near, far) = self.far.iter().copied().partition(|(cycle, _)| cycle - now < SLOTS as u64);
        self.far = far;
        self.far_next = self.far.iter().map(|(cycle, _)| *cycle).min().unwrap_or(u64::MAX);
        let near: Vec<(u64, Event)> = near;
        for (cycle, event) in near {
            let slot = cycle as usize % SLOTS;
            self.slots[slot].push(event);
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
    }

    /// Cycle of the next event after the current cycle.
    #[must_use]
    pub(crate) fn next(&self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let far = (self.far_next != u64::MAX).then_some(self.far_next);
        let start = (self.now as usize + 1) % SLOTS;
        let words = SLOTS / 64;
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let distance = (slot + SLOTS - start) % SLOTS;
                let near = self.now + 1 + distance as u64;
                return Some(far.map_or(near, |cycle| cycle.min(near)));
            }
        }
        far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_out_at_their_cycle_in_order(delays in prop::collection::vec(1u64..9000, 1..60), start in 0u64..100_000) {
            let mut wheel = Wheel::new(start);
            let mut expected: Vec<(u64, u16)> = Vec::new();
            for (i, delay) in delays.iter().enumerate() {
                wheel.at(start + delay, Event::Complete(i as u16));
                expected.push((start + delay, i as u16));
            }
            expected.sort_by_key(|(cycle, _)| *cycle);
            let mut got = Vec::new();
            let mut now = start;
            while let Some(next) = wheel.next() {
                prop_assert!(next > now);
                // The far list is only looked at when time moves, so never jump past the horizon.
                now = next.min(now + SLOTS as u64 - 1);
                let mut out = Vec::new();
                wheel.advance(now, &mut out);
                for event in out {
                    if let Event::Complete(i) = event { got.push((now, i)); }
                }
            }
            got.sort_by_key(|(cycle, _)| *cycle);
            let cycles = |list: &[(u64, u16)]| list.iter().map(|(c, _)| *c).collect::<Vec<_>>();
            prop_assert_eq!(cycles(&got), cycles(&expected));
        }
    }
}
