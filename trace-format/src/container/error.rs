//! Errors of trace files, with the place and, if there is one, the remedy.

use crate::encode::CodingError;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place within the recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Launch, counted from 0.
    pub launch: u32,
    /// Thread block, linear index.
    pub block: u64,
    /// Warp within the block.
    pub warp: u32,
    /// Warp instructions executed before the place.
    pub step: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {}, block {}, warp {}, step {}", self.launch, self.block, self.warp, self.step)
    }
}

/// Error of writing or reading a trace; one pointer wide, so that results stay in registers.
#[derive(Debug)]
pub struct TraceError(Box<ErrorKind>);

/// Kinds of [`TraceError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The attempted action.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file does not begin with the magic number of traces.
    #[error("{}: not a Warplab trace; record one with `emu record`", .0.display())]
    NotATrace(PathBuf),
    /// The file was written by an incompatible version.
    #[error("{}: trace format {found}, but this build reads format {supported}; record it again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Version of this build.
        supported: u32,
    },
    /// The kernels of the file are written in another opcode table.
    #[error(
        "{}: header at byte {offset}: recorded by {tool} with opcode table {found:016x}, but this build has table \
         {supported:016x} and would misread its instructions; record it again, or read it with the build that wrote it",
        path.display()
    )]
    OpcodeTable {
        /// The file.
        path: PathBuf,
        /// Offset of the header.
        offset: u64,
        /// Program that wrote the file.
        tool: String,
        /// Hash of the table in the file.
        found: u64,
        /// Hash of this build's table.
        supported: u64,
    },
    /// A section of the file is damaged.
    #[error("{}: damaged {section} at byte {offset}: {what}; record it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Name of the section.
        section: &'static str,
        /// Its offset.
        offset: u64,
        /// Description of the damage.
        what: String,
    },
    /// The streams of a warp cannot be decoded.
    #[error("{}: {place}: {source}", path.display())]
    Stream {
        /// The file.
        path: PathBuf,
        /// Place of the error.
        place: Place,
        /// The decoding error.
        source: CodingError,
    },
    /// The streams of a warp decode to values that differ from the recorded ones.
    #[error("{}: {place}: {what}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// Place of the error.
        place: Place,
        /// Description of the difference.
        what: String,
    },
    /// The trace does not hold the requested data.
    #[error("{}: {what}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The missing data.
        what: String,
    },
    /// A recording breaks a rule of the writer.
    #[error("recording refused: {0}")]
    Refused(String),
}

impl TraceError {
    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: std::io::Error) -> TraceError {
        ErrorKind::Io { path: path.to_path_buf(), action, source }.into()
    }

    /// The error for something that cannot be recorded.
    pub fn refused(what: impl Into<String>) -> TraceError {
        ErrorKind::Refused(what.into()).into()
    }
}

impl From<ErrorKind> for TraceError {
    fn from(kind: ErrorKind) -> TraceError {
        TraceError(Box::new(kind))
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer() {
        assert_eq!(size_of::<TraceError>(), size_of::<usize>());
    }
}
