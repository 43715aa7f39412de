//! Which warps own the registers that they share with the corresponding warp of the partner block, and the values in both
//! parts of their registers.
//!
//! A lock belongs to two warps of the same number, one of each block of a pair. Its owner keeps it until it ends. All owners
//! of a pair of blocks belong to one of the two: otherwise warps of both could wait for each other, where each block has
//! warps at a barrier that wait for a warp without its lock.

use super::share::Sharing;
use warplab_technique::Row;
use warplab_technique::merge;

/// What a warp may do with the shared part of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// It shares none: all its registers are its own.
    Unshared,
    /// It owns them.
    Owner,
    /// It could own them now.
    Free,
    /// The corresponding warp of the partner block owns them.
    Held,
    /// Another warp of the partner block owns its own, so that this block gets none.
    OtherBlock,
}

/// A warp of the SM.
#[derive(Clone, Debug, Default)]
struct Holder {
    block_slot: usize,
    /// The lock that it may take.
    lock: Option<usize>,
    /// Its registers; without the shared part, if it has a lock.
    rows: Vec<Row>,
}

/// A pair of blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// The block slot of the owners, and their number.
    side: usize,
    owners: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    sharing: Sharing,
    warps_per_block: usize,
    warps: Vec<Holder>,
    pairs: Vec<Pair>,
    /// By lock: the owner's warp slot, and the shared registers.
    owners: Vec<Option<usize>>,
    shared: Vec<Vec<Row>>,
    /// Whether every warp has shared registers to itself; then there is a lock per warp slot.
    ideal: bool,
}

impl Locks {
    /// Free locks for the warps of paired blocks of so many registers.
    pub(super) fn new(
        sharing: Sharing,
        (warps_per_block, slots): (u32, u32),
        registers: u32,
        ideal: bool,
    ) -> Locks {
        let locks = if ideal { slots } else { sharing.further * warps_per_block } as usize;
        let part = registers.saturating_sub(sharing.private) as usize;
        let holder = Holder { rows: vec![Row::ZERO; registers as usize], ..Holder::default() };
        Locks {
            sharing,
            warps_per_block: warps_per_block as usize,
            warps: vec![holder; slots as usize],
            pairs: vec![Pair::default(); sharing.further as usize],
            owners: vec![None; locks],
            shared: vec![vec![Row::ZERO; part]; locks],
            ideal,
        }
    }

    /// The pair of a block slot that shares registers.
    fn pair(&self, block_slot: usize) -> Option<usize> {
        self.sharing.partner(block_slot).map(|partner| partner.min(block_slot))
    }

    /// A warp begins.
    pub(super) fn start(&mut self, slot: usize, block_slot: usize, warp: u32) {
        let lock = self
            .pair(block_slot)
            .map(|pair| if self.ideal { slot } else { pair * self.warps_per_block + warp as usize });
        let holder = &mut self.warps[slot];
        (holder.block_slot, holder.lock) = (block_slot, lock);
        holder.rows.fill(Row::ZERO);
    }

    /// What a warp may do with the shared part of its registers.
    #[inline]
    pub(super) fn right(&self, slot: usize) -> Right {
        let holder = &self.warps[slot];
        let Some(lock) = holder.lock else { return Right::Unshared };
        match self.owners[lock] {
            Some(owner) if owner == slot => Right::Owner,
            Some(_) => Right::Held,
            None if self.ideal => Right::Free,
            None => {
                let pair = self.pairs[lock / self.warps_per_block];
                let free = pair.owners == 0 || pair.side == holder.block_slot;
                if free { Right::Free } else { Right::OtherBlock }
            }
        }
    }

    /// A warp takes its lock.
    pub(super) fn acquire(&mut self, slot: usize) {
        let holder = &self.warps[slot];
        let lock = holder.lock.expect("a warp that shares registers has a lock");
        self.owners[lock] = Some(slot);
        if !self.ideal {
            let pair = &mut self.pairs[lock / self.warps_per_block];
            *pair = Pair { side: holder.block_slot, owners: pair.owners + 1 };
        }
    }

    /// A warp ends; true if it gives its lock back.
    pub(super) fn end(&mut self, slot: usize) -> bool {
        let Some(lock) = self.warps[slot].lock.take() else { return false };
        if self.owners[lock] != Some(slot) {
            return false;
        }
        self.owners[lock] = None;
        if !self.ideal {
            self.pairs[lock / self.warps_per_block].owners -= 1;
        }
        true
    }

    /// Position of a register in the shared part of a warp that shares registers.
    #[inline]
    fn shared_index(&self, slot: usize, register: u8) -> Option<(usize, usize)> {
        let lock = self.warps[slot].lock?;
        Some((lock, usize::from(register).checked_sub(self.sharing.private as usize)?))
    }

    /// The contents of a register; `None` if it is shared and the warp is not its owner.
    #[inline]
    pub(super) fn register(&self, slot: usize, register: u8) -> Option<&Row> {
        match self.shared_index(slot, register) {
            None => self.warps[slot].rows.get(usize::from(register)),
            Some((lock, index)) if self.owners[lock] == Some(slot) => self.shared[lock].get(index),
            Some(_) => None,
        }
    }

    /// Writes a register in some lanes; false if it is shared and the warp is not its owner.
    #[inline]
    pub(super) fn write(&mut self, slot: usize, register: u8, row: &Row, lanes: u32) -> bool {
        let target = match self.shared_index(slot, register) {
            None => self.warps[slot].rows.get_mut(usize::from(register)),
            Some((lock, index)) if self.owners[lock] == Some(slot) => self.shared[lock].get_mut(index),
            Some(_) => None,
        };
        target.map(|target| merge(target, row, lanes)).is_some()
    }

    /// One line for the watchdog's report: who owns shared registers.
    pub(super) fn describe(&self) -> String {
        let owners = self.owners.iter().enumerate().filter_map(|(lock, owner)| {
            owner.map(|slot| {
                format!(" lock {lock} warp slot {slot} block slot {}", self.warps[slot].block_slot)
            })
        });
        let owners: Vec<String> = owners.collect();
        format!("{} of {} locks taken:{}", owners.len(), self.owners.len(), owners.join(","))
    }
}

/// What tests look at, and damage.
#[cfg(test)]
impl Locks {
    /// Number of taken locks.
    pub(super) fn taken(&self) -> usize {
        self.owners.iter().flatten().count()
    }

    /// Gives every warp the lock of another one.
    pub(super) fn exchange_locks(&mut self, step: usize) {
        let count = self.owners.len();
        self.warps.iter_mut().for_each(|warp| warp.lock = warp.lock.map(|lock| (lock + step) % count));
    }

    /// Takes every lock from its owner.
    pub(super) fn take_locks(&mut self) {
        self.owners.fill(None);
        self.pairs.fill(Pair::default());
    }

    /// Makes a warp an owner, whoever owns its lock.
    pub(super) fn seize(&mut self, slot: usize) {
        if let Some(lock) = self.warps[slot].lock {
            self.owners[lock] = Some(slot);
        }
    }

    /// Changes the shared registers.
    pub(super) fn damage_shared(&mut self, change: impl Fn(&mut Row)) {
        self.shared.iter_mut().flatten().for_each(change);
    }

    /// Changes the registers that warps have to themselves.
    pub(super) fn damage_own(&mut self, change: impl Fn(&mut Row)) {
        self.warps.iter_mut().flat_map(|warp| &mut warp.rows).for_each(change);
    }

    /// The shared registers of every lock.
    pub(super) fn contents(&mut self) -> &mut Vec<Vec<Row>> {
        &mut self.shared
    }

    /// Moves the border between private and shared registers.
    pub(super) fn move_border(&mut self, private: u32) {
        self.sharing.private = private;
    }
}
