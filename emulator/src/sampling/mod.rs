//! What texture fetches and surface accesses read and write.
//!
//! [`sample`] works out which texels a fetch reads and how they are weighted, [`surface`] where a surface access goes, [`query`]
//! what a query is told. Memory itself is left to the running block's view of it.

mod footprint;
pub mod query;
pub mod sample;
pub mod surface;
