//! Errors of reading and writing text traces, each with its place.

use std::path::{Path, PathBuf};
use trace_format::container::TraceError;

/// Why a text trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccelsimError {
    /// A line that is wrong.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1; one past the last when the file ends too early.
        line: u64,
        /// What is wrong with it, and what helps.
        what: String,
    },
    /// A file that cannot be used.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why, and what helps.
        what: String,
    },
    /// The trace that is written or read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl AccelsimError {
    pub(crate) fn file(path: &Path, what: impl Into<String>) -> AccelsimError {
        AccelsimError::File { path: path.to_path_buf(), what: what.into() }
    }
}
