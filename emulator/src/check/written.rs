//! The bytes of an allocation that have been written.

use fixedbitset::FixedBitSet;
use std::ops::Range;

const PAGE_BYTES: usize = 1 << 20;

/// A set of bytes of an allocation. An allocation may be larger than the memory of the computer, so pages without a
/// byte of the set take no space.
pub(super) struct Written {
    pages: Vec<FixedBitSet>,
}

impl Written {
    /// The empty set, for an allocation of a size.
    pub(super) fn none_of(bytes: u64) -> Written {
        let pages = usize::try_from(bytes).unwrap_or(0).div_ceil(PAGE_BYTES);
        Written { pages: vec![FixedBitSet::new(); pages] }
    }

    /// Whether a byte is in the set.
    pub(super) fn contains(&self, byte: usize) -> bool {
        self.pages[byte / PAGE_BYTES].contains(byte % PAGE_BYTES)
    }

    /// Adds some bytes.
    pub(super) fn insert(&mut self, bytes: Range<usize>) {
        for byte in bytes {
            let page = &mut self.pages[byte / PAGE_BYTES];
            page.grow(PAGE_BYTES);
            page.insert(byte % PAGE_BYTES);
        }
    }
}
