//! What every write policy of L1 is, and what it is asked about.

use crate::memory::cache::Tags;
use crate::policy::Policy;

/// A store of a warp to one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineStore {
    /// The line's number.
    pub line: u64,
    /// Sectors that are written.
    pub sectors: u8,
    /// Sectors that are written completely.
    pub full: u8,
    /// Whether a store that goes on to L2 may bring its line in.
    pub allocate: bool,
}

/// Sectors of a store that L1 keeps; the line is brought in where it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Sectors that can be read afterwards.
    pub valid: u8,
    /// Those of them that L1 alone has.
    pub dirty: u8,
}

/// What becomes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What L1 keeps of it.
    pub kept: Option<Kept>,
    /// Sectors that are sent to L2.
    pub through: u8,
}

/// A write policy of L1.
pub trait Write: Policy {
    /// Whether L1 may hold what L2 does not have. Only stores to local memory, which is a thread's own, may be kept
    /// back: L1s are not coherent.
    const KEEPS: bool = false;

    /// Whether a store may bring its line in.
    fn inserts(allocate: bool) -> bool;

    /// What becomes of a store; may look into L1 and drop the line.
    fn store(l1: &mut Tags, store: &LineStore) -> Stored;
}
