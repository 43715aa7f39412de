//! Device memory: named allocations at fixed guest addresses.
//!
//! Addresses are assigned in order with gaps between the allocations, so that an access past an end is in no
//! allocation and is reported with the nearest one. An allocation keeps its number as long as it exists; an
//! index maps addresses to allocations, so that a hundred thousand allocations cost hardly more than ten.

use super::heap::Heap;
use super::lanes::{Addresses, Survey, survey};
use super::storage::Storage;
use crate::texture::ObjectTable;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Guest address of the first allocation.
pub const GLOBAL_BASE: u64 = 0x7F00_0000_0000;
/// Every allocation starts at a multiple of this, as `cudaMalloc` promises.
const ALIGNMENT: u64 = 512;
/// Pages of GPUs, the unit in which they check addresses.
pub const PAGE_BYTES: u64 = 2 << 20;
/// Unused addresses behind every allocation, bytes.
const GAP: u64 = 64 << 10;

/// Number of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AllocationId(pub usize);

/// A piece of device memory.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// Name in reports: a buffer of the manifest or a variable of the module.
    pub name: String,
    /// Guest address of the first byte.
    pub base: u64,
    /// Length in bytes, also while `bytes` are lent out.
    pub len: u64,
    /// Contents; empty while they are lent out.
    pub bytes: Storage,
    /// Equal for all allocations that map the same bytes at several addresses; 0 for bytes with one address.
    pub twins: u64,
    /// Whether listings omit it, because it maps the bytes of a listed allocation.
    pub alias: bool,
}

impl Allocation {
    fn nameless(base: u64, len: u64) -> Allocation {
        Allocation { name: String::new(), base, len, bytes: Storage::default(), twins: 0, alias: false }
    }

    /// One past the last guest address.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base + self.len
    }

    /// Whether the contents are elsewhere for the moment.
    #[inline]
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.bytes.len() as u64 != self.len
    }

    /// Whether an access of `width` bytes lies inside.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, address: u64, width: u64) -> bool {
        address >= self.base && self.len >= width && address - self.base <= self.len - width
    }

    /// Surveys accesses of `width` bytes.
    #[inline(always)]
    #[must_use]
    pub fn survey(&self, at: &Addresses, width: u64) -> Survey {
        survey(at, self.base, self.len, width)
    }
}

/// The allocation nearest to an address that lies in none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nearest {
    /// Name of the allocation.
    pub name: String,
    /// First address.
    pub base: u64,
    /// Length in bytes.
    pub len: u64,
    /// Distance in bytes: from the last byte when positive, before the first when negative.
    pub distance: i64,
}

/// All device memory of a session.
#[derive(Clone, Debug, Default)]
pub struct GlobalMemory {
    /// By number; those that are free hold no bytes.
    slots: Vec<Allocation>,
    free: Vec<u32>,
    /// Numbers by address.
    index: BTreeMap<u64, u32>,
    /// Allocations that show the same bytes.
    twins: BTreeMap<u64, Vec<AllocationId>>,
    stamp: u64,
    objects: Arc<ObjectTable>,
    heap: Option<Heap>,
    /// Addresses below are taken although no allocation may be there.
    taken_below: u64,
}

impl GlobalMemory {
    /// No allocations.
    #[must_use]
    pub fn new() -> GlobalMemory {
        GlobalMemory::default()
    }

    /// Adds an allocation with these contents behind all others.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> AllocationId {
        self.allocate_within(name, bytes, 0)
    }

    /// The same, where later allocations leave `span` bytes free from its beginning on, if it is shorter.
    pub fn allocate_within(&mut self, name: impl Into<String>, bytes: Vec<u8>, span: u64) -> AllocationId {
        let last = self.allocations().next_back();
        let base =
            last.map_or(GLOBAL_BASE, |a| (a.end().max(self.taken_below) + GAP).next_multiple_of(ALIGNMENT));
        self.taken_below = self.taken_below.max(base + span);
        self.insert(name, base, bytes.into())
    }

    /// Makes room for device `malloc`, if there is none yet; false when there is not so much memory.
    #[must_use]
    pub fn reserve_heap(&mut self, bytes: u64) -> bool {
        if self.heap.is_none() {
            let Some(zeros) = zeroed(bytes) else { return false };
            let id = self.allocate("device heap", zeros);
            self.heap = Some(Heap::new(self.allocation(id).base, bytes));
        }
        true
    }

    /// Makes an allocation, of which the caller gives address and size, the heap of device `malloc`.
    pub fn adopt_heap(&mut self, base: u64, bytes: u64) {
        self.heap = Some(Heap::new(base, bytes));
    }

    /// The heap of device `malloc`, to look at.
    #[must_use]
    pub fn heap(&self) -> Option<&Heap> {
        self.heap.as_ref()
    }

    /// The heap of device `malloc`.
    pub fn heap_mut(&mut self) -> Option<&mut Heap> {
        self.heap.as_mut()
    }

    /// Texture and surface objects, whose resources lie in these allocations.
    #[must_use]
    pub fn objects(&self) -> &ObjectTable {
        &self.objects
    }

    /// The same, to create and destroy objects between launches.
    pub fn objects_mut(&mut self) -> &mut ObjectTable {
        Arc::make_mut(&mut self.objects)
    }

    /// The objects as a launch keeps them.
    pub(crate) fn shared_objects(&self) -> Arc<ObjectTable> {
        Arc::clone(&self.objects)
    }

    /// Adds memory at an address where no allocation is.
    ///
    /// # Panics
    /// Panics when it overlaps another allocation.
    pub fn insert(&mut self, name: impl Into<String>, base: u64, bytes: Storage) -> AllocationId {
        self.insert_twin(name, base, bytes, 0)
    }

    /// Adds memory whose bytes others show too, namely all allocations with the same number of `twins`, unless that
    /// is 0.
    ///
    /// # Panics
    /// Panics when it overlaps another allocation.
    pub fn insert_twin(
        &mut self,
        name: impl Into<String>,
        base: u64,
        bytes: Storage,
        twins: u64,
    ) -> AllocationId {
        let len = bytes.len() as u64;
        let before = self.before(base).map(|a| self.slots[a].end());
        let after = self.index.range(base..).next().map(|(&next, _)| next);
        assert!(
            before.is_none_or(|end| end <= base)
                && after.is_none_or(|next| next != base && base + len <= next),
            "allocations overlap"
        );
        let allocation = Allocation { name: name.into(), base, len, bytes, twins, alias: false };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = allocation;
                slot
            }
            None => {
                self.slots.push(allocation);
                (self.slots.len() - 1) as u32
            }
        };
        self.index.insert(base, slot);
        let id = AllocationId(slot as usize);
        if twins != 0 {
            self.twins.entry(twins).or_default().push(id);
        }
        self.touch();
        id
    }

    /// Takes the allocation away that begins at an address.
    pub fn remove(&mut self, base: u64) -> Option<Allocation> {
        let slot = self.index.remove(&base)?;
        let removed = std::mem::replace(self.slots.get_mut(slot as usize)?, Allocation::nameless(0, 0));
        self.free.push(slot);
        if let Some(all) = self.twins.get_mut(&removed.twins) {
            all.retain(|id| id.0 != slot as usize);
            if all.is_empty() {
                self.twins.remove(&removed.twins);
            }
        }
        self.touch();
        Some(removed)
    }

    /// Leaves an allocation out of listings.
    pub fn make_alias(&mut self, id: AllocationId) {
        self.allocation_mut(id).alias = true;
        self.touch();
    }

    fn touch(&mut self) {
        static STAMPS: AtomicU64 = AtomicU64::new(0);
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed) + 1;
    }

    /// A number that changes whenever the allocations change.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// All allocations that show the bytes of one, itself among them; none when they have one address.
    #[must_use]
    pub fn twins(&self, id: AllocationId) -> &[AllocationId] {
        let twins = self.slots.get(id.0).map_or(0, |a| a.twins);
        if twins == 0 { &[] } else { self.twins.get(&twins).map_or(&[], Vec::as_slice) }
    }

    /// Copies bytes of one allocation by address; false when they are not all inside of one.
    #[must_use]
    pub fn read(&self, address: u64, to: &mut [u8]) -> bool {
        let Some(id) = self.find(address, to.len() as u64) else { return false };
        let a = self.allocation(id);
        a.bytes.read((address - a.base) as usize, to)
    }

    /// A copy of bytes of one allocation by address.
    #[must_use]
    pub fn bytes(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        self.find(address, length)?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.read(address, &mut bytes).then_some(bytes)
    }

    /// Changes bytes of one allocation by address; false when they are not all inside of one.
    #[must_use]
    pub fn write(&mut self, address: u64, from: &[u8]) -> bool {
        let Some(id) = self.find(address, from.len() as u64) else { return false };
        let a = self.allocation_mut(id);
        a.bytes.write((address - a.base) as usize, from)
    }

    /// The allocations, ascending by address.
    pub fn allocations(&self) -> impl ExactSizeIterator<Item = &Allocation> + DoubleEndedIterator {
        self.index.values().map(|&slot| &self.slots[slot as usize])
    }

    /// One more than the greatest number of an allocation.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// An allocation.
    #[inline]
    #[must_use]
    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.slots[id.0]
    }

    #[inline(always)]
    pub(crate) fn slot(&self, slot: usize) -> Option<&Allocation> {
        self.slots.get(slot)
    }

    #[inline(always)]
    pub(crate) fn slot_mut(&mut self, slot: usize) -> Option<&mut Allocation> {
        self.slots.get_mut(slot)
    }

    #[inline]
    pub(crate) fn allocation_mut(&mut self, id: AllocationId) -> &mut Allocation {
        &mut self.slots[id.0]
    }

    /// The allocation that begins last at or before an address.
    fn before(&self, address: u64) -> Option<usize> {
        self.index.range(..=address).next_back().map(|(_, &slot)| slot as usize)
    }

    /// The allocation that an access of `width` bytes lies in.
    #[must_use]
    pub fn find(&self, address: u64, width: u64) -> Option<AllocationId> {
        let at = self.before(address)?;
        self.slots[at].holds(address, width).then_some(AllocationId(at))
    }

    /// The same, where it probably is the one of a number.
    #[inline(always)]
    pub(crate) fn find_near(&self, hint: usize, address: u64, width: u64) -> Option<AllocationId> {
        if self.slots.get(hint).is_some_and(|a| a.holds(address, width)) {
            return Some(AllocationId(hint));
        }
        self.find(address, width)
    }

    /// Whether an address lies in an allocation or no further from one than a page is long.
    #[must_use]
    pub fn is_near(&self, address: u64) -> bool {
        let inside = |a: &Allocation| a.base <= address && address < a.end();
        let near = |n: &Nearest| n.distance.unsigned_abs() <= PAGE_BYTES;
        self.before(address).is_some_and(|at| inside(&self.slots[at]))
            || self.nearest(address).as_ref().is_some_and(near)
    }

    /// The allocation nearest to an address.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        let below = self.before(address).map(|at| &self.slots[at]);
        let above = self.index.range((Bound::Excluded(address), Bound::Unbounded)).next();
        let above = above.map(|(_, &slot)| &self.slots[slot as usize]);
        let past = |a: &Allocation| address.saturating_sub(a.end().max(1) - 1);
        let of = |a: &Allocation, distance: u64, sign: i64| Nearest {
            name: a.name.clone(),
            base: a.base,
            len: a.len,
            distance: sign * i64::try_from(distance).unwrap_or(i64::MAX),
        };
        match (below, above) {
            (Some(b), Some(a)) if a.base - address < past(b) => Some(of(a, a.base - address, -1)),
            (Some(b), _) => Some(of(b, past(b), 1)),
            (None, Some(a)) => Some(of(a, a.base - address, -1)),
            (None, None) => None,
        }
    }

    /// Moves the contents of these allocations out; threads can then share the rest. The moved allocations
    /// get other numbers.
    pub(crate) fn lend(&mut self, written: impl Iterator<Item = AllocationId>) -> GlobalMemory {
        let mut lent = GlobalMemory::new();
        for id in written {
            let a = self.allocation_mut(id);
            let bytes = std::mem::take(&mut a.bytes);
            let taken = Allocation { bytes, ..Allocation::nameless(a.base, a.len) };
            lent.index.insert(taken.base, lent.slots.len() as u32);
            lent.slots.push(taken);
        }
        lent
    }

    /// Puts back what [`Self::lend`] took.
    pub(crate) fn take_back(&mut self, lent: GlobalMemory) {
        for a in lent.slots {
            if let Some(&slot) = self.index.get(&a.base) {
                self.slots[slot as usize].bytes = a.bytes;
            }
        }
    }
}

/// Zeros that cost no memory before they are written; `None` when there is no room.
pub(crate) fn zeroed(length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok()?;
    // A failed allocation would abort the process.
    Vec::<u8>::new().try_reserve_exact(length).ok()?;
    Some(vec![0; length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_found_in_the_allocation_that_holds_all_their_bytes() {
        let mut memory = GlobalMemory::new();
        let a = memory.allocate("a", vec![0; 100]);
        let b = memory.allocate("b", vec![0; 8]);
        let (base_a, base_b) = (memory.allocation(a).base, memory.allocation(b).base);
        assert_eq!(memory.find(base_a, 4), Some(a));
        assert_eq!(memory.find(base_a + 96, 4), Some(a));
        assert_eq!(memory.find(base_a + 97, 4), None);
        assert_eq!(memory.find(base_b, 8), Some(b));
        assert_eq!(memory.find(base_b, 16), None);
        assert_eq!(memory.find(0, 1), None);
        assert_eq!(memory.find(u64::MAX, 1), None);
    }

    #[test]
    fn memory_comes_and_goes_at_given_addresses() {
        let mut memory = GlobalMemory::new();
        memory.insert("b", 0x2000, vec![2; 16].into());
        memory.insert("a", 0x1000, vec![1; 16].into());
        assert_eq!(memory.bytes(0x1008, 4), Some(vec![1; 4]));
        assert_eq!(memory.bytes(0x100e, 4), None);
        assert!(memory.write(0x2000, &[9, 9]) && !memory.write(0x200f, &[9, 9]));
        assert_eq!(memory.remove(0x2001).map(|a| a.name), None);
        let b = memory.remove(0x2000).unwrap();
        assert_eq!((b.name.as_str(), &b.bytes.contents()[..3]), ("b", &[9, 9, 2][..]));
        assert_eq!(memory.find(0x2000, 1), None);
    }

    #[test]
    fn numbers_stay_and_are_given_again() {
        let mut memory = GlobalMemory::new();
        let b = memory.insert("b", 0x2000, vec![2; 16].into());
        let a = memory.insert("a", 0x1000, vec![1; 16].into());
        let before = memory.stamp();
        assert_eq!((memory.find(0x2000, 4), memory.find_near(a.0, 0x2000, 4)), (Some(b), Some(b)));
        memory.remove(0x2000);
        assert_ne!(memory.stamp(), before);
        assert_eq!(memory.find_near(b.0, 0x2000, 4), None);
        let c = memory.insert("c", 0x500, vec![3; 16].into());
        assert_eq!((c, memory.slots()), (b, 2));
        assert_eq!(memory.allocations().map(|a| a.base).collect::<Vec<_>>(), [0x500, 0x1000]);
    }

    #[test]
    fn twins_are_known_as_long_as_they_live() {
        let mut memory = GlobalMemory::new();
        let ids = [0x1000, 0x2000].map(|base| memory.insert_twin("a", base, vec![0; 16].into(), 7));
        let alone = memory.insert("b", 0x3000, vec![0; 16].into());
        assert_eq!((memory.twins(ids[1]), memory.twins(alone)), (&ids[..], &[][..]));
        memory.remove(0x1000);
        assert_eq!(memory.twins(ids[1]), &ids[1..]);
    }

    #[test]
    #[should_panic(expected = "allocations overlap")]
    fn allocations_do_not_overlap() {
        let mut memory = GlobalMemory::new();
        memory.insert("a", 0x1000, vec![0; 16].into());
        memory.insert("b", 0x100f, vec![0; 1].into());
    }

    #[test]
    fn the_nearest_allocation_is_named_with_its_distance() {
        let mut memory = GlobalMemory::new();
        assert_eq!(memory.nearest(5), None);
        let a = memory.allocate("a", vec![0; 100]);
        let b = memory.allocate("b", vec![0; 8]);
        let (a, b) = (memory.allocation(a).clone(), memory.allocation(b).clone());
        let near = |address| memory.nearest(address).map(|n| (n.name, n.distance)).unwrap();
        assert_eq!(near(a.end()), ("a".into(), 1));
        assert_eq!(near(b.base - 4), ("b".into(), -4));
        assert_eq!(near(0).0, "a");
        assert_eq!(near(u64::MAX).0, "b");
    }
}
