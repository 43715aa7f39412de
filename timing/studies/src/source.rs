//! The input of a study: per warp, its recorded path with the complete register state before and after each
//! step.
//!
//! The trace reader is one implementation; tests build others in memory. Unlike the pipeline's source, a
//! study also sees predicates, and there is no timing.

use super::StudyError;
use trace_format::isa::MachineKernel;
use trace_format::reader::{Trace, WarpCursor};
use trace_format::semantics::{Banks, Geometry, Warp};
use warplab_model::source::{MemAccess, SourceError, Step, Upcoming};

/// One warp's recorded path.
pub trait WarpPath: Send {
    /// The next instruction; `None` at the end of the warp, or if the next step will fail.
    fn peek(&self) -> Option<Upcoming>;

    /// Steps over the next instruction; `None` at the end of the warp.
    ///
    /// # Errors
    /// The recording is damaged or lacks the values of the instruction.
    fn step(&mut self) -> Result<Option<Step>, SourceError>;

    /// Registers and predicates after the last instruction, before the next one. Row n is register Rn.
    fn state(&self) -> &Warp;

    /// Memory access of the last step, if it was one; generic addresses are not resolved.
    fn mem(&self) -> Option<MemAccess<'_>>;
}

/// Empty constants.
static NO_BANKS: Banks =
    Banks { param: Vec::new(), user: Vec::new(), literal: Vec::new(), addresses: Vec::new() };

/// The warps of one kernel launch.
pub trait LaunchPaths: Sync {
    /// A warp's path.
    type Warp: WarpPath;

    /// The kernel that was launched.
    fn kernel(&self) -> &MachineKernel;

    /// Grid and block.
    fn geometry(&self) -> Geometry;

    /// Number of completely recorded blocks, from the first.
    fn blocks(&self) -> u64 {
        self.geometry().blocks()
    }

    /// Constants of the launch.
    fn banks(&self) -> &Banks {
        &NO_BANKS
    }

    /// Warp instructions in the recorded blocks, which sets the sampling rate of estimates; 0 means no
    /// sampling.
    fn warp_instructions(&self) -> u64 {
        0
    }

    /// Opens a warp of a block at its beginning.
    ///
    /// # Errors
    /// The recording does not hold that warp.
    fn open(&self, block: u64, warp: u32) -> Result<Self::Warp, SourceError>;

    /// Moves a path of this launch to the beginning of another warp, reusing its memory.
    ///
    /// # Errors
    /// The recording does not hold that warp; the path must then not be used.
    fn reopen(&self, path: &mut Self::Warp, block: u64, warp: u32) -> Result<(), SourceError> {
        *path = self.open(block, warp)?;
        Ok(())
    }
}

/// A launch of a trace file.
#[derive(Debug)]
pub struct TraceLaunch<'a> {
    trace: &'a Trace,
    launch: u32,
    banks: Banks,
}

impl<'a> TraceLaunch<'a> {
    /// The launch with a number.
    ///
    /// # Errors
    /// The record of the launch cannot be read.
    ///
    /// # Panics
    /// If the trace has no such launch.
    pub fn new(trace: &'a Trace, launch: u32) -> Result<TraceLaunch<'a>, StudyError> {
        let read = trace.launch_record(launch);
        let banks = read.map_err(|why| StudyError::Launch { launch, why: why.to_string() })?.banks;
        Ok(TraceLaunch { trace, launch, banks })
    }
}

impl LaunchPaths for TraceLaunch<'_> {
    type Warp = WarpCursor;

    fn kernel(&self) -> &MachineKernel {
        self.trace.kernel_of(self.launch)
    }

    fn geometry(&self) -> Geometry {
        self.trace.launches()[self.launch as usize].geometry
    }

    fn blocks(&self) -> u64 {
        self.trace.launches()[self.launch as usize].blocks_recorded()
    }

    fn banks(&self) -> &Banks {
        &self.banks
    }

    fn warp_instructions(&self) -> u64 {
        self.trace.launches()[self.launch as usize].warp_instructions()
    }

    fn open(&self, block: u64, warp: u32) -> Result<WarpCursor, SourceError> {
        self.trace.warp_cursor(self.launch, block, warp).map_err(|e| SourceError(e.to_string()))
    }

    fn reopen(&self, path: &mut WarpCursor, block: u64, warp: u32) -> Result<(), SourceError> {
        path.restart(self.launch, block, warp).map_err(|e| SourceError(e.to_string()))
    }
}

impl WarpPath for WarpCursor {
    #[inline]
    fn peek(&self) -> Option<Upcoming> {
        WarpCursor::peek(self).map(|next| Upcoming { pc: next.pc.0, active: next.active })
    }

    #[inline]
    fn step(&mut self) -> Result<Option<Step>, SourceError> {
        match WarpCursor::step(self) {
            Ok(done) => Ok(done.map(|s| Step { pc: s.pc.0, active: s.active, exec: s.exec })),
            Err(error) => Err(SourceError(error.to_string())),
        }
    }

    #[inline]
    fn state(&self) -> &Warp {
        self.warp()
    }

    #[inline]
    fn mem(&self) -> Option<MemAccess<'_>> {
        let access = WarpCursor::mem(self)?;
        let (bytes, addresses) = (access.bytes_per_lane, &access.addresses);
        Some(MemAccess::new(access.space, bytes, addresses, access.mask))
    }
}
