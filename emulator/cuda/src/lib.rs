//! CUDA's driver and runtime API on the functional emulator.
//!
//! [`space`] is the address space of device memory, [`error`] the codes that everything returns.

pub mod error;
pub mod space;
