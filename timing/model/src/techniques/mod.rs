//! The calls from the pipeline to all techniques, and the selection of techniques by name.
//!
//! The interface is the crate [`warplab_technique`]. Which techniques there are is the caller's: a [`Catalogue`] is made from
//! their registrations.

mod catalogue;
mod stack;

pub use catalogue::{Catalogue, SelectError};
pub use stack::{At, Decision, Stack};
pub use warplab_technique::*;

/// Techniques in the order in which they act, not yet prepared for a kernel.
pub type Techniques = Vec<Box<dyn Technique>>;
