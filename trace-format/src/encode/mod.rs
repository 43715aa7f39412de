//! Encoding of the data that cannot be regenerated: the path of a warp and the rows that come from memory and
//! other sources outside it.
//!
//! [`layout`] lists the instructions of a kernel with such rows. [`path`] encodes basic-block entries with
//! their active masks. [`encoder`] and [`decoder`] encode rows as references into a pool of words ([`pool`])
//! that holds every word the block has loaded once, found again through [`dict`]; [`planes`] splits that pool
//! into byte planes for the compressor. [`checksum`] folds every destination value into one word per warp.
//! Nothing here allocates per instruction; [`crate::container`] stores these streams in files.

pub(crate) mod checksum;
pub(crate) mod decoder;
pub(crate) mod dict;
pub(crate) mod encoder;
pub(crate) mod layout;
pub(crate) mod path;
pub(crate) mod planes;
pub(crate) mod pool;
pub(crate) mod varint;

/// Error of decoding a stream: it is damaged, or it was written for another kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodingError {
    /// The stream ends inside an item.
    #[error("the stream ends inside an item")]
    Truncated,
    /// A variable-length number has more than five bytes.
    #[error("a variable-length number does not end")]
    Overlong,
    /// A token byte has no meaning.
    #[error("token {0:#04x} has no meaning")]
    UnknownToken(u8),
    /// A row refers to words that the block never loaded.
    #[error("a row refers to words that the block never loaded")]
    DanglingReference,
    /// A path enters a basic block that the kernel does not have.
    #[error("the path enters basic block {0}, which the kernel does not have")]
    UnknownBlock(u32),
    /// A path enters a block with lanes that were not launched, or with none.
    #[error("active mask {mask:#010x} is empty or leaves the launched lanes {launched:#010x}")]
    BadMask {
        /// The mask found.
        mask: u32,
        /// Lanes that hold threads.
        launched: u32,
    },
}
