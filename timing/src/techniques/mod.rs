//! The built-in techniques, and the calls from the pipeline to all techniques.
//!
//! The interface is the crate [`warplab_technique`]: a built-in technique uses the same interface as a
//! technique in another crate. Each is one file with one type that implements [`Technique`], and one entry of
//! [`BUILT_IN`], in the order in which composed techniques act; techniques added to the [`Catalogue`] follow
//! in the order of their addition.

pub(crate) mod bow;
pub(crate) mod bow_wr;
pub(crate) mod cae;
mod catalogue;
pub(crate) mod corf;
#[cfg(test)]
mod crew;
pub(crate) mod dac;
mod dac_ideal;
pub(crate) mod darsie;
mod deaths;
#[cfg(test)]
mod hook_tests;
pub(crate) mod larf;
mod las;
mod mta;
pub(crate) mod null;
mod owf;
#[cfg(test)]
mod pipeline_tests;
pub(crate) mod regmutex;
mod renaming_table;
pub(crate) mod rfc;
mod rfv;
mod stack;
#[cfg(test)]
mod testing;
mod throttle;
mod unseen;
pub(crate) mod uv;

pub use catalogue::{Catalogue, SelectError};
pub use stack::{At, Decision, Stack};
pub use warplab_technique::*;

/// The built-in techniques, in the order in which they act.
pub const BUILT_IN: &[Registration] = &[
    null::REGISTRATION,
    bow::REGISTRATION,
    bow_wr::REGISTRATION,
    rfc::REGISTRATION,
    uv::variants::TOKEN,
    uv::variants::SCALAR,
    uv::variants::REUSE,
    uv::variants::TOKEN_REUSE,
    uv::variants::SCALAR_REUSE,
    corf::variants::PACKING,
    corf::variants::VIRTUALIZATION,
    corf::variants::BOTH,
    corf::variants::CORF,
    corf::variants::CORF_PLUS,
    darsie::REGISTRATION,
    cae::REGISTRATION,
    dac::REGISTRATION,
    dac_ideal::REGISTRATION,
    larf::REGISTRATION,
    larf::joint::CORF,
    larf::joint::CORF_PLUS,
    las::REGISTRATION,
    mta::REGISTRATION,
    regmutex::REGISTRATION,
    regmutex::PAIRS,
    owf::REGISTRATION,
    rfv::REGISTRATION,
];

/// Techniques in the order in which they act, not yet prepared for a kernel.
pub type Techniques = Vec<Box<dyn Technique>>;
