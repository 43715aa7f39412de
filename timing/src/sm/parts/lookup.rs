//! What a cache answers to a load.

/// Answer of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The data are there; they are delivered at a cycle.
    Hit(u64),
    /// A reply brings them.
    Miss,
    /// There is no MSHR or no place in the miss queue.
    Refused,
}
