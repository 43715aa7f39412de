//! Bytes that are written once and read again: in memory while they are few, else in a temporary file without a name.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes that stay in memory.
const MEMORY_BYTES: usize = 1 << 20;

/// The bytes, addressed by their position from the start.
#[derive(Debug, Default)]
pub(super) struct Spool {
    file: Option<Mutex<File>>,
    in_file: u64,
    /// The bytes after those in the file.
    memory: Vec<u8>,
    /// No file could be had: everything stays in memory.
    without_file: bool,
}

impl Spool {
    /// Appends bytes and returns where they are.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Range<u64> {
        let start = self.in_file + self.memory.len() as u64;
        self.memory.extend_from_slice(bytes);
        if self.memory.len() >= MEMORY_BYTES && !self.without_file && self.move_to_file().is_err() {
            self.without_file = true;
        }
        start..start + bytes.len() as u64
    }

    fn move_to_file(&mut self) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => Mutex::new(tempfile::tempfile()?),
        };
        let written = {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(self.in_file)).and_then(|_| file.write_all(&self.memory))
        };
        // What is in the file already stays there when it takes no more.
        self.file = Some(file);
        written?;
        self.in_file += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Bytes that one push has appended.
    pub(super) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = (range.end - range.start) as usize;
        if let Some(start) = range.start.checked_sub(self.in_file) {
            return Ok(self.memory[start as usize..start as usize + bytes].to_vec());
        }
        let mut found = vec![0; bytes];
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut found)?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pieces_are_read_again_from_memory_and_file() {
        let mut spool = Spool::default();
        let piece = |n: usize| vec![n as u8; n % 3000];
        let places: Vec<Range<u64>> = (0..3000).map(|n| spool.push(&piece(n))).collect();
        assert!(
            spool.in_file > 3 << 20 && spool.memory.len() < MEMORY_BYTES + 3000 && !spool.memory.is_empty()
        );
        for (n, place) in places.into_iter().enumerate().rev() {
            assert_eq!(spool.read(place).expect("it is there"), piece(n), "{n}");
        }
    }

    #[test]
    fn without_a_file_everything_stays_in_memory() {
        let mut spool = Spool { without_file: true, ..Spool::default() };
        let places: Vec<Range<u64>> = (0..40u8).map(|n| spool.push(&vec![n; 100_000])).collect();
        assert_eq!((spool.in_file, spool.memory.len()), (0, 4_000_000));
        assert_eq!(spool.read(places[39].clone()).expect("it is there"), vec![39; 100_000]);
    }
}
