//! Interface of launches: inputs, callbacks during the run, and results.

use super::fault::Fault;
use super::nested;
use super::tolerated::Tolerated;
use crate::memory::GlobalMemory;
use crate::record::SinkError;
use trace_format::isa::MachineKernel;
use trace_format::semantics::{Banks, Geometry};

/// Default limit of warp instructions of a launch: 2^34, about ten minutes of one core.
pub const DEFAULT_MAX_INSTRUCTIONS: u64 = 1 << 34;

/// Default number of warp instructions in a warp's turn. Small, because warps of hardware progress together,
/// but large enough that switching costs little.
pub const DEFAULT_INTERLEAVE: u64 = 32;

/// Default limit of bytes that the threads of a launch print.
pub const DEFAULT_MAX_PRINT_BYTES: u64 = 64 << 20;

/// A kernel to run.
#[derive(Clone, Debug)]
pub struct Launch<'k> {
    /// The kernel.
    pub kernel: &'k MachineKernel,
    /// Grid and block.
    pub geometry: Geometry,
    /// Dynamic shared memory, bytes.
    pub dynamic_shared_bytes: u32,
    /// Constant banks: parameters, `.const` variables, literals.
    pub banks: Banks,
    /// Number of the launch within the run, from 0.
    pub index: u32,
}

/// Options of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Threads to run blocks on, at least 1.
    pub threads: usize,
    /// Warp instructions after which a launch counts as an endless loop.
    pub max_instructions: u64,
    /// Whether integer division by zero, whose result PTX leaves undefined, is a fault. By default quotient and
    /// remainder are all ones, as the code that `ptxas` emits has it.
    pub trap_zero_division: bool,
    /// Maximum number of bytes that the threads of one launch print.
    pub max_print_bytes: u64,
    /// Warp instructions after which, at the end of a basic block, the next warp of the block runs.
    pub interleave: u64,
    /// Whether loads outside of all allocations, but at most a page of 2 MiB away, yield zeros instead of a
    /// fault. Hardware usually does not detect them either.
    pub lenient: bool,
    /// SMs that `%nsmid` tells of and over which `%smid` spreads blocks, at least 1. By default those of
    /// [`warplab_gpus::Device::modelled`].
    pub sms: u32,
}

impl Default for Options {
    /// As many threads as the machine has, [`DEFAULT_MAX_INSTRUCTIONS`].
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Options {
            threads,
            max_instructions: DEFAULT_MAX_INSTRUCTIONS,
            trap_zero_division: false,
            max_print_bytes: DEFAULT_MAX_PRINT_BYTES,
            interleave: DEFAULT_INTERLEAVE,
            lenient: false,
            sms: warplab_gpus::Device::modelled().sms,
        }
    }
}

/// Reason for which blocks ran one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InOrder {
    /// One thread was requested, or there is one block.
    Single,
    /// The kernel has atomics with results or strong loads on global memory.
    Communicates,
    /// Blocks read an allocation that blocks write, whether or not they touch the same bytes of it.
    SharedMemory,
    /// A block waited for others to change memory.
    Waits,
}

/// Statistics of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Blocks run.
    pub blocks: u64,
    /// Warp instructions executed, including those without active lanes.
    pub warp_instructions: u64,
    /// Thread instructions: warp instructions times active lanes, guards not counted.
    pub thread_instructions: u64,
    /// Reason for which (the rest of) the blocks ran in order, if they did.
    pub in_order: Option<InOrder>,
}

/// Error of a launch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The machine kernel is not well formed.
    #[error("{0}")]
    Malformed(String),
    /// Grid, block or memory sizes are impossible.
    #[error("kernel {kernel}: {what}")]
    Geometry {
        /// Name of the kernel.
        kernel: String,
        /// Description.
        what: String,
    },
    /// The kernel faulted.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// The trace could not be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Callbacks of a launch; progress is reported from any thread, every few blocks.
pub trait Observer: Sync {
    /// Called with the progress of the launch.
    fn progress(&self, stats: &Stats);

    /// Called when no block can continue unless memory changes, which may happen from outside of the launch.
    /// It runs on the launching thread; blocks retry when it returns true. Addresses of allocations must not
    /// change, but allocations may be added or removed.
    fn waits(&self, _memory: &mut GlobalMemory, _stuck: &Stuck<'_>) -> bool {
        false
    }

    /// Called with the tolerated loads out of bounds (see [`Options::lenient`]): one entry per place in the
    /// code.
    fn tolerated(&self, _loads: &[Tolerated]) {}

    /// Called with output of device code, in the order of blocks for any number of threads.
    fn printed(&self, _text: &[u8]) {}

    /// The host that runs launches of device code and answers its queries.
    fn host(&self) -> Option<&dyn nested::DeviceHost> {
        None
    }

    /// Called when the launch is complete.
    fn finished(&self, stats: &Stats) {
        self.progress(stats);
    }
}

/// A launch in which all blocks poll memory.
pub struct Stuck<'b> {
    /// Whether it is proven that they will poll forever unless memory changes.
    pub proven: bool,
    /// Whether a polled value has changed in this memory.
    pub is_over: &'b dyn Fn(&GlobalMemory) -> bool,
}

/// An observer without effect.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _: &Stats) {}
}
