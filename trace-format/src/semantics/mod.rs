//! Pure semantics of the machine instructions on whole warp registers.
//!
//! [`Code`] is a kernel prepared for a launch: operands resolved to rows, immediates and constants splatted
//! into rows of their own, so that every source is read the same way. [`Warp`] is the register state of one
//! warp. [`execute`] applies one pure instruction to it; [`addresses`] computes the addresses of a memory
//! instruction; values that come from outside (loads, atomics, clocks, barrier reductions) are written with
//! [`Warp::write_row`]. The emulator and the trace cursor share these functions.
//!
//! `int`, `float`, `half`, `double`, `convert`, `narrow`, `mufu` and `lanes` hold the arithmetic; all of it
//! is lane-wise loops over 32 words in memory order, compiled once per vector level of the host (see
//! [`execute`]). `matrix` holds the operations of a whole warp. `rows` has one function per pure opcode,
//! which its row of the opcode table names.

#![allow(clippy::needless_range_loop, reason = "a lane index runs over several rows at once")]

mod code;
mod convert;
mod define;
mod directed;
mod double;
mod exec;
mod execution;
mod float;
mod half;
mod int;
mod lanes;
mod level;
mod matrix;
mod mufu;
mod narrow;
mod operands;
mod row;
mod rows;
mod warp;

pub use code::{Banks, Code, ExecInst, PredRef, SrcRow, Template};
pub use exec::{addresses, execute};
pub use execution::Execution;
pub use level::VectorLevel;
pub use matrix::transpose;
pub use row::{Geometry, Row};
pub use warp::Warp;

/// Mask of all 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;
/// Lanes per warp.
pub const WARP_SIZE: usize = 32;
