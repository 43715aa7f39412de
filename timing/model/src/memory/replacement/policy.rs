//! The interface of replacement policies.

use crate::policy::Policy;
use std::ops::Range;

/// A replacement policy. Ways are numbered across all sets; `set` is the range of a set's ways.
pub(super) trait Replace: Policy {
    /// Resets the policy for an empty cache with `ways` ways in all sets.
    fn reset(&mut self, ways: usize);

    /// Called when a load has hit a line, or a store has written a resident line.
    fn used(&mut self, way: usize);

    /// Called when a line has been placed in a way.
    fn placed(&mut self, set: Range<usize>, way: usize);

    /// Called when data of a line have arrived.
    fn filled(&mut self, _way: usize) {}

    /// The way to evict in a full set, among those allowed by `may_leave`.
    fn victim(&self, set: Range<usize>, may_leave: impl Fn(usize) -> bool) -> Option<usize>;

    /// Called when the line of a way is evicted.
    fn evicted(&mut self, _set: Range<usize>, _way: usize) {}
}
