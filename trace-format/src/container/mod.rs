//! The `.wtrace` file: [`mod@format`] defines the byte layout, [`records`] the contents of records, [`frame`]
//! the recorded blocks, [`error`] the errors.
//!
//! A trace is written by [`crate::writer`] and read by [`crate::reader`]; both use this module for the layout
//! of bytes.

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
