//! Tools.

pub mod nvidia;
pub mod streams;
