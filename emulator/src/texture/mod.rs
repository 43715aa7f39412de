//! Texture and surface objects: what a handle in a kernel stands for.
//!
//! [`format`] describes texels and decodes them, [`resource`] places arrays, mipmaps and plain memory in device
//! memory, [`sampler`] holds filter and address modes, [`table`] hands out handles. [`sample`] works out which
//! texels a fetch reads and how they are weighted, [`surface`] where a surface access goes, [`query`] what a
//! query is told; memory itself is left to the running block's view of it.

mod footprint;
pub mod format;
pub mod query;
pub mod resource;
pub mod sample;
pub mod sampler;
mod srgb;
pub mod surface;
pub mod table;

pub use format::{ChannelFormat, ChannelKind};
pub use resource::{ArrayKind, ArrayShape, Level, Resource, ResourceKind};
pub use sampler::{AddressMode, Filter, ReadMode, Sampler};
pub use table::{Object, ObjectTable, Texture};

/// Why a texture or surface object cannot be made; a sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ObjectError(pub String);

pub(crate) fn refuse<T>(what: impl Into<String>) -> Result<T, ObjectError> {
    Err(ObjectError(what.into()))
}
