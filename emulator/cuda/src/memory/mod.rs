//! Device memory and all that programs make of it: allocations, arrays, pools, mapped memory.
//!
//! [`Memory`] owns all of it. [`array`], [`pool`], [`mapping`] and [`advice`] are parts of its state, and [`space`] its addresses;
//! [`arrays`], [`pooled`], [`mapped`] and [`transfer`] are what is done with them.

pub mod advice;
mod allocations;
pub mod array;
mod arrays;
pub mod copy;
pub mod location;
mod mapped;
pub mod mapping;
pub mod pool;
mod pooled;
pub mod space;
mod transfer;

pub use allocations::{Memory, Purpose, Region};
