//! Texture and surface objects, to which handles in kernels refer.
//!
//! `format` describes texels, `resource` places arrays, mipmaps and plain memory in
//! device memory, `tiles` gives arrays the addresses that hardware gives them, `sampler` holds filter and address
//! modes, `table` assigns handles. `crate::sampling` performs fetches.

pub(crate) mod format;
pub(crate) mod resource;
pub(crate) mod sampler;
pub(crate) mod table;
pub(crate) mod tiles;

pub use format::{ChannelFormat, ChannelKind};
pub use resource::{ArrayKind, ArrayShape, Level, Resource, ResourceKind};
pub use sampler::{AddressMode, Filter, ReadMode, Sampler};
pub use table::{Object, ObjectTable, Texture};
pub use tiles::Tiles;

/// Why a texture or surface object cannot be made; a sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ObjectError(pub String);

pub(crate) fn refuse<T>(what: impl Into<String>) -> Result<T, ObjectError> {
    Err(ObjectError(what.into()))
}
