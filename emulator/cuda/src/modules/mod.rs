//! What programs load: images, the modules in them, and their kernels.
//!
//! [`Modules`] owns what is loaded. [`image`] unpacks what programs give, [`module`] places it in memory, [`kernel`] is what is
//! launched, [`link`] joins texts at run time. [`attributes`] and [`occupancy`] answer questions about kernels; [`closed`] says why
//! code without PTX does not run.

pub(crate) mod attributes;
pub(crate) mod closed;
pub(crate) mod image;
pub(crate) mod jit;
pub(crate) mod kernel;
pub(crate) mod link;
mod loaded;
pub(crate) mod module;
pub(crate) mod occupancy;

pub(crate) use loaded::{Linker, Modules};
