//! Results of one instruction.

/// Result and second result (a predicate), bits beyond the destination's width are garbage.
pub(crate) type Results = [u64; 2];
