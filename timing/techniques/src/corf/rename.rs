//! The renaming table: the physical register and slices of each architectural register of a warp (CORF, sections 2.4.3
//! and 2.6).
//!
//! A register is allocated by its first result, where [`Allocator`] puts it. Registers released by virtualization are
//! marked, so that a later read of the lost value is detected.

use super::account::Counts;
use super::allocator::{Allocator, Place};
use super::coalescing::{Lookup, Mapping, Places};
#[cfg(test)]
use super::packing::Slices;
use super::packing::{pack, unpack};
use crate::merge;
use warplab_technique::Row;
use warplab_technique::program::RegSet;

/// Mapping of an architectural register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Physical register and slices; none before the first result and after a release.
    place: Option<Place>,
    /// Lanes that have been written since the register was allocated.
    defined: u32,
    /// Lanes whose value was released and has not been written since.
    lost: u32,
}

/// The place of another register of the warp whose entries begin at `first`.
#[inline]
fn place_of(table: &[Entry], first: usize, reg: u8) -> Option<Place> {
    table[first + usize::from(reg)].place
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Bank that takes the value.
    pub bank: u8,
    /// Bank from which unwritten lanes had to be fetched, if the register moved.
    pub fetched_from: Option<u8>,
}

/// Renaming table and packed registers of one SM.
#[derive(Clone, Debug)]
pub(crate) struct Renaming {
    registers: usize,
    table: Vec<Entry>,
    /// Mapped registers of each warp slot.
    mapped: Vec<RegSet>,
    /// The packed contents, and where results go.
    pub allocator: Allocator,
}

impl Places for Renaming {
    #[inline]
    fn look_up(&self, slot: usize, reg: u8, active: u32) -> Mapping {
        let entry = self.table[self.index(slot, reg)];
        let lost = entry.lost & active;
        if lost != 0 {
            return Mapping::Lost(lost);
        }
        let Some((physical, slices)) = entry.place else { return Mapping::Unwritten };
        let bank = self.allocator.file.bank(physical);
        Mapping::At(Lookup { physical, bank, slices })
    }

    #[inline]
    fn value<'a>(&'a self, found: &Lookup, space: &'a mut Row) -> &'a Row {
        self.allocator.value((found.physical, found.slices), space)
    }

    fn are_partners(&self, a: u8, b: u8) -> bool {
        self.allocator.are_partners(a, b)
    }

    #[inline]
    fn table_bank(&self, slot: usize, reg: u8) -> u8 {
        self.allocator.file.home_bank(slot, reg)
    }
}

impl Renaming {
    /// An empty table for `warps` warp slots of `registers` registers each.
    pub(crate) fn new((warps, registers): (usize, usize), allocator: Allocator) -> Renaming {
        Renaming {
            registers,
            table: vec![Entry::default(); warps * registers],
            mapped: vec![RegSet::default(); warps],
            allocator,
        }
    }

    /// Stores a result in the lanes of `exec`, allocating or moving the register if needed.
    pub(crate) fn write(
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
                merged = unpack(&self.allocator.file.rows[usize::from(physical)], slices);
            }
            merge(&mut merged, result, exec);
            &merged
        };
        let first = self.index(slot, 0);
        let Renaming { table, allocator, .. } = self;
        let width = allocator.width(whole, stats);
        let place =
            allocator.place((slot, reg), entry.place, width, |other| place_of(table, first, other), stats);
        let (physical, slices) = place;
        let stored = &mut allocator.file.rows[usize::from(physical)];
        let moved_from = entry.place.filter(|(_, slices)| width > slices.count());
        if entry.place.is_some() && moved_from.is_none() {
            pack(stored, slices, result, exec);
        } else {
            pack(stored, slices, whole, u32::MAX);
        }
        let old_lanes = entry.defined & !exec;
        let fetched_from = moved_from.filter(|_| old_lanes != 0).map(|(from, _)| allocator.file.bank(from));
        entry.place = Some(place);
        entry.defined |= exec;
        entry.lost &= !exec;
        self.table[at] = entry;
        self.mapped[slot].insert(reg);
        Written { bank: self.allocator.file.bank(physical), fetched_from }
    }

    /// Registers of a warp that have a place.
    #[inline]
    pub(crate) fn mapped(&self, slot: usize) -> &RegSet {
        &self.mapped[slot]
    }

    /// Releases the registers of a warp that are not in `kept`, and tells how many these were; their values are lost.
    #[inline]
    pub(crate) fn release_all_but(&mut self, slot: usize, kept: &RegSet, stats: &mut Counts) -> u32 {
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
    pub(crate) fn release(&mut self, slot: usize, reg: u8) {
        self.vacate(slot, reg);
        let at = self.index(slot, reg);
        (self.table[at].lost, self.table[at].defined) = (u32::MAX, 0);
    }

    /// Clears the table of a warp slot.
    pub(crate) fn clear(&mut self, slot: usize) {
        for reg in self.mapped[slot].iter() {
            self.vacate(slot, reg);
        }
        let first = slot * self.registers;
        self.table[first..first + self.registers].fill(Entry::default());
    }

    /// Unmaps a register.
    fn vacate(&mut self, slot: usize, reg: u8) {
        let (first, at) = (self.index(slot, 0), self.index(slot, reg));
        let Some(place) = self.table[at].place.take() else { return };
        self.mapped[slot].remove(reg);
        let Renaming { table, allocator, .. } = self;
        allocator.vacate(reg, place, |other| place_of(table, first, other));
    }

    #[inline]
    fn index(&self, slot: usize, reg: u8) -> usize {
        slot * self.registers + usize::from(reg)
    }

    /// Gives a register the physical register of another one, as a faulty table would.
    #[cfg(test)]
    pub(crate) fn confuse(&mut self, slot: usize, reg: u8, with: (usize, u8)) {
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

    /// Checks that the table and the free map agree.
    #[cfg(test)]
    pub(crate) fn verify(&self) {
        for (at, entry) in self.table.iter().enumerate() {
            let (slot, reg) = (at / self.registers, (at % self.registers) as u8);
            assert_eq!(entry.place.is_some(), self.mapped[slot].contains(reg));
        }
        self.allocator.verify(self.table.iter().filter_map(|entry| entry.place));
    }
}
