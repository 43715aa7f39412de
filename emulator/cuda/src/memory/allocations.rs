//! Device memory of the process: the allocations and their addresses. [`crate::memory::transfer`] does copies
//! and fills.
//!
//! Host and device share addresses. Memory that the program registers has another host address in each run;
//! kernels see it also at a device address, which is the same in every run. Programs get it from
//! `cudaHostGetDevicePointer`.

use super::array::Arrays;
use super::mapping::Mappings;
use super::pool::Pools;
use super::sharing::Sharing;
use crate::error::{Outcome, Status};
use crate::host::{self, Access};
use crate::memory::advice::Advices;
use crate::memory::space::AddressSpace;
use crate::tell::tell;
use emulator::device::Placement;
use emulator::memory::GlobalMemory;
use emulator::memory::Storage;
use emulator::session::DEFAULT_HEAP_BYTES;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr::NonNull;
use std::sync::Once;

/// Purpose of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// `cudaMalloc` and its relatives.
    Device,
    /// `cudaMallocManaged`.
    Managed,
    /// `cudaMallocHost`, `cudaHostAlloc`.
    Host,
    /// The program's own memory, of `cudaHostRegister`.
    Registered,
    /// The address of the device at which kernels see such memory.
    Window,
    /// A variable of a module.
    Variable,
    /// The texels of an array.
    Array,
    /// Memory of its own that is mapped to reserved addresses.
    Mapped,
    /// Allocated by a node of a graph, at an address that was fixed when the node was made.
    Graph,
}

/// An allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// Flags at its creation.
    pub flags: u32,
    /// A number that no other allocation of the process has.
    pub id: u64,
    /// Where registered memory begins for the other side: of its window, the host's address, and the reverse. Elsewhere
    /// the region's own start.
    pub other: u64,
    /// Whether the program wants copies of it to be synchronous, as they are anyway.
    pub synchronous: bool,
}

impl Region {
    /// The other side's address of a byte.
    #[must_use]
    pub fn beside(&self, address: u64) -> u64 {
        self.other + (address - self.start)
    }

    /// Whether it is memory of the host.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(self.purpose, Purpose::Host | Purpose::Registered | Purpose::Window)
    }

    /// Address that the host program has of a byte.
    #[must_use]
    pub fn host_address(&self, address: u64) -> u64 {
        if self.purpose == Purpose::Window { self.beside(address) } else { address }
    }

    /// Address that kernels should use for a byte: the same in every run.
    #[must_use]
    pub fn device_address(&self, address: u64) -> u64 {
        if self.purpose == Purpose::Registered { self.beside(address) } else { address }
    }
}

/// All memory that kernels may access.
#[derive(Debug)]
pub struct Memory {
    pub(super) space: AddressSpace,
    /// The executor's view of it.
    pub global: GlobalMemory,
    regions: BTreeMap<u64, Region>,
    /// Bytes at addresses that are fixed but not allocated now.
    aside: BTreeMap<u64, u64>,
    /// Bytes that graphs have allocated and keep until they are trimmed; their sum, and its maximum.
    held: BTreeMap<u64, u64>,
    held_bytes: u64,
    most_held_bytes: u64,
    /// Advice about managed memory.
    pub advices: Advices,
    /// The windows' whole ranges of addresses, by the start of the window.
    windows: HashMap<u64, NonNull<u8>>,
    /// Where memory of the host program begins that kernels may access, and the parts of it that they see, by offset and
    /// length: all of it, unless the program has unmapped some.
    lent: BTreeMap<u64, Vec<(u64, u64)>>,
    capacity: u64,
    used: u64,
    made: u64,
    /// Bytes of the heap that device code will allocate from.
    pub heap_bytes: u64,
    /// Arrays, and texture and surface objects.
    pub arrays: Arrays,
    /// Memory pools.
    pub pools: Pools,
    /// Memory that is mapped to addresses.
    pub mappings: Mappings,
    /// Allocations that several processes have.
    pub(super) sharing: Sharing,
}

// SAFETY: the pointers are addresses of the reserved ranges, which no other thread knows of.
unsafe impl Send for Memory {}

impl Memory {
    /// Memory of a GPU with so many bytes.
    ///
    /// # Errors
    /// When the process has no addresses left for it.
    pub fn new(capacity: u64) -> Outcome<Memory> {
        let space = AddressSpace::reserve().map_err(|what| {
            tell(&what);
            Status::MEMORY_ALLOCATION
        })?;
        let (global, regions) = (GlobalMemory::new(), BTreeMap::new());
        Ok(Memory {
            space,
            global,
            regions,
            aside: BTreeMap::new(),
            held: BTreeMap::new(),
            held_bytes: 0,
            most_held_bytes: 0,
            advices: Advices::default(),
            windows: HashMap::new(),
            lent: BTreeMap::new(),
            capacity,
            used: 0,
            made: 0,
            heap_bytes: DEFAULT_HEAP_BYTES,
            arrays: Arrays::default(),
            pools: Pools::default(),
            mappings: Mappings::default(),
            sharing: Sharing::default(),
        })
    }

    /// Free bytes and all bytes of the GPU.
    #[must_use]
    pub fn info(&self) -> (u64, u64) {
        (self.capacity - self.used, self.capacity)
    }

    fn on_device(purpose: Purpose) -> bool {
        !matches!(purpose, Purpose::Host | Purpose::Registered | Purpose::Window | Purpose::Mapped)
    }

    /// Allocates zeroed memory.
    ///
    /// # Errors
    /// `MEMORY_ALLOCATION` when the GPU's memory, or the host's, does not suffice.
    pub fn allocate(&mut self, name: &str, bytes: u64, purpose: Purpose, flags: u32) -> Outcome<u64> {
        if Self::on_device(purpose) && bytes > self.capacity - self.used {
            return Err(Status::MEMORY_ALLOCATION);
        }
        let length = usize::try_from(bytes).map_err(|_| Status::MEMORY_ALLOCATION)?;
        let start = self.space.allocate(length).inspect_err(|_| {
            static TOLD: Once = Once::new();
            if let Some(advice) = self.space.advice() {
                TOLD.call_once(|| tell(&advice));
            }
        })?;
        self.allocated(name, start, bytes, purpose, flags)
    }

    /// The same at an address of 32 bits, for the oldest functions of the driver API.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn allocate_low(&mut self, name: &str, bytes: u32) -> Outcome<u32> {
        if u64::from(bytes) > self.capacity - self.used {
            return Err(Status::MEMORY_ALLOCATION);
        }
        let start = self.space.allocate_low(bytes as usize)?;
        let address = self.allocated(name, start, bytes.into(), Purpose::Device, 0)?;
        u32::try_from(address).map_err(|_| Status::MEMORY_ALLOCATION)
    }

    fn allocated(
        &mut self,
        name: &str,
        start: NonNull<u8>,
        bytes: u64,
        purpose: Purpose,
        flags: u32,
    ) -> Outcome<u64> {
        let address = start.as_ptr() as u64;
        // SAFETY: the memory lives until `free`, which takes the storage out first.
        let storage = unsafe { Storage::mapped(start, bytes as usize) };
        self.global.insert(name, address, storage);
        self.note(address, bytes, purpose, flags);
        Ok(address)
    }

    /// Counts bytes as used.
    ///
    /// # Errors
    /// `MEMORY_ALLOCATION` when there are not so many left.
    pub(crate) fn take(&mut self, bytes: u64) -> Outcome {
        if bytes > self.capacity - self.used {
            return Err(Status::MEMORY_ALLOCATION);
        }
        self.used += bytes;
        Ok(())
    }

    /// Counts bytes as free again.
    pub(crate) fn give(&mut self, bytes: u64) {
        self.used -= bytes;
    }

    /// A number that no allocation has.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Lets kernels access mapped memory; all mappings of the same memory have the same number of `twins`.
    ///
    /// # Errors
    /// `INVALID_VALUE` at address 0.
    pub(crate) fn expose(&mut self, start: u64, bytes: u64, twins: u64) -> Outcome {
        let pointer = NonNull::new(start as *mut u8).ok_or(Status::INVALID_VALUE)?;
        // SAFETY: the pages are mapped and accessible until `free`, which comes first.
        let storage = unsafe { Storage::mapped(pointer, bytes as usize) };
        self.global.insert_twin("mapped memory", start, storage, twins);
        self.note(start, bytes, Purpose::Mapped, 0);
        Ok(())
    }

    fn note(&mut self, start: u64, bytes: u64, purpose: Purpose, flags: u32) {
        if Self::on_device(purpose) {
            self.used += bytes;
        }
        let id = self.new_id();
        self.regions
            .insert(start, Region { start, bytes, purpose, flags, id, other: start, synchronous: false });
    }

    /// Checks memory of the host program that kernels will access.
    fn adopt(&mut self, start: u64, bytes: u64) -> Outcome<NonNull<u8>> {
        let pointer = NonNull::new(start as *mut u8).filter(|_| bytes > 0).ok_or(Status::INVALID_VALUE)?;
        let end = start.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        let overlaps = self.regions.range(..end).next_back().is_some_and(|(_, r)| r.start + r.bytes > start);
        if overlaps {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let there = !self.space.touches(start, end) && host::is_accessible(start, bytes, Access::Read);
        if there { Ok(pointer) } else { Err(Status::INVALID_VALUE) }
    }

    /// Lets kernels access memory of the host program at its own address.
    ///
    /// # Errors
    /// `HOST_MEMORY_ALREADY_REGISTERED` when part of it is registered already; `INVALID_VALUE` if part of it
    /// is not writable.
    pub fn lend(&mut self, start: u64, bytes: u64) -> Outcome {
        let pointer = self.adopt(start, bytes)?;
        if !host::is_accessible(start, bytes, Access::Write) {
            // Kernels cannot be kept from writing it.
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program promises that the memory stays until it takes it back.
        let storage = unsafe { Storage::mapped(pointer, bytes as usize) };
        self.global.insert("host memory", start, storage);
        self.note(start, bytes, Purpose::Registered, 0);
        self.lent.insert(start, vec![(0, bytes)]);
        Ok(())
    }

    /// Lets kernels access memory of the host program, at its own address and at one of the device, which is the same
    /// in every run.
    ///
    /// # Errors
    /// As [`Memory::lend`], and `MEMORY_ALLOCATION` when there are no addresses left.
    pub fn register(&mut self, start: u64, bytes: u64, flags: u32) -> Outcome {
        self.lend(start, bytes)?;
        // The window has the same offset in its page, so that the alignment of objects is kept.
        let within = start % rustix::param::page_size() as u64;
        let range = self.space.reserve_range((within + bytes) as usize).inspect_err(|_| {
            let _ = self.free(start, &[Purpose::Registered]);
        })?;
        let window = range.as_ptr() as u64 + within;
        drop(self.global.remove(start));
        self.show([start, window], bytes)?;
        self.note(window, bytes, Purpose::Window, flags);
        self.windows.insert(window, range);
        for (at, other) in [(start, window), (window, start)] {
            if let Some(region) = self.regions.get_mut(&at) {
                (region.other, region.flags) = (other, flags);
            }
        }
        Ok(())
    }

    /// Unregisters memory of the program.
    ///
    /// # Errors
    /// `INVALID_VALUE` inside of such memory, `HOST_MEMORY_NOT_REGISTERED` elsewhere.
    pub fn unregister(&mut self, start: u64) -> Outcome {
        let inside = self.region(start).is_some_and(|r| r.purpose == Purpose::Registered && r.start != start);
        let other = if inside { Status::INVALID_VALUE } else { Status::HOST_MEMORY_NOT_REGISTERED };
        self.free(start, &[Purpose::Registered]).map(drop).map_err(|_| other)
    }

    /// Shows kernels memory of the host program at its own address and in its window, if that is another.
    fn show(&mut self, [start, window]: [u64; 2], bytes: u64) -> Outcome {
        let twins = self.new_id();
        for at in BTreeSet::from([start, window]) {
            let pointer = NonNull::new(start as *mut u8).ok_or(Status::INVALID_VALUE)?;
            // SAFETY: as in `lend`; both allocations are known to show the same bytes.
            let storage = unsafe { Storage::mapped(pointer, bytes as usize) };
            let id = self.global.insert_twin("registered host memory", at, storage, twins);
            if at != window {
                self.global.make_alias(id);
            }
        }
        Ok(())
    }

    /// Hides memory from kernels that the program has unmapped without unregistering it, so that kernels do
    /// not access unmapped pages; prints a message.
    ///
    /// # Errors
    /// Only if the index of allocations is inconsistent.
    pub fn follow_unmapping(&mut self) -> Outcome {
        let is_torn = |start: &u64| {
            let region = self.regions.get(start);
            region.is_some_and(|r| !host::is_mapped_throughout(r.start, r.bytes))
        };
        let torn: Vec<u64> = self.lent.keys().filter(|start| is_torn(start)).copied().collect();
        for start in torn {
            let Some(Region { bytes, other, .. }) = self.regions.get(&start).copied() else { continue };
            let parts = host::accessible_parts(start, bytes);
            if self.lent.get(&start) == Some(&parts) {
                continue;
            }
            self.hide_lent(start, other);
            for &(offset, length) in &parts {
                self.show([start + offset, other + offset], length)?;
            }
            self.lent.insert(start, parts);
            tell(&format!(
                "the program has unmapped memory at {start:#x} that is still registered: kernels cannot access it any \
                 more; cudaHostUnregister comes before munmap or free"
            ));
        }
        Ok(())
    }

    /// Takes memory of the host program from kernels, all parts of it.
    fn hide_lent(&mut self, start: u64, window: u64) {
        for (offset, _) in self.lent.remove(&start).unwrap_or_default() {
            drop(self.global.remove(start + offset));
            if window != start {
                drop(self.global.remove(window + offset));
            }
        }
    }

    fn close_window(&mut self, window: u64) -> Outcome {
        let Some(range) = self.windows.remove(&window) else { return Ok(()) };
        self.regions.remove(&window);
        self.space.free(range)
    }

    /// Ends an allocation that begins at an address and is for one of these purposes.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn free(&mut self, start: u64, of: &[Purpose]) -> Outcome<Region> {
        let region = self.regions.get(&start).copied().filter(|r| of.contains(&r.purpose));
        let region = region.ok_or(Status::INVALID_VALUE)?;
        self.regions.remove(&start);
        if region.purpose == Purpose::Registered {
            self.hide_lent(start, region.other);
        } else {
            drop(self.global.remove(start));
        }
        if region.purpose == Purpose::Device {
            self.unshare(start, region.bytes)?;
        }
        if Self::on_device(region.purpose) {
            self.used -= region.bytes;
        }
        if region.purpose == Purpose::Managed {
            self.advices.forget(region.start, region.start + region.bytes);
        }
        if region.purpose == Purpose::Registered {
            self.close_window(region.other)?;
        } else if region.purpose != Purpose::Mapped
            && let Some(pointer) = NonNull::new(start as *mut u8)
        {
            self.space.free(pointer)?;
        }
        Ok(region)
    }

    /// The parts of a range of the host program's memory that kernels cannot access yet.
    #[must_use]
    pub fn unknown_parts(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut at = start;
        // The one that begins before the range may reach into it.
        let before = self.regions.range(..start).next_back();
        for (_, region) in before.into_iter().chain(self.regions.range(start..end)) {
            if region.start > at {
                parts.push((at, region.start));
            }
            at = at.max(region.start + region.bytes);
        }
        if at < end {
            parts.push((at, end));
        }
        parts.retain(|&(start, _)| !self.space.contains(start));
        parts
    }

    /// Ends all allocations, with the objects that read them and the heap of device code.
    pub fn clear(&mut self) {
        self.close_all_shared();
        let all = self.regions.values().filter(|r| r.purpose != Purpose::Window);
        let all: Vec<(u64, Purpose)> = all.map(|r| (r.start, r.purpose)).collect();
        for (start, purpose) in all {
            let _ = self.free(start, &[purpose]);
        }
        for (address, _) in std::mem::take(&mut self.aside) {
            let _ = NonNull::new(address as *mut u8).map(|start| self.space.free(start));
        }
        self.held.clear();
        self.held_bytes = 0;
        self.global = GlobalMemory::new();
    }

    /// Reserves an address for memory that [`Memory::back`] allocates later, any number of times. It stays
    /// fixed as long as the program runs.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn reserve(&mut self, bytes: u64) -> Outcome<u64> {
        let address = self.allocate("graph memory", bytes, Purpose::Graph, 0)?;
        self.set_aside(address)?;
        Ok(address)
    }

    /// Allocates memory at an address that was fixed.
    ///
    /// # Errors
    /// `INVALID_VALUE` when it was not, or is allocated already; `MEMORY_ALLOCATION` when the GPU has too
    /// little free memory.
    pub fn back(&mut self, address: u64) -> Outcome {
        let &bytes = self.aside.get(&address).ok_or(Status::INVALID_VALUE)?;
        if bytes > self.capacity - self.used {
            return Err(Status::MEMORY_ALLOCATION);
        }
        let start = NonNull::new(address as *mut u8).ok_or(Status::INVALID_VALUE)?;
        self.aside.remove(&address);
        // SAFETY: as in `allocate`; the addresses stay the graph's while it is set aside.
        let storage = unsafe { Storage::mapped(start, bytes as usize) };
        self.global.insert("graph memory", address, storage);
        self.note(address, bytes, Purpose::Graph, 0);
        if self.held.insert(address, bytes).is_none() {
            self.held_bytes += bytes;
            self.most_held_bytes = self.most_held_bytes.max(self.held_bytes);
        }
        Ok(())
    }

    /// Frees such memory; the address stays fixed.
    ///
    /// # Errors
    /// `INVALID_VALUE` when it is not allocated.
    pub fn set_aside(&mut self, address: u64) -> Outcome {
        let region = self.regions.get(&address).copied().filter(|r| r.purpose == Purpose::Graph);
        let region = region.ok_or(Status::INVALID_VALUE)?;
        self.regions.remove(&address);
        drop(self.global.remove(address));
        self.used -= region.bytes;
        self.aside.insert(address, region.bytes);
        Ok(())
    }

    /// Frees memory as `cudaFree` does: memory of the device, managed memory, and what graphs have allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` when no such allocation begins at the address.
    pub fn release(&mut self, address: u64) -> Outcome<Region> {
        match self.regions.get(&address).copied() {
            Some(region) if region.purpose == Purpose::Graph => self.set_aside(address).map(|()| region),
            _ => self.free(address, &[Purpose::Device, Purpose::Managed]),
        }
    }

    /// Bytes that graphs have, allocated now or when they were last launched, and the most that they had.
    #[must_use]
    pub fn graph_bytes(&self) -> (u64, u64) {
        (self.held_bytes, self.most_held_bytes)
    }

    /// Resets the maximum of the bytes that graphs have.
    pub fn forget_most_graph_bytes(&mut self) {
        self.most_held_bytes = self.held_bytes;
    }

    /// Frees bytes that graphs keep but have not allocated now.
    pub fn trim_graph_bytes(&mut self) {
        self.held.retain(|address, _| !self.aside.contains_key(address));
        self.held_bytes = self.held.values().sum();
    }

    /// Notes whether copies of the allocation that begins at an address shall be synchronous.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn set_synchronous(&mut self, start: u64, synchronous: bool) -> Outcome {
        let region = self.regions.get_mut(&start).ok_or(Status::INVALID_VALUE)?;
        region.synchronous = synchronous;
        Ok(())
    }

    /// The allocation that an address lies in.
    #[must_use]
    pub fn region(&self, address: u64) -> Option<&Region> {
        let (_, region) = self.regions.range(..=address).next_back()?;
        // The end counts for empty allocations only.
        (address - region.start < region.bytes.max(1)).then_some(region)
    }

    fn is_set_aside(&self, address: u64) -> bool {
        self.aside.range(..=address).next_back().is_some_and(|(start, bytes)| address - start < *bytes)
    }

    /// Whether an address lies in the device's ranges, which are the same in every run.
    #[must_use]
    pub fn is_at_home(&self, address: u64) -> bool {
        self.space.contains(address)
    }

    /// Whether a kernel's parameters contain the host address of registered memory, which differs from run to
    /// run.
    #[must_use]
    pub fn is_wandering(&self, params: &[u8]) -> bool {
        let is_lent = |address: u64| {
            self.region(address).is_some_and(|r| r.purpose == Purpose::Registered && r.other != r.start)
        };
        let words = || params.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
        !self.lent.is_empty() && words().any(is_lent)
    }

    /// Whether some of these addresses are the device's, allocated or not.
    #[must_use]
    pub(crate) fn owns(&self, start: u64, end: u64) -> bool {
        self.space.touches(start, end)
    }

    /// Whether a program may call an address one of the device, or of the host.
    #[must_use]
    pub fn may_be(&self, address: u64, on_device: bool) -> bool {
        match self.region(address).map(|r| r.purpose) {
            None => on_device == self.is_set_aside(address),
            Some(Purpose::Mapped | Purpose::Device | Purpose::Variable | Purpose::Array | Purpose::Graph) => {
                on_device
            }
            Some(Purpose::Managed | Purpose::Host | Purpose::Registered | Purpose::Window) => true,
        }
    }
}

/// Modules place their variables like everything else.
impl Placement for Memory {
    fn place(&mut self, name: &str, contents: &[u8], length: u64) -> Option<u64> {
        let address = self.allocate(name, length, Purpose::Variable, 0).ok()?;
        let most = contents.len().min(length as usize);
        self.global.write(address, &contents[..most]).then_some(address)
    }

    fn global(&mut self) -> &mut GlobalMemory {
        &mut self.global
    }

    fn heap_bytes(&self) -> u64 {
        self.heap_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory without a window, as embedders lend it, is followed too.
    #[test]
    fn what_is_left_of_lent_memory_is_accessible() {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let page = rustix::param::page_size();
        let mut memory = Memory::new(1 << 20).unwrap();
        // SAFETY: a new mapping, of which the end goes.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let p = mmap_anonymous(std::ptr::null_mut(), 2 * page, access, MapFlags::PRIVATE).unwrap();
            memory.lend(p as u64, 2 * page as u64).unwrap();
            munmap(p.byte_add(page), page).unwrap();
            p as u64
        };
        let page = page as u64;
        for _ in 0..2 {
            memory.follow_unmapping().unwrap();
            assert_eq!(memory.global.bytes(start + page - 4, 4), Some(vec![0; 4]));
            assert_eq!(memory.global.bytes(start + page - 4, 8), None);
        }
        memory.free(start, &[Purpose::Registered]).unwrap();
        assert_eq!(memory.global.bytes(start, 4), None);
        memory.lend(start, page).unwrap();
    }

    #[test]
    fn memory_is_finite_and_comes_back() {
        let mut memory = Memory::new(1000).expect("there are addresses");
        let a = memory.allocate("a", 600, Purpose::Device, 0).expect("there is room");
        assert_eq!(memory.allocate("b", 600, Purpose::Device, 0), Err(Status::MEMORY_ALLOCATION));
        assert_eq!(memory.free(a + 4, &[Purpose::Device]), Err(Status::INVALID_VALUE));
        assert_eq!(memory.free(a, &[Purpose::Host]), Err(Status::INVALID_VALUE));
        assert_eq!(memory.free(a, &[Purpose::Device]).map(|r| r.bytes), Ok(600));
        assert_eq!(memory.info(), (1000, 1000));
        assert_eq!(memory.region(a), None);
    }

    #[test]
    fn fixed_addresses_are_backed_again_and_again() {
        let mut memory = Memory::new(1000).expect("there are addresses");
        let a = memory.reserve(600).unwrap();
        assert_eq!((memory.info().0, memory.graph_bytes()), (1000, (0, 0)));
        assert!(!memory.global.write(a, &[1]));
        for _ in 0..2 {
            memory.back(a).unwrap();
            assert_eq!(memory.back(a), Err(Status::INVALID_VALUE));
            assert_eq!((memory.info().0, memory.graph_bytes()), (400, (600, 600)));
            let other = memory.allocate("b", 64, Purpose::Device, 0).unwrap();
            assert_ne!(other, a);
            memory.release(other).unwrap();
            memory.release(a).unwrap();
            assert_eq!(memory.release(a), Err(Status::INVALID_VALUE));
            assert!(memory.global.bytes(a, 4).is_none());
            assert_eq!((memory.info().0, memory.graph_bytes()), (1000, (600, 600)));
        }
        memory.trim_graph_bytes();
        assert_eq!(memory.graph_bytes(), (0, 600));
        memory.forget_most_graph_bytes();
        assert_eq!(memory.graph_bytes(), (0, 0));
    }

    #[test]
    fn host_memory_can_be_registered_once() {
        let mut memory = Memory::new(1000).expect("there are addresses");
        let host = [5u8; 64];
        let start = host.as_ptr() as u64;
        memory.register(start, 64, 0).unwrap();
        assert_eq!(memory.register(start + 8, 8, 0), Err(Status::HOST_MEMORY_ALREADY_REGISTERED));
        assert_eq!(memory.global.bytes(start + 60, 4), Some(vec![5; 4]));
        let window = memory.region(start + 60).unwrap().device_address(start + 60);
        assert_eq!((window % 4096, memory.global.bytes(window, 4)), ((start + 60) % 4096, Some(vec![5; 4])));
        assert_eq!(memory.region(window).unwrap().host_address(window), start + 60);
        let twins = memory.global.find(window, 1).map(|id| memory.global.twins(id).len());
        assert_eq!(twins, Some(2));
        assert_eq!(memory.free(window - 60, &[Purpose::Registered]).map(drop), Err(Status::INVALID_VALUE));
        assert_eq!(memory.unregister(start + 8), Err(Status::INVALID_VALUE));
        assert_eq!(memory.unregister(start + 64), Err(Status::HOST_MEMORY_NOT_REGISTERED));
        memory.unregister(start).unwrap();
        assert_eq!([start, window].map(|at| memory.global.bytes(at, 4)), [None, None]);
        assert!(memory.region(window).is_none());
    }

    #[test]
    fn the_window_of_registered_memory_is_the_same_in_every_run() {
        let window = |start: u64| {
            let mut memory = Memory::new(1000).expect("there are addresses");
            memory.register(start, 64, 0).unwrap();
            memory.region(start).unwrap().other
        };
        // Two places with the same offset in their pages, as in two runs.
        let host = vec![0u8; 3 * 4096];
        let start = host.as_ptr() as u64;
        assert_eq!(window(start) % 4096, start % 4096);
        assert_eq!(window(start), window(start + 4096));
    }

    #[test]
    fn what_is_not_there_cannot_be_registered() {
        let mut memory = Memory::new(1000).expect("there are addresses");
        for (start, bytes) in [(0x10, 16), (0, 16), (u64::MAX - 8, 64), (Memory::new as *const () as u64, 16)]
        {
            assert_eq!(memory.register(start, bytes, 0), Err(Status::INVALID_VALUE), "{start:#x}");
        }
        let host = [5u8; 64];
        assert_eq!(memory.register(host.as_ptr() as u64, 1 << 40, 0), Err(Status::INVALID_VALUE));
        let inside = memory.space.allocate(64).unwrap().as_ptr() as u64;
        assert_eq!(memory.register(inside, 64, 0), Err(Status::INVALID_VALUE));
    }

    /// As many as a program may make: each costs the same, and none a mapping.
    #[test]
    fn allocations_come_and_go_by_the_hundred_thousand() {
        let mut memory = Memory::new(1 << 40).expect("there are addresses");
        let all: Vec<u64> =
            (0..100_000).map(|_| memory.allocate("a", 256, Purpose::Device, 0).unwrap()).collect();
        assert!(memory.global.write(all[77_777] + 252, &[1; 4]));
        assert!(!memory.global.write(all[77_777] + 253, &[1; 4]));
        assert!(!memory.global.write(all[77_777] - 1, &[1; 4]));
        let nearest = memory.global.nearest(all[5] + 300).unwrap();
        assert_eq!((nearest.base, nearest.distance), (all[5], 45));
        for &address in all.iter().rev() {
            memory.free(address, &[Purpose::Device]).unwrap();
        }
        assert_eq!(memory.info(), (1 << 40, 1 << 40));
    }
}
