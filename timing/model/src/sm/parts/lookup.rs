//! Result of a cache lookup for a load.

/// Result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The data are in the cache; they are delivered at this cycle.
    Hit(u64),
    /// The data arrive with a reply.
    Miss,
    /// No MSHR or no entry of the miss queue is free.
    Refused,
}
