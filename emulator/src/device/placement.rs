//! Device memory as a loader of modules sees it.

use super::error::LoadError;
use crate::memory::GlobalMemory;
use crate::memory::heap::DEFAULT_HEAP_BYTES;
use crate::memory::zeroed;
use trace_format::semantics::Geometry;

/// Name of the allocation that holds a module's `.const` bank.
pub const CONST_BANK: &str = ".const";

/// Name of the allocation that device code allocates from.
pub(crate) const DEVICE_HEAP: &str = "device heap";

/// Name of the allocation through which the blocks of a grid synchronise.
pub const GRID_WORKSPACE: &str = "grid workspace";

/// Device memory that chooses addresses of allocations.
pub trait Placement {
    /// Makes an allocation that begins with these contents, the rest of which is zero and costs no memory before it is
    /// written, and returns its address; `None` when there is no room.
    fn place(&mut self, name: &str, contents: &[u8], length: u64) -> Option<u64>;

    /// The memory.
    fn global(&mut self) -> &mut GlobalMemory;

    /// Bytes of the heap that device code allocates from.
    fn heap_bytes(&self) -> u64 {
        DEFAULT_HEAP_BYTES
    }
}

/// Allocations are consecutive.
impl Placement for GlobalMemory {
    fn place(&mut self, name: &str, contents: &[u8], length: u64) -> Option<u64> {
        let id = self.allocate(name, zeroed(length)?);
        let base = self.allocation(id).base;
        self.write(base, &contents[..contents.len().min(length as usize)]).then_some(base)
    }

    fn global(&mut self) -> &mut GlobalMemory {
        self
    }
}

/// Makes an allocation that begins with these contents.
///
/// # Errors
/// There is no room.
pub(super) fn place(
    memory: &mut dyn Placement,
    name: &str,
    contents: &[u8],
    length: u64,
) -> Result<u64, LoadError> {
    let placed = memory.place(name, contents, length);
    placed.ok_or_else(|| LoadError::OutOfMemory { name: name.into(), bytes: length })
}

/// The shape of a launch, as far as constant banks hold it.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Grid and block.
    pub geometry: &'a Geometry,
    /// Dynamic shared memory, bytes.
    pub dynamic_shared_bytes: u32,
    /// SMs of the GPU, which machine code reads there.
    pub sms: u32,
}

/// Places the heap of device code, if there is none.
pub(super) fn place_heap(memory: &mut dyn Placement) -> Result<(), LoadError> {
    if memory.global().heap_mut().is_none() {
        let bytes = memory.heap_bytes();
        let address = place(memory, DEVICE_HEAP, &[], bytes)?;
        memory.global().adopt_heap(address, bytes);
    }
    Ok(())
}
