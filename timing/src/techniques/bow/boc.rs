//! The bypassing operand collector of one warp: a handful of whole registers that the last instructions of the
//! warp read or wrote (BOW, sections 3.4.1 and 3.4.3).
//!
//! Every entry has a mask of the lanes for which it holds the register's value: all lanes after a fetch, the
//! executed lanes after a result of a diverged instruction. Bank accesses are decided by [`super::Bow`] and
//! [`BowWr`](crate::techniques::bow_wr::BowWr).

use crate::program::RegSet;
use crate::source::Row;
use crate::techniques::InFlightId;
use crate::techniques::merge;

/// One register held by a collector.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Register number.
    pub reg: u8,
    /// Lanes whose value is held.
    pub held: u32,
    /// Lanes of `held` not yet written to the register file; none with write-through.
    pub dirty: u32,
    /// Whether dirty lanes are written to the register file when the entry leaves the window.
    pub keep: bool,
    /// Bank of the register, if lanes are dirty.
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

/// An evicted entry.
pub(crate) type Left = Entry;

/// A collector's registers in no particular order.
#[derive(Clone, Debug)]
pub(crate) struct Boc {
    entries: Vec<Entry>,
    capacity: usize,
    /// Instructions of the sliding window, the one being inserted included.
    window: u64,
    allocations: u64,
    /// Registers that have an entry.
    present: RegSet,
    /// Operands of instructions that have not been dispatched, and the number of those instructions per
    /// register.
    pinned: RegSet,
    pins: Box<[u8; 256]>,
}

impl Boc {
    /// An empty collector.
    pub(crate) fn new(window: u32, capacity: u32) -> Boc {
        let capacity = capacity as usize;
        Boc {
            entries: Vec::with_capacity(capacity),
            capacity,
            window: u64::from(window),
            allocations: 0,
            present: RegSet::default(),
            pinned: RegSet::default(),
            pins: Box::new([0; 256]),
        }
    }

    /// Empties the collector for a new warp; its entries are passed to `left`.
    pub(crate) fn start(&mut self, left: impl FnMut(Left)) {
        self.entries.drain(..).for_each(left);
        self.present = RegSet::default();
        for reg in std::mem::take(&mut self.pinned).iter() {
            self.pins[usize::from(reg)] = 0;
        }
    }

    /// Slides the window so that it ends with the instruction at `position`; entries that leave it are passed
    /// to `left`.
    #[inline]
    pub(crate) fn slide(&mut self, position: u64, mut left: impl FnMut(Left)) {
        let mut at = 0;
        while at < self.entries.len() {
            if position.saturating_sub(self.entries[at].accessed) >= self.window {
                left(self.take(at));
            } else {
                at += 1;
            }
        }
    }

    /// The entry of a register.
    #[inline]
    pub(crate) fn find(&mut self, reg: u8) -> Option<&mut Entry> {
        if !self.present.contains(reg) {
            return None;
        }
        self.entries.iter_mut().find(|entry| entry.reg == reg)
    }

    /// Position of a register's entry, which is created empty if it does not exist; the oldest entry that is
    /// not pinned is evicted and passed to `left`. If all entries are pinned (an instruction has more
    /// operands than the collector has entries), the collector temporarily exceeds its capacity.
    #[inline]
    pub(crate) fn entry(&mut self, reg: u8, position: u64, left: impl FnOnce(Left)) -> usize {
        if let Some(at) = self.entries.iter().position(|entry| entry.reg == reg) {
            self.entries[at].accessed = position;
            return at;
        }
        if self.used() >= self.capacity && !self.is_pinned(reg) {
            let free = (0..self.entries.len()).filter(|at| !self.is_pinned(self.entries[*at].reg));
            if let Some(oldest) = free.min_by_key(|at| self.entries[*at].allocated) {
                left(self.take(oldest));
            }
        }
        self.allocations += 1;
        self.present.insert(reg);
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
        self.entries.len() - 1
    }

    /// The entry at a position.
    #[inline]
    pub(crate) fn at(&mut self, position: usize) -> &mut Entry {
        &mut self.entries[position]
    }

    /// Pins an operand's entry until its instruction is dispatched, even if it leaves the window.
    #[inline]
    pub(crate) fn pin(&mut self, reg: u8) {
        self.pinned.insert(reg);
        self.pins[usize::from(reg)] += 1;
    }

    /// Unpins an operand whose instruction has been dispatched.
    #[inline]
    pub(crate) fn unpin(&mut self, reg: u8) {
        let pins = &mut self.pins[usize::from(reg)];
        *pins = pins.saturating_sub(1);
        if *pins == 0 {
            self.pinned.remove(reg);
        }
    }

    /// Whether a register is an operand of an instruction that has not been dispatched.
    #[inline]
    pub(crate) fn is_pinned(&self, reg: u8) -> bool {
        self.pinned.contains(reg)
    }

    /// Registers that are operands of instructions that have not been dispatched.
    #[inline]
    pub(crate) fn pinned(&self) -> usize {
        self.pinned.len()
    }

    /// Entries in use: registers in the window, and operands outside it that wait for dispatch.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        let mut all = self.pinned;
        all.insert_all(&self.present);
        all.len()
    }

    /// Removes the entry at a position.
    fn take(&mut self, at: usize) -> Entry {
        let entry = self.entries.swap_remove(at);
        self.present.remove(entry.reg);
        entry
    }

    /// Removes lanes of a register whose results were written elsewhere, and the entry with its last lane;
    /// returns whether the last dirty lanes were removed.
    pub(crate) fn forget(&mut self, reg: u8, lanes: u32) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.reg == reg) else { return false };
        let entry = &mut self.entries[at];
        let was_dirty = entry.dirty != 0;
        entry.held &= !lanes;
        entry.dirty &= !lanes;
        let bypassed = was_dirty && entry.dirty == 0;
        if entry.held == 0 {
            self.take(at);
        }
        bypassed
    }

    /// Registers in the window.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Registers held, for reports.
    pub(crate) fn registers(&self) -> impl Iterator<Item = u8> {
        self.entries.iter().map(|entry| entry.reg)
    }
}

impl Entry {
    /// Fills the lanes that are not held from the register file's row.
    #[inline]
    pub(crate) fn fill(&mut self, from: &Row, fetch: (InFlightId, u8)) {
        merge(&mut self.row, from, !self.held);
        self.written = self.held;
        self.held = u32::MAX;
        self.fetch = Some(fetch);
    }

    /// Writes a result in the lanes that the instruction executed.
    #[inline]
    pub(crate) fn write(&mut self, result: &Row, exec: u32) {
        merge(&mut self.row, result, exec);
        self.held |= exec;
        self.written |= exec;
    }

    /// The outstanding fetch that a reader of these lanes has to wait for.
    #[inline]
    pub(crate) fn awaited(&self, lanes: u32) -> Option<(InFlightId, u8)> {
        self.fetch.filter(|_| lanes & !self.written != 0)
    }
}
