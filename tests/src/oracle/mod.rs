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
pub mod differential;
pub mod float;
pub mod forms;
pub mod generate;
mod half;
mod inlined;
mod integer;
pub mod launch;
mod layout;
pub mod machine;
mod matrix;
mod memory;
mod pure;
mod simd;
mod thread;
mod transfer;
mod warp;

use emulator::ptx::Module;
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

/// A module with its variables in place, and the memory that kernels run on.
#[derive(Debug)]
pub struct Device<'m> {
    module: &'m Module,
    layout: layout::Layout,
    /// Global memory.
    pub global: GlobalMemory,
}

impl<'m> Device<'m> {
    /// Places the module's variables. Products and sums without a rounding are fused ([`contract`]).
    ///
    /// # Errors
    /// If a variable is of a kind that the oracle does not know.
    pub fn new(module: &'m Module) -> Result<Self, Fault> {
        let mut global = GlobalMemory::default();
        let layout = layout::Layout::new(module, &mut global)?;
        Ok(Self { module, layout, global })
    }

    /// The same device without contraction: every product and every sum is rounded.
    #[must_use]
    pub fn unfused(mut self) -> Self {
        self.layout.contractions = inlined::Contractions::default();
        self
    }

    /// Runs one launch, block after block.
    ///
    /// # Errors
    /// If the kernel does what it must not, or what the oracle does not know.
    pub fn run(&mut self, launch: &Launch) -> Result<(), Fault> {
        let id = self
            .module
            .kernel(&launch.kernel)
            .ok_or_else(|| Fault::new(format!("there is no kernel `{}`", launch.kernel)))?;
        let mut params = self.layout.parameters(self.module, id, &launch.args)?;
        let [width, height, depth] = launch.grid;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    let block = block::Block::new(self.module, &self.layout, id, launch, [x, y, z])?;
                    block.run(&mut self.global, &mut params)?;
                }
            }
        }
        Ok(())
    }
}
