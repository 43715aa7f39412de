//! Registers by pointer: the physical register of every register of a warp, with the number of registers that
//! share it (LARF, section 5.5.1). The values are kept, so that every read and every shared load is compared.
//!
//! A value lies in a physical register of its own, or with CORF in slices of one ([`Layout`]). Its slices are known when it
//! arrives: until then it has no place, or an older one.

use super::super::WarpView;
use super::reservations::Reservations;
use crate::corf::account::Counts as PackedCounts;
use crate::corf::allocator::{Allocator, Place};
use crate::corf::coalescing::{self, Lookup, Places};
use crate::corf::packing::pack;
use crate::{InFlightId, merge};
use warplab_technique::Row;
use warplab_technique::banks::BankMap;
use warplab_technique::config::GpuConfig;
use warplab_technique::program::RegSet;

/// Number of a value, which is that of its physical register where registers are not packed.
pub(super) type Physical = u16;

/// Where values lie.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Each in a physical register of its own: in the bank that its first register has without techniques, or where that
    /// is full in the emptiest.
    Whole {
        /// The bank of each register without techniques.
        plain: Box<BankMap>,
        /// Physical registers in use by bank.
        in_bank: Vec<u32>,
        /// Physical registers that a bank has.
        per_bank: u32,
    },
    /// In slices of physical registers.
    Packed(Box<Allocator>),
}

impl Layout {
    /// Nothing lies anywhere.
    pub(super) fn whole(config: &GpuConfig) -> Layout {
        let banks = config.register_file.banks;
        Layout::Whole {
            plain: Box::new(BankMap::new(config)),
            in_bank: vec![0; banks as usize],
            per_bank: config.sm.registers / 32 / banks.max(1),
        }
    }
}

/// A register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Mapping {
    physical: Option<Physical>,
    /// Lanes in which the physical register has the register's value.
    defined: u32,
    /// Lanes whose value was released and not written since.
    lost: u32,
}

/// A value in a physical register.
#[derive(Clone, Copy, Debug)]
struct Contents {
    row: Row,
    bank: u8,
    /// Its slices, if it is packed.
    place: Option<Place>,
    /// Whether the value of `row` has yet to be packed.
    arriving: bool,
    /// Registers that are mapped to it.
    sharers: u16,
    /// The load that brings its value.
    loading: Option<InFlightId>,
    /// The entry of the address mapping table that names it.
    entry: Option<u32>,
}

/// A register that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// It was never written.
    Unwritten,
    /// Its value in these lanes was released.
    Lost(u32),
    /// Its physical register.
    At(Physical),
}

/// Effects of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// The register that takes the value; none if none is free, so that the value is lost.
    pub(super) physical: Option<Physical>,
    /// Bank from which lanes that are not written were copied.
    pub(super) copied_from: Option<u8>,
    /// Entry of the table whose value this write ends.
    pub(super) ended: Option<u32>,
}

/// The renaming table and the physical registers of an SM.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    per_warp: usize,
    mappings: Vec<Mapping>,
    mapped: Vec<RegSet>,
    contents: Vec<Contents>,
    free: Vec<Physical>,
    layout: Layout,
    /// Physical registers that results reserve, if blocks have more registers than the file.
    pub(super) reservations: Option<Box<Reservations>>,
    /// Values, and registers that are mapped to them.
    in_use: u64,
    registers: u64,
}

impl Registers {
    /// No register is mapped.
    pub(super) fn new(
        config: &GpuConfig,
        per_warp: u32,
        layout: Layout,
        reservations: Option<Box<Reservations>>,
    ) -> Registers {
        let warps = config.sm.max_warps as usize;
        Registers {
            per_warp: per_warp as usize,
            mappings: vec![Mapping::default(); warps * per_warp as usize],
            mapped: vec![RegSet::default(); warps],
            contents: Vec::new(),
            free: Vec::new(),
            layout,
            reservations,
            in_use: 0,
            registers: 0,
        }
    }

    /// Physical registers that the results of an instruction have to reserve.
    pub(super) fn wanted(&self, slot: usize, regs: &[u8]) -> u32 {
        regs.iter().filter(|reg| !self.has_place(slot, **reg)).count() as u32
    }

    /// Whether the result of a register has a place: one that is reserved, or the register's own physical register, if no
    /// other register can come to share that.
    fn has_place(&self, slot: usize, reg: u8) -> bool {
        let reserved = self.reservations.as_ref().is_none_or(|reservations| reservations.has(slot, reg));
        let is_own = |physical: Physical| {
            let contents = &self.contents[usize::from(physical)];
            contents.sharers == 1 && contents.entry.is_none()
        };
        reserved || self.mappings[self.index(slot, reg)].physical.is_some_and(is_own)
    }

    /// Reserves places for the results of an instruction that has issued; returns the number of physical registers.
    pub(super) fn reserve(&mut self, slot: usize, regs: &[u8]) -> u32 {
        let mut reserved = 0;
        for reg in regs {
            let has_place = self.has_place(slot, *reg);
            let Some(reservations) = &mut self.reservations else { return 0 };
            reservations.send(slot, *reg);
            if !has_place {
                reservations.reserve(slot, *reg);
                reserved += 1;
            }
        }
        reserved
    }

    /// Physical registers in use, and registers that are mapped to them.
    pub(super) fn usage(&self) -> (u64, u64) {
        let physical = match &self.layout {
            Layout::Whole { .. } => self.in_use,
            Layout::Packed(allocator) => u64::from(allocator.file.in_use()),
        };
        (physical, self.registers)
    }

    /// A register of a warp, which an instruction reads in the lanes of `active`.
    pub(super) fn find(&self, slot: usize, reg: u8, active: u32) -> Found {
        let mapping = self.mappings[self.index(slot, reg)];
        match (mapping.lost & active, mapping.physical) {
            (0, None) => Found::Unwritten,
            (0, Some(physical)) => Found::At(physical),
            (lost, _) => Found::Lost(lost),
        }
    }

    /// The value of a physical register, unpacked into `space` if it is packed; before its load has completed, the
    /// value that the load brings.
    pub(super) fn row<'a>(&'a self, physical: Physical, space: &'a mut Row) -> &'a Row {
        let contents = &self.contents[usize::from(physical)];
        match (&self.layout, contents.place) {
            (Layout::Packed(allocator), Some(place)) if !contents.arriving => allocator.value(place, space),
            _ => &contents.row,
        }
    }

    /// A register's entry in the renaming table is in this bank of it.
    pub(super) fn table_bank(&self, slot: usize, reg: u8) -> u8 {
        match &self.layout {
            Layout::Whole { plain, .. } => plain.bank(slot, reg),
            Layout::Packed(allocator) => allocator.file.home_bank(slot, reg),
        }
    }

    /// The value of a physical register has arrived for a register of a warp: it is packed, and moves if it needs more
    /// slices than it had. Tells the bank that it has left.
    pub(super) fn arrive(
        &mut self,
        slot: usize,
        reg: u8,
        physical: Physical,
        counts: &mut PackedCounts,
    ) -> Option<u8> {
        let first = self.index(slot, 0);
        let Layout::Packed(allocator) = &mut self.layout else { return None };
        let (mappings, before) = (&self.mappings, self.contents[usize::from(physical)]);
        if !before.arriving {
            return None;
        }
        let width = allocator.width(&before.row, counts);
        let contents = &self.contents;
        let places = |other| place_of(mappings, contents, first, other);
        let place = allocator.place((slot, reg), before.place, width, places, counts);
        pack(&mut allocator.file.rows[usize::from(place.0)], place.1, &before.row, u32::MAX);
        let contents = &mut self.contents[usize::from(physical)];
        (contents.place, contents.arriving, contents.bank) =
            (Some(place), false, allocator.file.bank(place.0));
        before.place.filter(|(_, slices)| width > slices.count()).map(|_| before.bank)
    }

    /// The same for the value that a load brings, if it is still awaited.
    pub(super) fn arrive_by(
        &mut self,
        slot: usize,
        reg: u8,
        physical: Physical,
        by: InFlightId,
        counts: &mut PackedCounts,
    ) {
        if self.contents[usize::from(physical)].loading == Some(by) {
            self.arrive(slot, reg, physical, counts);
        }
    }

    /// The bank of a physical register.
    pub(super) fn bank(&self, physical: Physical) -> u8 {
        self.contents[usize::from(physical)].bank
    }

    /// The load that has yet to bring a physical register's value.
    pub(super) fn loading(&self, physical: Physical) -> Option<InFlightId> {
        self.contents[usize::from(physical)].loading
    }

    /// Notes the entry of the table that names a physical register, and the load that brings its value.
    pub(super) fn enter(&mut self, physical: Physical, entry: Option<u32>, loading: Option<InFlightId>) {
        let contents = &mut self.contents[usize::from(physical)];
        (contents.entry, contents.loading) = (entry, loading);
    }

    /// The entry of the table that names a physical register ends.
    pub(super) fn forget_entry(&mut self, physical: Physical) {
        self.contents[usize::from(physical)].entry = None;
    }

    /// A load has brought the value of a physical register.
    pub(super) fn loaded(&mut self, physical: Physical, by: InFlightId) {
        let contents = &mut self.contents[usize::from(physical)];
        if contents.loading == Some(by) {
            contents.loading = None;
        }
    }

    /// Lanes of a register that have a value, apart from those of a mask.
    pub(super) fn other_lanes(&self, slot: usize, reg: u8, lanes: u32) -> u32 {
        self.mappings[self.index(slot, reg)].defined & !lanes
    }

    /// Maps registers of a warp to physical registers that have their values in these lanes; returns the entries of
    /// the table whose last mapping this ends.
    pub(super) fn share(&mut self, slot: usize, regs: &[u8], physical: &[Physical], lanes: u32) -> Vec<u32> {
        // The new sharers come first: a register may be mapped to one of the physical registers already.
        for physical in physical {
            self.contents[usize::from(*physical)].sharers += 1;
            if let Some(reservations) = &mut self.reservations {
                reservations.shared(slot, usize::from(*physical));
            }
        }
        let mut ended = Vec::new();
        for (reg, physical) in regs.iter().zip(physical) {
            ended.extend(self.unmap(slot, *reg));
            let at = self.index(slot, *reg);
            let lost = (self.mappings[at].defined | self.mappings[at].lost) & !lanes;
            self.mappings[at] = Mapping { physical: Some(*physical), defined: lanes, lost };
            self.mapped[slot].insert(*reg);
            self.registers += 1;
            if let Some(reservations) = &mut self.reservations {
                reservations.give_back(slot, *reg);
            }
        }
        ended
    }

    /// Writes a register in the lanes of `exec`. A physical register with other sharers keeps its value and the
    /// writer takes a new one; otherwise the value of an entry that names it ends. Where results reserve their physical
    /// registers, one without a reservation overwrites the register's own.
    pub(super) fn write(&mut self, warp: &WarpView<'_>, reg: u8, row: &Row, exec: u32) -> Written {
        let (slot, at) = (warp.slot, self.index(warp.slot, reg));
        let mapping = self.mappings[at];
        let mut written = Written::default();
        let mut space = Row::ZERO;
        let mut whole = mapping.physical.map_or(Row::ZERO, |physical| *self.row(physical, &mut space));
        merge(&mut whole, row, exec);
        let has_new = self
            .reservations
            .as_ref()
            .is_none_or(|of| of.has(slot, reg) && self.in_use < of.physical().into());
        match mapping.physical {
            Some(physical) if self.contents[usize::from(physical)].sharers == 1 || !has_new => {
                let contents = &mut self.contents[usize::from(physical)];
                written.physical = Some(physical);
                written.ended = contents.entry.take();
                (contents.row, contents.loading) = (whole, None);
                contents.arriving = matches!(self.layout, Layout::Packed(_));
                if let Some(reservations) = &mut self.reservations {
                    reservations.overwritten(slot, reg, usize::from(physical));
                }
            }
            None if !has_new => {
                self.mappings[at].lost |= exec;
                return written;
            }
            shared => {
                let others = mapping.defined & !exec;
                written.copied_from =
                    shared.filter(|_| others & warp.threads != 0).map(|physical| self.bank(physical));
                written.ended = self.unmap(slot, reg);
                let physical = self.allocate(slot, reg, whole);
                if let Some(reservations) = &mut self.reservations {
                    reservations.allocated(slot, reg, usize::from(physical));
                }
                written.physical = Some(physical);
                self.mapped[slot].insert(reg);
                self.registers += 1;
            }
        }
        self.mappings[at] = Mapping {
            physical: written.physical,
            defined: mapping.defined | exec,
            lost: mapping.lost & !exec,
        };
        written
    }

    /// Releases the registers of a warp that are not in `kept`; calls `ended` with the entries of the table whose
    /// last mapping this ends.
    pub(super) fn release_all_but(&mut self, slot: usize, kept: &RegSet, mut ended: impl FnMut(u32)) -> u64 {
        let dead = self.mapped[slot].without(kept);
        let mut released = 0;
        for reg in dead.iter() {
            if let Some(entry) = self.unmap(slot, reg) {
                ended(entry);
            }
            let at = self.index(slot, reg);
            let mapping = &mut self.mappings[at];
            mapping.lost |= mapping.defined;
            mapping.defined = 0;
            released += 1;
        }
        released
    }

    /// Releases all registers of a warp.
    pub(super) fn clear(&mut self, slot: usize, ended: impl FnMut(u32)) {
        self.release_all_but(slot, &RegSet::default(), ended);
        if let Some(reservations) = &mut self.reservations {
            reservations.end(slot);
        }
        let first = slot * self.per_warp;
        self.mappings[first..first + self.per_warp].fill(Mapping::default());
    }

    fn unmap(&mut self, slot: usize, reg: u8) -> Option<u32> {
        let at = self.index(slot, reg);
        let physical = self.mappings[at].physical.take()?;
        self.mapped[slot].remove(reg);
        self.registers -= 1;
        let contents = &mut self.contents[usize::from(physical)];
        contents.sharers -= 1;
        if contents.sharers > 0 {
            return None;
        }
        let (entry, place, bank) = (contents.entry.take(), contents.place.take(), contents.bank);
        // Its load may still be on its way.
        (contents.arriving, contents.loading) = (false, None);
        let first = self.index(slot, 0);
        match &mut self.layout {
            Layout::Whole { in_bank, .. } => in_bank[usize::from(bank)] -= 1,
            Layout::Packed(allocator) => {
                let places = |other| place_of(&self.mappings, &self.contents, first, other);
                if let Some(place) = place {
                    allocator.vacate(reg, place, places);
                }
            }
        }
        self.in_use -= 1;
        self.free.push(physical);
        if let Some(reservations) = &mut self.reservations {
            reservations.freed(usize::from(physical));
        }
        entry
    }

    /// A physical register for a register.
    fn allocate(&mut self, slot: usize, reg: u8, row: Row) -> Physical {
        let bank = match &mut self.layout {
            Layout::Whole { plain, in_bank, per_bank } => {
                let home = plain.bank(slot, reg);
                let bank = if in_bank[usize::from(home)] < *per_bank {
                    home
                } else {
                    let emptiest = in_bank.iter().enumerate().min_by_key(|(_, used)| **used);
                    emptiest.map_or(home, |(bank, _)| bank as u8)
                };
                in_bank[usize::from(bank)] += 1;
                bank
            }
            // Until its value has arrived.
            Layout::Packed(allocator) => allocator.file.home_bank(slot, reg),
        };
        self.in_use += 1;
        let arriving = matches!(self.layout, Layout::Packed(_));
        let contents = Contents { row, bank, place: None, arriving, sharers: 1, loading: None, entry: None };
        if let Some(physical) = self.free.pop() {
            self.contents[usize::from(physical)] = contents;
            return physical;
        }
        self.contents.push(contents);
        (self.contents.len() - 1) as Physical
    }

    fn index(&self, slot: usize, reg: u8) -> usize {
        slot * self.per_warp + usize::from(reg)
    }

    /// Whether a register has a physical register.
    #[cfg(test)]
    pub(super) fn is_mapped(&self, slot: usize, reg: u8) -> bool {
        self.mappings[self.index(slot, reg)].physical.is_some()
    }

    /// Counts every physical register in use as one with a single sharer, until [`Registers::count_sharers`].
    #[cfg(test)]
    pub(super) fn forget_sharers(&mut self) {
        self.contents.iter_mut().for_each(|contents| contents.sharers = contents.sharers.min(1));
    }

    /// Counts the sharers of all physical registers again.
    #[cfg(test)]
    pub(super) fn count_sharers(&mut self) {
        self.contents.iter_mut().for_each(|contents| contents.sharers = 0);
        for physical in self.mappings.iter().filter_map(|mapping| mapping.physical) {
            self.contents[usize::from(physical)].sharers += 1;
        }
    }

    /// Loses a register's values in the lanes that are not in a mask.
    #[cfg(test)]
    pub(super) fn lose_other_lanes(&mut self, slot: usize, reg: u8, lanes: u32) {
        let at = self.index(slot, reg);
        let mapping = &mut self.mappings[at];
        mapping.lost |= mapping.defined & !lanes;
        mapping.defined &= lanes;
    }

    /// Flips a bit of every packed value.
    #[cfg(test)]
    pub(super) fn flip_bits(&mut self) {
        if let Layout::Packed(allocator) = &mut self.layout {
            allocator.file.rows.iter_mut().for_each(|row| row.0[5] ^= 0x0101_0101);
        }
    }

    /// Forgets all but the lowest slice of every packed value.
    #[cfg(test)]
    pub(super) fn lose_slices(&mut self) {
        for contents in &mut self.contents {
            contents.place = contents.place.map(|(physical, slices)| (physical, slices.narrowed(1)));
        }
    }

    /// Exchanges the places of the first and the last packed value.
    #[cfg(test)]
    pub(super) fn swap_places(&mut self) {
        let packed = |contents: &&mut Contents| contents.place.is_some();
        let mut all: Vec<&mut Contents> = self.contents.iter_mut().filter(packed).collect();
        if let [first, .., last] = &mut all[..] {
            std::mem::swap(&mut first.place, &mut last.place);
        }
    }

    /// Checks that counts of sharers and of registers in use agree with the mappings.
    #[cfg(test)]
    pub(super) fn verify(&self) {
        let mut sharers = vec![0; self.contents.len()];
        let mapped = self.mappings.iter().filter_map(|mapping| mapping.physical);
        mapped.for_each(|physical| sharers[usize::from(physical)] += 1);
        let is_free = |physical: usize| self.free.contains(&(physical as Physical));
        for (physical, contents) in self.contents.iter().enumerate() {
            let counted = if is_free(physical) { 0 } else { contents.sharers };
            assert_eq!(sharers[physical], counted, "physical register {physical}");
        }
        assert_eq!(self.registers, sharers.iter().map(|sharers| u64::from(*sharers)).sum::<u64>());
        assert_eq!(self.in_use, sharers.iter().filter(|sharers| **sharers > 0).count() as u64);
        self.reservations.iter().for_each(|reservations| reservations.verify(self.in_use));
        match &self.layout {
            Layout::Whole { in_bank, .. } => {
                assert_eq!(self.in_use, in_bank.iter().map(|used| u64::from(*used)).sum::<u64>());
            }
            Layout::Packed(allocator) => {
                let live = self.contents.iter().enumerate().filter(|(physical, _)| !is_free(*physical));
                allocator.verify(live.filter_map(|(_, contents)| contents.place));
            }
        }
    }
}

/// The place of another register of the warp whose mappings begin at `first`.
fn place_of(mappings: &[Mapping], contents: &[Contents], first: usize, reg: u8) -> Option<Place> {
    mappings[first + usize::from(reg)].physical.and_then(|physical| contents[usize::from(physical)].place)
}

/// Registers in slices, for reads that share an access.
impl Places for Registers {
    fn look_up(&self, slot: usize, reg: u8, active: u32) -> coalescing::Mapping {
        let physical = match self.find(slot, reg, active) {
            Found::Unwritten => return coalescing::Mapping::Unwritten,
            Found::Lost(lanes) => return coalescing::Mapping::Lost(lanes),
            Found::At(physical) => physical,
        };
        let contents = &self.contents[usize::from(physical)];
        match contents.place {
            Some((physical, slices)) => {
                coalescing::Mapping::At(Lookup { physical, bank: contents.bank, slices })
            }
            // An instruction that reads a register waits for its value.
            None => coalescing::Mapping::Lost(active),
        }
    }

    fn value<'a>(&'a self, found: &Lookup, space: &'a mut Row) -> &'a Row {
        match &self.layout {
            Layout::Packed(allocator) => allocator.value((found.physical, found.slices), space),
            // Nothing is found in slices there.
            Layout::Whole { .. } => space,
        }
    }

    fn are_partners(&self, a: u8, b: u8) -> bool {
        match &self.layout {
            Layout::Whole { .. } => false,
            Layout::Packed(allocator) => allocator.are_partners(a, b),
        }
    }

    fn table_bank(&self, slot: usize, reg: u8) -> u8 {
        Registers::table_bank(self, slot, reg)
    }
}
