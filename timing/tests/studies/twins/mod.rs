//! A direct implementation of every study from its definition, over decoded values, without sharing, caching
//! or sampling.

mod copies;
mod memory;
mod pairs;
mod registers;
pub(crate) mod values;

use super::decode::{Counts, Launch};

/// A study's twin.
pub(crate) type Twin = fn(&Launch) -> Counts;

/// The twins by the names of their studies.
pub(crate) const TWINS: &[(&str, Twin)] = &[
    ("width", registers::width),
    ("reuse", registers::reuse),
    ("liveness", registers::liveness),
    ("lifetime", registers::lifetime),
    ("divergence", values::divergence),
    ("uniform", values::uniform),
    ("affine", values::affine),
    ("entropy", values::entropy),
    ("memo", values::memo),
    ("dead", memory::dead),
    ("memory", memory::memory),
    ("sharing", memory::sharing),
    ("copies", copies::copies),
];
