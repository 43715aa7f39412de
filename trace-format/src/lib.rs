//! The contract between Warplab's emulator and its timing model: the machine ISA (one table), the pure
//! semantics of every instruction on whole warp registers, and the trace container with its writer, its
//! reader and the cursor that regenerates every value.
//!
//! This crate is independent of PTX, memory contents, scheduling and timing: loads get their values from
//! outside, from the emulator's memory while recording and from the trace while replaying.

pub mod container;
pub mod encode;
pub mod isa;
pub mod reader;
pub mod semantics;
pub mod validate;
pub mod writer;
