//! The techniques that come with Warplab, and how the pipeline asks techniques of any origin.
//!
//! The interface is the crate [`warplab_technique`]: a built-in technique uses no more of the model than one in a
//! crate of its own. Each is one file with one type that implements [`Technique`], and one row of [`BUILT_IN`],
//! whose order is the order in which techniques act when several are composed; others follow in the order in which
//! they are added to the [`Catalogue`].

pub mod bow;
pub mod bow_wr;
mod catalogue;
pub mod corf;
#[cfg(test)]
mod hook_tests;
pub mod null;
#[cfg(test)]
mod pipeline_tests;
mod stack;
#[cfg(test)]
mod testing;

pub use catalogue::{Catalogue, SelectError};
pub use stack::{At, Decision, Stack};
pub use warplab_technique::*;

/// The techniques that come with Warplab, in the order in which they act.
pub const BUILT_IN: &[Registration] =
    &[null::REGISTRATION, bow::REGISTRATION, bow_wr::REGISTRATION, corf::REGISTRATION];

/// Techniques in the order in which they act, before they are prepared for a kernel.
pub type Techniques = Vec<Box<dyn Technique>>;
