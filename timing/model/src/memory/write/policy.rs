//! The interface of L1's write policies.

use crate::memory::cache::Tags;
use warplab_technique::policy::Policy;

/// A store of a warp to one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineStore {
    /// The line's number.
    pub line: u64,
    /// Sectors that are written.
    pub sectors: u8,
    /// Sectors that are written completely.
    pub full: u8,
    /// Whether a store that is sent to L2 may allocate its line.
    pub allocate: bool,
}

/// Sectors of a store that L1 keeps; the line is allocated if it is not resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Sectors that can be read afterwards.
    pub valid: u8,
    /// Sectors of `valid` that only L1 has.
    pub dirty: u8,
}

/// Result of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The part that L1 keeps.
    pub kept: Option<Kept>,
    /// Sectors that are sent to L2.
    pub through: u8,
}

/// A write policy of L1.
pub(super) trait Write: Policy {
    /// Whether L1 may hold data that L2 does not have. Only stores to local memory, which is private to a
    /// thread, may be kept in L1: L1s are not coherent.
    const KEEPS: bool = false;

    /// Whether a store may allocate its line.
    fn inserts(allocate: bool) -> bool;

    /// Decides about a store; may look into L1 and drop the line.
    fn store(l1: &mut Tags, store: &LineStore) -> Stored;
}
