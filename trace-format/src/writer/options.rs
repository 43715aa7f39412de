//! Options of the writer.

use crate::container::Header;

/// Options of a writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriterOptions {
    /// Header of the trace.
    pub header: Header,
    /// zstd level of the frames.
    pub zstd_level: i32,
    /// Approximate size of a frame before compression.
    pub frame_bytes: usize,
    /// Blocks that may be finished ahead of the oldest unfinished one.
    pub blocks_ahead: u64,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions { header: Header::default(), zstd_level: 1, frame_bytes: 512 << 10, blocks_ahead: 32 }
    }
}
