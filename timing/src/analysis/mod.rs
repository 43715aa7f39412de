//! Static analyses over machine kernels, for the compiler passes of techniques.
//!
//! Each file is one analysis from a [`MachineKernel`](trace_format::isa::MachineKernel) to plain data.
//! Techniques turn their results into hints.

pub(crate) mod affine;
pub(crate) mod affinity;
pub(crate) mod alignment;
pub(crate) mod convergence;
pub(crate) mod destinations;
pub(crate) mod loops;
pub(crate) mod reaching;
pub(crate) mod release;

#[cfg(test)]
pub(crate) mod listing;
