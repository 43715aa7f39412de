//! Texture fetches and surface accesses.
//!
//! [`sample`] computes the texels of a fetch and their weights, [`surface`] the addresses of a surface
//! access, [`query`] the results of queries. Memory is accessed through the running block's view.

mod footprint;
pub(crate) mod query;
pub(crate) mod sample;
mod srgb;
pub(crate) mod surface;
mod texel;
