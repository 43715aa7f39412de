//! SIMT execution of machine kernels: one launch on device memory, faults with their place, statistics.
//!
//! [`launch`] runs all blocks of a grid. What it computes, and what a recorder hears, is the same for every
//! number of threads, namely what running block after block gives: `grid` runs blocks side by side only as
//! far as they cannot notice ([`crate::view::global`]), and kernels with atomics that return values or with
//! volatile loads, which can, run in order. A block is `block`'s, a warp `warp`'s, diverged lanes [`paths`]',
//! barriers [`barrier`]'s, memory instructions `access`'s business.

mod access;
pub mod barrier;
mod block;
mod crew;
pub mod fault;
mod grid;
mod interface;
mod lenient;
mod matrix;
pub mod nested;
pub mod paths;
mod polls;
mod printf;
mod program;
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

pub use fault::{Fault, FaultKind};
pub use grid::{Execute, check, launch, launch_checked, launch_prepared};
pub use interface::{
    DEFAULT_INTERLEAVE, DEFAULT_MAX_INSTRUCTIONS, DEFAULT_MAX_PRINT_BYTES, InOrder, Launch, LaunchError,
    Observer, Options, Stats, Stuck, Unobserved,
};
pub use program::{MAX_BLOCK_THREADS, MAX_LOCAL_BYTES, MAX_SHARED_BYTES, Prepared};
pub use tolerated::Tolerated;
