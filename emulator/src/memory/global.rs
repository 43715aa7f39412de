//! Device memory: named allocations at fixed guest addresses.
//!
//! Addresses are handed out in order with gaps between the allocations, so that an access past an end falls
//! into no allocation and is reported with the nearest one.

use super::heap::Heap;
use super::lanes::{Addresses, Survey, survey};
use super::storage::Storage;
use crate::texture::ObjectTable;
use std::sync::Arc;

/// Guest address of the first allocation.
pub const GLOBAL_BASE: u64 = 0x7F00_0000_0000;
/// Every allocation starts at a multiple of this, as `cudaMalloc` promises.
const ALIGNMENT: u64 = 512;
/// Unused addresses behind every allocation, bytes.
const GAP: u64 = 64 << 10;

/// Index of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocationId(pub usize);

/// A piece of device memory.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// What it is called in reports: a buffer of the manifest or a variable of the module.
    pub name: String,
    /// Guest address of the first byte.
    pub base: u64,
    /// Length in bytes, also while `bytes` are lent out.
    pub len: u64,
    /// Contents; empty while they are lent out.
    pub bytes: Storage,
}

impl Allocation {
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
    allocations: Vec<Allocation>,
    objects: Arc<ObjectTable>,
    heap: Option<Heap>,
}

impl GlobalMemory {
    /// No allocations.
    #[must_use]
    pub fn new() -> GlobalMemory {
        GlobalMemory::default()
    }

    /// Adds an allocation with these contents behind all others.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> AllocationId {
        let base =
            self.allocations.last().map_or(GLOBAL_BASE, |a| (a.end() + GAP).next_multiple_of(ALIGNMENT));
        let len = bytes.len() as u64;
        self.allocations.push(Allocation { name: name.into(), base, len, bytes: bytes.into() });
        AllocationId(self.allocations.len() - 1)
    }

    /// Makes room for device `malloc`, if there is none yet.
    pub fn reserve_heap(&mut self, bytes: u64) {
        if self.heap.is_none() {
            let id = self.allocate("device heap", vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)]);
            self.heap = Some(Heap::new(self.allocation(id).base, bytes));
        }
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

    /// Adds memory at an address where no allocation is; the numbers of those behind it change.
    ///
    /// # Panics
    /// Panics when it overlaps another allocation.
    pub fn insert(&mut self, name: impl Into<String>, base: u64, bytes: Storage) -> AllocationId {
        let len = bytes.len() as u64;
        let at = self.allocations.partition_point(|a| a.base < base);
        let before = at.checked_sub(1).map(|at| self.allocations[at].end());
        let after = self.allocations.get(at).map(|a| a.base);
        assert!(
            before.is_none_or(|end| end <= base) && after.is_none_or(|next| base + len <= next),
            "allocations overlap"
        );
        self.allocations.insert(at, Allocation { name: name.into(), base, len, bytes });
        AllocationId(at)
    }

    /// Takes the allocation away that begins at an address; the numbers of those behind it change.
    pub fn remove(&mut self, base: u64) -> Option<Allocation> {
        let at = self.allocations.binary_search_by_key(&base, |a| a.base).ok()?;
        Some(self.allocations.remove(at))
    }

    /// Bytes of one allocation by address.
    #[must_use]
    pub fn slice(&self, address: u64, length: u64) -> Option<&[u8]> {
        let a = self.allocation(self.find(address, length)?);
        let at = (address - a.base) as usize;
        a.bytes.get(at..at + length as usize)
    }

    /// Bytes of one allocation by address, to change.
    pub fn slice_mut(&mut self, address: u64, length: u64) -> Option<&mut [u8]> {
        let id = self.find(address, length)?;
        let a = self.allocation_mut(id);
        let at = (address - a.base) as usize;
        a.bytes.get_mut(at..at + length as usize)
    }

    /// The allocations, ascending by address.
    #[inline]
    #[must_use]
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// An allocation.
    #[inline]
    #[must_use]
    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.allocations[id.0]
    }

    /// Contents of an allocation, to change.
    pub fn bytes_mut(&mut self, id: AllocationId) -> &mut [u8] {
        &mut self.allocations[id.0].bytes
    }

    #[inline]
    pub(crate) fn allocation_mut(&mut self, id: AllocationId) -> &mut Allocation {
        &mut self.allocations[id.0]
    }

    /// The allocation that an access of `width` bytes lies in.
    #[must_use]
    pub fn find(&self, address: u64, width: u64) -> Option<AllocationId> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let at = after.checked_sub(1)?;
        let a = &self.allocations[at];
        (address - a.base <= a.len.checked_sub(width)?).then_some(AllocationId(at))
    }

    /// The allocation nearest to an address.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let below = after.checked_sub(1).map(|at| &self.allocations[at]);
        let above = self.allocations.get(after);
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

    /// Takes the contents of the allocations that `written` marks; the rest can then be shared by threads.
    pub(crate) fn lend(&mut self, written: &[bool]) -> GlobalMemory {
        let allocations = self.allocations.iter_mut().zip(written).map(|(a, &lend)| {
            let bytes = if lend { std::mem::take(&mut a.bytes) } else { Storage::default() };
            Allocation { name: String::new(), base: a.base, len: a.len, bytes }
        });
        GlobalMemory { allocations: allocations.collect(), objects: Arc::default(), heap: None }
    }

    /// Puts back what [`Self::lend`] took.
    pub(crate) fn take_back(&mut self, lent: GlobalMemory) {
        for (a, l) in self.allocations.iter_mut().zip(lent.allocations) {
            if a.is_lent() {
                a.bytes = l.bytes;
            }
        }
    }
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
        assert_eq!(memory.slice(0x1008, 4), Some(&[1; 4][..]));
        assert_eq!(memory.slice(0x100e, 4), None);
        memory.slice_mut(0x2000, 2).unwrap().fill(9);
        assert_eq!(memory.remove(0x2001).map(|a| a.name), None);
        let b = memory.remove(0x2000).unwrap();
        assert_eq!((b.name.as_str(), &b.bytes[..3]), ("b", &[9, 9, 2][..]));
        assert_eq!(memory.find(0x2000, 1), None);
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
