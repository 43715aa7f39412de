//! The interface of replacement policies of caches.

use std::fmt;
use std::ops::Range;

/// A replacement policy of one cache. Ways are numbered across all sets; `set` is the range of a set's ways. Tags, sectors and
/// locks are the cache's.
pub trait Replace: ForkReplace + fmt::Debug + Send + Sync {
    /// Resets the policy for an empty cache with `ways` ways in all sets.
    fn reset(&mut self, ways: usize);

    /// Called when a load has hit a line, or a store has written a resident line.
    fn used(&mut self, way: usize);

    /// Called when a line has been placed in a way.
    fn placed(&mut self, set: Range<usize>, way: usize);

    /// Called when data of a line have arrived.
    fn filled(&mut self, _way: usize) {}

    /// The way to evict in a full set, among those allowed by `may_leave`.
    fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize>;

    /// Called when the line of a way is evicted.
    fn evicted(&mut self, _set: Range<usize>, _way: usize) {}
}

/// Copies a policy for another cache; every policy that is `Clone` does.
pub trait ForkReplace {
    /// A copy.
    fn fork(&self) -> Box<dyn Replace>;
}

impl<P: Replace + Clone + 'static> ForkReplace for P {
    fn fork(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Replace> {
    fn clone(&self) -> Box<dyn Replace> {
        (**self).fork()
    }
}
