//! The error of the list of references.

/// What is wrong with the list of references or with a table that it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccuracyError(pub(super) String);
