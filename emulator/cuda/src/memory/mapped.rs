//! Reserves addresses, creates memory, and maps one to the other.

use super::allocations::{Memory, Purpose};
use super::mapping::{GRANULARITY, Mapping, Physical, check_size};
use crate::error::{Outcome, Status};
use crate::shared_file::anonymous_file;
use std::fs::File;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::ptr::NonNull;

impl Memory {
    /// Reserves addresses.
    ///
    /// # Errors
    /// `INVALID_VALUE` for sizes that are no multiple of the granularity, `MEMORY_ALLOCATION` when none are left.
    pub fn reserve_addresses(&mut self, bytes: u64, alignment: u64) -> Outcome<u64> {
        check_size(bytes)?;
        if alignment > GRANULARITY || !(alignment == 0 || alignment.is_power_of_two()) {
            return Err(Status::INVALID_VALUE);
        }
        let start = self.space.reserve_range(bytes as usize)?.as_ptr() as u64;
        self.mappings.reserved.insert(start, bytes);
        Ok(start)
    }

    /// Gives reserved addresses back.
    ///
    /// # Errors
    /// `INVALID_VALUE` when they were not reserved as one, or something is mapped there.
    pub fn release_addresses(&mut self, start: u64, bytes: u64) -> Outcome {
        let in_use = self.mappings.mapped.range(start..start.saturating_add(bytes)).next().is_some();
        if in_use || self.mappings.reserved.get(&start) != Some(&bytes) {
            return Err(Status::INVALID_VALUE);
        }
        self.mappings.reserved.remove(&start);
        self.space.free(NonNull::new(start as *mut u8).ok_or(Status::INVALID_VALUE)?)
    }

    /// Creates memory.
    ///
    /// # Errors
    /// `MEMORY_ALLOCATION` when the GPU has not so much left.
    pub fn create_memory(&mut self, bytes: u64) -> Outcome<u64> {
        check_size(bytes)?;
        self.take(bytes)?;
        let offset = self.mappings.place(bytes).inspect_err(|_| self.give(bytes))?;
        let twins = self.new_id();
        Ok(self.mappings.physical.insert(Physical { offset, bytes, twins, uses: 1, own: None }))
    }

    /// Creates memory that other processes may open, in a file of its own.
    ///
    /// # Errors
    /// As [`Memory::create_memory`].
    pub fn create_shareable(&mut self, bytes: u64) -> Outcome<u64> {
        check_size(bytes)?;
        let file = anonymous_file()?;
        file.set_len(bytes).map_err(|_| Status::MEMORY_ALLOCATION)?;
        self.insert_file(file, bytes)
    }

    fn insert_file(&mut self, file: File, bytes: u64) -> Outcome<u64> {
        self.take(bytes)?;
        let twins = self.new_id();
        Ok(self.mappings.physical.insert(Physical { offset: 0, bytes, twins, uses: 1, own: Some(file) }))
    }

    /// A descriptor of the file of memory that other processes may open; the caller closes it.
    ///
    /// # Errors
    /// `INVALID_VALUE` for memory that was not created for that.
    pub fn export_memory(&self, memory: u64) -> Outcome<i32> {
        let own = self.mappings.physical.get(memory)?.own.as_ref().ok_or(Status::INVALID_VALUE)?;
        own.try_clone().map(IntoRawFd::into_raw_fd).map_err(|_| Status::OPERATING_SYSTEM)
    }

    /// Memory of another process, by a descriptor of its file, which stays the program's.
    ///
    /// # Errors
    /// `INVALID_VALUE` when it is no such file.
    pub fn import_memory(&mut self, descriptor: i32) -> Outcome<u64> {
        if descriptor < 0 {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program passes an open descriptor; if it is not open, the copy fails.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
        let file = File::from(file.map_err(|_| Status::INVALID_VALUE)?);
        let bytes = file.metadata().map_err(|_| Status::INVALID_VALUE)?.len();
        check_size(bytes)?;
        self.insert_file(file, bytes)
    }

    /// Whether memory may be opened by other processes.
    ///
    /// # Errors
    /// When there is no such memory.
    pub fn is_shareable(&self, memory: u64) -> Outcome<bool> {
        Ok(self.mappings.physical.get(memory)?.own.is_some())
    }

    /// Releases a reference to memory; the last one frees it.
    ///
    /// # Errors
    /// When there is no such memory.
    pub fn release_memory(&mut self, memory: u64) -> Outcome {
        let found = self.mappings.physical.get_mut(memory)?;
        found.uses -= 1;
        if found.uses == 0 {
            let physical = self.mappings.physical.remove(memory)?;
            self.give(physical.bytes);
            self.mappings.give(&physical);
        }
        Ok(())
    }

    /// The memory that is mapped at an address, with one more reference.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn retain_memory_at(&mut self, address: u64) -> Outcome<u64> {
        let memory = self.mappings.at(address).ok_or(Status::INVALID_VALUE)?.1.memory;
        self.mappings.physical.get_mut(memory)?.uses += 1;
        Ok(memory)
    }

    /// Maps all of a memory to reserved addresses, not accessible yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the addresses are not reserved or in use, or the size is not the memory's.
    pub fn map_memory(&mut self, start: u64, bytes: u64, memory: u64) -> Outcome {
        let end = start.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        check_size(bytes)?;
        let reserved =
            self.mappings.reserved.range(..=start).next_back().is_some_and(|(&s, &n)| end <= s + n);
        let taken =
            self.mappings.at(start).is_some() || self.mappings.mapped.range(start..end).next().is_some();
        let physical = self.mappings.physical.get_mut(memory)?;
        if !reserved || taken || !start.is_multiple_of(GRANULARITY) || physical.bytes != bytes {
            return Err(Status::INVALID_VALUE);
        }
        let file = physical.own.as_ref().or(self.mappings.file.as_ref()).ok_or(Status::INVALID_VALUE)?;
        self.space.show(start as usize, bytes as usize, file, physical.offset)?;
        physical.uses += 1;
        self.mappings.mapped.insert(start, Mapping { bytes, memory, accessible: false });
        Ok(())
    }

    /// Unmaps all mappings in a range.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is not that of whole mappings.
    pub fn unmap_memory(&mut self, start: u64, bytes: u64) -> Outcome {
        for start in self.mappings.within(start, bytes)? {
            self.set_mapping_access(start, false)?;
            let mapping = self.mappings.mapped.remove(&start).ok_or(Status::INVALID_VALUE)?;
            self.space.hide(start as usize, mapping.bytes as usize)?;
            self.release_memory(mapping.memory)?;
        }
        Ok(())
    }

    /// Allows or forbids access of kernels and the host to a range.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is not that of whole mappings.
    pub fn set_access(&mut self, start: u64, bytes: u64, accessible: bool) -> Outcome {
        for start in self.mappings.within(start, bytes)? {
            self.set_mapping_access(start, accessible)?;
        }
        Ok(())
    }

    fn set_mapping_access(&mut self, start: u64, accessible: bool) -> Outcome {
        let mapping = self.mappings.mapped.get_mut(&start).ok_or(Status::INVALID_VALUE)?;
        if mapping.accessible == accessible {
            return Ok(());
        }
        mapping.accessible = accessible;
        let (bytes, memory) = (mapping.bytes, mapping.memory);
        if accessible {
            let twins = self.mappings.physical.get(memory)?.twins;
            self.expose(start, bytes, twins)
        } else {
            self.free(start, &[Purpose::Mapped]).map(drop)
        }
    }

    /// Whether the mapping at an address may be accessed.
    ///
    /// # Errors
    /// `INVALID_VALUE` when nothing is mapped there.
    pub fn access(&self, address: u64) -> Outcome<bool> {
        self.mappings.at(address).map(|(_, m)| m.accessible).ok_or(Status::INVALID_VALUE)
    }

    /// Unmaps and frees everything.
    pub(crate) fn clear_mappings(&mut self) {
        let mapped: Vec<(u64, u64)> = self.mappings.mapped.iter().map(|(&s, m)| (s, m.bytes)).collect();
        for (start, bytes) in mapped {
            let _ = self.unmap_memory(start, bytes);
        }
        let reserved: Vec<(u64, u64)> = self.mappings.reserved.iter().map(|(&s, &n)| (s, n)).collect();
        for (start, bytes) in reserved {
            let _ = self.release_addresses(start, bytes);
        }
        let left: Vec<u64> = self.mappings.physical.iter().map(|(handle, _)| handle).collect();
        for memory in left {
            if let Ok(physical) = self.mappings.physical.remove(memory) {
                self.give(physical.bytes);
                self.mappings.give(&physical);
            }
        }
    }
}
