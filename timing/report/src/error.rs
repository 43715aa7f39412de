//! What can go wrong between a described report and its files.
//!
//! Two kinds only: the description contradicts itself (a row with too few cells, a series of the
//! wrong length), or the file system refuses. Odd numbers (NaN, infinities, empty series) are no
//! errors; they are shown as missing.

use std::path::PathBuf;

/// Why a report could not be rendered or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A list inside a chart, table or listing has another length than the description requires.
    #[error("{item} \"{title}\": {part} has {got} {what}, but {expected} are needed")]
    Length {
        /// Kind of item: "bar chart", "table", "source listing", ...
        item: &'static str,
        /// Title of the item.
        title: String,
        /// The offending part, for instance "series \"corf\"" or "row 3".
        part: String,
        /// What is counted: "values", "cells", ...
        what: &'static str,
        /// Count that was given.
        got: usize,
        /// Count that was expected.
        expected: usize,
    },
    /// Histogram edges that do not increase strictly or are not finite.
    #[error("histogram \"{title}\": bin edges must be finite and increase, but edge {index} does not")]
    Edges {
        /// Title of the histogram.
        title: String,
        /// Index of the first edge that breaks the order.
        index: usize,
    },
    /// The file system refused an operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted: "create the folder", "write", ...
        action: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
}

/// Result of report operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Checks one length; the building block of every `check`.
pub(crate) fn expect_len(
    item: &'static str,
    title: &str,
    part: impl FnOnce() -> String,
    what: &'static str,
    got: usize,
    expected: usize,
) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::Length { item, title: title.to_owned(), part: part(), what, got, expected })
}
