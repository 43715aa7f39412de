//! Physical registers that results reserve, where resident blocks have more registers than the file ([`super::admission`]): who holds
//! how many, and which results have to wait.

use crate::throttle::{Stall, Throttle};
use warplab_technique::config::{GpuConfig, SmLimits};
use warplab_technique::program::RegSet;

/// Results of a warp.
#[derive(Clone, Debug, Default)]
struct Results {
    block_slot: usize,
    /// Destinations of instructions in flight.
    on_the_way: RegSet,
    /// Those with a reserved physical register.
    reserved: RegSet,
}

/// Physical registers of an SM that are reserved for results or belong to blocks.
#[derive(Clone, Debug)]
pub(super) struct Reservations {
    pub(super) throttle: Throttle,
    warps: Vec<Results>,
    /// The block slot whose registers alone are mapped to each physical register in use.
    owners: Vec<Option<u8>>,
    /// Physical registers of the file.
    physical: u32,
    reserved: u64,
}

impl Reservations {
    /// Nothing is reserved in a file of so many physical registers.
    pub(super) fn new(physical: u32, demand: u32, limits: &SmLimits) -> Reservations {
        Reservations {
            throttle: Throttle::new(physical, demand, limits.max_blocks as usize),
            warps: vec![Results::default(); limits.max_warps as usize],
            owners: vec![None; physical as usize],
            physical,
            reserved: 0,
        }
    }

    /// Bits that they take besides one in each entry of the renaming table: the owner of each physical register, or none,
    /// and how many each block holds and are free.
    pub(super) fn bits(config: &GpuConfig) -> u64 {
        let bits = |most: u32| u64::from(u32::BITS - most.leading_zeros());
        let (physical, blocks) = (config.sm.registers / 32, config.sm.max_blocks);
        u64::from(physical) * bits(blocks) + (u64::from(blocks) + 1) * bits(physical)
    }

    /// Physical registers of the file.
    pub(super) fn physical(&self) -> u32 {
        self.physical
    }

    /// Physical registers that results on their way have reserved.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// A warp begins.
    pub(super) fn start(&mut self, slot: usize, block_slot: usize) {
        self.warps[slot] = Results { block_slot, ..Results::default() };
    }

    /// Destinations of a warp's instructions in flight.
    pub(super) fn on_the_way(&self, slot: usize) -> &RegSet {
        &self.warps[slot].on_the_way
    }

    /// Whether a physical register is reserved for a register's result.
    pub(super) fn has(&self, slot: usize, reg: u8) -> bool {
        self.warps[slot].reserved.contains(reg)
    }

    /// Whether results of a block may reserve so many physical registers, or why they have to wait.
    pub(super) fn may_reserve(&self, block_slot: usize, count: u32) -> Result<(), Stall> {
        self.throttle.may_take(block_slot, count)
    }

    /// Reserves a physical register for a register's result.
    pub(super) fn reserve(&mut self, slot: usize, reg: u8) {
        let own = &mut self.warps[slot];
        own.reserved.insert(reg);
        self.throttle.take(own.block_slot, 1);
        self.reserved += 1;
    }

    /// The result of a register is on its way.
    pub(super) fn send(&mut self, slot: usize, reg: u8) {
        self.warps[slot].on_the_way.insert(reg);
    }

    /// The result of a register has arrived, or there is none.
    pub(super) fn settle(&mut self, slot: usize, reg: u8) {
        self.warps[slot].on_the_way.remove(reg);
        self.give_back(slot, reg);
    }

    /// A register needs the physical register no more that is reserved for its result, if there is one.
    pub(super) fn give_back(&mut self, slot: usize, reg: u8) {
        if self.has(slot, reg) {
            self.use_up(slot, reg);
            self.throttle.give_back(self.warps[slot].block_slot, 1);
        }
    }

    /// A register's reservation has become a physical register, which its block alone uses.
    pub(super) fn allocated(&mut self, slot: usize, reg: u8, physical: usize) {
        self.use_up(slot, reg);
        self.owners[physical] = Some(self.warps[slot].block_slot as u8);
    }

    fn use_up(&mut self, slot: usize, reg: u8) {
        self.warps[slot].reserved.remove(reg);
        self.reserved -= 1;
    }

    /// A register of a warp is mapped to a physical register in use.
    pub(super) fn shared(&mut self, slot: usize, physical: usize) {
        let owner = &mut self.owners[physical];
        if owner.is_some_and(|owner| usize::from(owner) != self.warps[slot].block_slot) {
            let lender = owner.take().map_or(0, usize::from);
            self.throttle.lend(lender);
        }
    }

    /// A physical register has this warp's register as its only sharer, which overwrites it.
    pub(super) fn overwritten(&mut self, slot: usize, reg: u8, physical: usize) {
        let block_slot = self.warps[slot].block_slot;
        let owner = &mut self.owners[physical];
        if owner.replace(block_slot as u8).is_none() {
            self.throttle.adopt(block_slot);
        }
        self.give_back(slot, reg);
    }

    /// A physical register has no sharer any more.
    pub(super) fn freed(&mut self, physical: usize) {
        match self.owners[physical].take() {
            Some(owner) => self.throttle.give_back(usize::from(owner), 1),
            None => self.throttle.free_lent(),
        }
    }

    /// A warp has ended: its reservations end.
    pub(super) fn end(&mut self, slot: usize) {
        for reg in self.warps[slot].reserved.iter() {
            self.give_back(slot, reg);
        }
        self.warps[slot].on_the_way = RegSet::default();
    }

    /// Checks that what blocks hold and what is free makes up the file.
    #[cfg(test)]
    pub(super) fn verify(&self, in_use: u64) {
        let reserved: usize = self.warps.iter().map(|warp| warp.reserved.len()).sum();
        assert_eq!(self.reserved, reserved as u64);
        assert_eq!(u64::from(self.throttle.free()) + self.reserved + in_use, u64::from(self.physical));
        for (block, held) in self.throttle.held().iter().enumerate() {
            let own =
                self.owners.iter().filter(|owner| owner.is_some_and(|owner| usize::from(owner) == block));
            let of_block = self.warps.iter().filter(|warp| warp.block_slot == block);
            let reserved: usize = of_block.map(|warp| warp.reserved.len()).sum();
            assert_eq!(*held as usize, own.count() + reserved, "block slot {block}");
        }
    }
}
