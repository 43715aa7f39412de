//! The bypassing operand collector of one warp: a handful of whole registers that the last instructions of the
//! warp read or wrote (BOW, sections 3.4.1 and 3.4.3).
//!
//! Every entry says in which lanes its value is the register's: all after a fetch, the executed ones after a
//! result of a diverged instruction. It decides nothing about banks; [`super::Bow`] and
//! [`BowWr`](crate::techniques::bow_wr::BowWr) do.

use crate::source::Row;
use crate::stats::Counters;
use crate::techniques::InFlightId;
use crate::techniques::lanes::merge;

/// One register held by a collector.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Register number.
    pub reg: u8,
    /// Lanes whose value is held.
    pub held: u32,
    /// Lanes of `held` whose value the register file does not have; none with write-through.
    pub dirty: u32,
    /// Whether dirty lanes go to the register file when the window leaves the entry behind.
    pub keep: bool,
    /// Bank of the register, where there are dirty lanes.
    pub bank: u8,
    /// Position in the warp's instructions of the latest access.
    pub accessed: u64,
    /// Order of allocation, for FIFO eviction.
    pub allocated: u64,
    /// The fetch from the register file that supplies lanes not written since, and its operand position.
    pub fetch: Option<(InFlightId, u8)>,
    /// Lanes written since that fetch.
    pub written: u32,
    /// The value.
    pub row: Row,
}

/// What happens to a value that leaves: its entry, already out of the collector.
pub(crate) type Left = Entry;

/// A collector's registers in no particular order.
#[derive(Clone, Debug)]
pub(crate) struct Boc {
    entries: Vec<Entry>,
    capacity: usize,
    /// Instructions of the sliding window, the one being inserted included.
    window: u64,
    allocations: u64,
    /// Cycle up to which occupancy has been accounted.
    accounted: u64,
}

impl Boc {
    /// An empty collector.
    pub fn new(window: u32, capacity: u32) -> Boc {
        let capacity = capacity as usize;
        Boc {
            entries: Vec::with_capacity(capacity),
            capacity,
            window: u64::from(window),
            allocations: 0,
            accounted: 0,
        }
    }

    /// Empties the collector for a new warp; what it still held goes to `left`.
    pub fn start(&mut self, cycle: u64, left: impl FnMut(Left)) {
        self.entries.drain(..).for_each(left);
        self.accounted = cycle;
    }

    /// Adds the time since the last call to the occupancy counters.
    #[inline]
    pub fn account(&mut self, cycle: u64, stats: &mut Counters) {
        let passed = cycle - self.accounted;
        self.accounted = cycle;
        stats.boc_entry_cycles += self.entries.len() as u64 * passed;
        if self.entries.len() * 2 > self.capacity {
            stats.boc_over_half_full_cycles += passed;
        }
    }

    /// Slides the window so that it ends with the instruction at `position`; what it leaves behind goes to
    /// `left`.
    #[inline]
    pub fn slide(&mut self, position: u64, mut left: impl FnMut(Left)) {
        let mut at = 0;
        while at < self.entries.len() {
            if position.saturating_sub(self.entries[at].accessed) >= self.window {
                left(self.entries.swap_remove(at));
            } else {
                at += 1;
            }
        }
    }

    /// The entry of a register.
    #[inline]
    pub fn find(&mut self, reg: u8) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.reg == reg)
    }

    /// The entry of a register, a new and empty one if need be; the oldest entry makes room and goes to `left`.
    #[inline]
    pub fn entry(&mut self, reg: u8, position: u64, left: impl FnOnce(Left)) -> &mut Entry {
        if let Some(at) = self.entries.iter().position(|entry| entry.reg == reg) {
            let entry = &mut self.entries[at];
            entry.accessed = position;
            return entry;
        }
        if self.entries.len() == self.capacity {
            let oldest = (0..self.capacity).min_by_key(|at| self.entries[*at].allocated);
            left(self.entries.swap_remove(oldest.expect("a collector has at least one entry")));
        }
        self.allocations += 1;
        self.entries.push(Entry {
            reg,
            held: 0,
            dirty: 0,
            keep: false,
            bank: 0,
            accessed: position,
            allocated: self.allocations,
            fetch: None,
            written: 0,
            row: Row::ZERO,
        });
        self.entries.last_mut().expect("just pushed")
    }

    /// Takes lanes away from a register whose results went elsewhere, and the entry with the last of them;
    /// returns whether its last dirty lanes went.
    pub fn forget(&mut self, reg: u8, lanes: u32) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.reg == reg) else { return false };
        let entry = &mut self.entries[at];
        let was_dirty = entry.dirty != 0;
        entry.held &= !lanes;
        entry.dirty &= !lanes;
        let bypassed = was_dirty && entry.dirty == 0;
        if entry.held == 0 {
            self.entries.swap_remove(at);
        }
        bypassed
    }

    /// Entries held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Registers held, for reports.
    pub fn registers(&self) -> impl Iterator<Item = u8> {
        self.entries.iter().map(|entry| entry.reg)
    }
}

impl Entry {
    /// Takes the register file's row in the lanes that are not held.
    #[inline]
    pub fn fill(&mut self, from: &Row, fetch: (InFlightId, u8)) {
        merge(&mut self.row, from, !self.held);
        self.written = self.held;
        self.held = u32::MAX;
        self.fetch = Some(fetch);
    }

    /// Takes a result in the lanes that the instruction executed.
    #[inline]
    pub fn write(&mut self, result: &Row, exec: u32) {
        merge(&mut self.row, result, exec);
        self.held |= exec;
        self.written |= exec;
    }

    /// The outstanding fetch that a reader of these lanes has to wait for.
    #[inline]
    pub fn awaited(&self, lanes: u32) -> Option<(InFlightId, u8)> {
        self.fetch.filter(|_| lanes & !self.written != 0)
    }
}
