//! A loaded module with its memory, on which kernels run block by block.

use super::block::Block;
use super::inlined::Contractions;
use super::layout::Layout;
use super::memory::GlobalMemory;
use super::{Fault, Launch};
use emulator::ptx::Module;

/// A module with its variables in place, and the memory that kernels run on.
#[derive(Debug)]
pub struct Device<'m> {
    module: &'m Module,
    layout: Layout,
    /// Global memory.
    pub global: GlobalMemory,
}

impl<'m> Device<'m> {
    /// Places the module's variables. Products and sums without a rounding are fused (`super::contract`).
    ///
    /// # Errors
    /// If a variable is of a kind that the oracle does not know.
    pub fn new(module: &'m Module) -> Result<Self, Fault> {
        let mut global = GlobalMemory::default();
        let layout = Layout::new(module, &mut global)?;
        Ok(Self { module, layout, global })
    }

    /// The same device without contraction: every product and every sum is rounded.
    #[must_use]
    pub fn unfused(mut self) -> Self {
        self.layout.contractions = Contractions::default();
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
                    let block = Block::new(self.module, &self.layout, id, launch, [x, y, z])?;
                    block.run(&mut self.global, &mut params)?;
                }
            }
        }
        Ok(())
    }
}
