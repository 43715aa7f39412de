//! Allocations of one process that another opens (`cuIpcGetMemHandle`): the bytes of a shared allocation lie in an
//! anonymous file ([`crate::shared_file`]), which both processes map.

use super::allocations::{Memory, Purpose};
use crate::error::{Outcome, Status};
use crate::shared_file::{SharedFile, anonymous_file};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

fn in_pages(bytes: u64) -> usize {
    (bytes as usize).next_multiple_of(rustix::param::page_size())
}

impl Memory {
    /// Lets other processes open the allocation of the device that holds an address.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none; `OPERATING_SYSTEM` when its bytes cannot be moved to a file.
    pub fn share(&mut self, address: u64) -> Outcome<SharedFile> {
        let region = self.region(address).filter(|region| region.purpose == Purpose::Device);
        let (start, bytes) =
            region.map(|region| (region.start, region.bytes)).ok_or(Status::INVALID_VALUE)?;
        if let Some(file) = self.sharing.given.get(&start) {
            return SharedFile::of(file, bytes);
        }
        let (file, length) = (anonymous_file()?, in_pages(bytes));
        file.set_len(length as u64).map_err(|_| Status::MEMORY_ALLOCATION)?;
        // SAFETY: the allocation has these bytes, and the GPU is locked.
        let contents = unsafe { std::slice::from_raw_parts(start as *const u8, bytes as usize) };
        file.write_all_at(contents, 0).map_err(|_| Status::MEMORY_ALLOCATION)?;
        self.space.show(start as usize, length, &file, 0)?;
        let handle = SharedFile::of(&file, bytes)?;
        self.sharing.given.insert(start, file);
        Ok(handle)
    }

    /// Ends the sharing of an allocation that is freed: its pages are of this process alone again.
    pub(super) fn unshare(&mut self, start: u64, bytes: u64) -> Outcome {
        match self.sharing.given.remove(&start) {
            Some(_) => self.space.hide(start as usize, in_pages(bytes)),
            None => Ok(()),
        }
    }

    /// The address of an allocation of another process; the same one each time.
    ///
    /// # Errors
    /// As [`SharedFile::open`]; `MEMORY_ALLOCATION` when there are no addresses left.
    pub fn open_shared(&mut self, handle: SharedFile) -> Outcome<u64> {
        if let Some((start, times)) = self.sharing.opened.get_mut(&handle) {
            *times += 1;
            return Ok(*start);
        }
        let file = handle.open()?;
        let length = in_pages(handle.bytes());
        let start = self.space.reserve_range(length)?.as_ptr() as u64;
        self.space.show(start as usize, length, &file, 0)?;
        let twins = self.new_id();
        self.expose(start, handle.bytes(), twins)?;
        self.sharing.opened.insert(handle, (start, 1));
        Ok(start)
    }

    /// Closes an allocation of another process as often as it was opened.
    ///
    /// # Errors
    /// `INVALID_VALUE` when none was opened at the address.
    pub fn close_shared(&mut self, address: u64) -> Outcome {
        let found = self.sharing.opened.iter_mut().find(|(_, (start, _))| *start == address);
        let (handle, (start, times)) = found.ok_or(Status::INVALID_VALUE)?;
        *times -= 1;
        if *times > 0 {
            return Ok(());
        }
        let (handle, start) = (*handle, *start);
        self.sharing.opened.remove(&handle);
        self.free(start, &[Purpose::Mapped])?;
        self.space.hide(start as usize, in_pages(handle.bytes()))?;
        self.space.free(NonNull::new(start as *mut u8).ok_or(Status::INVALID_VALUE)?)
    }

    /// Closes all allocations of other processes.
    pub(super) fn close_all_shared(&mut self) {
        let opened: Vec<(u64, u32)> = self.sharing.opened.values().copied().collect();
        for (start, times) in opened {
            for _ in 0..times {
                let _ = self.close_shared(start);
            }
        }
    }
}
