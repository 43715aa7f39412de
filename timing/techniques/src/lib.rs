//! The techniques that come with Warplab, each in a file, a folder or a crate of its own.
//!
//! They use the interface [`warplab_technique`] and [static analyses](warplab_analysis), as a technique in any other crate
//! does; the timing model does not know them. One type implements [`Technique`], and [`BUILT_IN`] has an entry for it, in the
//! order in which composed techniques act.

mod bow;
mod bow_wr;
mod cae;
mod corf;
mod dac;
mod dac_ideal;
mod darsie;
mod deaths;
#[cfg(test)]
mod hook_tests;
mod larf;
mod las;
mod null;
#[cfg(test)]
mod pipeline_tests;
mod regmutex;
mod renaming_table;
mod rfc;
mod rfv;
#[cfg(test)]
mod testing;
mod throttle;

#[cfg(test)]
use warplab_model::techniques::{Catalogue, Stack, Techniques};
use warplab_technique::*;

/// The built-in techniques, in the order in which they act.
pub const BUILT_IN: &[Registration] = &[
    null::REGISTRATION,
    bow::REGISTRATION,
    bow_wr::REGISTRATION,
    rfc::REGISTRATION,
    warplab_uv::TOKEN,
    warplab_uv::SCALAR,
    warplab_uv::REUSE,
    warplab_uv::TOKEN_REUSE,
    warplab_uv::SCALAR_REUSE,
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
    warplab_mta::REGISTRATION,
    regmutex::REGISTRATION,
    regmutex::PAIRS,
    warplab_owf::REGISTRATION,
    rfv::REGISTRATION,
];
