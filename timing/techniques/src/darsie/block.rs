//! A thread block's part of the hardware: its skip table, its versions of registers, and the path that most of its
//! warps take (DARSIE, section 4.3).

use std::collections::HashMap;
use warplab_technique::Row;
use warplab_technique::program::MAX_DST;

/// A version of a register, by its physical register of the block.
pub(super) type VersionId = u16;

/// A register as the leader of one instruction wrote it.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The value, once it is written.
    pub row: Row,
    /// Bank of its physical register.
    pub bank: u8,
    /// Warps that read it, skipped instructions and its write on their way, and the entry of the skip table.
    uses: u32,
}

/// The versions of an instruction's destination registers, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Versions {
    ids: [VersionId; MAX_DST],
    count: u8,
}

impl Versions {
    /// The versions.
    #[inline]
    pub(super) fn as_slice(&self) -> &[VersionId] {
        &self.ids[..usize::from(self.count)]
    }
}

/// What the leader of an instruction leaves for its followers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// Versions of its destination registers; none if its guard was false.
    pub versions: Versions,
    /// Lanes in which its destination predicates are true, in their order.
    pub predicates: [u32; 2],
}

/// An entry of the skip table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Number of the entry, never used again.
    id: u64,
    pc: u32,
    /// How often its leader had executed or skipped the instruction before.
    instance: u32,
    /// Whether the leader has written its results.
    pub written: bool,
    is_load: bool,
    /// Whether the load may see what other blocks store.
    is_global: bool,
    /// Warps that have not passed the instruction.
    waiting: u64,
    /// Whether all warps of the path meet at the instruction before they go on, because its results took the last
    /// physical register.
    pub gathers: bool,
    /// Those that have come.
    pub gathered: u64,
    pub shared: Shared,
}

impl Entry {
    /// An entry that no warp has, for an instance of an instruction; of a load, whether other blocks may store what it
    /// loads.
    pub(super) fn new(pc: u32, instance: u32, load: Option<bool>) -> Entry {
        Entry {
            id: 0,
            pc,
            instance,
            written: false,
            is_load: load.is_some(),
            is_global: load == Some(true),
            waiting: 0,
            gathers: false,
            gathered: 0,
            shared: Shared::default(),
        }
    }

    /// The instruction and its instance.
    #[inline]
    pub(super) fn of(&self) -> (u32, u32) {
        (self.pc, self.instance)
    }
}

/// Why an instruction had a leader before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// Another instruction took its entry.
    Replaced,
    /// A store, an atomic or a fence took a load's entry.
    Stored,
}

/// A warp's outcome of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Taken,
    NotTaken,
    /// Its lanes part.
    Diverged,
}

/// The physical registers of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    pub count: u32,
    /// Bank of the first one before it is taken modulo the number of banks.
    pub first: u32,
    pub banks: u32,
}

/// The state of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    entries: Vec<Entry>,
    next_id: u64,
    /// The physical registers that have been in use, and which of them are free.
    versions: Vec<Version>,
    free: Vec<VersionId>,
    /// The physical registers that there are; the others take no memory here.
    registers: Registers,
    /// Entries that were removed before all warps had passed, by instruction, with their instance.
    removed: HashMap<u32, (u32, Removed)>,
    /// Warps that have threads and have not ended.
    pub live: u64,
    /// Warps whose lanes are all threads: others cannot share.
    pub whole: u64,
    /// Warps on the path of the majority.
    pub on_path: u64,
    /// Warps that wait at a branch, and their outcomes.
    arrived: u64,
    taken: u64,
    diverged: u64,
    /// Warps that may pass the branch at which they wait.
    pub released: u64,
    /// Warps at a barrier of the block, and those of them with all of their lanes.
    at_barrier: u64,
    whole_at_barrier: u64,
    /// The barrier at which the first of them is.
    barrier: u32,
    /// Outcome of the first warp at each branch and instance, if branches do not synchronise.
    first_outcomes: HashMap<(u32, u32), Outcome>,
    /// Slot of each warp of the block in the SM.
    pub slots: Vec<usize>,
}

impl Block {
    /// A block's state before its first instruction.
    pub(super) fn begin(&mut self, warps: u64, whole: u64, registers: Registers) {
        let mut kept = std::mem::take(self);
        kept.entries.clear();
        kept.versions.clear();
        kept.free.clear();
        *self = Block {
            entries: kept.entries,
            next_id: kept.next_id,
            versions: kept.versions,
            free: kept.free,
            registers,
            live: warps,
            whole,
            on_path: whole,
            slots: vec![0; 64],
            ..Block::default()
        };
    }

    /// Physical registers that no version has.
    fn free_registers(&self) -> usize {
        self.registers.count as usize - self.registers_in_use()
    }

    /// Takes a physical register: the one that became free last, else the next that has not been in use.
    fn take_register(&mut self) -> VersionId {
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = self.versions.len() as u32;
        let bank = ((self.registers.first + id) % self.registers.banks) as u8;
        self.versions.push(Version { row: Row::ZERO, bank, uses: 0 });
        id as VersionId
    }

    /// The entry of an instance of an instruction.
    #[inline]
    pub(super) fn find(&self, pc: u32, instance: u32) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.pc == pc && entry.instance == instance)
    }

    /// Notes that the leader of an entry has executed, with its destination predicates; without results if its guard was
    /// false in every lane.
    pub(super) fn written(&mut self, id: u64, predicates: Option<[u32; 2]>) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) else { return };
        entry.written = true;
        match predicates {
            Some(predicates) => entry.shared.predicates = predicates,
            None => {
                let unused = std::mem::take(&mut entry.shared.versions);
                self.drop_uses(unused);
            }
        }
    }

    /// The entry with a number, unless it has been removed.
    #[inline]
    pub(super) fn by_id(&self, id: u64) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Whether an instance had an entry that was removed too early.
    pub(super) fn was_removed(&self, pc: u32, instance: u32) -> Option<Removed> {
        self.removed.get(&pc).filter(|(of, _)| *of == instance).map(|(_, why)| *why)
    }

    /// Makes a warp the leader of an instruction; returns the entry's number, or nothing if there are too few physical
    /// registers for its results. With `sync`, the instruction that takes the last one gathers the warps of the path.
    pub(super) fn lead(
        &mut self,
        warp: u32,
        of: Entry,
        results: usize,
        room: usize,
        sync: bool,
    ) -> Option<u64> {
        if self.free_registers() < results {
            return None;
        }
        let waiting = self.on_path & !(1 << warp);
        if waiting == 0 {
            return None;
        }
        if self.entries.len() == room {
            self.remove_at(0, Some(Removed::Replaced));
        }
        let mut versions = Versions::default();
        for _ in 0..results {
            let id = self.take_register();
            // The leader's, and the entry's.
            self.versions[usize::from(id)].uses = 2;
            versions.ids[usize::from(versions.count)] = id;
            versions.count += 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        let shared = Shared { versions, ..Shared::default() };
        let gathers = sync && results > 0 && self.free_registers() == 0;
        self.entries.push(Entry { id, waiting, gathers, gathered: 1 << warp, shared, ..of });
        Some(id)
    }

    /// A warp has come to an instruction that gathers the warps of the path.
    pub(super) fn gather(&mut self, warp: u32, pc: u32, instance: u32) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.of() == (pc, instance)) {
            entry.gathered |= 1 << warp;
        }
    }

    /// A warp passes an instruction that another one has executed: what it left.
    pub(super) fn follow(&mut self, warp: u32, pc: u32, instance: u32) -> Option<Shared> {
        let at = self.entries.iter().position(|entry| entry.pc == pc && entry.instance == instance)?;
        let shared = self.entries[at].shared;
        for version in shared.versions.as_slice() {
            self.versions[usize::from(*version)].uses += 1;
        }
        self.passed(at, warp);
        Some(shared)
    }

    fn passed(&mut self, at: usize, warp: u32) {
        self.entries[at].waiting &= !(1 << warp);
        if self.entries[at].waiting == 0 {
            self.remove_at(at, None);
        }
    }

    fn remove_at(&mut self, at: usize, why: Option<Removed>) {
        let entry = self.entries.remove(at);
        if let Some(why) = why {
            self.removed.insert(entry.pc, (entry.instance, why));
        }
        self.drop_uses(entry.shared.versions);
    }

    /// Removes an entry whose leader does not execute its instruction.
    pub(super) fn cancel(&mut self, id: u64) {
        if let Some(at) = self.entries.iter().position(|entry| entry.id == id) {
            self.remove_at(at, None);
        }
    }

    /// Removes the entries of loads, or of global loads alone.
    pub(super) fn forget_loads(&mut self, global_only: bool) -> u64 {
        let mut removed = 0;
        for at in (0..self.entries.len()).rev() {
            let entry = &self.entries[at];
            if entry.is_load && (entry.is_global || !global_only) {
                self.remove_at(at, Some(Removed::Stored));
                removed += 1;
            }
        }
        removed
    }

    /// A version.
    #[inline]
    pub(super) fn version(&self, id: VersionId) -> &Version {
        &self.versions[usize::from(id)]
    }

    /// Writes a version.
    pub(super) fn write(&mut self, id: VersionId, row: &Row) {
        self.versions[usize::from(id)].row = *row;
    }

    /// Physical registers that have been in use.
    #[cfg(test)]
    pub(super) fn registers_used(&self) -> VersionId {
        self.versions.len() as VersionId
    }

    /// Begins one more use of each of some versions.
    pub(super) fn add_uses(&mut self, versions: Versions) {
        versions.as_slice().iter().for_each(|version| self.versions[usize::from(*version)].uses += 1);
    }

    /// Ends one use of a version; its register is free after the last one.
    pub(super) fn drop_use(&mut self, id: VersionId) {
        let version = &mut self.versions[usize::from(id)];
        version.uses -= 1;
        if version.uses == 0 {
            self.free.push(id);
        }
    }

    /// Ends one use of each of some versions.
    pub(super) fn drop_uses(&mut self, versions: Versions) {
        versions.as_slice().iter().for_each(|version| self.drop_use(*version));
    }

    /// Physical registers in use.
    pub(super) fn registers_in_use(&self) -> usize {
        self.versions.len() - self.free.len()
    }

    /// Entries in use.
    pub(super) fn entries_in_use(&self) -> usize {
        self.entries.len()
    }

    /// Whether all warps of the path but this one wait at its branch.
    #[inline]
    pub(super) fn completes_branch(&self, warp: u32) -> bool {
        (self.arrived | 1 << warp) & self.on_path == self.on_path
    }

    /// Notes that a warp waits at a branch.
    pub(super) fn arrive(&mut self, warp: u32, outcome: Outcome) {
        let bit = 1 << warp;
        self.arrived |= bit;
        self.taken = self.taken & !bit | if outcome == Outcome::Taken { bit } else { 0 };
        self.diverged = self.diverged & !bit | if outcome == Outcome::Diverged { bit } else { 0 };
    }

    /// All warps of the path are at the branch: the majority stays on the path, with equal numbers the side of the first
    /// warp. Returns those that leave it; the branch opens.
    pub(super) fn decide(&mut self, last: u32) -> u64 {
        let here = self.arrived & self.on_path;
        let taken = here & self.taken & !self.diverged;
        let not = here & !self.taken & !self.diverged;
        let takes = match taken.count_ones().cmp(&not.count_ones()) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => taken.trailing_zeros() < not.trailing_zeros(),
        };
        let stay = if takes { taken } else { not };
        self.released = self.arrived & !(1 << last);
        (self.arrived, self.taken, self.diverged) = (0, 0, 0);
        here & !stay
    }

    /// The outcome of the first warp that came to an instance of a branch.
    pub(super) fn first_outcome(&mut self, pc: u32, instance: u32, own: Outcome) -> Outcome {
        *self.first_outcomes.entry((pc, instance)).or_insert(own)
    }

    /// Takes warps off the path.
    pub(super) fn leave(&mut self, warps: u64) {
        self.on_path &= !warps;
        for at in (0..self.entries.len()).rev() {
            self.entries[at].waiting &= !warps;
            if self.entries[at].waiting == 0 {
                self.remove_at(at, None);
            }
        }
    }

    /// A warp has come to a barrier of the whole block; returns whether it was the last one.
    pub(super) fn reach_barrier(&mut self, warp: u32, pc: u32, with_all_lanes: bool) -> bool {
        if self.at_barrier == 0 {
            self.barrier = pc;
        }
        self.at_barrier |= 1 << warp;
        self.whole_at_barrier |= u64::from(with_all_lanes && pc == self.barrier) << warp;
        self.opens_barrier()
    }

    /// Whether a warp waits at a barrier with all of its lanes.
    #[inline]
    pub(super) fn is_whole_at_barrier(&self, warp: u32) -> bool {
        self.whole_at_barrier >> warp & 1 != 0
    }

    /// If every warp is at a barrier, those at the same one with all of their lanes are on the path again.
    pub(super) fn opens_barrier(&mut self) -> bool {
        if self.at_barrier == 0 || self.at_barrier & self.live != self.live {
            return false;
        }
        while !self.entries.is_empty() {
            self.remove_at(0, None);
        }
        self.removed.clear();
        self.first_outcomes.clear();
        self.on_path = self.live & self.whole & self.whole_at_barrier;
        (self.at_barrier, self.whole_at_barrier) = (0, 0);
        true
    }

    /// A warp has ended.
    pub(super) fn end(&mut self, warp: u32) {
        self.live &= !(1 << warp);
        self.arrived &= !(1 << warp);
        self.released &= !(1 << warp);
        self.leave(1 << warp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(warps: u32, registers: u32) -> Block {
        let mut block = Block::default();
        let all = (1 << warps) - 1;
        block.begin(all, all, Registers { count: registers, first: 0, banks: 256 });
        block
    }

    fn entry(pc: u32, instance: u32) -> Entry {
        Entry::new(pc, instance, None)
    }

    #[test]
    fn an_entry_ends_when_every_other_warp_has_passed() {
        let mut block = block(3, 4);
        block.lead(1, entry(5, 0), 1, 8, false).expect("a register is free");
        assert!(block.find(5, 0).is_some() && block.find(5, 1).is_none());
        let shared = block.follow(0, 5, 0).expect("found");
        let [version] = *shared.versions.as_slice() else { panic!("one result") };
        block.follow(2, 5, 0).expect("found");
        assert!(block.find(5, 0).is_none());
        assert_eq!(block.registers_in_use(), 1, "three warps read it");
        (0..3).for_each(|_| block.drop_use(version));
        assert_eq!(block.registers_in_use(), 0);
    }

    #[test]
    fn a_full_table_gives_up_its_oldest_entry() {
        let mut block = block(2, 4);
        block.lead(0, entry(1, 0), 1, 2, false);
        block.lead(0, entry(2, 0), 1, 2, false);
        block.lead(0, entry(3, 0), 1, 2, false);
        assert!(block.find(1, 0).is_none() && block.find(2, 0).is_some());
        assert_eq!(block.was_removed(1, 0), Some(Removed::Replaced));
        assert_eq!(block.entries_in_use(), 2);
        assert!(block.lead(0, entry(4, 0), 2, 2, false).is_none(), "one register is free");
    }

    #[test]
    fn the_majority_stays_and_equal_numbers_go_with_the_first_warp() {
        use Outcome::{Diverged, NotTaken, Taken};
        let leavers = |outcomes: &[Outcome]| {
            let mut block = block(outcomes.len() as u32, 0);
            let last = outcomes.len() as u32 - 1;
            for (warp, outcome) in outcomes.iter().enumerate() {
                assert_eq!(block.completes_branch(warp as u32), warp as u32 == last);
                block.arrive(warp as u32, *outcome);
            }
            let leavers = block.decide(last);
            assert_eq!(block.released, (1 << last) - 1, "the others may pass");
            leavers
        };
        assert_eq!(leavers(&[Taken, NotTaken, Taken]), 0b010);
        assert_eq!(leavers(&[NotTaken, Taken, Diverged]), 0b110);
        assert_eq!(leavers(&[Diverged, Diverged]), 0b11);
        assert_eq!(leavers(&[Taken, Taken]), 0);
    }

    #[test]
    fn a_barrier_of_all_warps_puts_them_on_the_path_again() {
        let mut block = block(3, 2);
        block.lead(0, entry(1, 0), 1, 8, false);
        block.leave(0b110);
        assert!(block.find(1, 0).is_none(), "nobody follows");
        assert!(!block.reach_barrier(0, 9, true) && !block.reach_barrier(1, 9, true));
        block.end(2);
        assert!(block.opens_barrier());
        assert_eq!(block.on_path, 0b011);
        assert!(!block.reach_barrier(0, 9, true) && block.reach_barrier(1, 9, false));
        assert_eq!(block.on_path, 0b001, "warp 1 comes without some lanes");
    }

    proptest! {
        /// Uses and registers balance: what is led, followed and dropped frees every register.
        #[test]
        fn no_register_is_lost(steps in prop::collection::vec((0u32..4, 0u32..6, 0u8..4), 0..200), room in 1usize..6) {
            let mut block = block(4, 5);
            let mut held: Vec<VersionId> = Vec::new();
            for (warp, pc, what) in steps {
                match what {
                    0 => {
                        if block.find(pc, 0).is_none()
                            && let Some(id) = block.lead(warp, entry(pc, 0), 1, room, false)
                        {
                            held.extend(block.by_id(id).expect("new").shared.versions.as_slice());
                        }
                    }
                    1 => {
                        if let Some(shared) = block.follow(warp, pc, 0) {
                            held.extend(shared.versions.as_slice());
                        }
                    }
                    2 => drop(block.forget_loads(false)),
                    _ => {
                        if let Some(version) = held.pop() {
                            block.drop_use(version);
                        }
                    }
                }
                prop_assert!(block.entries_in_use() <= room);
                prop_assert!(block.registers_in_use() <= held.len() + block.entries_in_use());
            }
            held.iter().for_each(|version| block.drop_use(*version));
            block.leave(0b1111);
            prop_assert_eq!(block.registers_in_use(), 0);
        }
    }
}
