//! The bypassing operand collector of one warp: a handful of whole registers that the last instructions of the
//! warp read or wrote (BOW, sections 3.4.1 and 3.4.3).
//!
//! Every entry has a mask of the lanes for which it holds the register's value: all lanes after a fetch, the
//! executed lanes after a result of a diverged instruction. Bank accesses are decided by [`super::Bow`] and
//! [`BowWr`](crate::bow_wr::BowWr).

use crate::InFlightId;
use crate::merge;
use warplab_technique::Row;
use warplab_technique::program::RegSet;

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

/// A collector's registers in no particular order.
#[derive(Clone, Debug)]
pub(crate) struct Boc {
    /// Entries, which stay in place because their rows are large, and the positions of those in use and of the
    /// others.
    entries: Vec<Entry>,
    live: Vec<u8>,
    free: Vec<u8>,
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
    /// Number of registers in `pinned`, and in `pinned` or `present`.
    pinned_count: u16,
    used_count: u16,
}

impl Boc {
    /// An empty collector.
    pub(crate) fn new(window: u32, capacity: u32) -> Boc {
        let capacity = capacity as usize;
        Boc {
            entries: Vec::with_capacity(capacity),
            live: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            capacity,
            window: u64::from(window),
            allocations: 0,
            present: RegSet::default(),
            pinned: RegSet::default(),
            pins: Box::new([0; 256]),
            pinned_count: 0,
            used_count: 0,
        }
    }

    /// Empties the collector for a new warp; its entries are passed to `left`.
    pub(crate) fn start(&mut self, mut left: impl FnMut(&Entry)) {
        for slot in self.live.drain(..) {
            left(&self.entries[usize::from(slot)]);
            self.free.push(slot);
        }
        self.present = RegSet::default();
        for reg in std::mem::take(&mut self.pinned).iter() {
            self.pins[usize::from(reg)] = 0;
        }
        (self.pinned_count, self.used_count) = (0, 0);
    }

    /// Slides the window so that it ends with the instruction at `position`; entries that leave it are passed
    /// to `left`.
    #[inline]
    pub(crate) fn slide(&mut self, position: u64, mut left: impl FnMut(&Entry)) {
        let mut at = 0;
        while let Some(slot) = self.live.get(at) {
            if position.saturating_sub(self.entries[usize::from(*slot)].accessed) >= self.window {
                left(self.take(at));
            } else {
                at += 1;
            }
        }
    }

    /// Position of a register's entry in the list of those in use.
    #[inline]
    fn position(&self, reg: u8) -> Option<usize> {
        if !self.present.contains(reg) {
            return None;
        }
        self.live.iter().position(|slot| self.entries[usize::from(*slot)].reg == reg)
    }

    /// The entry of a register.
    #[inline]
    pub(crate) fn find(&mut self, reg: u8) -> Option<&mut Entry> {
        let at = self.position(reg)?;
        self.entries.get_mut(usize::from(self.live[at]))
    }

    /// The entry of a register, which is created empty if it does not exist; the oldest entry that is not
    /// pinned is evicted and passed to `left`. If all entries are pinned (an instruction has more operands than
    /// the collector has entries), the collector temporarily exceeds its capacity.
    #[inline]
    pub(crate) fn entry(&mut self, reg: u8, position: u64, left: impl FnOnce(&Entry)) -> &mut Entry {
        if let Some(at) = self.position(reg) {
            let entry = &mut self.entries[usize::from(self.live[at])];
            entry.accessed = position;
            return entry;
        }
        if self.used() >= self.capacity && !self.is_pinned(reg) {
            let entry = |at: usize| &self.entries[usize::from(self.live[at])];
            let unpinned = (0..self.live.len()).filter(|at| !self.is_pinned(entry(*at).reg));
            if let Some(oldest) = unpinned.min_by_key(|at| entry(*at).allocated) {
                left(self.take(oldest));
            }
        }
        self.allocations += 1;
        self.present.insert(reg);
        self.used_count += u16::from(!self.is_pinned(reg));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::EMPTY);
            (self.entries.len() - 1) as u8
        });
        self.live.push(slot);
        let entry = &mut self.entries[usize::from(slot)];
        entry.begin(reg, position, self.allocations);
        entry
    }

    /// Pins an operand's entry until its instruction is dispatched, even if it leaves the window.
    #[inline]
    pub(crate) fn pin(&mut self, reg: u8) {
        let pins = &mut self.pins[usize::from(reg)];
        *pins += 1;
        if *pins == 1 {
            self.pinned.insert(reg);
            self.pinned_count += 1;
            self.used_count += u16::from(!self.present.contains(reg));
        }
    }

    /// Unpins an operand whose instruction has been dispatched.
    #[inline]
    pub(crate) fn unpin(&mut self, reg: u8) {
        let pins = &mut self.pins[usize::from(reg)];
        if *pins == 0 {
            return;
        }
        *pins -= 1;
        if *pins == 0 {
            self.pinned.remove(reg);
            self.pinned_count -= 1;
            self.used_count -= u16::from(!self.present.contains(reg));
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
        usize::from(self.pinned_count)
    }

    /// Entries in use: registers in the window, and operands outside it that wait for dispatch.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        usize::from(self.used_count)
    }

    /// Removes the entry at a position of the list of those in use.
    fn take(&mut self, at: usize) -> &Entry {
        let slot = self.live.swap_remove(at);
        self.free.push(slot);
        let entry = &self.entries[usize::from(slot)];
        self.present.remove(entry.reg);
        self.used_count -= u16::from(!self.pinned.contains(entry.reg));
        entry
    }

    /// Removes lanes of a register whose results were written elsewhere, and the entry with its last lane;
    /// returns whether the last dirty lanes were removed.
    pub(crate) fn forget(&mut self, reg: u8, lanes: u32) -> bool {
        let Some(at) = self.position(reg) else { return false };
        let entry = &mut self.entries[usize::from(self.live[at])];
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
        self.live.len()
    }

    /// Registers held, for reports.
    pub(crate) fn registers(&self) -> impl Iterator<Item = u8> {
        self.live.iter().map(|slot| self.entries[usize::from(*slot)].reg)
    }
}

impl Entry {
    /// An entry of no register.
    const EMPTY: Entry = Entry {
        reg: 0,
        held: 0,
        dirty: 0,
        keep: false,
        bank: 0,
        accessed: 0,
        allocated: 0,
        fetch: None,
        written: 0,
        row: Row::ZERO,
    };

    /// Becomes the entry of a register without any lane; what the row held no longer counts.
    #[inline]
    fn begin(&mut self, reg: u8, accessed: u64, allocated: u64) {
        (self.reg, self.accessed, self.allocated) = (reg, accessed, allocated);
        (self.held, self.dirty, self.written) = (0, 0, 0);
        (self.keep, self.bank, self.fetch) = (false, 0, None);
    }

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
