//! What every replacement policy is.

use crate::policy::Policy;
use std::ops::Range;

/// A replacement policy. Ways are numbered through all sets; `set` is the range of a set's ways.
pub trait Replace: Policy {
    /// The cache has that many ways in all its sets, and every one is empty.
    fn reset(&mut self, ways: usize);

    /// A load has hit a line, or a store has written one that was there.
    fn used(&mut self, way: usize);

    /// A line has been given a way.
    fn placed(&mut self, set: Range<usize>, way: usize);

    /// Data of a line have come.
    fn filled(&mut self, _way: usize) {}

    /// The line that leaves a full set, of those that may.
    fn victim(&self, set: Range<usize>, may_leave: impl Fn(usize) -> bool) -> Option<usize>;

    /// The line of a way leaves for another.
    fn evicted(&mut self, _set: Range<usize>, _way: usize) {}
}
