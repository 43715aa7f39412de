//! The renaming table and the allocation policy: the physical register and slices of each architectural
//! register of a warp, and their allocation, moves and release (CORF, sections 2.4.3, 2.5.3 and 2.6).
//!
//! A register is allocated by its first result. A compiler-chosen pair shares an entry: the first of the two
//! takes a free entry and reserves the rest, the second is packed beside it if it fits, and is placed by the
//! default, first fit, if not. With sides, a register takes the first room on its side. A result that needs more bytes moves its register by the same process; one
//! that needs fewer bytes keeps its slices, or frees the upper ones with `shrink`. Registers released by
//! virtualization are marked, so that a later read of the lost value is detected.

use super::Counts;
use super::packing::{SLICES, Slices, pack, unpack, width_bytes};
use super::physical::PhysicalFile;
use crate::analysis::affinity::Affinity;
use crate::analysis::alignment::{Side, Sides};
use crate::program::RegSet;
use crate::source::Row;
use crate::techniques::merge;

/// The other register of a register's compiler-chosen pair, by register number.
pub(in crate::techniques) type Buddies = [Option<u8>; 256];

/// What the compiler says of registers.
#[derive(Clone, Debug)]
pub(in crate::techniques) enum Hints {
    /// Which two are to share an entry.
    Pairs(Box<Buddies>),
    /// On which side of an entry each is to lie.
    Sides(Box<Sides>),
}

/// For each register those that instructions read with it, and how often.
pub(super) fn neighbours(graph: &Affinity) -> Vec<Vec<(u8, u64)>> {
    let mut of = vec![Vec::new(); 256];
    for (pair, reads) in graph.edges() {
        of[usize::from(pair.low)].push((pair.high, reads));
        of[usize::from(pair.high)].push((pair.low, reads));
    }
    of
}

/// How values are stored.
#[derive(Clone, Copy, Debug)]
pub(in crate::techniques) struct Packing {
    /// Whether a value takes only the slices that it needs, and not a whole entry.
    pub packs: bool,
    /// Whether a value that needs fewer bytes frees slices.
    pub shrinks: bool,
}

/// Mapping of an architectural register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Physical register and slices; none before the first result and after a release.
    place: Option<(u16, Slices)>,
    /// Lanes that have been written since the register was allocated.
    defined: u32,
    /// Lanes whose value was released and has not been written since.
    lost: u32,
}

/// A register found in the table.
#[derive(Clone, Copy, Debug)]
pub(in crate::techniques) struct Lookup {
    /// Physical register.
    pub physical: u16,
    /// Its bank.
    pub bank: u8,
    /// Lanes in which the value is the register's.
    pub defined: u32,
    /// Its slices.
    pub(super) slices: Slices,
}

/// What the table holds for a register.
#[derive(Clone, Copy, Debug)]
pub(in crate::techniques) enum Mapping {
    /// The register was never written.
    Unwritten,
    /// Lanes whose value was released, though the instruction reads them.
    Lost(u32),
    /// The register has a place.
    At(Lookup),
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::techniques) struct Written {
    /// Bank that takes the value.
    pub bank: u8,
    /// Bank from which unwritten lanes had to be fetched, if the register moved.
    pub fetched_from: Option<u8>,
}

/// Renaming table, physical registers and allocator of one SM.
#[derive(Clone, Debug)]
pub(in crate::techniques) struct Renaming {
    registers: usize,
    table: Vec<Entry>,
    /// Mapped registers of each warp slot.
    mapped: Vec<RegSet>,
    hints: Hints,
    packing: Packing,
    /// For each register those that instructions read with it, and how often, where banks are chosen by that.
    neighbours: Vec<Vec<(u8, u64)>>,
    /// The packed contents.
    pub file: PhysicalFile,
}

impl Renaming {
    /// An empty table for `warps` warp slots of `registers` registers each.
    pub(in crate::techniques) fn new(
        (warps, registers): (usize, usize),
        hints: Hints,
        neighbours: Vec<Vec<(u8, u64)>>,
        file: PhysicalFile,
        packing: Packing,
    ) -> Renaming {
        Renaming {
            registers,
            table: vec![Entry::default(); warps * registers],
            mapped: vec![RegSet::default(); warps],
            hints,
            packing,
            neighbours,
            file,
        }
    }

    /// Looks up a register that an instruction reads in the lanes of `active`.
    #[inline]
    pub(in crate::techniques) fn look_up(&self, slot: usize, reg: u8, active: u32) -> Mapping {
        let entry = self.table[self.index(slot, reg)];
        let lost = entry.lost & active;
        if lost != 0 {
            return Mapping::Lost(lost);
        }
        let Some((physical, slices)) = entry.place else { return Mapping::Unwritten };
        Mapping::At(Lookup { physical, bank: self.file.bank(physical), defined: entry.defined, slices })
    }

    /// The value of a register that was looked up: the physical register itself, or unpacked into `space`.
    #[inline]
    pub(in crate::techniques) fn value<'a>(&'a self, found: &Lookup, space: &'a mut Row) -> &'a Row {
        let stored = &self.file.rows[usize::from(found.physical)];
        if found.slices.count() == SLICES {
            return stored;
        }
        *space = unpack(stored, found.slices);
        space
    }

    /// The other register of a register's compiler-chosen pair.
    fn buddy(&self, reg: u8) -> Option<u8> {
        match &self.hints {
            Hints::Pairs(buddies) => buddies[usize::from(reg)],
            Hints::Sides(_) => None,
        }
    }

    /// Whether the compiler wants two registers to be read at once.
    pub(super) fn are_partners(&self, a: u8, b: u8) -> bool {
        match &self.hints {
            Hints::Pairs(buddies) => buddies[usize::from(a)] == Some(b),
            Hints::Sides(sides) => sides[usize::from(a)] != sides[usize::from(b)],
        }
    }

    /// Stores a result in the lanes of `exec`, allocating or moving the register if needed.
    pub(in crate::techniques) fn write(
        &mut self,
        slot: usize,
        reg: u8,
        result: &Row,
        exec: u32,
        stats: &mut Counts,
    ) -> Written {
        let at = self.index(slot, reg);
        let mut entry = self.table[at];
        let mut merged = Row::ZERO;
        let whole = if exec == u32::MAX {
            result
        } else {
            if let Some((physical, slices)) = entry.place {
                merged = unpack(&self.file.rows[usize::from(physical)], slices);
            }
            merge(&mut merged, result, exec);
            &merged
        };
        let width = if self.packing.packs { width_bytes(whole) } else { SLICES };
        stats.width_detections += u64::from(self.packing.packs);
        let old_lanes = entry.defined & !exec;
        let mut fetched_from = None;
        let (physical, slices) = match entry.place {
            Some((physical, slices)) if width <= slices.count() => {
                let kept = if self.packing.shrinks { slices.narrowed(width) } else { slices };
                if kept != slices {
                    self.file.narrow(physical, slices, kept);
                }
                pack(&mut self.file.rows[usize::from(physical)], kept, result, exec);
                (physical, kept)
            }
            place => {
                if let Some((from, _)) = place {
                    stats.size_change_reallocations += 1;
                    fetched_from = (old_lanes != 0).then(|| self.file.bank(from));
                    self.vacate(slot, reg);
                }
                let (physical, slices) = self.allocate(slot, reg, width, stats);
                pack(&mut self.file.rows[usize::from(physical)], slices, whole, u32::MAX);
                (physical, slices)
            }
        };
        entry.place = Some((physical, slices));
        entry.defined |= exec;
        entry.lost &= !exec;
        self.table[at] = entry;
        self.mapped[slot].insert(reg);
        Written { bank: self.file.bank(physical), fetched_from }
    }

    /// Registers of a warp that have a place.
    #[inline]
    pub(in crate::techniques) fn mapped(&self, slot: usize) -> &RegSet {
        &self.mapped[slot]
    }

    /// Releases the registers of a warp that are not in `kept`, and tells how many these were; their values are lost.
    #[inline]
    pub(in crate::techniques) fn release_all_but(
        &mut self,
        slot: usize,
        kept: &RegSet,
        stats: &mut Counts,
    ) -> u32 {
        let dead = self.mapped[slot].without(kept);
        if dead.is_empty() {
            return 0;
        }
        for reg in dead.iter() {
            self.vacate(slot, reg);
            let at = self.index(slot, reg);
            let entry = &mut self.table[at];
            entry.lost |= entry.defined;
            entry.defined = 0;
        }
        let released = dead.len() as u32;
        stats.released_registers += u64::from(released);
        released
    }

    /// Unmaps a register whose value is kept elsewhere; it is lost here until it is written again.
    pub(in crate::techniques) fn release(&mut self, slot: usize, reg: u8) {
        self.vacate(slot, reg);
        let at = self.index(slot, reg);
        (self.table[at].lost, self.table[at].defined) = (u32::MAX, 0);
    }

    /// Clears the table of a warp slot.
    pub(in crate::techniques) fn clear(&mut self, slot: usize) {
        for reg in self.mapped[slot].iter() {
            self.vacate(slot, reg);
        }
        let first = slot * self.registers;
        self.table[first..first + self.registers].fill(Entry::default());
    }

    /// Unmaps a register; a buddy that remains alone in the entry reserves its free slices again.
    fn vacate(&mut self, slot: usize, reg: u8) {
        let at = self.index(slot, reg);
        let Some((physical, slices)) = self.table[at].place.take() else { return };
        self.mapped[slot].remove(reg);
        self.file.release(physical, slices);
        if let Some(home) = self.buddy_place(slot, reg)
            && self.file.residents(home) == 1
        {
            self.file.set_reserved(home, true);
        }
    }

    /// Physical register of a register's buddy, if both exist.
    fn buddy_place(&self, slot: usize, reg: u8) -> Option<u16> {
        let buddy = self.buddy(reg)?;
        self.table[self.index(slot, buddy)].place.map(|(physical, _)| physical)
    }

    /// The bank in which an unmapped register is wanted.
    fn bank_for(&self, slot: usize, reg: u8, width: u32) -> u8 {
        let home = self.file.home_bank(slot, reg);
        if !self.file.allocation.is_bank_aware() {
            return home;
        }
        let cost = |bank: &u8| (self.conflicts(slot, reg, width, *bank), self.file.distance(home, *bank));
        self.file.banks_with_room(slot, width).min_by_key(cost).unwrap_or(home)
    }

    /// How much speaks against a bank: without sides the reads of registers there with this one, which conflict; with sides,
    /// negative, those that share an access.
    fn conflicts(&self, slot: usize, reg: u8, width: u32, bank: u8) -> i64 {
        let of = |(other, reads): &(u8, u64)| {
            let Some((physical, slices)) = self.table[self.index(slot, *other)].place else { return 0 };
            let reads = i64::try_from(*reads).unwrap_or(i64::MAX);
            match &self.hints {
                _ if self.file.bank(physical) != bank => 0,
                Hints::Pairs(_) => reads,
                Hints::Sides(sides) => {
                    let apart = sides[usize::from(reg)] != sides[usize::from(*other)];
                    if apart && width + slices.count() <= SLICES { -reads } else { 0 }
                }
            }
        };
        self.neighbours[usize::from(reg)].iter().map(of).fold(0, i64::saturating_add)
    }

    /// Allocates slices for an unmapped register.
    fn allocate(&mut self, slot: usize, reg: u8, width: u32, stats: &mut Counts) -> (u16, Slices) {
        let side = match &self.hints {
            Hints::Pairs(_) => Side::Either,
            Hints::Sides(sides) => sides[usize::from(reg)],
        };
        let found = match (self.buddy(reg), self.buddy_place(slot, reg)) {
            (Some(_), Some(home)) => {
                stats.pair_allocations += 1;
                let beside = self.file.take_in(home, width);
                stats.packed_pair_allocations += u64::from(beside.is_some());
                self.file.set_reserved(home, false);
                beside.map(|run| (home, run)).or_else(|| {
                    let bank = self.bank_for(slot, reg, width);
                    self.file.take(slot, bank, width, side)
                })
            }
            (Some(_), None) => {
                let bank = self.bank_for(slot, reg, SLICES);
                self.file.take_reserving(slot, bank, width)
            }
            (None, _) => {
                let bank = self.bank_for(slot, reg, width);
                self.file.take(slot, bank, width, side)
            }
        };
        // Every entry in use holds a register, and occupancy grants no more registers than there are entries.
        found.expect("resident warps hold no more registers than the register file has")
    }

    #[inline]
    fn index(&self, slot: usize, reg: u8) -> usize {
        slot * self.registers + usize::from(reg)
    }

    /// Gives a register the physical register of another one, as a faulty table would.
    #[cfg(test)]
    pub(in crate::techniques) fn confuse(&mut self, slot: usize, reg: u8, with: (usize, u8)) {
        let [at, other] = [self.index(slot, reg), self.index(with.0, with.1)];
        if let (Some(_), Some(place)) = (self.table[at].place, self.table[other].place) {
            self.table[at].place = Some(place);
        }
    }

    /// Breaks the mapping of a register as a faulty table would: another physical register, other slices.
    #[cfg(test)]
    pub(super) fn break_place(
        &mut self,
        slot: usize,
        reg: u8,
        change: impl Fn(u16, Slices) -> (u16, Slices),
    ) {
        let at = self.index(slot, reg);
        let place = &mut self.table[at].place;
        *place = place.map(|(physical, slices)| change(physical, slices));
    }

    /// Checks that the table and the free map agree: slices of different registers are disjoint, every used
    /// slice has an owner, and the counts are right.
    #[cfg(test)]
    pub(in crate::techniques) fn verify(&self) {
        let count = self.file.rows.len();
        let (mut used, mut residents) = (vec![0u8; count], vec![0u8; count]);
        for (at, entry) in self.table.iter().enumerate() {
            let (slot, reg) = (at / self.registers, (at % self.registers) as u8);
            assert_eq!(entry.place.is_some(), self.mapped[slot].contains(reg));
            if let Some((physical, slices)) = entry.place {
                let physical = usize::from(physical);
                assert_eq!(
                    used[physical] & slices.mask(),
                    0,
                    "slices of physical register {physical} given twice"
                );
                used[physical] |= slices.mask();
                residents[physical] += 1;
            }
        }
        assert_eq!(used, self.file.used(), "the free map differs from the table");
        assert_eq!(residents.iter().filter(|n| **n > 0).count() as u32, self.file.in_use());
        for (physical, count) in residents.iter().enumerate() {
            assert_eq!(self.file.residents(physical as u16), *count);
        }
    }
}
