//! Static analyses over machine kernels: what a technique's compiler pass knows before the kernel runs.
//!
//! Each file is one analysis from a [`MachineKernel`](trace_format::isa::MachineKernel) to plain data. They
//! decide nothing; techniques turn their results into hints.

pub mod affinity;
pub mod destinations;
pub mod loops;
pub mod release;

#[cfg(test)]
pub(crate) mod listing;
