//! Device memory of the process: what is allocated where, and copies and fills between any two places.
//!
//! Host and device share their addresses. An address inside the reserved range has to lie in an allocation; any
//! other belongs to the host program, which answers for it as it does for its own accesses.

use crate::error::{Outcome, Status};
use crate::space::AddressSpace;
use crate::work::{Copy, Fill, Place};
use emulator::device::Placement;
use emulator::memory::GlobalMemory;
use emulator::memory::storage::Storage;
use emulator::session::DEFAULT_HEAP_BYTES;
use std::collections::BTreeMap;
use std::ptr::NonNull;

/// What an allocation is for.
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
    /// Flags that it was made with.
    pub flags: u32,
    /// A number that no other allocation of the process has.
    pub id: u64,
}

/// All memory that kernels may access.
#[derive(Debug)]
pub struct Memory {
    space: AddressSpace,
    /// As the executor sees it.
    pub global: GlobalMemory,
    regions: BTreeMap<u64, Region>,
    /// Bytes at addresses that are fixed but not allocated now.
    aside: BTreeMap<u64, u64>,
    capacity: u64,
    used: u64,
    made: u64,
    /// Bytes of the heap that device code will allocate from.
    pub heap_bytes: u64,
}

impl Memory {
    /// Memory of a GPU with so many bytes.
    ///
    /// # Errors
    /// When the process has no addresses left for it.
    pub fn new(capacity: u64) -> Outcome<Memory> {
        let space = AddressSpace::reserve()?;
        let (global, regions) = (GlobalMemory::new(), BTreeMap::new());
        Ok(Memory {
            space,
            global,
            regions,
            aside: BTreeMap::new(),
            capacity,
            used: 0,
            made: 0,
            heap_bytes: DEFAULT_HEAP_BYTES,
        })
    }

    /// Free bytes and all bytes of the GPU.
    #[must_use]
    pub fn info(&self) -> (u64, u64) {
        (self.capacity - self.used, self.capacity)
    }

    fn on_device(purpose: Purpose) -> bool {
        !matches!(purpose, Purpose::Host | Purpose::Registered | Purpose::Mapped)
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
        let start = self.space.allocate(length)?;
        let address = start.as_ptr() as u64;
        // SAFETY: the memory lives until `free`, which takes the storage out first; kernels and the host
        // program access it by turns, as CUDA's rules on concurrent access demand of programs.
        let storage = unsafe { Storage::mapped(start, length) };
        self.global.insert(name, address, storage);
        self.note(address, bytes, purpose, flags);
        Ok(address)
    }

    /// The addresses, for memory that is mapped.
    pub(crate) fn space(&mut self) -> &mut AddressSpace {
        &mut self.space
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

    /// Lets kernels access mapped memory, which has been made accessible.
    ///
    /// # Errors
    /// `INVALID_VALUE` at address 0.
    pub(crate) fn expose(&mut self, start: u64, bytes: u64) -> Outcome {
        let pointer = NonNull::new(start as *mut u8).ok_or(Status::INVALID_VALUE)?;
        // SAFETY: the pages are mapped and accessible until `free`, which comes first.
        let storage = unsafe { Storage::mapped(pointer, bytes as usize) };
        self.global.insert("mapped memory", start, storage);
        self.note(start, bytes, Purpose::Mapped, 0);
        Ok(())
    }

    fn note(&mut self, start: u64, bytes: u64, purpose: Purpose, flags: u32) {
        self.made += 1;
        if Self::on_device(purpose) {
            self.used += bytes;
        }
        self.regions.insert(start, Region { start, bytes, purpose, flags, id: self.made });
    }

    /// Lets kernels access memory of the host program.
    ///
    /// # Errors
    /// `HOST_MEMORY_ALREADY_REGISTERED` when part of it is known already; `INVALID_VALUE` for no memory.
    pub fn register(&mut self, start: u64, bytes: u64, flags: u32) -> Outcome {
        let pointer = NonNull::new(start as *mut u8).filter(|_| bytes > 0).ok_or(Status::INVALID_VALUE)?;
        let end = start.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        let overlaps = self.regions.range(..end).next_back().is_some_and(|(_, r)| r.start + r.bytes > start);
        if overlaps || self.space.contains(start) {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        // SAFETY: the program promises that the memory stays until it is unregistered.
        let storage = unsafe { Storage::mapped(pointer, bytes as usize) };
        self.global.insert("registered host memory", start, storage);
        self.note(start, bytes, Purpose::Registered, flags);
        Ok(())
    }

    /// Ends an allocation that begins at an address and is for one of these purposes.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn free(&mut self, start: u64, of: &[Purpose]) -> Outcome<Region> {
        let region = self.regions.get(&start).copied().filter(|r| of.contains(&r.purpose));
        let region = region.ok_or(Status::INVALID_VALUE)?;
        self.regions.remove(&start);
        drop(self.global.remove(start));
        if Self::on_device(region.purpose) {
            self.used -= region.bytes;
        }
        if !matches!(region.purpose, Purpose::Registered | Purpose::Mapped)
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
        let all: Vec<(u64, Purpose)> = self.regions.values().map(|r| (r.start, r.purpose)).collect();
        for (start, purpose) in all {
            let _ = self.free(start, &[purpose]);
        }
        for (address, _) in std::mem::take(&mut self.aside) {
            let _ = NonNull::new(address as *mut u8).map(|start| self.space.free(start));
        }
        self.global = GlobalMemory::new();
    }

    /// Fixes an address for memory that is allocated later, and again and again, by [`Memory::back`]. It stays fixed
    /// as long as the program runs.
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
    /// `INVALID_VALUE` when it was not, or is allocated already; `MEMORY_ALLOCATION` when the GPU has no room.
    pub fn back(&mut self, address: u64) -> Outcome {
        let &bytes = self.aside.get(&address).ok_or(Status::INVALID_VALUE)?;
        if bytes > self.capacity - self.used {
            return Err(Status::MEMORY_ALLOCATION);
        }
        let start = NonNull::new(address as *mut u8).ok_or(Status::INVALID_VALUE)?;
        self.aside.remove(&address);
        // SAFETY: as in `allocate`; the range stays mapped while it is set aside.
        let storage = unsafe { Storage::mapped(start, bytes as usize) };
        self.global.insert("graph memory", address, storage);
        self.note(address, bytes, Purpose::Graph, 0);
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

    /// Frees what `cudaFree` frees: memory of the device, managed memory, and what graphs have allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` when no such allocation begins at the address.
    pub fn release(&mut self, address: u64) -> Outcome<Region> {
        match self.regions.get(&address).copied() {
            Some(region) if region.purpose == Purpose::Graph => self.set_aside(address).map(|()| region),
            _ => self.free(address, &[Purpose::Device, Purpose::Managed]),
        }
    }

    /// Bytes that graphs have allocated now, and those that are only set aside.
    #[must_use]
    pub fn graph_bytes(&self) -> (u64, u64) {
        let live = self.regions.values().filter(|r| r.purpose == Purpose::Graph).map(|r| r.bytes);
        (live.sum(), self.aside.values().sum())
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

    /// Whether a program may call an address one of the device, or of the host.
    #[must_use]
    pub fn may_be(&self, address: u64, on_device: bool) -> bool {
        match self.region(address).map(|r| r.purpose) {
            None => on_device == self.is_set_aside(address),
            Some(Purpose::Mapped | Purpose::Device | Purpose::Variable | Purpose::Array | Purpose::Graph) => {
                on_device
            }
            Some(Purpose::Managed | Purpose::Host | Purpose::Registered) => true,
        }
    }

    /// Checks that bytes may be accessed: those of the reserved range have to be allocated.
    fn check(&self, address: u64, bytes: u64) -> Outcome {
        if bytes == 0 {
            return Ok(());
        }
        if let Some(region) = self.region(address) {
            let end = address.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
            // Mapped memory may continue in what is mapped behind it.
            let mut reached = region.start + region.bytes;
            while reached < end {
                let next = self.regions.get(&reached).filter(|r| r.purpose == Purpose::Mapped && r.bytes > 0);
                reached += next.ok_or(Status::INVALID_VALUE)?.bytes;
            }
            return Ok(());
        }
        let foreign = address != 0 && !self.space.contains(address);
        if foreign { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Address of a row of a place, and of the row behind it and the slice behind it.
    fn rows(&self, place: &Place, arrays: &dyn Fn(u64) -> Outcome<[u64; 3]>) -> Outcome<[u64; 3]> {
        match *place {
            Place::Linear { address, pitch, height } => {
                Ok([address, pitch, pitch.checked_mul(height).ok_or(Status::INVALID_VALUE)?])
            }
            Place::Array { array, origin } => {
                let [base, pitch, slice] = arrays(array)?;
                let start = distant(base, [origin[1], origin[2]], [pitch, slice])
                    .and_then(|start| start.checked_add(origin[0]));
                Ok([start.ok_or(Status::INVALID_VALUE)?, pitch, slice])
            }
        }
    }

    /// Copies; `arrays` gives an array's base, bytes from row to row and from slice to slice.
    ///
    /// # Errors
    /// `INVALID_VALUE` when a place is not memory, and what `arrays` says. Nothing has been copied then.
    pub fn copy(&mut self, copy: &Copy, arrays: &dyn Fn(u64) -> Outcome<[u64; 3]>) -> Outcome {
        let [width, height, depth] = copy.extent;
        if copy.extent.contains(&0) {
            return Ok(());
        }
        let (to, from) = (self.rows(&copy.to, arrays)?, self.rows(&copy.from, arrays)?);
        for [base, pitch, slice] in [to, from] {
            let last = distant(base, [height - 1, depth - 1], [pitch, slice]);
            self.check(base, width)?;
            self.check(last.ok_or(Status::INVALID_VALUE)?, width)?;
        }
        for z in 0..depth {
            for y in 0..height {
                let at = |[base, pitch, slice]: [u64; 3]| base + y * pitch + z * slice;
                // SAFETY: both are checked to be allocated here or belong to the host program, which passed
                // them for this; they may overlap.
                unsafe { std::ptr::copy(at(from) as *const u8, at(to) as *mut u8, width as usize) };
            }
        }
        Ok(())
    }

    /// Fills.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the place is not memory or not aligned to the element.
    pub fn fill(&mut self, fill: &Fill) -> Outcome {
        let element = u64::from(fill.element);
        let row = fill.width.checked_mul(element).ok_or(Status::INVALID_VALUE)?;
        if row == 0 || fill.height == 0 {
            return Ok(());
        }
        if !matches!(element, 1 | 2 | 4) || !fill.address.is_multiple_of(element) {
            return Err(Status::INVALID_VALUE);
        }
        self.check(fill.address, row)?;
        let last = distant(fill.address, [fill.height - 1, 0], [fill.pitch, 0]);
        self.check(last.ok_or(Status::INVALID_VALUE)?, row)?;
        let pattern = fill.value.to_le_bytes();
        for y in 0..fill.height {
            let start = (fill.address + y * fill.pitch) as *mut u8;
            // SAFETY: checked as above.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, row as usize) };
            match element {
                1 => bytes.fill(pattern[0]),
                n => {
                    let pattern = &pattern[..n as usize];
                    bytes.chunks_exact_mut(pattern.len()).for_each(|e| e.copy_from_slice(pattern));
                }
            }
        }
        Ok(())
    }
}

/// An address so many rows and slices away.
fn distant(base: u64, count: [u64; 2], step: [u64; 2]) -> Option<u64> {
    let [rows, slices] = [count[0].checked_mul(step[0])?, count[1].checked_mul(step[1])?];
    base.checked_add(rows)?.checked_add(slices)
}

/// Modules place their variables like everything else.
impl Placement for Memory {
    fn place(&mut self, name: &str, bytes: Vec<u8>) -> Option<u64> {
        let address = self.allocate(name, bytes.len() as u64, Purpose::Variable, 0).ok()?;
        self.global.slice_mut(address, bytes.len() as u64)?.copy_from_slice(&bytes);
        Some(address)
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

    const NO_ARRAYS: &dyn Fn(u64) -> Outcome<[u64; 3]> = &|_| Err(Status::INVALID_RESOURCE_HANDLE);

    #[test]
    fn bytes_go_to_the_gpu_and_back() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let device = memory.allocate("a", 256, Purpose::Device, 0).expect("there is room");
        let (host, mut back) = ([1u8, 2, 3, 4], [0u8; 4]);
        memory.copy(&Copy::linear(device + 8, host.as_ptr() as u64, 4), NO_ARRAYS).unwrap();
        assert_eq!(memory.global.slice(device + 8, 4), Some(&host[..]));
        memory.copy(&Copy::linear(back.as_mut_ptr() as u64, device + 8, 4), NO_ARRAYS).unwrap();
        assert_eq!(back, host);
        let beyond = Copy::linear(device + 253, host.as_ptr() as u64, 4);
        assert_eq!(memory.copy(&beyond, NO_ARRAYS), Err(Status::INVALID_VALUE));
        assert_eq!(
            memory.copy(&Copy::linear(device + 512, device, 4), NO_ARRAYS),
            Err(Status::INVALID_VALUE)
        );
        assert_eq!(memory.copy(&Copy::linear(0, device, 4), NO_ARRAYS), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn pitched_copies_keep_the_rows_apart() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let device = memory.allocate("a", 64, Purpose::Device, 0).expect("there is room");
        let host = [1u8, 2, 9, 3, 4, 9];
        let copy = Copy {
            to: Place::Linear { address: device, pitch: 16, height: 2 },
            from: Place::Linear { address: host.as_ptr() as u64, pitch: 3, height: 2 },
            extent: [2, 2, 1],
        };
        memory.copy(&copy, NO_ARRAYS).unwrap();
        assert_eq!(memory.global.slice(device, 3), Some(&[1, 2, 0][..]));
        assert_eq!(memory.global.slice(device + 16, 3), Some(&[3, 4, 0][..]));
        let fill = Fill { address: device, pitch: 16, value: 0x0807, element: 2, width: 1, height: 2 };
        memory.fill(&fill).unwrap();
        assert_eq!(memory.global.slice(device + 16, 3), Some(&[7, 8, 0][..]));
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
        assert_eq!((memory.info().0, memory.graph_bytes()), (1000, (0, 600)));
        assert_eq!(memory.copy(&Copy::linear(a, a, 4), NO_ARRAYS), Err(Status::INVALID_VALUE));
        for _ in 0..2 {
            memory.back(a).unwrap();
            assert_eq!(memory.back(a), Err(Status::INVALID_VALUE));
            assert_eq!((memory.info().0, memory.graph_bytes()), (400, (600, 0)));
            let other = memory.allocate("b", 64, Purpose::Device, 0).unwrap();
            assert_ne!(other, a);
            memory.release(other).unwrap();
            memory.release(a).unwrap();
            assert_eq!(memory.release(a), Err(Status::INVALID_VALUE));
            assert!(memory.global.slice(a, 4).is_none());
        }
    }

    #[test]
    fn host_memory_can_be_registered_once() {
        let mut memory = Memory::new(1000).expect("there are addresses");
        let host = [5u8; 64];
        let start = host.as_ptr() as u64;
        memory.register(start, 64, 0).unwrap();
        assert_eq!(memory.register(start + 8, 8, 0), Err(Status::HOST_MEMORY_ALREADY_REGISTERED));
        assert_eq!(memory.global.slice(start + 60, 4), Some(&[5; 4][..]));
        memory.free(start, &[Purpose::Registered]).unwrap();
        assert_eq!(memory.global.slice(start, 4), None);
    }
}
