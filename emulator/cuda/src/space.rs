//! The address space of device memory: a reserved range of this process, so that a device pointer is a host
//! pointer too, as unified virtual addressing promises.
//!
//! Addresses are the same in every run of a program that allocates the same: the range lies at a fixed place
//! wherever that is free, and places are handed out lowest first. Between allocations stay unmapped pages, so
//! that an access past an end, by a kernel or by the host, is an error and not a neighbour's data.

use crate::error::{Outcome, Status};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::ptr::{NonNull, null_mut};

/// Where the range begins if nothing else is there: far from where Linux puts programs, libraries and stacks.
const PREFERRED_BASE: usize = 0x3000_0000_0000;
/// Addresses reserved; memory is used only for what is allocated.
const RANGE_BYTES: usize = 1 << 41;
/// Allocations start at a multiple of this, at least.
const ALIGNMENT: usize = 512;
/// Large allocations start at a multiple of this.
const LARGE_ALIGNMENT: usize = 2 << 20;
/// Unmapped bytes behind an allocation, at least.
const GUARD_BYTES: usize = 64 << 10;

/// The reserved range and what is allocated in it.
#[derive(Debug)]
pub struct AddressSpace {
    base: usize,
    page: usize,
    /// Start and length in pages' bytes of every allocation, guards included.
    used: BTreeMap<usize, usize>,
}

impl AddressSpace {
    /// Reserves the range.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn reserve() -> Outcome<AddressSpace> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let wish = PREFERRED_BASE as *mut c_void;
        // SAFETY: new mappings are made where no other is; nothing existing is touched.
        let base = unsafe {
            mmap_anonymous(wish, RANGE_BYTES, ProtFlags::empty(), flags | MapFlags::FIXED_NOREPLACE)
                .or_else(|_| mmap_anonymous(null_mut(), RANGE_BYTES, ProtFlags::empty(), flags))
        };
        let base = base.map_err(|_| Status::MEMORY_ALLOCATION)? as usize;
        Ok(AddressSpace { base, page: rustix::param::page_size(), used: BTreeMap::new() })
    }

    /// Whether an address lies in the range, allocated or not.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        usize::try_from(address).is_ok_and(|a| (self.base..self.base + RANGE_BYTES).contains(&a))
    }

    /// Zeroed memory of `bytes` bytes, readable and writable.
    ///
    /// # Errors
    /// When the range or the system's memory is exhausted.
    pub fn allocate(&mut self, bytes: usize) -> Outcome<NonNull<u8>> {
        let mapped = bytes.max(1).checked_next_multiple_of(self.page).ok_or(Status::MEMORY_ALLOCATION)?;
        let length = mapped.checked_add(GUARD_BYTES).ok_or(Status::MEMORY_ALLOCATION)?;
        let alignment = if bytes >= LARGE_ALIGNMENT { LARGE_ALIGNMENT } else { ALIGNMENT.max(self.page) };
        let start = self.gap(length, alignment).ok_or(Status::MEMORY_ALLOCATION)?;
        // SAFETY: the pages belong to the reserved range and to no other allocation.
        unsafe { mprotect(start as *mut c_void, mapped, MprotectFlags::READ | MprotectFlags::WRITE) }
            .map_err(|_| Status::MEMORY_ALLOCATION)?;
        self.used.insert(start, length);
        NonNull::new(start as *mut u8).ok_or(Status::MEMORY_ALLOCATION)
    }

    /// Addresses without memory, at a multiple of 2 MiB.
    ///
    /// # Errors
    /// When the range is exhausted.
    pub fn reserve_range(&mut self, bytes: usize) -> Outcome<NonNull<u8>> {
        let mapped = bytes.checked_next_multiple_of(self.page).ok_or(Status::MEMORY_ALLOCATION)?;
        let length = mapped.checked_add(GUARD_BYTES).ok_or(Status::MEMORY_ALLOCATION)?;
        let start = self.gap(length, LARGE_ALIGNMENT).ok_or(Status::MEMORY_ALLOCATION)?;
        self.used.insert(start, length);
        NonNull::new(start as *mut u8).ok_or(Status::MEMORY_ALLOCATION)
    }

    /// Whether pages lie in the range, which the calls below change.
    fn own(&self, start: usize, bytes: usize) -> Outcome {
        let inside =
            start >= self.base && start.checked_add(bytes).is_some_and(|e| e <= self.base + RANGE_BYTES);
        if inside { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Shows a file's bytes at reserved addresses, not accessible yet.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn show(&mut self, start: usize, bytes: usize, file: &File) -> Outcome {
        self.own(start, bytes)?;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the pages belong to the reserved range, and nothing is allocated in them.
        unsafe { mmap(start as *mut c_void, bytes, ProtFlags::empty(), flags, file, 0) }
            .map(drop)
            .map_err(|_| Status::MEMORY_ALLOCATION)
    }

    /// Leaves nothing at reserved addresses.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn hide(&mut self, start: usize, bytes: usize) -> Outcome {
        self.own(start, bytes)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the pages belong to the reserved range, and whoever hides them has given up what was there.
        unsafe { mmap_anonymous(start as *mut c_void, bytes, ProtFlags::empty(), flags) }
            .map(drop)
            .map_err(|_| Status::OPERATING_SYSTEM)
    }

    /// Makes what is shown accessible or not.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn protect(&mut self, start: usize, bytes: usize, accessible: bool) -> Outcome {
        self.own(start, bytes)?;
        let flags =
            if accessible { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::empty() };
        // SAFETY: the pages belong to the reserved range, and whoever protects them no longer uses them.
        unsafe { mprotect(start as *mut c_void, bytes, flags) }.map_err(|_| Status::OPERATING_SYSTEM)
    }

    /// The lowest place of a length.
    fn gap(&self, length: usize, alignment: usize) -> Option<usize> {
        let mut candidate = self.base.next_multiple_of(LARGE_ALIGNMENT);
        for (&start, &taken) in &self.used {
            if candidate + length <= start {
                break;
            }
            candidate = candidate.max((start + taken).next_multiple_of(alignment));
        }
        (candidate.checked_add(length)? <= self.base + RANGE_BYTES).then_some(candidate)
    }

    /// Gives memory back to the system; its addresses may be handed out again.
    ///
    /// # Errors
    /// When no allocation starts at the address.
    pub fn free(&mut self, start: NonNull<u8>) -> Outcome {
        let address = start.as_ptr() as usize;
        let length = self.used.remove(&address).ok_or(Status::INVALID_VALUE)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the pages belong to this allocation alone, which ends here.
        unsafe { mmap_anonymous(address as *mut c_void, length - GUARD_BYTES, ProtFlags::empty(), flags) }
            .map_err(|_| Status::OPERATING_SYSTEM)?;
        Ok(())
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        // SAFETY: whoever drops the space has given up all memory in it.
        let _ = unsafe { rustix::mm::munmap(self.base as *mut c_void, RANGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(start: NonNull<u8>, length: usize, value: u8) {
        // SAFETY: the test has allocated the memory.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) }.fill(value);
    }

    #[test]
    fn allocations_are_zeroed_apart_and_reused() {
        let mut space = AddressSpace::reserve().expect("a range is free");
        let a = space.allocate(1000).expect("there is room");
        let b = space.allocate(5 << 20).expect("there is room");
        assert_eq!(a.as_ptr() as usize % ALIGNMENT, 0);
        assert_eq!(b.as_ptr() as usize % LARGE_ALIGNMENT, 0);
        assert!(b.as_ptr() as usize - a.as_ptr() as usize >= 1000 + GUARD_BYTES);
        fill(a, 1000, 7);
        fill(b, 5 << 20, 8);
        space.free(a).expect("it is allocated");
        assert_eq!(space.free(a), Err(Status::INVALID_VALUE));
        let again = space.allocate(10).expect("there is room");
        assert_eq!(again, a);
        // SAFETY: the memory has just been allocated.
        assert_eq!(unsafe { *again.as_ptr() }, 0);
        assert!(space.contains(b.as_ptr() as u64) && !space.contains(0x1000));
    }

    #[test]
    fn too_much_is_refused() {
        let mut space = AddressSpace::reserve().expect("a range is free");
        assert_eq!(space.allocate(usize::MAX), Err(Status::MEMORY_ALLOCATION));
        assert_eq!(space.allocate(RANGE_BYTES), Err(Status::MEMORY_ALLOCATION));
    }
}
