//! The contract between Warplab's emulator and its timing model: the machine ISA (one table), the pure
//! semantics of every instruction on whole warp registers, and the trace container with its writer, its
//! reader and the cursor that regenerates every value.
//!
//! This crate is independent of PTX, memory contents, scheduling and timing: loads get their values from
//! outside, from the emulator's memory while recording and from the trace while replaying.

pub mod container;
mod encode;
pub mod isa;
pub mod reader;
pub mod semantics;
pub mod validate;
pub mod writer;

pub mod internals {
    //! Parts of the container that this crate's own tests and benchmarks look at; nothing else uses them.

    pub use crate::encode::checksum::Checksum;
    pub use crate::encode::decoder::ValueDecoder;
    pub use crate::encode::encoder::{ValueEncoder, ValueStreams};
    pub use crate::encode::path::PathState;
    pub use crate::encode::plan::KernelPlan;
    pub use crate::encode::pool::Words;
}
