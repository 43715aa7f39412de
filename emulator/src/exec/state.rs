//! The state of a running block: its warps and their shared state.

use super::barrier::Barriers;
use super::executable::Executable;
use super::paths::Paths;
use super::spin::Spin;
use super::tolerated::Site;
use crate::check::Actor;
use crate::memory::lanes::Rows;
use crate::view::local::LocalMemory;
use std::collections::BTreeMap;
use trace_format::semantics::Warp;

/// One warp of a running block.
#[derive(Debug)]
pub(crate) struct WarpState {
    pub regs: Warp,
    pub paths: Paths,
    pub local: LocalMemory,
    /// Warp instructions executed so far; also the value of the clock.
    pub instructions: u64,
    /// Instruction at which an interrupted basic block continues, else [`NEVER`].
    pub resume: u32,
    /// Instructions at the start of the warp's turn.
    pub turn_start: u64,
    /// Instructions when the running lanes began: lanes have longer turns than warps.
    pub lanes_start: u64,
    /// Instructions executed while other lanes could have run instead.
    pub stale: u64,
    /// Whether these lanes have read memory since.
    pub has_read: bool,
    /// Whether the current atomic has changed memory.
    pub has_changed: bool,
    /// Instructions at which the turn ends.
    pub turn_end: u64,
    pub spin: Spin,
}

/// State that the warps of a block share.
#[derive(Debug)]
pub(crate) struct BlockShared {
    pub memory: Vec<u8>,
    pub barriers: Barriers,
    pub linear: u64,
    pub index: [u32; 3],
    /// Buffer for the rows of one access.
    pub rows: Rows,
    pub thread_instructions: u64,
    /// Output of the block's threads that has not been passed on.
    pub printed: Vec<u8>,
    /// The last error of the device runtime by thread, of those that had one.
    pub errors: BTreeMap<u32, u32>,
    /// Loads out of bounds that were tolerated.
    pub tolerated: Vec<Site>,
}

impl BlockShared {
    /// A warp at an instruction, for the checker.
    pub(super) fn actor<'p>(&self, executable: &'p Executable<'_>, warp: u32, pc: u32) -> Actor<'p> {
        Actor { kernel: executable.kernel, geometry: &executable.geometry, block: self.linear, warp, pc }
    }
}
