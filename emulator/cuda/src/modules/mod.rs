//! Images, modules and kernels that programs load.
//!
//! [`Modules`] owns them. [`image`] unpacks images, [`module`] places variables in memory, [`kernel`] is a
//! kernel that programs launch, [`link`] links texts at run time. [`attributes`] and [`occupancy`] answer
//! queries about kernels; [`closed`] explains why code without PTX does not run, [`translation`] that it takes long.

pub(crate) mod attributes;
pub(crate) mod closed;
pub(crate) mod image;
pub(crate) mod jit;
pub(crate) mod kernel;
pub(crate) mod link;
mod loaded;
pub(crate) mod module;
pub(crate) mod occupancy;
mod translation;

pub(crate) use loaded::{Linker, Modules};
