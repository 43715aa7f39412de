//! Reading files that users name: completely, but up to a bound, since devices and pipes may be endless.

use crate::outputs;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a text that people write: a manifest, a configuration, an energy table.
pub const TEXT_BYTES: u64 = 64 << 20;
/// Maximum size of a result that programs write as text.
pub const RESULT_BYTES: u64 = 2 << 30;
/// Maximum size of an executable or a library.
pub const IMAGE_BYTES: u64 = 32 << 30;
/// Maximum size of a file that is no regular file and has no known length.
const STREAM_BYTES: u64 = 256 << 20;

/// Opens a file that the command reads; it cannot be one of its outputs.
///
/// # Errors
/// The file cannot be opened, or is an output of the command.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    outputs::opened(path, &file)?;
    Ok(file)
}

/// Reads a file of at most `most_bytes` bytes.
///
/// # Errors
/// The file cannot be read, is longer, or is an output of the command.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    all_of(open(path)?, most_bytes)
}

/// As [`read`], of a file that the program itself keeps and may replace.
///
/// # Errors
/// The file cannot be read or is longer.
pub fn read_own(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    all_of(File::open(path)?, most_bytes)
}

fn all_of(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let found = file.metadata()?;
    let most = if found.is_file() { most_bytes } else { most_bytes.min(STREAM_BYTES) };
    // Files that are generated when read (in /proc) report a length of 0.
    let said = if found.is_file() { found.len() } else { 0 };
    if said > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::new();
    let room = usize::try_from(said).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

/// Reads a text of at most `most_bytes` bytes.
///
/// # Errors
/// The file cannot be read, is longer, or is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not a text in UTF-8");
    String::from_utf8(read(path, most_bytes)?).map_err(no_text)
}

fn too_large(most: u64) -> io::Error {
    let most = if most > 0 && most.is_multiple_of(1 << 20) {
        format!("{} MiB", most >> 20)
    } else {
        format!("{most} bytes")
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most}"))
}

#[cfg(test)]
mod tests {
    use super::{STREAM_BYTES, TEXT_BYTES, read, read_text};

    #[test]
    fn files_are_read_up_to_the_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").expect("written");
        assert_eq!(read(&path, 5).expect("it fits"), b"12345");
        assert_eq!(read_text(&path, 5).expect("it fits"), "12345");
        let told = read(&path, 4).expect_err("it does not fit").to_string();
        assert_eq!(told, "it has more than 4 bytes");
        std::fs::write(&path, [0xFF]).expect("written");
        assert!(read_text(&path, 5).is_err());
        // A large file is refused before it is read.
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 36)).expect("a sparse file");
        assert_eq!(read(&path, TEXT_BYTES).expect_err("too large").to_string(), "it has more than 64 MiB");
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_refused() {
        for most in [TEXT_BYTES, u64::MAX] {
            let told = read("/dev/zero".as_ref(), most).expect_err("it has no end").to_string();
            assert_eq!(told, format!("it has more than {} MiB", most.min(STREAM_BYTES) >> 20));
        }
        assert!(!read_text("/proc/self/status".as_ref(), TEXT_BYTES).expect("a made-up file").is_empty());
    }
}
