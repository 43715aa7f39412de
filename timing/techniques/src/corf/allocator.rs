//! The allocation policy of packed registers: where a value goes that needs so many bytes, and when it moves (CORF,
//! sections 2.4.3, 2.5.3 and 2.6).
//!
//! A compiler-chosen pair shares an entry: the first of the two takes a free entry and reserves the rest, the second is
//! packed beside it if it fits, and is placed by the default, first fit, if not. With sides, a register takes the first room
//! on its side. A value that needs more bytes than its place has moves by the same process; one that needs fewer keeps its
//! slices, or frees the upper ones with `shrink`.

use super::account::Counts;
use super::packing::{SLICES, Slices, unpack, width_bytes};
use super::physical::PhysicalFile;
use warplab_analysis::affinity::Affinity;
use warplab_analysis::alignment::{Side, Sides};
use warplab_technique::Row;

/// A physical register and slices of it.
pub(crate) type Place = (u16, Slices);

/// The other register of a register's compiler-chosen pair, by register number.
pub(crate) type Buddies = [Option<u8>; 256];

/// What the compiler says of registers.
#[derive(Clone, Debug)]
pub(crate) enum Hints {
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
pub(crate) struct Packing {
    /// Whether a value takes only the slices that it needs, and not a whole entry.
    pub packs: bool,
    /// Whether a value that needs fewer bytes frees slices.
    pub shrinks: bool,
}

/// The packed contents of an SM's registers, and where the next value goes.
///
/// Who owns a place is the caller's to know: it tells the places of a warp's registers by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Allocator {
    hints: Hints,
    packing: Packing,
    /// For each register those that instructions read with it, and how often, where banks are chosen by that.
    neighbours: Vec<Vec<(u8, u64)>>,
    /// The packed contents.
    pub file: PhysicalFile,
}

impl Allocator {
    /// The policy for an empty file.
    pub(crate) fn new(
        hints: Hints,
        neighbours: Vec<Vec<(u8, u64)>>,
        file: PhysicalFile,
        packing: Packing,
    ) -> Allocator {
        Allocator { hints, packing, neighbours, file }
    }

    /// The value in a place: the physical register itself, or unpacked into `space`.
    #[inline]
    pub(crate) fn value<'a>(&'a self, (physical, slices): Place, space: &'a mut Row) -> &'a Row {
        let stored = &self.file.rows[usize::from(physical)];
        if slices.count() == SLICES {
            return stored;
        }
        *space = unpack(stored, slices);
        space
    }

    /// Slices that a value takes.
    #[inline]
    pub(crate) fn width(&self, value: &Row, stats: &mut Counts) -> u32 {
        stats.width_detections += u64::from(self.packing.packs);
        if self.packing.packs { width_bytes(value) } else { SLICES }
    }

    /// Whether the compiler wants two registers to be read at once.
    pub(crate) fn are_partners(&self, a: u8, b: u8) -> bool {
        match &self.hints {
            Hints::Pairs(buddies) => buddies[usize::from(a)] == Some(b),
            Hints::Sides(sides) => sides[usize::from(a)] != sides[usize::from(b)],
        }
    }

    /// The place of a register whose value needs `width` slices: the one that it has, or another one.
    #[inline]
    pub(crate) fn place(
        &mut self,
        (slot, reg): (usize, u8),
        place: Option<Place>,
        width: u32,
        places: impl Fn(u8) -> Option<Place>,
        stats: &mut Counts,
    ) -> Place {
        if let Some((physical, slices)) = place {
            if width <= slices.count() {
                let kept = if self.packing.shrinks { slices.narrowed(width) } else { slices };
                if kept != slices {
                    self.file.narrow(physical, slices, kept);
                }
                return (physical, kept);
            }
            stats.size_change_reallocations += 1;
            self.vacate(reg, (physical, slices), &places);
        }
        self.allocate(slot, reg, width, &places, stats)
    }

    /// A register leaves its place; a buddy that remains alone in the entry reserves its free slices again.
    pub(crate) fn vacate(
        &mut self,
        reg: u8,
        (physical, slices): Place,
        places: impl Fn(u8) -> Option<Place>,
    ) {
        self.file.release(physical, slices);
        if let Some((home, _)) = self.buddy(reg).and_then(places)
            && self.file.residents(home) == 1
        {
            self.file.set_reserved(home, true);
        }
    }

    /// The other register of a register's compiler-chosen pair.
    fn buddy(&self, reg: u8) -> Option<u8> {
        match &self.hints {
            Hints::Pairs(buddies) => buddies[usize::from(reg)],
            Hints::Sides(_) => None,
        }
    }

    /// The bank in which a register without a place is wanted.
    fn bank_for(&self, slot: usize, reg: u8, width: u32, places: impl Fn(u8) -> Option<Place>) -> u8 {
        let home = self.file.home_bank(slot, reg);
        if !self.file.allocation.is_bank_aware() {
            return home;
        }
        let cost = |bank: &u8| (self.conflicts(reg, width, *bank, &places), self.file.distance(home, *bank));
        self.file.banks_with_room(slot, width).min_by_key(cost).unwrap_or(home)
    }

    /// How much speaks against a bank: without sides the reads of registers there with this one, which conflict; with sides,
    /// negative, those that share an access.
    fn conflicts(&self, reg: u8, width: u32, bank: u8, places: impl Fn(u8) -> Option<Place>) -> i64 {
        let of = |(other, reads): &(u8, u64)| {
            let Some((physical, slices)) = places(*other) else { return 0 };
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

    /// Allocates slices for a register without a place.
    fn allocate(
        &mut self,
        slot: usize,
        reg: u8,
        width: u32,
        places: impl Fn(u8) -> Option<Place>,
        stats: &mut Counts,
    ) -> Place {
        let side = match &self.hints {
            Hints::Pairs(_) => Side::Either,
            Hints::Sides(sides) => sides[usize::from(reg)],
        };
        let buddy = self.buddy(reg);
        let found = match (buddy, buddy.and_then(&places)) {
            (Some(_), Some((home, _))) => {
                stats.pair_allocations += 1;
                let beside = self.file.take_in(home, width);
                stats.packed_pair_allocations += u64::from(beside.is_some());
                self.file.set_reserved(home, false);
                beside.map(|run| (home, run)).or_else(|| {
                    let bank = self.bank_for(slot, reg, width, &places);
                    self.file.take(slot, bank, width, side)
                })
            }
            (Some(_), None) => {
                let bank = self.bank_for(slot, reg, SLICES, &places);
                self.file.take_reserving(slot, bank, width)
            }
            (None, _) => {
                let bank = self.bank_for(slot, reg, width, &places);
                self.file.take(slot, bank, width, side)
            }
        };
        // Every entry in use holds a register, and occupancy grants no more registers than there are entries.
        found.expect("resident warps hold no more registers than the register file has")
    }

    /// Checks that the free map agrees with the places of all values: slices of different values are disjoint, every
    /// used slice has an owner, and the counts are right.
    #[cfg(test)]
    pub(crate) fn verify(&self, places: impl Iterator<Item = Place>) {
        let count = self.file.rows.len();
        let (mut used, mut residents) = (vec![0u8; count], vec![0u8; count]);
        for (physical, slices) in places {
            let at = usize::from(physical);
            assert_eq!(used[at] & slices.mask(), 0, "slices of physical register {physical} given twice");
            used[at] |= slices.mask();
            residents[at] += 1;
        }
        let differing = (0..count).find(|at| used[*at] != self.file.used()[*at]);
        assert_eq!(differing, None, "the free map differs from the table at this physical register");
        assert_eq!(residents.iter().filter(|n| **n > 0).count() as u32, self.file.in_use());
        for (physical, count) in residents.iter().enumerate() {
            assert_eq!(self.file.residents(physical as u16), *count);
        }
    }
}
