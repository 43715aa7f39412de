//! The warps of a launch, walked for techniques that decide by a profile.

use super::{Detail, TraceLaunch};
use crate::source::{LaunchSource, SourceError, WarpStream};
use crate::techniques::{Executed, Profiled, RecordedWarps};
use trace_format::reader::Trace;

/// A launch of a trace that has register values.
#[derive(Debug)]
pub(super) struct RecordedLaunch<'a> {
    pub(super) trace: &'a Trace,
    /// Position of the launch in the trace.
    pub(super) launch: usize,
}

impl RecordedLaunch<'_> {
    fn visit_all(&self, launch: usize, visit: &mut dyn FnMut(&Executed<'_>)) -> Result<(), SourceError> {
        let recorded = &self.trace.launches()[launch];
        let source = TraceLaunch::new(self.trace, launch as u32, Detail::Values);
        let mut used = None;
        for block in 0..recorded.blocks_recorded() as u32 {
            for warp in 0..recorded.geometry.warps_per_block() {
                let mut stream = source.open(block, warp, used.take())?;
                while let Some(next) = stream.peek() {
                    visit(&Executed::new(next.pc, next.active, stream.rows()));
                    stream.step()?;
                }
                stream.finish()?;
                used = Some(stream);
            }
        }
        Ok(())
    }
}

impl RecordedWarps for RecordedLaunch<'_> {
    fn walk(&self, launch: Profiled, visit: &mut dyn FnMut(&Executed<'_>)) -> Result<(), String> {
        let launches = self.trace.launches();
        let launch = match launch {
            Profiled::ThisLaunch => self.launch,
            Profiled::FirstLaunch => {
                let kernel = launches[self.launch].kernel;
                launches.iter().position(|one| one.kernel == kernel).unwrap_or(self.launch)
            }
        };
        self.visit_all(launch, visit).map_err(|why| why.to_string())
    }
}
