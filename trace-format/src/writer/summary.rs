//! Summary of a recording.

/// Summary of a written trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WriteSummary {
    /// Size of the file.
    pub file_bytes: u64,
    /// Frames in it.
    pub frames: u64,
    /// Warp instructions recorded.
    pub warp_instructions: u64,
    /// Thread instructions recorded.
    pub thread_instructions: u64,
}
