//! Memory as running blocks see it.
//!
//! [`global`] is device memory itself, or device memory shared with concurrent blocks, whose writes
//! [`effects`] keeps until they are applied in order; [`local`] is the local memory of one warp. [`access`]
//! is common to both.

pub(crate) mod access;
pub(crate) mod effects;
pub(crate) mod global;
pub(crate) mod local;
