//! The bytes of a trace file, read on demand.
//!
//! The file is not mapped: if it is truncated or overwritten while it is open, the next read gives an error,
//! whereas a mapping would end the process with a signal. Frames are decompressed into separate memory
//! anyway.

use crate::container::TraceError;
use crate::container::error::ErrorKind;
use crate::container::format::{MAX_SECTION_BYTES, PREAMBLE_BYTES, RECORD_HEAD_BYTES, RecordRef, word64};
use crate::container::frame::SECTIONS;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;
use warplab_host::destination::Destination;
use warplab_host::input;
use xxhash_rust::xxh3::Xxh3;

/// Largest valid record: a frame with full sections, and some room for its head and table.
const MAX_RECORD_BYTES: u64 = (SECTIONS * MAX_SECTION_BYTES) as u64 + (1 << 20);

/// Bytes of the file that are hashed at once.
const HASHED_BYTES: usize = 1 << 20;

thread_local! {
    /// Buffer of a thread for records, reused.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// An open trace file.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    bytes: u64,
    /// When the file had been written last, at its opening.
    modified: Option<SystemTime>,
    hash: OnceLock<u64>,
}

impl Source {
    /// Opens a file that is long enough to be a trace.
    pub(crate) fn open(path: &Path) -> Result<Source, TraceError> {
        let not_a_trace = || ErrorKind::NotATrace(path.to_path_buf()).into();
        // Opening a pipe would wait for a writer.
        let found = std::fs::metadata(path).map_err(|e| TraceError::io(path, "open", missing(path, e)))?;
        if !found.is_file() {
            return Err(not_a_trace());
        }
        let file = input::open(path).map_err(|e| TraceError::io(path, "open", e))?;
        let found = file.metadata().map_err(|e| TraceError::io(path, "read", e))?;
        let (bytes, modified) = (found.len(), found.modified().ok());
        if bytes < PREAMBLE_BYTES as u64 {
            return Err(not_a_trace());
        }
        Ok(Source { file, bytes, modified, hash: OnceLock::new() })
    }

    /// XXH3 of the bytes of the open file, whatever is at its path by now.
    ///
    /// # Errors
    /// The file cannot be read, or has been written since it was opened.
    pub(crate) fn hash(&self) -> io::Result<u64> {
        if let Some(hash) = self.hash.get() {
            return Ok(*hash);
        }
        let (mut hash, mut piece, mut at) = (Xxh3::new(), vec![0; HASHED_BYTES], 0);
        while at < self.bytes {
            let read = (self.bytes - at).min(HASHED_BYTES as u64) as usize;
            read_exact_at(&self.file, &mut piece[..read], at)?;
            hash.update(&piece[..read]);
            at += read as u64;
        }
        let now = self.file.metadata()?;
        if now.len() != self.bytes || now.modified().ok() != self.modified {
            return Err(io::Error::other("it was written while it was read"));
        }
        Ok(*self.hash.get_or_init(|| hash.digest()))
    }

    /// Size of the file when it was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes at an offset.
    pub(crate) fn read<const N: usize>(&self, offset: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        read_exact_at(&self.file, &mut bytes, offset)?;
        Ok(bytes)
    }

    /// Reads the record at an offset and passes it to `use_it`; `None` when there is none that lies within
    /// the file.
    pub(crate) fn record<T>(
        &self,
        offset: u64,
        use_it: impl FnOnce(RecordRef<'_>) -> T,
    ) -> io::Result<Option<T>> {
        let fits = |bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if !fits(RECORD_HEAD_BYTES as u64) {
            return Ok(None);
        }
        let head: [u8; RECORD_HEAD_BYTES] = self.read(offset)?;
        let bytes = word64(&head, 8).unwrap_or(u64::MAX).saturating_add(RECORD_HEAD_BYTES as u64);
        if !fits(bytes) {
            return Ok(None);
        }
        self.record_of(offset, bytes, use_it)
    }

    /// As [`Source::record`], for a record with a known size.
    pub(crate) fn record_of<T>(
        &self,
        offset: u64,
        bytes: u64,
        use_it: impl FnOnce(RecordRef<'_>) -> T,
    ) -> io::Result<Option<T>> {
        if bytes > MAX_RECORD_BYTES.min(self.bytes) {
            return Ok(None);
        }
        // A trace is completed when the process ends, when the storage of its thread may be gone.
        let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
        buffer.clear();
        buffer.try_reserve_exact(bytes as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
        buffer.resize(bytes as usize, 0);
        let read = read_exact_at(&self.file, &mut buffer, offset);
        let used =
            read.map(|()| RecordRef::at(&buffer, 0).filter(|record| record.bytes() == bytes).map(use_it));
        let _ = BUFFER.try_with(|kept| kept.set(buffer));
        used
    }
}

/// Adds to the error the path of an unfinished recording, if the complete file is missing.
fn missing(path: &Path, error: io::Error) -> io::Error {
    let unfinished = match error.kind() {
        io::ErrorKind::NotFound => Destination::of(path).unfinished(),
        _ => Vec::new(),
    };
    match &unfinished[..] {
        [] => error,
        [.., last] => {
            io::Error::new(error.kind(), format!("{error}; an unfinished recording is in {}", last.display()))
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (bytes, offset) = (&mut bytes[n..], offset + n as u64),
        }
    }
    Ok(())
}

/// Describes a read error, for messages that name the place.
pub(crate) fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file has been truncated since it was opened".into(),
        _ => format!("it cannot be read: {error}"),
    }
}
