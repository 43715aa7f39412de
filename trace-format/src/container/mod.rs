//! The `.wtrace` file: [`mod@format`] defines the byte layout, `records` the contents of records, `frame`
//! the recorded blocks, `error` the errors.
//!
//! A trace is written by [`crate::writer`] and read by [`crate::reader`]; both use this module for the layout
//! of bytes.

pub(crate) mod error;
pub mod format;
pub(crate) mod frame;
pub(crate) mod part;
pub(crate) mod records;
pub(crate) mod sample;
pub(crate) mod sanity;

pub use error::{ErrorKind, Place, TraceError};
pub use frame::{SECTIONS, section_bytes};
pub use records::{
    BufferNote, Contents, CutRecord, Header, LaunchHead, LaunchRecord, TransferKind, TransferRecord,
    WaitRecord,
};
pub use sample::Sample;
