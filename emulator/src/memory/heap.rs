//! The heap of device `malloc` and `free`: first fit by address, so that addresses depend only on the order
//! of calls.

use std::collections::BTreeMap;

/// Bytes of the heap unless told otherwise, as CUDA has it.
pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;

/// Every block begins at a multiple of this, as CUDA's do.
const ALIGNMENT: u64 = 16;

/// The free and used ranges of one heap; its bytes are an allocation of device memory.
#[derive(Clone, Debug)]
pub struct Heap {
    base: u64,
    /// Free ranges: start and length.
    free: BTreeMap<u64, u64>,
    /// Blocks handed out: start and length.
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// An empty heap at an address.
    #[must_use]
    pub fn new(base: u64, bytes: u64) -> Heap {
        Heap { base, free: BTreeMap::from([(0, bytes)]), used: BTreeMap::new() }
    }

    /// Address of a new block; `None` when none fits.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let length = bytes.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let (&start, &room) = self.free.iter().find(|(_, room)| **room >= length)?;
        self.free.remove(&start);
        if room > length {
            self.free.insert(start + length, room - length);
        }
        self.used.insert(start, length);
        Some(self.base + start)
    }

    /// Whether an address lies in the heap, free or not.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        let Some(at) = address.checked_sub(self.base) else { return false };
        let last = self.free.iter().next_back().max(self.used.iter().next_back());
        last.is_some_and(|(start, length)| at < start + length)
    }

    /// Whether bytes lie in one block that was handed out.
    #[must_use]
    pub fn is_used(&self, address: u64, bytes: u64) -> bool {
        let Some(at) = address.checked_sub(self.base) else { return false };
        let block = self.used.range(..=at).next_back();
        block.is_some_and(|(start, length)| at + bytes <= start + length)
    }

    /// Gives a block back; false when the address is that of none.
    pub fn release(&mut self, address: u64) -> bool {
        let Some(mut start) = address.checked_sub(self.base) else { return false };
        let Some(mut length) = self.used.remove(&start) else { return false };
        if let Some(&room) = self.free.get(&(start + length)) {
            self.free.remove(&(start + length));
            length += room;
        }
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            (start, length) = (before, room + length);
        }
        self.free.insert(start, length);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_found_again_after_release() {
        let mut heap = Heap::new(0x1000, 256);
        let [a, b, c] = [1, 17, 100].map(|n| heap.allocate(n).unwrap());
        assert_eq!([a, b, c], [0x1000, 0x1010, 0x1030]);
        assert_eq!(heap.allocate(97), None);
        assert_eq!(heap.allocate(u64::MAX), None);
        assert!(heap.release(b) && !heap.release(b), "twice");
        assert!(!heap.release(a + 4) && !heap.release(0), "not the start of a block");
        assert_eq!(heap.allocate(33), Some(0x10A0), "the hole is too small");
        assert!(heap.release(a) && heap.release(c));
        assert_eq!(heap.allocate(160), Some(0x1000), "holes join");
    }
}
