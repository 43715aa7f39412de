//! Recording into a trace file with [`trace_format::writer`].

use super::lenient::Failures;
use super::{BlockSink, LaunchSink, SinkError};
use crate::memory::lanes::Addresses;
use trace_format::isa::{BlockId, Pc};
use trace_format::semantics::{ExecInst, Warp};
use trace_format::writer::{BlockRecorder, LaunchWriter};

impl BlockSink for BlockRecorder {
    fn begin(&mut self, block: u64) {
        BlockRecorder::begin(self, block);
    }

    #[inline]
    fn enter(&mut self, warp: u32, block: BlockId, active: u32) {
        BlockRecorder::enter(self, warp, block, active);
    }

    #[inline]
    fn externals(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32) {
        BlockRecorder::externals(self, warp, pc, inst, state, exec);
    }

    #[inline]
    fn access(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32, at: &Addresses) {
        BlockRecorder::access(self, warp, pc, inst, state, exec, at);
    }

    #[inline]
    fn retire(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32) {
        BlockRecorder::retire(self, warp, pc, inst, state, exec);
    }

    fn is_full(&self) -> bool {
        BlockRecorder::is_full(self)
    }

    fn forget(&mut self) {
        BlockRecorder::forget(self);
    }
}

/// Appends the blocks of one launch to a trace.
#[derive(Debug)]
pub struct TraceSink<'w> {
    writer: LaunchWriter<'w>,
    failures: Failures,
}

impl<'w> TraceSink<'w> {
    /// For a launch that has been started.
    #[must_use]
    pub fn new(writer: LaunchWriter<'w>) -> TraceSink<'w> {
        TraceSink { writer, failures: Failures::default() }
    }

    /// The same for a launch that goes on when the trace cannot be written any more.
    #[must_use]
    pub fn lenient(writer: LaunchWriter<'w>) -> TraceSink<'w> {
        TraceSink { writer, failures: Failures::lenient() }
    }

    /// Ends the launch after all of its blocks.
    ///
    /// # Errors
    /// When the trace cannot be written.
    pub fn finish(self) -> Result<(), SinkError> {
        self.writer.finish().map_err(|e| SinkError(e.to_string()))
    }

    /// The launch's writer, to end it otherwise, and why the trace could not be written if so.
    #[must_use]
    pub fn into_parts(self) -> (LaunchWriter<'w>, Option<SinkError>) {
        (self.writer, self.failures.into_first())
    }
}

impl LaunchSink for TraceSink<'_> {
    type Block = BlockRecorder;

    fn block_sink(&mut self) -> BlockRecorder {
        self.writer.recorder()
    }

    fn submit(&mut self, block: &mut BlockRecorder, last: bool) -> Result<(), SinkError> {
        let writer = &self.writer;
        self.failures.hand_over(block, |block| {
            let submitted = if last { writer.submit(block) } else { writer.submit_part(block) };
            submitted.map_err(|e| SinkError(e.to_string()))
        })
    }
}
