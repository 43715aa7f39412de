//! Physical registers of one SM: their packed contents, the free map of byte slices and the reservations that
//! keep the rest of an entry for a compiler-chosen buddy (CORF, sections 2.4.3 and 2.6).
//!
//! Registers are numbered pool by pool; a pool is the part of the register file that one scheduler's warps
//! use, or the whole file if it is not split. The bank is a function of the number.

use super::packing::{SLICES, Slices};
use crate::banks::BankMap;
use crate::config::GpuConfig;
use crate::source::Row;

/// Choice among the entries with room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocation {
    /// The lowest entry of the pool.
    FirstFit,
    /// The lowest entry of the bank that the register has without CORF.
    HomeBank,
}

/// Widths of which a run is free, by the slices in use; bit 0 is one slice.
const WIDTHS_THAT_FIT: [u8; 1 << SLICES] = {
    let mut table = [0; 1 << SLICES];
    let mut used = 0;
    while used < table.len() {
        // Bit `first` of `runs`: the `width` slices from `first` on are free.
        let free = !used & (table.len() - 1);
        let (mut runs, mut width) = (free, 1);
        while runs != 0 {
            table[used] |= 1 << (width - 1);
            runs &= free >> width;
            width += 1;
        }
        used += 1;
    }
    table
};

/// All physical registers of an SM.
#[derive(Clone, Debug)]
pub(super) struct PhysicalFile {
    /// Packed contents.
    pub rows: Vec<Row>,
    /// Slices in use, one bit each.
    used: Vec<u8>,
    /// Architectural registers in each entry.
    residents: Vec<u8>,
    /// Whether the free slices of an entry wait for the buddy of its resident.
    reserved: Vec<bool>,
    /// Entries with an unreserved free run of 1, 2, 3 or 4 slices: pool by pool, 64 entries in a word per width.
    fits: Vec<[u64; SLICES as usize]>,
    /// Widths for which each entry is in `fits`, one bit each.
    fitting: Vec<u8>,
    /// Word of each entry in `fits`, and its bit.
    places: Vec<(u16, u8)>,
    in_use: u32,
    pools: usize,
    per_pool: usize,
    banks_per_pool: usize,
    /// Bank of each physical register.
    banks: Vec<u8>,
    allocation: Allocation,
    plain: BankMap,
}

impl PhysicalFile {
    /// The empty register file of a configuration.
    ///
    /// # Errors
    /// The configuration has less than one warp register per pool.
    pub(super) fn new(config: &GpuConfig, allocation: Allocation) -> Result<PhysicalFile, String> {
        let pools = if config.register_file.sub_core { config.scheduler.count as usize } else { 1 };
        let per_pool = config.sm.registers as usize / 32 / pools;
        let count = per_pool * pools;
        if per_pool == 0 || count > usize::from(u16::MAX) {
            let registers = config.sm.registers;
            return Err(format!(
                "`sm.registers`: {registers} make no register file of 1 to 65535 warp registers"
            ));
        }
        let banks_per_pool = config.register_file.banks as usize / pools;
        let mut file = PhysicalFile {
            rows: vec![Row::ZERO; count],
            used: vec![0; count],
            residents: vec![0; count],
            reserved: vec![false; count],
            fits: vec![[0; SLICES as usize]; per_pool.div_ceil(64) * pools],
            fitting: vec![0; count],
            places: (0..count)
                .map(|at| (at / per_pool * per_pool.div_ceil(64) + at % per_pool / 64, at % per_pool % 64))
                .map(|(group, bit)| (group as u16, bit as u8))
                .collect(),
            in_use: 0,
            pools,
            per_pool,
            banks: (0..count)
                .map(|at| (at / per_pool * banks_per_pool + at % per_pool % banks_per_pool) as u8)
                .collect(),
            banks_per_pool,
            allocation,
            plain: BankMap::new(config),
        };
        (0..count).for_each(|physical| file.refresh(physical as u16));
        Ok(file)
    }

    /// Entries that hold at least one register.
    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Architectural registers in an entry.
    pub(super) fn residents(&self, physical: u16) -> u8 {
        self.residents[usize::from(physical)]
    }

    /// Bank of a physical register.
    #[inline]
    pub(super) fn bank(&self, physical: u16) -> u8 {
        self.banks[usize::from(physical)]
    }

    /// First fit: the first entry with a free run of `width` slices that nothing reserves, in the pool of the
    /// warp slot or, when that is full, in any.
    pub(super) fn take_first_fit(&mut self, slot: usize, reg: u8, width: u32) -> Option<(u16, Slices)> {
        let physical = self.first(slot, reg, width)?;
        let run = Slices::free_run(self.used[usize::from(physical)], width)?;
        self.take(physical, run);
        Some((physical, run))
    }

    /// Takes the lowest `width` slices of an empty entry and reserves the rest.
    pub(super) fn take_reserving(&mut self, slot: usize, reg: u8, width: u32) -> Option<(u16, Slices)> {
        let physical = self.first(slot, reg, SLICES)?;
        let run = Slices::new(0, width);
        self.take(physical, run);
        self.set_reserved(physical, true);
        Some((physical, run))
    }

    /// Takes a run in a given entry, reserved or not.
    pub(super) fn take_in(&mut self, physical: u16, width: u32) -> Option<Slices> {
        let run = Slices::free_run(self.used[usize::from(physical)], width)?;
        self.take(physical, run);
        Some(run)
    }

    /// Frees all slices of a register.
    pub(super) fn release(&mut self, physical: u16, slices: Slices) {
        let at = usize::from(physical);
        debug_assert_eq!(self.used[at] & slices.mask(), slices.mask());
        self.used[at] &= !slices.mask();
        self.residents[at] -= 1;
        if self.residents[at] == 0 {
            self.reserved[at] = false;
            self.in_use -= 1;
        }
        self.refresh(physical);
    }

    /// Frees the upper slices of a register that has become narrower.
    pub(super) fn narrow(&mut self, physical: u16, from: Slices, to: Slices) {
        self.used[usize::from(physical)] &= !(from.mask() & !to.mask());
        self.refresh(physical);
    }

    /// Reserves the free slices of an entry against first fit, or ends the reservation.
    pub(super) fn set_reserved(&mut self, physical: u16, reserved: bool) {
        self.reserved[usize::from(physical)] = reserved;
        self.refresh(physical);
    }

    fn take(&mut self, physical: u16, run: Slices) {
        let at = usize::from(physical);
        self.used[at] |= run.mask();
        self.in_use += u32::from(self.residents[at] == 0);
        self.residents[at] += 1;
        self.refresh(physical);
    }

    /// First entry with an unreserved run of `width` slices: in the home bank first if the policy says so,
    /// then in the warp's own pool, then in any.
    fn first(&self, slot: usize, reg: u8, width: u32) -> Option<u16> {
        if self.allocation == Allocation::HomeBank
            && let Some(found) = self.first_in_bank(self.plain.bank(slot, reg), width)
        {
            return Some(found);
        }
        let first = |pool: usize| {
            let (group, words) =
                self.groups(pool).iter().enumerate().find(|(_, words)| words[width as usize - 1] != 0)?;
            let within = group * 64 + words[width as usize - 1].trailing_zeros() as usize;
            Some(self.entry(pool, within))
        };
        let home = slot % self.pools;
        first(home).or_else(|| (0..self.pools).filter(|pool| *pool != home).find_map(first))
    }

    /// First entry of a bank with an unreserved run of `width` slices.
    fn first_in_bank(&self, bank: u8, width: u32) -> Option<u16> {
        let (pool, within) =
            (usize::from(bank) / self.banks_per_pool, usize::from(bank) % self.banks_per_pool);
        let groups = self.groups(pool);
        let mut of_bank = (within..self.per_pool).step_by(self.banks_per_pool);
        of_bank
            .find(|within| groups[within / 64][width as usize - 1] >> (within % 64) & 1 != 0)
            .map(|within| self.entry(pool, within))
    }

    /// The index of a pool's entries.
    fn groups(&self, pool: usize) -> &[[u64; SLICES as usize]] {
        let count = self.per_pool.div_ceil(64);
        &self.fits[pool * count..(pool + 1) * count]
    }

    fn entry(&self, pool: usize, within: usize) -> u16 {
        (pool * self.per_pool + within) as u16
    }

    /// Updates the first-fit index of an entry, for the widths of which it has changed.
    fn refresh(&mut self, physical: u16) {
        let at = usize::from(physical);
        let widths = if self.reserved[at] { 0 } else { WIDTHS_THAT_FIT[usize::from(self.used[at])] };
        let changed = widths ^ std::mem::replace(&mut self.fitting[at], widths);
        if changed == 0 {
            return;
        }
        let (group, bit) = self.places[at];
        for (width, entries) in self.fits[usize::from(group)].iter_mut().enumerate() {
            *entries ^= u64::from(changed >> width & 1) << bit;
        }
    }

    /// Slices in use by entry, for tests.
    #[cfg(test)]
    pub(super) fn used(&self) -> &[u8] {
        &self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn banks_follow_from_numbers_within_the_schedulers_share() {
        let file = PhysicalFile::new(&load("gtx480", &[]).expect("valid").config, Allocation::FirstFit)
            .expect("fits");
        assert_eq!(file.rows.len(), 1024);
        assert_eq!([0, 1, 15, 16, 1023].map(|p| file.bank(p)), [0, 1, 15, 0, 15]);
        let mut split =
            PhysicalFile::new(&load("titanx-pascal", &[]).expect("valid").config, Allocation::FirstFit)
                .expect("fits");
        assert_eq!(split.rows.len(), 2048);
        for slot in 0..64 {
            let (physical, _) = split.take_first_fit(slot, 0, 4).expect("room");
            let bank = usize::from(split.bank(physical));
            assert_eq!(bank / 4, slot % 4, "banks 4s to 4s+3 are those of scheduler s");
        }
    }

    #[test]
    fn widths_fit_if_a_run_of_slices_is_free() {
        for (used, widths) in WIDTHS_THAT_FIT.iter().enumerate() {
            for width in 1..=SLICES {
                let fits = Slices::free_run(used as u8, width).is_some();
                assert_eq!(widths >> (width - 1) & 1 != 0, fits, "{width} slices beside {used:#06b}");
            }
        }
    }

    #[test]
    fn first_fit_passes_over_reserved_slices() {
        let mut file = PhysicalFile::new(&load("gtx480", &[]).expect("valid").config, Allocation::FirstFit)
            .expect("fits");
        let (a, _) = file.take_reserving(0, 0, 1).expect("room");
        let (b, run) = file.take_first_fit(0, 0, 2).expect("room");
        assert_eq!((a, b, run.mask()), (0, 1, 0b0011));
        assert_eq!(file.take_in(a, 3).map(Slices::mask), Some(0b1110));
        assert_eq!(file.take_in(a, 1), None);
        file.set_reserved(a, false);
        file.release(a, Slices::new(1, 3));
        assert_eq!(file.take_first_fit(0, 0, 3).map(|(p, s)| (p, s.mask())), Some((0, 0b1110)));
        assert_eq!(file.in_use(), 2);
    }

    #[test]
    fn a_full_pool_spills_into_the_next_and_a_full_file_has_no_room() {
        let mut file =
            PhysicalFile::new(&load("titanx-pascal", &[]).expect("valid").config, Allocation::FirstFit)
                .expect("fits");
        let taken: Vec<_> = (0..2048).map(|_| file.take_first_fit(1, 0, 4).expect("room").0).collect();
        assert_eq!(taken[0], 512);
        assert_eq!(taken[512], 0);
        assert_eq!(file.take_first_fit(1, 0, 1), None);
        assert_eq!(file.in_use(), 2048);
    }
}
