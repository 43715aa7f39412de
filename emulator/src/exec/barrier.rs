//! The sixteen barriers of a block: who has arrived, when a barrier completes, what its reduction yields.
//!
//! As PTX has it, a barrier with a thread count counts whole warps; one without completes when every thread
//! that has not exited has arrived (PTX ISA, `barrier`).

use trace_format::isa::BarMode;

/// Barriers per block.
pub const BARRIERS: usize = 16;

/// One barrier between two completions.
#[derive(Clone, Debug)]
struct Barrier {
    /// Threads that it was declared with; 0 for all of the block.
    expected: u32,
    /// Threads that have arrived; where a count is declared, only those of whole warps.
    arrived: u32,
    /// Threads whose predicate was true.
    true_count: u32,
    /// Threads that gave a predicate.
    reduced: u32,
    /// Where a count is declared: lanes that have arrived of each warp that is not whole yet.
    lanes: [u32; 32],
}

/// A warp's arrival.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Warp within the block.
    pub warp: u32,
    /// Lanes that arrive.
    pub lanes: u32,
    /// Lanes of the warp that have not exited.
    pub live: u32,
    /// Threads that the instruction names, 0 for all.
    pub expected: u32,
    /// What the instruction does.
    pub mode: BarMode,
    /// Lanes whose predicate is true, for reductions.
    pub predicate: u32,
}

/// What the threads of a completed barrier get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
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
pub struct Barriers {
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
            // Lanes that were missing have exited since.
            _ if is_whole(here, live_of(w)) => 32,
            _ => here.count_ones(),
        };
        self.arrived + self.lanes.iter().enumerate().map(part).sum::<u32>()
    }
}

/// Whether all lanes of a warp are here that have not exited: it then counts with 32, others included.
const fn is_whole(here: u32, live: u32) -> bool {
    live & !here == 0
}

impl Barriers {
    /// Barriers without arrivals.
    #[must_use]
    pub fn new() -> Barriers {
        Barriers { list: vec![NO_ARRIVALS; BARRIERS], active: 0 }
    }

    /// Forgets all arrivals.
    pub fn reset(&mut self) {
        if self.active != 0 {
            self.list.fill(NO_ARRIVALS);
            self.active = 0;
        }
    }

    /// Takes note of lanes that arrive at barrier `id` (below [`BARRIERS`]).
    ///
    /// # Errors
    /// A sentence, when the thread count differs from that of earlier arrivals.
    pub fn arrive(&mut self, id: u8, a: &Arrival) -> Result<(), String> {
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

    /// A barrier that is complete, with `live` threads left in the block and, by warp, the lanes `live_of`; it is
    /// ready for new arrivals then.
    pub fn complete(&mut self, live: u32, live_of: impl Fn(usize) -> u32) -> Option<Outcome> {
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

    /// Threads that have arrived at a barrier, and how many it waits for with `live` threads left.
    #[must_use]
    pub fn state(&self, id: u8, live: u32, live_of: impl Fn(usize) -> u32) -> (u32, u32) {
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
