//! The shared register pool (section 4.3.2): which sections are taken, which warp has which, and the values in
//! the registers of both sets.

use super::size::Split;
use crate::merge;
use warplab_technique::Row;

/// A warp's registers and its section.
#[derive(Clone, Debug)]
struct Holder {
    /// Registers of the base set.
    base: Vec<Row>,
    /// Its entry of the look-up table.
    section: Option<u32>,
    /// Its status, a bit per lane: lanes that have acquired the extended set and not released it.
    lanes: u32,
}

/// The register file of an SM, by sections and warps.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    base: u32,
    pools: u32,
    /// Warps whose numbers follow each other by this many belong to one part of the register file.
    parts: u32,
    /// Whether each pool belongs to a pair of warps.
    pairs: bool,
    /// Taken sections of each pool, one bit each; bits without a section are set.
    taken: Vec<u64>,
    /// Registers of each section.
    sections: Vec<Vec<Row>>,
    warps: Vec<Holder>,
}

impl Pool {
    /// Free sections and registers. With `ideal`, there is a section for every warp slot.
    pub(super) fn new(split: &Split, slots: u32, ideal: bool) -> Pool {
        let sections = if ideal { slots.div_ceil(split.pools) } else { split.sections };
        let taken = if sections >= 64 { 0 } else { u64::MAX << sections };
        let holder = Holder { base: vec![Row::ZERO; split.base as usize], section: None, lanes: 0 };
        Pool {
            base: split.base,
            pools: split.pools,
            parts: split.parts,
            pairs: split.pairs,
            taken: vec![taken; split.pools as usize],
            sections: vec![vec![Row::ZERO; split.extended as usize]; (split.pools * sections) as usize],
            warps: vec![holder; slots as usize],
        }
    }

    /// The pool of a warp slot.
    pub(super) fn pool_of(&self, slot: usize) -> usize {
        let parts = self.parts as usize;
        if self.pairs { slot / (2 * parts) * parts + slot % parts } else { slot % self.pools as usize }
    }

    /// The free section of a warp's pool with the lowest number (find first zero).
    fn free(&self, slot: usize) -> Option<u32> {
        let pool = self.pool_of(slot);
        let index = (!self.taken[pool]).trailing_zeros();
        (index < 64).then(|| pool as u32 + index * self.pools)
    }

    /// Whether a warp has its extended set or could get one now.
    pub(super) fn can_acquire(&self, slot: usize) -> bool {
        self.warps[slot].section.is_some() || self.free(slot).is_some()
    }

    /// The section that a warp has.
    pub(super) fn section(&self, slot: usize) -> Option<u32> {
        self.warps[slot].section
    }

    /// Whether some of these lanes of a warp have acquired its section.
    pub(super) fn has_acquired(&self, slot: usize, lanes: u32) -> bool {
        self.warps[slot].lanes & lanes != 0
    }

    /// Lanes of a warp acquire the extended set; true if the warp takes a section.
    pub(super) fn acquire(&mut self, slot: usize, lanes: u32) -> bool {
        self.warps[slot].lanes |= lanes;
        if self.warps[slot].section.is_some() {
            return false;
        }
        let section = self.free(slot).expect("an acquire issues when a section is free");
        let pool = self.pool_of(slot);
        self.taken[pool] |= 1 << (section / self.pools);
        self.warps[slot].section = Some(section);
        true
    }

    /// Whether a warp's section would be free if some lanes released it.
    pub(super) fn would_free(&self, slot: usize, lanes: u32, alive: u32) -> bool {
        self.warps[slot].section.is_some() && self.warps[slot].lanes & alive & !lanes == 0
    }

    /// Lanes of a warp release the extended set; true if its section becomes free.
    pub(super) fn release(&mut self, slot: usize, lanes: u32, alive: u32) -> bool {
        let frees = self.would_free(slot, lanes, alive);
        self.warps[slot].lanes &= !lanes;
        if frees {
            self.warps[slot].lanes = 0;
            let section = self.warps[slot].section.take().expect("it would free one");
            let pool = self.pool_of(slot);
            self.taken[pool] &= !(1 << (section / self.pools));
        }
        frees
    }

    /// Clears a warp's registers.
    pub(super) fn start(&mut self, slot: usize) {
        self.warps[slot].base.fill(Row::ZERO);
    }

    /// The contents of a register of a warp's lanes; `None` if it lies in an extended set that not all of them have
    /// acquired.
    pub(super) fn register(&self, slot: usize, register: u8, lanes: u32) -> Option<&Row> {
        let holder = &self.warps[slot];
        match u32::from(register).checked_sub(self.base) {
            None => holder.base.get(usize::from(register)),
            Some(index) if lanes & !holder.lanes == 0 => {
                self.sections[holder.section? as usize].get(index as usize)
            }
            Some(_) => None,
        }
    }

    /// Writes a register in some lanes; false if the lanes have not acquired it.
    pub(super) fn write(&mut self, slot: usize, register: u8, row: &Row, lanes: u32) -> bool {
        let holder = &mut self.warps[slot];
        let target = match u32::from(register).checked_sub(self.base) {
            None => holder.base.get_mut(usize::from(register)),
            Some(index) if lanes & !holder.lanes == 0 => {
                holder.section.and_then(|section| self.sections[section as usize].get_mut(index as usize))
            }
            Some(_) => None,
        };
        target.map(|target| merge(target, row, lanes)).is_some()
    }

    /// One line for the watchdog's report: who holds a section.
    pub(super) fn describe(&self) -> String {
        let holders = self.warps.iter().enumerate().filter_map(|(slot, warp)| {
            let section = warp.section?;
            Some(format!(" warp slot {slot} section {section} (lanes {:#x})", warp.lanes))
        });
        let holders: Vec<String> = holders.collect();
        format!("{} of {} sections taken:{}", holders.len(), self.sections.len(), holders.join(","))
    }
}

/// What tests look at, and damage.
#[cfg(test)]
impl Pool {
    /// Number of taken sections.
    pub(super) fn taken(&self) -> u32 {
        self.warps.iter().filter(|warp| warp.section.is_some()).count() as u32
    }

    /// Gives every warp with a section the first one.
    pub(super) fn share_sections(&mut self) {
        self.warps.iter_mut().for_each(|warp| warp.section = warp.section.map(|_| 0));
    }

    /// Takes lanes out of the status of every warp.
    pub(super) fn forget_lanes(&mut self, lanes: u32) {
        self.warps.iter_mut().for_each(|warp| warp.lanes &= !lanes);
    }

    /// Takes every section from its warp.
    pub(super) fn take_sections(&mut self) {
        self.warps.iter_mut().for_each(|warp| warp.section = None);
    }

    /// Exchanges two lanes of every register of the base sets.
    pub(super) fn swap_lanes(&mut self) {
        self.warps.iter_mut().flat_map(|warp| &mut warp.base).for_each(|row| row.0.swap(3, 4));
    }
}
