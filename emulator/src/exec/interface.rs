//! What a launch is given, what it says while it runs, and what comes of it.

use super::fault::Fault;
use super::nested;
use super::tolerated::Tolerated;
use crate::memory::GlobalMemory;
use crate::record::SinkError;
use trace_format::isa::MachineKernel;
use trace_format::semantics::{Banks, Geometry};

/// Warp instructions that a launch may execute unless told otherwise: 2^34, some ten minutes of one core.
pub const DEFAULT_MAX_INSTRUCTIONS: u64 = 1 << 34;

/// Warp instructions of a warp's turn unless told otherwise. Small, since warps of hardware progress together, but
/// large enough that taking turns costs little.
pub const DEFAULT_INTERLEAVE: u64 = 32;

/// Bytes that the threads of a launch may print unless told otherwise.
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

/// How to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Threads to run blocks on, at least 1.
    pub threads: usize,
    /// Warp instructions after which a launch is taken to loop for ever.
    pub max_instructions: u64,
    /// Whether integer division by zero, whose result PTX leaves undefined, is a fault. By default quotient and
    /// remainder are all ones, as the code that `ptxas` emits has it.
    pub trap_zero_division: bool,
    /// Bytes that the threads of one launch may print.
    pub max_print_bytes: u64,
    /// Warp instructions after which, at the end of a basic block, the next warp of the block has its turn.
    pub interleave: u64,
    /// Whether loads outside of everything allocated, but no further from it than a page of 2 MiB is long, yield zeros
    /// instead of being a fault. Hardware mostly does not notice them either.
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

/// Why blocks ran one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InOrder {
    /// One thread was asked for, or there is one block.
    Single,
    /// The kernel has atomics with results or strong loads on global memory.
    Communicates,
    /// Blocks read memory that blocks write.
    SharedMemory,
    /// A block waited for what others do to memory.
    Waits,
}

/// What a launch did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Blocks run.
    pub blocks: u64,
    /// Warp instructions executed, those without active lanes included.
    pub warp_instructions: u64,
    /// Thread instructions: warp instructions times active lanes, guards not counted.
    pub thread_instructions: u64,
    /// Why (the rest of) the blocks ran in order, if they did.
    pub in_order: Option<InOrder>,
}

/// Why a launch did not complete.
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
        /// What is wrong.
        what: String,
    },
    /// The kernel misbehaved.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// The trace could not be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Hears of a launch's progress, from any thread, every few blocks.
pub trait Observer: Sync {
    /// So much of the launch is done.
    fn progress(&self, stats: &Stats);

    /// No block can go on unless memory changes, which may happen from outside of the launch. Called on the thread that
    /// launches; blocks have another try when it returns true. The addresses of allocations must not change, but
    /// there may be more or fewer of them then.
    fn waits(&self, _memory: &mut GlobalMemory, _stuck: &Stuck<'_>) -> bool {
        false
    }

    /// These loads out of bounds were tolerated, as [`Options::lenient`] asks: one entry per place in the code.
    fn tolerated(&self, _loads: &[Tolerated]) {}

    /// Device code has printed this; calls come in the order of blocks, whatever the number of threads.
    fn printed(&self, _text: &[u8]) {}

    /// Who launches the kernels that device code launches, and answers its questions.
    fn host(&self) -> Option<&dyn nested::DeviceHost> {
        None
    }

    /// The launch is done.
    fn finished(&self, stats: &Stats) {
        self.progress(stats);
    }
}

/// A launch whose blocks all read the same memory over and over.
pub struct Stuck<'b> {
    /// Whether it has been proven that they will for ever, as long as memory stays the same.
    pub proven: bool,
    /// Whether what a block waits for has plainly come true in this memory.
    pub is_over: &'b dyn Fn(&GlobalMemory) -> bool,
}

/// Hears and does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _: &Stats) {}
}
