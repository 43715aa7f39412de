//! Physical registers of one SM: their packed contents, the free map of byte slices and the reservations that
//! keep the rest of an entry for a compiler-chosen buddy (CORF, sections 2.4.3 and 2.6).
//!
//! Registers are numbered pool by pool; a pool is the part of the register file that one scheduler's warps
//! use, or the whole file if it is not split. The bank is a function of the number. An index tells which entries of a
//! pool, or of a bank, have room.

use super::packing::{SLICES, Slices};
use warplab_analysis::alignment::Side;
use warplab_technique::Row;
use warplab_technique::banks::BankMap;
use warplab_technique::config::{BankMapping, GpuConfig};

/// Choice among the entries with room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// The lowest entry of the pool.
    FirstFit,
    /// The lowest entry of the bank that the register has without CORF.
    HomeBank,
    /// The lowest entry of that bank, on the register's side if there is room.
    SideAtHome,
    /// The lowest entry of the warp's bank, on the register's side if there is room.
    WarpBank,
    /// The lowest entry of the bank in which it conflicts least with the registers that are read with it.
    BankAware,
    /// The same, on the register's side if there is room.
    SideBankAware,
}

impl Allocation {
    /// Whether the bank follows from the registers that are read together.
    pub(super) fn is_bank_aware(self) -> bool {
        matches!(self, Allocation::BankAware | Allocation::SideBankAware)
    }

    /// Whether registers have sides.
    fn has_sides(self) -> bool {
        matches!(self, Allocation::SideAtHome | Allocation::WarpBank | Allocation::SideBankAware)
    }
}

/// Classes of room: a run of 1 to 4 slices anywhere, of 1 to 3 on the right, of 1 to 3 on the left.
const CLASSES: usize = 10;
/// Classes that are needed where registers have no side.
const ANYWHERE: usize = SLICES as usize;

/// The class of a run of slices on a side.
const fn class(width: u32, side: Side) -> usize {
    let width = width as usize;
    match side {
        Side::Right if width < ANYWHERE => ANYWHERE - 1 + width,
        Side::Left if width < ANYWHERE => 2 * (ANYWHERE - 1) + width,
        Side::Either | Side::Left | Side::Right => width - 1,
    }
}

/// Classes of room, one bit each, by the slices in use.
const ROOM: [u16; 1 << SLICES] = {
    let mut table = [0; 1 << SLICES];
    let mut used = 0;
    while used < table.len() {
        let free = !used & (table.len() - 1);
        let mut width = 1;
        while width <= SLICES {
            let run = (1 << width) - 1;
            let mut first = 0;
            while first + width <= SLICES {
                if free & (run << first) == run << first {
                    table[used] |= 1 << class(width, Side::Either);
                }
                first += 1;
            }
            if free & run == run {
                table[used] |= 1 << class(width, Side::Right);
            }
            if free & (run << (SLICES - width)) == run << (SLICES - width) {
                table[used] |= 1 << class(width, Side::Left);
            }
            width += 1;
        }
        used += 1;
    }
    table
};

/// Parts of the banks that are switched on and off as one.
#[derive(Clone, Debug)]
struct Subarrays {
    /// The sub-array of each entry.
    of: Vec<u16>,
    /// Entries of each sub-array, and those in use.
    sizes: Vec<u32>,
    used: Vec<u32>,
    /// Entries of the sub-arrays that are on.
    powered: u32,
}

impl Subarrays {
    fn new(of: Vec<u16>) -> Subarrays {
        let count = of.iter().max().map_or(0, |last| usize::from(*last) + 1);
        let mut sizes = vec![0; count];
        of.iter().for_each(|subarray| sizes[usize::from(*subarray)] += 1);
        Subarrays { of, sizes, used: vec![0; count], powered: 0 }
    }

    fn occupy(&mut self, at: usize) {
        let subarray = usize::from(self.of[at]);
        self.used[subarray] += 1;
        if self.used[subarray] == 1 {
            self.powered += self.sizes[subarray];
        }
    }

    fn release(&mut self, at: usize) {
        let subarray = usize::from(self.of[at]);
        self.used[subarray] -= 1;
        if self.used[subarray] == 0 {
            self.powered -= self.sizes[subarray];
        }
    }
}

/// All physical registers of an SM.
#[derive(Clone, Debug)]
pub(crate) struct PhysicalFile {
    /// Packed contents.
    pub rows: Vec<Row>,
    /// Slices in use, one bit each.
    used: Vec<u8>,
    /// Architectural registers in each entry.
    residents: Vec<u8>,
    /// Whether the free slices of an entry wait for the buddy of its resident.
    reserved: Vec<bool>,
    /// Entries with unreserved room: group by group, for 64 entries a word of each class.
    index: Vec<u64>,
    /// Classes of the index.
    classes: usize,
    /// Chunks of 64 entries in a group of the index.
    chunks: usize,
    /// Classes in which each entry has room, one bit each.
    room: Vec<u16>,
    /// First word of each entry's chunk in the index, and its bit.
    places: Vec<(u32, u8)>,
    in_use: u32,
    /// Sub-arrays that are switched on and off as one, if a technique asks for them.
    subarrays: Option<Subarrays>,
    pools: usize,
    per_pool: usize,
    banks_per_pool: usize,
    /// Bank of each physical register.
    banks: Vec<u8>,
    pub(super) allocation: Allocation,
    /// The bank of each register without packing, or of its warp.
    home: BankMap,
}

impl PhysicalFile {
    /// The empty register file of a configuration.
    ///
    /// # Errors
    /// The configuration has less than one warp register per pool.
    pub(crate) fn new(config: &GpuConfig, allocation: Allocation) -> Result<PhysicalFile, String> {
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
        // A group of the index is a pool, or a bank of one.
        let groups = if allocation == Allocation::FirstFit { 1 } else { banks_per_pool };
        let chunks = per_pool.div_ceil(groups).div_ceil(64);
        let classes = if allocation.has_sides() { CLASSES } else { ANYWHERE };
        let place = |at: usize| {
            let (pool, within) = (at / per_pool, at % per_pool);
            let (group, position) = (pool * groups + within % groups, within / groups);
            (((group * chunks + position / 64) * classes) as u32, (position % 64) as u8)
        };
        let mapped = match allocation {
            Allocation::WarpBank => BankMapping::Warp,
            _ => config.register_file.bank_mapping,
        };
        let mut file = PhysicalFile {
            rows: vec![Row::ZERO; count],
            used: vec![0; count],
            residents: vec![0; count],
            reserved: vec![false; count],
            index: vec![0; groups * pools * chunks * classes],
            classes,
            chunks,
            room: vec![0; count],
            places: (0..count).map(place).collect(),
            in_use: 0,
            subarrays: None,
            pools,
            per_pool,
            banks: (0..count)
                .map(|at| (at / per_pool * banks_per_pool + at % per_pool % banks_per_pool) as u8)
                .collect(),
            banks_per_pool,
            allocation,
            home: BankMap::mapped(config, mapped),
        };
        (0..count).for_each(|physical| file.refresh(physical as u16));
        Ok(file)
    }

    /// The same file, with banks of so many sub-arrays, which are on while they hold a register.
    pub(crate) fn with_subarrays(mut self, per_bank: u32) -> PhysicalFile {
        let entries = self.per_pool.div_ceil(self.banks_per_pool);
        let of = |physical: usize| {
            let position = physical % self.per_pool / self.banks_per_pool;
            let bank = usize::from(self.banks[physical]);
            (bank * per_bank as usize + position * per_bank as usize / entries) as u16
        };
        self.subarrays = Some(Subarrays::new((0..self.rows.len()).map(of).collect()));
        self
    }

    /// Entries in sub-arrays that hold at least one register.
    pub(crate) fn powered(&self) -> u32 {
        self.subarrays.as_ref().map_or(self.in_use, |subarrays| subarrays.powered)
    }

    /// The bank that a register has without packing, or that of its warp.
    #[inline]
    pub(crate) fn home_bank(&self, slot: usize, reg: u8) -> u8 {
        self.home.bank(slot, reg)
    }

    /// Entries that hold at least one register.
    pub(crate) fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Architectural registers in an entry.
    pub(super) fn residents(&self, physical: u16) -> u8 {
        self.residents[usize::from(physical)]
    }

    /// Bank of a physical register.
    #[inline]
    pub(crate) fn bank(&self, physical: u16) -> u8 {
        self.banks[usize::from(physical)]
    }

    /// The banks of a warp's pool in which an entry has an unreserved run of `width` slices.
    pub(super) fn banks_with_room(&self, slot: usize, width: u32) -> impl Iterator<Item = u8> {
        let first = slot % self.pools * self.banks_per_pool;
        let class = class(width, Side::Either);
        (first..first + self.banks_per_pool)
            .map(|bank| bank as u8)
            .filter(move |bank| self.first_in_bank(*bank, class).is_some())
    }

    /// How many banks of its pool lie between a bank and another one, counted upwards.
    pub(super) fn distance(&self, from: u8, to: u8) -> usize {
        (usize::from(to) + self.banks_per_pool - usize::from(from) % self.banks_per_pool)
            % self.banks_per_pool
    }

    /// The first entry with a free run of `width` slices that nothing reserves: on the given side if there is one in the
    /// bank that is wanted, else anywhere.
    pub(super) fn take(&mut self, slot: usize, bank: u8, width: u32, side: Side) -> Option<(u16, Slices)> {
        let on_side = (self.allocation.has_sides() && side != Side::Either && width < SLICES)
            .then(|| self.first_in_bank(bank, class(width, side)))
            .flatten();
        let (physical, run) = match (on_side, side) {
            (Some(physical), Side::Left) => (physical, Slices::new(SLICES - width, width)),
            (Some(physical), _) => (physical, Slices::new(0, width)),
            (None, _) => {
                let physical = self.first(slot, bank, width)?;
                (physical, Slices::free_run(self.used[usize::from(physical)], width)?)
            }
        };
        self.occupy(physical, run);
        Some((physical, run))
    }

    /// Takes the lowest `width` slices of an empty entry and reserves the rest.
    pub(super) fn take_reserving(&mut self, slot: usize, bank: u8, width: u32) -> Option<(u16, Slices)> {
        let physical = self.first(slot, bank, SLICES)?;
        let run = Slices::new(0, width);
        self.occupy(physical, run);
        self.set_reserved(physical, true);
        Some((physical, run))
    }

    /// Takes a run in a given entry, reserved or not.
    pub(super) fn take_in(&mut self, physical: u16, width: u32) -> Option<Slices> {
        let run = Slices::free_run(self.used[usize::from(physical)], width)?;
        self.occupy(physical, run);
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
            if let Some(subarrays) = &mut self.subarrays {
                subarrays.release(at);
            }
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

    fn occupy(&mut self, physical: u16, run: Slices) {
        let at = usize::from(physical);
        self.used[at] |= run.mask();
        if self.residents[at] == 0 {
            self.in_use += 1;
            if let Some(subarrays) = &mut self.subarrays {
                subarrays.occupy(at);
            }
        }
        self.residents[at] += 1;
        self.refresh(physical);
    }

    /// First entry with an unreserved run of `width` slices: in the wanted bank if the policy has one, then in the warp's
    /// own pool, then in any.
    fn first(&self, slot: usize, bank: u8, width: u32) -> Option<u16> {
        let class = class(width, Side::Either);
        let banks = |pool: usize| pool * self.banks_per_pool..(pool + 1) * self.banks_per_pool;
        let first = |pool: usize| match self.allocation {
            Allocation::FirstFit => self.first_in_group(pool, class).map(|within| self.entry(pool, within)),
            _ => banks(pool).filter_map(|bank| self.first_in_bank(bank as u8, class)).min(),
        };
        let in_bank = || match self.allocation {
            Allocation::FirstFit => None,
            _ => self.first_in_bank(bank, class),
        };
        let own = slot % self.pools;
        let others = || (0..self.pools).filter(|pool| *pool != own).find_map(first);
        in_bank().or_else(|| first(own)).or_else(others)
    }

    /// First entry of a bank with unreserved room of a class.
    fn first_in_bank(&self, bank: u8, class: usize) -> Option<u16> {
        let bank = usize::from(bank);
        let (pool, within) = (bank / self.banks_per_pool, bank % self.banks_per_pool);
        let position = self.first_in_group(bank, class)?;
        Some(self.entry(pool, position * self.banks_per_pool + within))
    }

    /// Position of the first entry of a group of the index with unreserved room of a class.
    fn first_in_group(&self, group: usize, class: usize) -> Option<usize> {
        let first = group * self.chunks * self.classes;
        let words =
            self.index[first..first + self.chunks * self.classes].iter().skip(class).step_by(self.classes);
        let (chunk, word) = words.enumerate().find(|(_, word)| **word != 0)?;
        Some(chunk * 64 + word.trailing_zeros() as usize)
    }

    fn entry(&self, pool: usize, within: usize) -> u16 {
        (pool * self.per_pool + within) as u16
    }

    /// Updates the index of an entry, for the classes in which its room has changed.
    #[inline]
    fn refresh(&mut self, physical: u16) {
        let at = usize::from(physical);
        let room = if self.reserved[at] { 0 } else { ROOM[usize::from(self.used[at])] };
        let mut changed = (room ^ std::mem::replace(&mut self.room[at], room)) & ((1 << self.classes) - 1);
        let (first, bit) = self.places[at];
        while changed != 0 {
            self.index[first as usize + changed.trailing_zeros() as usize] ^= 1 << bit;
            changed &= changed - 1;
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
    use warplab_model::config::load;

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
            let home = split.home_bank(slot, 0);
            let (physical, _) = split.take(slot, home, 4, Side::Either).expect("room");
            let bank = usize::from(split.bank(physical));
            assert_eq!(bank / 4, slot % 4, "banks 4s to 4s+3 are those of scheduler s");
        }
    }

    #[test]
    fn room_is_a_free_run_anywhere_or_on_a_side() {
        for (used, room) in ROOM.iter().enumerate() {
            let has = |width, side| room >> class(width, side) & 1 != 0;
            for width in 1..=SLICES {
                let fits = Slices::free_run(used as u8, width).is_some();
                assert_eq!(has(width, Side::Either), fits, "{width} slices beside {used:#06b}");
                for (side, first) in [(Side::Right, 0), (Side::Left, SLICES - width)] {
                    let free = Slices::new(first, width).mask() & used as u8 == 0;
                    assert_eq!(has(width, side), free, "{width} slices on the {side:?} beside {used:#06b}");
                }
            }
        }
    }

    #[test]
    fn a_side_is_kept_in_the_warps_bank_until_it_is_full_there() {
        let config = load("gtx480", &[]).expect("valid").config;
        let mut file = PhysicalFile::new(&config, Allocation::WarpBank).expect("fits");
        let mut take = |slot, width, side| {
            let home = file.home_bank(slot, 0);
            let (physical, run) = file.take(slot, home, width, side).expect("room");
            (physical, file.bank(physical), run.mask())
        };
        assert_eq!(take(3, 1, Side::Left), (3, 3, 0b1000));
        assert_eq!(take(3, 2, Side::Right), (3, 3, 0b0011));
        assert_eq!(take(3, 2, Side::Right), (19, 3, 0b0011), "the right of the first entry is taken");
        assert_eq!(take(3, 1, Side::Either), (3, 3, 0b0100), "either side: the first run");
        assert_eq!(take(3, 4, Side::Left), (35, 3, 0b1111));
        assert_eq!(take(19, 1, Side::Left), (19, 3, 0b1000), "warp 19 shares the bank of warp 3");
        for _ in 0..1024 / 16 - 3 {
            assert_eq!(take(3, 4, Side::Either).1, 3);
        }
        assert_eq!(take(3, 2, Side::Left), (0, 0, 0b0011), "the bank is full, and elsewhere any run does");
        assert_eq!(
            take(3, 1, Side::Right),
            (19, 3, 0b0100),
            "or a run on the other side, if the bank has one"
        );
    }

    #[test]
    fn first_fit_passes_over_reserved_slices() {
        let mut file = PhysicalFile::new(&load("gtx480", &[]).expect("valid").config, Allocation::FirstFit)
            .expect("fits");
        let (a, _) = file.take_reserving(0, 0, 1).expect("room");
        let (b, run) = file.take(0, 0, 2, Side::Either).expect("room");
        assert_eq!((a, b, run.mask()), (0, 1, 0b0011));
        assert_eq!(file.take_in(a, 3).map(Slices::mask), Some(0b1110));
        assert_eq!(file.take_in(a, 1), None);
        file.set_reserved(a, false);
        file.release(a, Slices::new(1, 3));
        assert_eq!(file.take(0, 0, 3, Side::Either).map(|(p, s)| (p, s.mask())), Some((0, 0b1110)));
        assert_eq!(file.in_use(), 2);
    }

    #[test]
    fn a_subarray_is_on_while_it_holds_a_register() {
        let config = load("gtx480", &[]).expect("valid").config;
        let mut file = PhysicalFile::new(&config, Allocation::HomeBank).expect("fits").with_subarrays(4);
        // 16 banks of 64 entries: a sub-array has 16.
        let taken: Vec<_> = (0..17).map(|_| file.take(0, 0, 4, Side::Either).expect("room")).collect();
        assert_eq!((file.in_use(), file.powered()), (17, 32), "the seventeenth is in the next sub-array");
        file.release(taken[16].0, taken[16].1);
        assert_eq!((file.in_use(), file.powered()), (16, 16));
        taken[..15].iter().for_each(|(physical, run)| file.release(*physical, *run));
        assert_eq!((file.in_use(), file.powered()), (1, 16));
        file.release(taken[15].0, taken[15].1);
        assert_eq!((file.in_use(), file.powered()), (0, 0));
    }

    #[test]
    fn a_full_pool_spills_into_the_next_and_a_full_file_has_no_room() {
        let mut file =
            PhysicalFile::new(&load("titanx-pascal", &[]).expect("valid").config, Allocation::FirstFit)
                .expect("fits");
        let taken: Vec<_> = (0..2048).map(|_| file.take(1, 0, 4, Side::Either).expect("room").0).collect();
        assert_eq!(taken[0], 512);
        assert_eq!(taken[512], 0);
        assert_eq!(file.take(1, 0, 1, Side::Either), None);
        assert_eq!(file.in_use(), 2048);
    }
}
