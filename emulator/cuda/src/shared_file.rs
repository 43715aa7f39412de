//! Files that processes share: anonymous ones, and handles by which another process opens them.
//!
//! A handle says where the file is found: among the descriptors of the process that made it, in `/proc`. That process must
//! still run, as CUDA demands of the process that exports memory or an event.

use crate::error::{Outcome, Status};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A new file without a name, which lives as long as somebody has it open or mapped.
///
/// # Errors
/// `OPERATING_SYSTEM` when there are too many open files.
pub(crate) fn anonymous_file() -> Outcome<File> {
    // SAFETY: the name is a string; the call makes a new file that nobody else has.
    let file = unsafe { libc::memfd_create(c"warplab".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(Status::OPERATING_SYSTEM);
    }
    // SAFETY: the file has just been made and belongs to nobody.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// First word of every handle.
const MAGIC: u64 = u64::from_le_bytes(*b"warplab\0");

/// A file of a process that has been named to others.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SharedFile {
    magic: u64,
    process: u32,
    descriptor: i32,
    /// The file's number in its file system, in case the descriptor means another file by now.
    file: u64,
    /// Bytes of the allocation.
    bytes: u64,
}

impl SharedFile {
    /// A file of this process.
    ///
    /// # Errors
    /// `OPERATING_SYSTEM` when the system does not know it.
    pub(crate) fn of(file: &File, bytes: u64) -> Outcome<SharedFile> {
        let number = file.metadata().map_err(|_| Status::OPERATING_SYSTEM)?.ino();
        let process = std::process::id();
        Ok(SharedFile { magic: MAGIC, process, descriptor: file.as_raw_fd(), file: number, bytes })
    }

    /// Opens the file of another process.
    ///
    /// # Errors
    /// `INVALID_VALUE` when it is no handle or that process no longer has the file; `INVALID_CONTEXT` for one of this
    /// process.
    pub(crate) fn open(&self) -> Outcome<File> {
        if self.magic != MAGIC {
            return Err(Status::INVALID_VALUE);
        }
        if self.process == std::process::id() {
            return Err(Status::INVALID_CONTEXT);
        }
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let file = File::options().read(true).write(true).open(path).map_err(|_| Status::INVALID_VALUE)?;
        let metadata = file.metadata().map_err(|_| Status::INVALID_VALUE)?;
        let same = metadata.ino() == self.file && metadata.len() >= self.bytes && self.bytes > 0;
        if same { Ok(file) } else { Err(Status::INVALID_VALUE) }
    }
    /// Bytes of what is shared.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the process that made the file still runs.
    pub(crate) fn is_owned(&self) -> bool {
        Path::new(&format!("/proc/{}", self.process)).exists()
    }
}
