//! Options of the writer.

use crate::container::Header;

/// Options of a writer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
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

impl WriterOptions {
    /// With a header.
    #[must_use]
    pub fn with_header(self, header: Header) -> WriterOptions {
        WriterOptions { header, ..self }
    }

    /// With frames of about this size.
    #[must_use]
    pub fn with_frame_bytes(self, frame_bytes: usize) -> WriterOptions {
        WriterOptions { frame_bytes, ..self }
    }

    /// With about this many bytes that may wait to be packed.
    #[must_use]
    pub fn with_window_bytes(self, window_bytes: usize) -> WriterOptions {
        WriterOptions { window_bytes, ..self }
    }
}
