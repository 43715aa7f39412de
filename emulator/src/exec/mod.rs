//! SIMT execution of machine kernels: one launch on device memory, faults with their place, statistics.
//!
//! [`launch`] runs all blocks of a grid. Its results, and the recording, are the same for any number of
//! threads: those of running block after block. `grid` runs blocks in parallel only if this has no visible
//! effect (`crate::view::global`); kernels with atomics that return values or with volatile loads run in
//! order. `block` runs a block, `warp` a warp, `paths` handles diverged lanes, `barrier` barriers, and
//! `access` memory instructions.

mod access;
pub(crate) mod barrier;
mod block;
mod crew;
mod executable;
pub mod fault;
mod grid;
mod interface;
mod lenient;
mod matrix;
pub mod nested;
pub(crate) mod paths;
mod polls;
mod printf;
mod request;
mod run;
mod spin;
mod state;
mod system;
mod texture;
mod tolerated;
mod trouble;
mod turns;
mod warp;

pub use executable::{MAX_BLOCK_THREADS, MAX_LOCAL_BYTES, MAX_SHARED_BYTES, Prepared};
pub use fault::{Fault, FaultKind};
pub use grid::{Execute, check, launch, launch_checked, launch_prepared};
pub use interface::{
    DEFAULT_INTERLEAVE, DEFAULT_MAX_INSTRUCTIONS, DEFAULT_MAX_PRINT_BYTES, InOrder, Launch, LaunchError,
    Observer, Options, Stats, Stuck, Unobserved,
};
pub use tolerated::Tolerated;
