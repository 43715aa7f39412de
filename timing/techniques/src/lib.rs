//! The techniques that come with Warplab, each in a file or folder of its own.
//!
//! They use the interface [`warplab_technique`] and [static analyses](warplab_analysis), as a technique in any other crate
//! does; the timing model does not know them. One type implements [`Technique`], and [`BUILT_IN`] has an entry for it, in the
//! order in which composed techniques act.

mod bow;
mod bow_wr;
mod cae;
mod corf;
#[cfg(test)]
mod crew;
mod dac;
mod dac_ideal;
mod darsie;
mod deaths;
#[cfg(test)]
mod hook_tests;
mod larf;
mod las;
mod mta;
mod null;
mod owf;
#[cfg(test)]
mod pipeline_tests;
mod regmutex;
mod renaming_table;
mod rfc;
mod rfv;
#[cfg(test)]
mod testing;
mod throttle;
mod unseen;
mod uv;

#[cfg(test)]
use warplab_model::techniques::{At, Catalogue, Stack, Techniques};
use warplab_technique::*;

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
