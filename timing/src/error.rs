//! Why a replay stopped.

use crate::source::SourceError;
use crate::techniques::ValueMismatch;

/// Why a replay stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot tell what a warp did.
    #[error("kernel {kernel}, block {block}, warp {warp}: {why}; run `trace verify` on the file")]
    Recording {
        /// Kernel name.
        kernel: String,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// What the reader said.
        why: SourceError,
    },
    /// A recorded path names an instruction that the kernel does not have.
    #[error(
        "kernel {kernel}, block {block}, warp {warp}: the recorded path continues at instruction {pc}, beyond the kernel's end; run `trace verify` on the file"
    )]
    PathLeavesKernel {
        /// Kernel name.
        kernel: String,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// Instruction index.
        pc: u32,
    },
    /// A technique supplied a value that the program did not produce.
    #[error(transparent)]
    Mismatch(#[from] Box<ValueMismatch>),
    /// Nothing issued for too long.
    #[error("kernel {kernel}: no instruction issued for {cycles} cycles; the machine holds:\n{state}")]
    Stuck {
        /// Kernel name.
        kernel: String,
        /// Cycles without an issue.
        cycles: u64,
        /// What every component holds.
        state: String,
    },
    /// The replay reached the number of cycles that it was allowed.
    #[error("kernel {kernel} had not ended after {cycles} cycles (--max-cycles)")]
    TooManyCycles {
        /// Kernel name.
        kernel: String,
        /// The limit.
        cycles: u64,
    },
    /// A kernel cannot run on this configuration or with these techniques.
    #[error("{0}")]
    Refused(String),
}
