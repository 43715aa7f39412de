//! The sixteen barriers of a block: arrivals, completion, and results of reductions.
//!
//! As PTX has it, a barrier with a thread count counts whole warps; one without completes when every thread
//! that has not exited has arrived (PTX ISA, `barrier`).

use trace_format::isa::BarMode;

/// Barriers per block.
pub(crate) const BARRIERS: usize = 16;

/// One barrier between two completions.
#[derive(Clone, Debug)]
struct Barrier {
    /// Threads that it was declared with; 0 for all of the block.
    expected: u32,
    /// Threads that have arrived; if a count is declared, only those of complete warps.
    arrived: u32,
    /// Threads whose predicate was true.
    true_count: u32,
    /// Threads that supplied a predicate.
    reduced: u32,
    /// If a count is declared: arrived lanes of each incomplete warp.
    lanes: [u32; 32],
}

/// A warp's arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Warp within the block.
    pub warp: u32,
    /// Lanes that arrive.
    pub lanes: u32,
    /// Lanes of the warp that have not exited.
    pub live: u32,
    /// Threads that the instruction names, 0 for all.
    pub expected: u32,
    /// Mode of the instruction.
    pub mode: BarMode,
    /// Lanes whose predicate is true, for reductions.
    pub predicate: u32,
}

/// Result for the threads of a completed barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// Barrier number.
    pub id: u8,
    /// Threads whose predicate was true.
    pub true_count: u32,
    /// Whether all of them were.
    pub all: bool,
    /// Whether any of them was.
    pub any: bool,
}

/// The barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    list: Vec<Barrier>,
    /// Bit i is set while barrier i has arrivals.
    pub active: u16,
}

const NO_ARRIVALS: Barrier = Barrier { expected: 0, arrived: 0, true_count: 0, reduced: 0, lanes: [0; 32] };

impl Barrier {
    /// Threads that have arrived, given the lanes of each warp that have not exited.
    fn threads(&self, live_of: &impl Fn(usize) -> u32) -> u32 {
        if self.expected == 0 {
            return self.arrived;
        }
        let part = |(w, &here): (usize, &u32)| match here {
            0 => 0,
            // Missing lanes have exited since.
            _ if is_whole(here, live_of(w)) => 32,
            _ => here.count_ones(),
        };
        self.arrived + self.lanes.iter().enumerate().map(part).sum::<u32>()
    }
}

/// Whether all live lanes of a warp have arrived: it then counts as 32 threads, exited lanes included.
const fn is_whole(here: u32, live: u32) -> bool {
    live & !here == 0
}

impl Barriers {
    /// Barriers without arrivals.
    #[must_use]
    pub(crate) fn new() -> Barriers {
        Barriers { list: vec![NO_ARRIVALS; BARRIERS], active: 0 }
    }

    /// Removes all arrivals.
    pub(crate) fn reset(&mut self) {
        if self.active != 0 {
            self.list.fill(NO_ARRIVALS);
            self.active = 0;
        }
    }

    /// Records lanes that arrive at barrier `id` (below [`BARRIERS`]).
    ///
    /// # Errors
    /// The thread count differs from that of earlier arrivals.
    pub(crate) fn arrive(&mut self, id: u8, a: &Arrival) -> Result<(), String> {
        let b = &mut self.list[usize::from(id)];
        if self.active >> id & 1 != 0 && b.expected != a.expected {
            return Err(format!(
                "barrier {id} is used with {} and with {} threads at the same time",
                count(b.expected),
                count(a.expected)
            ));
        }
        self.active |= 1 << id;
        b.expected = a.expected;
        if a.expected == 0 {
            b.arrived += a.lanes.count_ones();
        } else {
            let here = &mut b.lanes[a.warp as usize & 31];
            *here |= a.lanes;
            if is_whole(*here, a.live) {
                (b.arrived, *here) = (b.arrived + 32, 0);
            }
        }
        if !matches!(a.mode, BarMode::Sync | BarMode::Arrive) {
            b.true_count += (a.predicate & a.lanes).count_ones();
            b.reduced += a.lanes.count_ones();
        }
        Ok(())
    }

    /// A completed barrier, given the block's `live` threads and the live lanes of each warp, `live_of`; the
    /// barrier is then reset.
    pub(crate) fn complete(&mut self, live: u32, live_of: impl Fn(usize) -> u32) -> Option<Outcome> {
        let mut active = self.active;
        while active != 0 {
            let id = active.trailing_zeros() as u8;
            active &= active - 1;
            let b = &mut self.list[usize::from(id)];
            if b.threads(&live_of) >= if b.expected == 0 { live } else { b.expected } {
                let outcome = Outcome {
                    id,
                    true_count: b.true_count,
                    all: b.true_count == b.reduced,
                    any: b.true_count != 0,
                };
                *b = NO_ARRIVALS;
                self.active &= !(1 << id);
                return Some(outcome);
            }
        }
        None
    }

    /// Threads that have arrived at a barrier, and the number that it waits for with `live` threads left.
    #[must_use]
    pub(crate) fn state(&self, id: u8, live: u32, live_of: impl Fn(usize) -> u32) -> (u32, u32) {
        let b = &self.list[usize::from(id)];
        (b.threads(&live_of), if b.expected == 0 { live } else { b.expected })
    }
}

impl Default for Barriers {
    fn default() -> Self {
        Barriers::new()
    }
}

fn count(expected: u32) -> String {
    if expected == 0 { "all".into() } else { expected.to_string() }
}
