//! Shared by tests of studies on the bundled workloads: launches cut to a size that the brute-force twins can keep.

use timing::internals::SourceError;
use timing::internals::{LaunchPaths, TraceLaunch};
use trace_format::isa::MachineKernel;
use trace_format::reader::{Trace, WarpCursor};
use trace_format::semantics::Geometry;

/// The first blocks of a launch.
pub(crate) struct FirstBlocks<'a> {
    launch: TraceLaunch<'a>,
    blocks: u64,
}

impl<'a> FirstBlocks<'a> {
    /// As many blocks as have about so many instructions, two at least where there are two.
    pub(crate) fn of(trace: &'a Trace, number: u32, instructions: u64) -> Self {
        let launch = &trace.launches()[number as usize];
        let per_block = launch.warp_instructions().div_ceil(launch.blocks_recorded()).max(1);
        let blocks = (instructions / per_block).clamp(2, launch.blocks_recorded().max(2));
        let blocks = blocks.min(launch.blocks_recorded());
        Self { launch: TraceLaunch::new(trace, number).expect("a launch"), blocks }
    }
}

impl LaunchPaths for FirstBlocks<'_> {
    type Warp = WarpCursor;

    fn kernel(&self) -> &MachineKernel {
        self.launch.kernel()
    }

    fn geometry(&self) -> Geometry {
        self.launch.geometry()
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn open(&self, block: u64, warp: u32) -> Result<WarpCursor, SourceError> {
        self.launch.open(block, warp)
    }

    fn reopen(&self, path: &mut WarpCursor, block: u64, warp: u32) -> Result<(), SourceError> {
        self.launch.reopen(path, block, warp)
    }
}
