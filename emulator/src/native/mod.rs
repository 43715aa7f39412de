//! NVIDIA's machine code as a source of machine kernels.

pub mod translate;
