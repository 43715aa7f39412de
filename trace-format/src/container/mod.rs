//! The `.wtrace` file: what is in it and where. See [`mod@format`] for the byte layout, [`records`] for what the
//! sections say, [`frame`] for the recorded blocks, [`error`] for what can be wrong with all that.
//!
//! A trace is written by [`crate::writer`] and read by [`crate::reader`]; both leave the bytes to this module.

pub mod error;
pub mod format;
pub mod frame;
pub mod records;
pub mod sample;
pub mod sanity;

pub use error::{ErrorKind, Place, TraceError};
pub use records::{
    BufferNote, Contents, CutRecord, Header, LaunchRecord, TransferKind, TransferRecord, WaitRecord,
};
pub use sample::Sample;
