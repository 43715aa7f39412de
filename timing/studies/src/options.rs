//! Options of studies, and the progress of a run.

use super::select::Selection;

/// Breakdown of counts, besides kernels and traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum By {
    /// Kernels.
    Kernel,
    /// Lines of PTX, shown as annotated source.
    Line,
    /// Lines of the source, such as CUDA compiled with `-lineinfo`.
    Source,
    /// Classes of opcodes.
    Class,
    /// Machine instructions.
    Pc,
}

/// How to run studies.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Threads; the result does not depend on it.
    pub threads: usize,
    /// Called periodically from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Breakdown of counts.
    pub by: Option<By>,
    /// Number of rows of the breakdown to show, worst first; `None` shows all in their own order.
    pub top: Option<usize>,
    /// Launches to study.
    pub select: &'a Selection,
}

/// Every launch.
static EVERYTHING: Selection = Selection::all();

impl Default for Options<'_> {
    fn default() -> Self {
        Options { threads: 1, progress: &|_| {}, by: None, top: None, select: &EVERYTHING }
    }
}

/// Progress of a pass over the traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Warp instructions read so far.
    pub warp_instructions: u64,
    /// Warp instructions in all traces.
    pub of: u64,
}
