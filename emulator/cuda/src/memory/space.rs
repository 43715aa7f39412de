//! The address space of device memory: reserved ranges of this process, so that a device pointer is a host pointer
//! too, as unified virtual addressing promises.
//!
//! Addresses are the same in every run of a program that allocates the same: the ranges lie at fixed places
//! wherever these are free, and places depend on the order of calls alone. An index, not mappings, records
//! allocations, since a process can have only some ten thousand mappings: the used part of a range is one
//! mapping. Allocations are separated by gaps, so that an access past an end is an error and does not reach a
//! neighbour's data. Small allocations have a range of their own, in which the system uses no huge pages: a
//! write to one allocation would give memory to thirty others and their gaps.

use crate::error::{Outcome, Status};
use crate::ranges::Ranges;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::ptr::{NonNull, null_mut};

/// Start of the ranges if the addresses are free: far from programs, libraries and stacks.
const PREFERRED_BASE: usize = 0x3000_0000_0000;
/// Addresses reserved for small and for large allocations; memory is used only for what is written.
const RANGE_BYTES: [usize; 2] = [1 << 39, 3 << 39];
/// Smallest range to reserve if the address space is limited.
const LEAST_RANGE_BYTES: usize = 64 << 20;
/// Allocations start at a multiple of this, at least.
const ALIGNMENT: usize = 512;
/// Large allocations have at least this length, and start at a multiple of it.
const LARGE: usize = 2 << 20;
/// Smallest gap after an allocation.
const GAP_BYTES: usize = 64 << 10;
/// Start and length of ranges for the oldest functions of the driver API, whose addresses have 32 bits.
const LOW: [(usize, usize); 3] = [(2 << 30, 2 << 30), (1 << 30, 1 << 30), (3 << 30, 1 << 30)];
/// So many bytes more are made accessible at a time.
const STEP_BYTES: usize = 64 << 20;

/// A reserved range.
#[derive(Debug)]
struct Range {
    start: usize,
    end: usize,
    /// End of the accessible part.
    accessible: usize,
    free: Ranges,
}

/// Addresses left to the process: the limit of `ulimit -v`, less the used part.
fn room() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure can be written.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    let limit = Some(limit.rlim_cur).filter(|&limit| known && limit != libc::RLIM_INFINITY)?;
    let used = std::fs::read_to_string("/proc/self/statm").ok()?;
    let used: u64 = used.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used * rustix::param::page_size() as u64) as usize)
}

impl Range {
    /// Reserves exactly these addresses, if they are free.
    fn reserve_at(wish: usize, bytes: usize) -> Option<Range> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: a new mapping is made where no other is; nothing existing is touched.
        let mapped = unsafe { mmap_anonymous(wish as *mut c_void, bytes, ProtFlags::empty(), flags) }.ok()?;
        Some(Range::new(mapped as usize, bytes))
    }

    /// Reserves these addresses, or others.
    fn reserve(wish: usize, bytes: usize) -> Option<Range> {
        Range::reserve_at(wish, bytes).or_else(|| {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: as above.
            let mapped = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::empty(), flags) }.ok()?;
            Some(Range::new(mapped as usize, bytes))
        })
    }

    fn new(start: usize, bytes: usize) -> Range {
        let first = start.next_multiple_of(LARGE);
        let free = Ranges::new(first as u64, (start + bytes - first) as u64);
        Range { start, end: start + bytes, accessible: start, free }
    }

    fn holds(&self, start: usize, end: usize) -> bool {
        self.start <= start && end <= self.end
    }

    /// Makes the range accessible up to an end.
    fn open(&mut self, end: usize) -> Outcome {
        if end <= self.accessible {
            return Ok(());
        }
        let ample = end.next_multiple_of(STEP_BYTES).min(self.end);
        for end in [ample, end] {
            let flags = MprotectFlags::READ | MprotectFlags::WRITE;
            // SAFETY: the pages belong to the range and have not been handed out.
            if unsafe { mprotect(self.accessible as *mut c_void, end - self.accessible, flags) }.is_ok() {
                self.accessible = end;
                return Ok(());
            }
        }
        Err(Status::MEMORY_ALLOCATION)
    }
}

/// The reserved ranges and what is allocated in them.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    /// For small and for large allocations, and for those at low addresses once there are some.
    ranges: Vec<Range>,
    /// Bytes of each range, where the process's address space is limited.
    limited: Option<usize>,
    page: usize,
    /// Start and length of every allocation: of its memory, and with the addresses behind it.
    used: HashMap<usize, (usize, usize)>,
}

impl AddressSpace {
    const LARGE: usize = 1;
    const LOW: usize = 2;

    /// Reserves the ranges: less than usual where the process's address space is limited.
    ///
    /// # Errors
    /// A message, when the system has too few addresses.
    pub(crate) fn reserve() -> Result<AddressSpace, String> {
        let room = room();
        // Threads, their stacks and the executor's own memory need addresses too.
        let most = room.map_or(usize::MAX, |room| room / 4) / LARGE * LARGE;
        let refused = || match room {
            Some(room) => format!(
                "the limit on this process's address space leaves {} MiB, too little to reserve device memory in; \
                 raise it with `ulimit -v unlimited`, or remove it (RLIMIT_AS) where the program is started",
                room >> 20
            ),
            None => "the system refuses to reserve address space for device memory, though no limit is set \
                     (`ulimit -v`); a sandbox or container may refuse it"
                .into(),
        };
        if most < LEAST_RANGE_BYTES {
            return Err(refused());
        }
        let [small, large] = RANGE_BYTES.map(|bytes| bytes.min(most));
        let small_bytes = small;
        let range = |wish, bytes| Range::reserve(wish, bytes).ok_or_else(refused);
        let small = range(PREFERRED_BASE, small)?;
        let large = range(PREFERRED_BASE + RANGE_BYTES[0], large)?;
        // SAFETY: the advice changes no contents. A system that does not know it has no huge pages either.
        let _ =
            unsafe { madvise(small.start as *mut c_void, small.end - small.start, Advice::LinuxNoHugepage) };
        let ranges = vec![small, large];
        let limited = room.map(|_| small_bytes).filter(|&bytes| bytes < RANGE_BYTES[1]);
        Ok(AddressSpace { ranges, limited, page: rustix::param::page_size(), used: HashMap::new() })
    }

    /// Advice for a failed allocation, if a limit is the reason.
    #[must_use]
    pub(crate) fn advice(&self) -> Option<String> {
        let mib = self.limited? >> 20;
        Some(format!(
            "the limit on this process's address space leaves device memory {mib} MiB for large allocations and as much \
             for small ones; raise it with `ulimit -v unlimited`"
        ))
    }

    /// Whether an address lies in a range, allocated or not.
    #[must_use]
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.touches(address, address.saturating_add(1))
    }

    /// Whether some of these addresses lie in a range.
    #[must_use]
    pub(crate) fn touches(&self, start: u64, end: u64) -> bool {
        self.ranges.iter().any(|r| start < r.end as u64 && end > r.start as u64)
    }

    /// Addresses for `bytes` bytes of a range, without memory.
    fn take(&mut self, bytes: usize, range: usize, open: bool) -> Outcome<usize> {
        let unit = if range == Self::LARGE { LARGE } else { ALIGNMENT.max(self.page) };
        let mapped = bytes.max(1).checked_next_multiple_of(self.page).ok_or(Status::MEMORY_ALLOCATION)?;
        let length = mapped.checked_add(GAP_BYTES).and_then(|n| n.checked_next_multiple_of(unit));
        let length = length.ok_or(Status::MEMORY_ALLOCATION)?;
        let range = self.ranges.get_mut(range).ok_or(Status::MEMORY_ALLOCATION)?;
        let start = range.free.take(length as u64).ok_or(Status::MEMORY_ALLOCATION)? as usize;
        if open && range.open(start + mapped).is_err() {
            range.free.give(start as u64, length as u64);
            return Err(Status::MEMORY_ALLOCATION);
        }
        self.used.insert(start, (mapped, length));
        Ok(start)
    }

    /// Zeroed memory of `bytes` bytes, readable and writable.
    ///
    /// # Errors
    /// When a range or the system's memory is exhausted.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Outcome<NonNull<u8>> {
        let start = self.take(bytes, usize::from(bytes >= LARGE), true)?;
        NonNull::new(start as *mut u8).ok_or(Status::MEMORY_ALLOCATION)
    }

    /// The same at an address of 32 bits.
    ///
    /// # Errors
    /// When there is no room at such addresses.
    pub(crate) fn allocate_low(&mut self, bytes: usize) -> Outcome<NonNull<u8>> {
        if self.ranges.len() == Self::LOW {
            self.ranges.extend(LOW.into_iter().find_map(|(start, bytes)| Range::reserve_at(start, bytes)));
        }
        let start = self.take(bytes, Self::LOW, true)?;
        NonNull::new(start as *mut u8).ok_or(Status::MEMORY_ALLOCATION)
    }

    /// Addresses without memory; at a multiple of 2 MiB when they are so many.
    ///
    /// # Errors
    /// When a range is exhausted.
    pub(crate) fn reserve_range(&mut self, bytes: usize) -> Outcome<NonNull<u8>> {
        let start = self.take(bytes, usize::from(bytes >= LARGE), false)?;
        NonNull::new(start as *mut u8).ok_or(Status::MEMORY_ALLOCATION)
    }

    /// Whether pages lie in a range, which the calls below change.
    fn own(&self, start: usize, bytes: usize) -> Outcome {
        let end = start.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        let inside = self.ranges.iter().any(|r| r.holds(start, end));
        if inside { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Maps a file's bytes from an offset to reserved addresses. Parts that are adjacent both in the file and
    /// here form one mapping.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn show(&mut self, start: usize, bytes: usize, file: &File, offset: u64) -> Outcome {
        self.own(start, bytes)?;
        let (flags, access) = (MapFlags::SHARED | MapFlags::FIXED, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: the pages belong to a reserved range, and nothing is allocated in them.
        unsafe { mmap(start as *mut c_void, bytes, access, flags, file, offset) }
            .map(drop)
            .map_err(|_| Status::MEMORY_ALLOCATION)
    }

    /// Unmaps reserved addresses.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn hide(&mut self, start: usize, bytes: usize) -> Outcome {
        self.own(start, bytes)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // With the protection of its neighbours, so that they become one mapping again.
        let opened = self.ranges.iter().any(|r| r.holds(start, r.end) && start < r.accessible);
        let access = if opened { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::empty() };
        // SAFETY: the pages belong to a reserved range, and the caller no longer uses their contents.
        unsafe { mmap_anonymous(start as *mut c_void, bytes, access, flags) }
            .map(drop)
            .map_err(|_| Status::OPERATING_SYSTEM)
    }

    /// Gives memory back to the system; its addresses may be handed out again.
    ///
    /// # Errors
    /// When no allocation starts at the address.
    pub(crate) fn free(&mut self, start: NonNull<u8>) -> Outcome {
        let address = start.as_ptr() as usize;
        let (mapped, length) = self.used.remove(&address).ok_or(Status::INVALID_VALUE)?;
        let range = self.ranges.iter_mut().find(|r| r.holds(address, address + mapped));
        let range = range.ok_or(Status::INVALID_VALUE)?;
        if address < range.accessible {
            // SAFETY: the pages belong to this allocation alone, which ends here. They are zero when they are next used.
            unsafe { madvise(start.as_ptr().cast(), mapped, Advice::LinuxDontNeed) }
                .map_err(|_| Status::OPERATING_SYSTEM)?;
        }
        range.free.give(address as u64, length as u64);
        Ok(())
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        for range in &self.ranges {
            // SAFETY: the owner that drops the space no longer uses its memory.
            let _ = unsafe { rustix::mm::munmap(range.start as *mut c_void, range.end - range.start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(start: NonNull<u8>, length: usize, value: u8) {
        // SAFETY: the test has allocated the memory.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) }.fill(value);
    }

    /// Figures of `/proc/self/status` in KiB.
    fn status(name: &str) -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let line = status.lines().find_map(|l| l.strip_prefix(name)).expect("it is there");
        line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().expect("a number")
    }

    #[test]
    fn allocations_are_zeroed_apart_and_reused() {
        let mut space = AddressSpace::reserve().expect("ranges are free");
        let a = space.allocate(1000).expect("there is room");
        let b = space.allocate(5 << 20).expect("there is room");
        let c = space.allocate(1000).expect("there is room");
        assert_eq!(a.as_ptr() as usize % ALIGNMENT, 0);
        assert_eq!(b.as_ptr() as usize % LARGE, 0);
        assert!(c.as_ptr() as usize - a.as_ptr() as usize >= 1000 + GAP_BYTES);
        fill(a, 1000, 7);
        fill(b, 5 << 20, 8);
        for p in [a, b] {
            space.free(p).expect("it is allocated");
            assert_eq!(space.free(p), Err(Status::INVALID_VALUE));
        }
        for (before, bytes) in [(a, 10), (b, 4 << 20)] {
            let again = space.allocate(bytes).expect("there is room");
            assert_eq!(again, before);
            // SAFETY: the memory has just been allocated.
            assert_eq!(unsafe { *again.as_ptr() }, 0);
        }
        assert!(space.contains(b.as_ptr() as u64) && !space.contains(0x1000));
    }

    #[test]
    fn low_addresses_have_32_bits() {
        let mut space = AddressSpace::reserve().expect("ranges are free");
        let [a, b] = [100, 5 << 20].map(|bytes| space.allocate_low(bytes).expect("there is room"));
        assert!(b.as_ptr() as u64 + (5 << 20) <= 1 << 32);
        fill(a, 100, 1);
        fill(b, 5 << 20, 1);
        space.free(a).expect("it is allocated");
        assert_eq!(space.allocate_low(1), Ok(a));
        assert_eq!(space.allocate_low(1 << 32), Err(Status::MEMORY_ALLOCATION));
    }

    #[test]
    fn too_much_is_refused() {
        let mut space = AddressSpace::reserve().expect("ranges are free");
        assert_eq!(space.allocate(usize::MAX), Err(Status::MEMORY_ALLOCATION));
        assert_eq!(space.allocate(RANGE_BYTES[1]), Err(Status::MEMORY_ALLOCATION));
    }

    /// Many allocations need no more mappings of the system than a few, and freed memory is returned.
    #[test]
    fn allocations_are_not_mappings() {
        let mappings = || std::fs::read_to_string("/proc/self/maps").expect("Linux has it").lines().count();
        let mut space = AddressSpace::reserve().expect("ranges are free");
        let all: Vec<_> = (0..70_000).map(|_| space.allocate(256).expect("there is room")).collect();
        for &p in &all {
            fill(p, 256, 1);
        }
        let (many, rss) = (mappings(), status("VmRSS"));
        for &p in all.iter().step_by(2).chain(all.iter().skip(1).step_by(2)) {
            space.free(p).expect("it is allocated");
        }
        assert!(many < 2000, "{many} mappings");
        assert!(rss - status("VmRSS") > 200 << 10, "{} KiB of {rss} are kept", status("VmRSS"));
        assert_eq!(space.allocate(256), Ok(all[0]));
    }
}
