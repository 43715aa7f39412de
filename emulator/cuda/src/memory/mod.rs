//! Device memory and its objects: allocations, arrays, pools, mapped memory.
//!
//! [`Memory`] owns all of it. [`array`], [`pool`], [`mapping`] and [`advice`] are parts of its state, and
//! [`space`] its addresses; [`arrays`], [`pooled`], [`mapped`], [`shared`] and [`transfer`] are the operations on them.

pub(crate) mod advice;
mod allocations;
pub(crate) mod array;
mod arrays;
pub(crate) mod copy;
pub(crate) mod location;
mod mapped;
pub(crate) mod mapping;
pub(crate) mod pool;
mod pooled;
mod shared;
mod sharing;
pub(crate) mod space;
mod transfer;

pub(crate) use allocations::Region;
pub use allocations::{Memory, Purpose};
