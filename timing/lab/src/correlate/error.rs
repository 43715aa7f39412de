//! The error of a correlation.

/// Why figures cannot be correlated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CorrelateError(pub(super) String);
