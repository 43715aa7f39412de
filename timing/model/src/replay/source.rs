//! The launches of a trace file as the pipeline's source.

use crate::source::{LaunchSource, MemAccess, Row, SourceError, Step, Upcoming, WarpStream};
use trace_format::isa::Pred;
use trace_format::reader::{Trace, WarpCursor};

/// Detail in which a recording is regenerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Addresses and active lanes, compared with their checksum: sufficient for a replay without techniques.
    Slice,
    /// Active lanes alone: sufficient for scouts of paths.
    Guards,
    /// Every value, compared with its checksum, for techniques.
    Values,
}

/// A launch of a trace.
#[derive(Clone, Debug)]
pub struct TraceLaunch {
    trace: Trace,
    launch: u32,
    detail: Detail,
}

impl TraceLaunch {
    /// The launch with a number.
    #[must_use]
    pub fn new(trace: &Trace, launch: u32, detail: Detail) -> TraceLaunch {
        TraceLaunch { trace: trace.clone(), launch, detail }
    }

    fn open_in(
        &self,
        detail: Detail,
        block: u32,
        warp: u32,
        used: Option<TraceWarp>,
    ) -> Result<TraceWarp, SourceError> {
        let fail = |error: trace_format::container::TraceError| SourceError(error.to_string());
        let cursor = match used {
            Some(TraceWarp(mut cursor)) => {
                cursor.restart(self.launch, u64::from(block), warp).map_err(fail)?;
                cursor
            }
            None => {
                let of_values = || self.trace.warp_cursor(self.launch, u64::from(block), warp);
                let of_slice = || self.trace.slice_cursor(self.launch, u64::from(block), warp);
                let cursor = match detail {
                    Detail::Slice => of_slice(),
                    Detail::Values => of_values(),
                    Detail::Guards => self.trace.guard_cursor(self.launch, u64::from(block), warp),
                };
                cursor.map_err(fail)?
            }
        };
        Ok(TraceWarp(cursor))
    }
}

impl LaunchSource for TraceLaunch {
    type Warp<'a> = TraceWarp;

    fn open(&self, block: u32, warp: u32, used: Option<TraceWarp>) -> Result<TraceWarp, SourceError> {
        self.open_in(self.detail, block, warp, used)
    }

    fn open_scout(
        &self,
        block: u32,
        warp: u32,
        values: bool,
        used: Option<TraceWarp>,
    ) -> Result<TraceWarp, SourceError> {
        let detail = if values { Detail::Values } else { Detail::Guards };
        self.open_in(detail, block, warp, used)
    }
}

/// A warp of a trace.
#[derive(Clone, Debug)]
pub struct TraceWarp(WarpCursor);

impl WarpStream for TraceWarp {
    #[inline]
    fn peek(&self) -> Option<Upcoming> {
        self.0.peek().map(|next| Upcoming { pc: next.pc.0, active: next.active })
    }

    #[inline]
    fn step(&mut self) -> Result<Step, SourceError> {
        match self.0.step() {
            Ok(Some(step)) => Ok(Step { pc: step.pc.0, active: step.active, exec: step.exec }),
            Ok(None) => Err(SourceError("the recorded path ends in the middle of the kernel".into())),
            Err(error) => Err(SourceError(error.to_string())),
        }
    }

    fn finish(&mut self) -> Result<(), SourceError> {
        self.0.step().map(|_| ()).map_err(|error| SourceError(error.to_string()))
    }

    #[inline]
    fn rows(&self) -> &[Row] {
        self.0.warp().registers(self.0.code())
    }

    #[inline]
    fn preds(&self) -> &[u32; Pred::ALL] {
        self.0.warp().preds()
    }

    #[inline]
    fn uniforms(&self) -> &[Row] {
        self.0.warp().uniforms(self.0.code())
    }

    #[inline]
    fn mem(&self) -> Option<MemAccess<'_>> {
        self.0.mem().map(|mem| MemAccess::new(mem.space, mem.bytes_per_lane, &mem.addresses, mem.mask))
    }
}
