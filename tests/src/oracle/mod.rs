//! A slow PTX interpreter that is meant to be obviously right: the other road to every result.
//!
//! It steps one thread at a time through the typed PTX of [`emulator::ptx`], with virtual registers as plain
//! numbers and memory as plain byte arrays, and shares no code with lowering, execution or the machine
//! semantics. Threads of a block run one after another from rendezvous to rendezvous (barriers and warp-wide
//! operations), so results of programs that race are one of several possible ones. What it does not know is
//! an error that names the instruction.

mod atomic;
mod block;
mod contract;
mod convert;
mod device;
pub mod differential;
pub mod emulated;
pub mod float;
pub mod forms;
pub mod generate;
mod half;
mod inlined;
mod integer;
mod known;
pub mod launch;
mod layout;
mod matrix;
mod memory;
pub mod native;
mod pure;
mod results;
mod simd;
mod thread;
mod transfer;
mod warp;

pub use device::Device;
pub use memory::GlobalMemory;

/// Why the oracle stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    what: String,
}

impl Fault {
    /// A fault with its reason.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: usize,
    /// Little-endian bytes of each parameter.
    pub args: Vec<Vec<u8>>,
    /// Instructions that one thread may execute.
    pub max_instructions: u64,
}
