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
    /// Bytes of finished blocks that may wait to be packed, about. Threads that finish more wait.
    pub window_bytes: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            header: Header::default(),
            zstd_level: 1,
            frame_bytes: 512 << 10,
            window_bytes: 16 << 20,
        }
    }
}
