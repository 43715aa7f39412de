//! Memory as running blocks see it.
//!
//! [`global`] is device memory itself, or device memory beside other running blocks, whose writes [`effects`] keeps until
//! their turn comes; [`local`] is the memory of one thread. [`access`] is what both have in common.

pub(crate) mod access;
pub(crate) mod effects;
pub(crate) mod global;
pub(crate) mod local;
