//! Lines of a text file, plain or compressed with xz, with their numbers. Memory is bounded whatever the file holds.

use crate::error::AccelsimError;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use warplab_host::input;

/// Longest line; 32 addresses take less than a kibibyte.
const MAX_LINE_BYTES: u64 = 64 << 10;
/// Memory that decompression may take; the largest preset of xz takes 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;
/// First bytes of an xz file.
const XZ_MAGIC: &[u8] = b"\xFD7zXZ\0";

/// Opens a regular file: a pipe may have no writer, and files are read twice.
fn open(path: &Path) -> io::Result<File> {
    if path.metadata()?.is_file() {
        input::open(path)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// A file that counts the bytes that have been read.
struct Counted {
    file: File,
    bytes: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// A text file that is read line by line.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    /// The current line, without its end.
    pub text: Vec<u8>,
    number: u64,
    compressed: bool,
    bytes: Rc<Cell<u64>>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Lines, AccelsimError> {
        let failed = |error: io::Error| AccelsimError::file(path, format!("cannot be read: {error}"));
        let bytes = Rc::new(Cell::new(0));
        let file = Counted { file: open(path).map_err(failed)?, bytes: Rc::clone(&bytes) };
        let mut reader = BufReader::with_capacity(256 << 10, file);
        let compressed = reader.fill_buf().map_err(failed)?.starts_with(XZ_MAGIC);
        let reader: Box<dyn BufRead> = if compressed {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED);
            let stream = stream.map_err(|why| AccelsimError::file(path, format!("xz: {why}")))?;
            Box::new(BufReader::with_capacity(256 << 10, XzDecoder::new_stream(reader, stream)))
        } else {
            Box::new(reader)
        };
        Ok(Lines { path: path.to_path_buf(), reader, text: Vec::new(), number: 0, compressed, bytes })
    }

    /// Reads the next line into `text`; false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, AccelsimError> {
        self.text.clear();
        self.number += 1;
        let read = (&mut self.reader).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut self.text);
        match read {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if self.compressed => {
                let short = error.kind() == ErrorKind::UnexpectedEof;
                let why =
                    if short { "the compressed data end too early".to_owned() } else { error.to_string() };
                return Err(self.error(format!("xz: {why}")));
            }
            Err(error) => return Err(self.error(format!("cannot be read: {error}"))),
        }
        if self.text.len() as u64 > MAX_LINE_BYTES {
            return Err(
                self.error(format!("the line has more than {MAX_LINE_BYTES} bytes; this is no trace"))
            );
        }
        while self.text.last().is_some_and(u8::is_ascii_whitespace) {
            self.text.pop();
        }
        Ok(true)
    }

    /// The current line as text.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.text).chars().filter(|c| !c.is_control()).take(60).collect()
    }

    /// Bytes of the file that have been read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error at the current line.
    pub(crate) fn error(&self, what: impl Into<String>) -> AccelsimError {
        AccelsimError::Line { path: self.path.clone(), line: self.number, what: what.into() }
    }
}
