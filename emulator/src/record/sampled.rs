//! Recording a sample of a launch's blocks: the others run and leave nothing.

use super::lenient::Failures;
use super::{BlockSink, LaunchSink, SinkError};
use crate::memory::lanes::Addresses;
use trace_format::container::Sample;
use trace_format::isa::{BlockId, Pc};
use trace_format::semantics::{ExecInst, Warp};
use trace_format::writer::{BlockRecorder, LaunchWriter};

/// Records the blocks of a sample and ignores others.
#[derive(Clone, Debug)]
pub struct SampledRecorder {
    recorder: BlockRecorder,
    sample: Sample,
    /// Blocks of the grid.
    blocks: u64,
    /// Whether the block at hand is recorded.
    chosen: bool,
}

impl BlockSink for SampledRecorder {
    fn begin(&mut self, block: u64) {
        let position = self.sample.position(block, self.blocks);
        self.chosen = position.is_some();
        if let Some(position) = position {
            self.recorder.begin(position);
        }
    }

    #[inline]
    fn enter(&mut self, warp: u32, block: BlockId, active: u32) {
        if self.chosen {
            self.recorder.enter(warp, block, active);
        }
    }

    #[inline]
    fn externals(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32) {
        if self.chosen {
            self.recorder.externals(warp, pc, inst, state, exec);
        }
    }

    #[inline]
    fn access(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32, at: &Addresses) {
        if self.chosen {
            self.recorder.access(warp, pc, inst, state, exec, at);
        }
    }

    #[inline]
    fn retire(&mut self, warp: u32, pc: Pc, inst: &ExecInst, state: &Warp, exec: u32) {
        if self.chosen {
            self.recorder.retire(warp, pc, inst, state, exec);
        }
    }

    fn is_full(&self) -> bool {
        self.chosen && self.recorder.is_full()
    }

    fn forget(&mut self) {
        self.recorder.forget();
    }
}

/// Appends a sample of the blocks of one launch to a trace.
#[derive(Debug)]
pub struct SampledSink<'w> {
    writer: LaunchWriter<'w>,
    failures: Failures,
}

impl<'w> SampledSink<'w> {
    /// For a launch that has been started; its record says which blocks belong to the sample.
    #[must_use]
    pub fn new(writer: LaunchWriter<'w>) -> SampledSink<'w> {
        SampledSink { writer, failures: Failures::default() }
    }

    /// The same for a launch that goes on when the trace cannot be written any more.
    #[must_use]
    pub fn lenient(writer: LaunchWriter<'w>) -> SampledSink<'w> {
        SampledSink { writer, failures: Failures::lenient() }
    }

    /// The launch's writer, to end it, and why the trace could not be written if so.
    #[must_use]
    pub fn into_parts(self) -> (LaunchWriter<'w>, Option<SinkError>) {
        (self.writer, self.failures.into_first())
    }
}

impl LaunchSink for SampledSink<'_> {
    type Block = SampledRecorder;

    fn block_sink(&mut self) -> SampledRecorder {
        let record = self.writer.record();
        let (sample, blocks) = (record.sample, record.geometry.blocks());
        SampledRecorder { recorder: self.writer.recorder(), sample, blocks, chosen: false }
    }

    fn submit(&mut self, block: &mut SampledRecorder, last: bool) -> Result<(), SinkError> {
        if !block.chosen {
            return Ok(());
        }
        let writer = &self.writer;
        self.failures.hand_over(block, |block| {
            let recorder = &mut block.recorder;
            let submitted = if last { writer.submit(recorder) } else { writer.submit_part(recorder) };
            submitted.map_err(|e| SinkError(e.to_string()))
        })
    }
}
