//! Virtual memory management: reservation of addresses, creation of memory, and mapping as separate steps.
//!
//! All memory is one anonymous file, so that its bytes persist when it is unmapped and can be mapped at
//! several addresses.

use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use crate::ranges::Ranges;
use crate::shared_file::anonymous_file;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Sizes and addresses are multiples of this.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// Memory that may be mapped.
#[derive(Debug)]
pub(crate) struct Physical {
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Number that all allocations that show it have.
    pub(super) twins: u64,
    /// References: the program's own, and one of each mapping.
    pub(super) uses: u32,
    /// A file of its own, if other processes may open it.
    pub(super) own: Option<File>,
}

/// Memory at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) bytes: u64,
    pub(super) memory: u64,
    pub(super) accessible: bool,
}

/// What is reserved, created and mapped.
#[derive(Debug)]
pub struct Mappings {
    /// The file, its length, and its free parts.
    pub(super) file: Option<File>,
    file_bytes: u64,
    free: Ranges,
    pub(super) physical: Handles<Physical>,
    pub(super) reserved: BTreeMap<u64, u64>,
    pub(super) mapped: BTreeMap<u64, Mapping>,
}

impl Default for Mappings {
    fn default() -> Mappings {
        Mappings {
            file: None,
            file_bytes: 0,
            free: Ranges::default(),
            physical: Handles::new(Kind::Physical),
            reserved: BTreeMap::new(),
            mapped: BTreeMap::new(),
        }
    }
}

pub(super) fn check_size(bytes: u64) -> Outcome {
    if bytes > 0 && bytes.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

impl Mappings {
    /// An offset in the file; the bytes there are zero.
    pub(super) fn place(&mut self, bytes: u64) -> Outcome<u64> {
        if let Some(offset) = self.free.take(bytes) {
            return Ok(offset);
        }
        if self.file.is_none() {
            self.file = Some(anonymous_file()?);
        }
        let file = self.file.as_ref().ok_or(Status::OPERATING_SYSTEM)?;
        let offset = self.file_bytes;
        let end = offset.checked_add(bytes).ok_or(Status::MEMORY_ALLOCATION)?;
        file.set_len(end).map_err(|_| Status::MEMORY_ALLOCATION)?;
        self.file_bytes = end;
        Ok(offset)
    }

    /// Frees a part of the file, with its memory.
    pub(super) fn give(&mut self, physical: &Physical) {
        // A file of its own ends when nobody has it.
        if physical.own.is_some() {
            return;
        }
        let flags = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (offset, bytes) = (physical.offset.cast_signed(), physical.bytes.cast_signed());
        // SAFETY: the file is open; no allocation shows this part of it any more.
        let emptied = self
            .file
            .as_ref()
            .is_some_and(|f| unsafe { libc::fallocate(f.as_raw_fd(), flags, offset, bytes) } == 0);
        // A part that could not be emptied is not reused: it would not be zero.
        if emptied {
            self.free.give(physical.offset, physical.bytes);
        }
    }

    /// Mappings that make up a range exactly.
    pub(super) fn within(&self, start: u64, bytes: u64) -> Outcome<Vec<u64>> {
        let end = start.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        let (mut at, mut starts) = (start, Vec::new());
        while at < end {
            starts.push(at);
            at += self.mapped.get(&at).ok_or(Status::INVALID_VALUE)?.bytes;
        }
        if at == end && bytes > 0 { Ok(starts) } else { Err(Status::INVALID_VALUE) }
    }

    pub(super) fn at(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (&start, mapping) = self.mapped.range(..=address).next_back()?;
        (address - start < mapping.bytes).then_some((start, mapping))
    }
}
