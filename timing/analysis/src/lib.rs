//! Static analyses over machine kernels, for the compiler passes of techniques.
//!
//! Each file is one analysis from a [`MachineKernel`](trace_format::isa::MachineKernel) to plain data.
//! Techniques turn their results into hints.

pub mod affine;
pub mod affinity;
pub mod alignment;
pub mod convergence;
pub mod destinations;
pub mod loops;
pub mod reaching;
pub mod release;
pub mod unseen;

pub mod builder;
pub mod listing;
