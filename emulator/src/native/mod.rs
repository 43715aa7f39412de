//! NVIDIA's machine code as a source of machine kernels: cubins that a user's compiler made.
//!
//! [`module`] chooses the cubin of a file, and makes machine kernels of its kernels from the instructions (`translate`), which
//! `link` gives their addresses, and from what the cubin says about them. [`banks`] lays out bank 0 of a launch as the code of a target expects it. Kernels of
//! NVIDIA's closed libraries are refused by their names.

pub mod banks;
mod error;
pub mod hazards;
mod link;
pub mod module;
pub mod patch;
pub mod translate;

pub use error::NativeError;
pub use module::NativeModule;
