//! Interface between the executor and recorders.
//!
//! The executor is compiled once per sink. [`Unrecorded`] records nothing and costs nothing; `trace`
//! appends to a trace file, `sampled` records some blocks, `selection` selects launches, `lenient` lets
//! launches continue whose recording fails. A [`BlockSink`] follows one block at a time on whichever thread
//! runs it; a [`LaunchSink`] takes the blocks of a launch, in ascending order whatever the number of threads.

pub(crate) mod lenient;
pub(crate) mod sampled;
pub(crate) mod selection;
pub(crate) mod trace;

pub use sampled::SampledSink;
pub use selection::Selection;
pub use trace::TraceSink;

use crate::memory::lanes::Addresses;
use trace_format::isa::{BlockId, Pc};
use trace_format::semantics::{ExecInst, Warp};

/// A record could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the trace: {0}")]
pub struct SinkError(pub String);

/// Follows one block at a time.
pub trait BlockSink: Send {
    /// A block starts, given by its linear index, x fastest.
    fn begin(&mut self, block: u64);
    /// A warp enters a basic block with these lanes.
    fn enter(&mut self, warp: u32, block: BlockId, active: u32);
    /// The destinations of an instruction that accesses no memory hold values from outside the warp.
    fn externals(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32);
    /// A memory instruction has accessed these addresses, and its destinations hold what it loaded.
    fn access(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32, at: &Addresses);
    /// An instruction has executed.
    fn retire(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32);
    /// Whether the recorded data should be submitted before the block continues.
    fn is_full(&self) -> bool;
    /// Discards the recorded data of the block.
    fn forget(&mut self);
}

/// Takes the blocks of one launch.
pub trait LaunchSink: Send {
    /// What follows its blocks.
    type Block: BlockSink;

    /// A follower for a thread.
    fn block_sink(&mut self) -> Self::Block;

    /// Takes what a follower has of its block; `last` when the block is finished. Blocks come in ascending
    /// order, each whole before the next.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn submit(&mut self, block: &mut Self::Block, last: bool) -> Result<(), SinkError>;
}

/// Takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrecorded;

impl BlockSink for Unrecorded {
    #[inline(always)]
    fn begin(&mut self, _: u64) {}
    #[inline(always)]
    fn enter(&mut self, _: u32, _: BlockId, _: u32) {}
    #[inline(always)]
    fn externals(&mut self, _: u32, _: Pc, _: &ExecInst, _: &Warp, _: u32) {}
    #[inline(always)]
    fn access(&mut self, _: u32, _: Pc, _: &ExecInst, _: &Warp, _: u32, _: &Addresses) {}
    #[inline(always)]
    fn retire(&mut self, _: u32, _: Pc, _: &ExecInst, _: &Warp, _: u32) {}
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }
    #[inline(always)]
    fn forget(&mut self) {}
}

impl LaunchSink for Unrecorded {
    type Block = Unrecorded;

    fn block_sink(&mut self) -> Unrecorded {
        Unrecorded
    }

    fn submit(&mut self, _: &mut Unrecorded, _: bool) -> Result<(), SinkError> {
        Ok(())
    }
}
