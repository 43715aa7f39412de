//! Warplab's bundled workloads and their references: which kernels there are, where their files lie, what
//! each manifest's buffers hold before a run and what they must hold after it, computed on the CPU.
//!
//! The launch manifests are read by a reader of this crate's own, so that the end-to-end tests compare two
//! independent computations of the same bytes. [`oracle`] is another such computation, for any kernel: an
//! interpreter of PTX, and random kernels to compare it with the emulator; [`coverage`] puts every opcode
//! form of real programs to work.

#[cfg(test)]
mod consistency;
pub mod coverage;
pub mod element;
pub mod expected;
pub mod expression;
pub mod fuzz;
pub mod init;
pub mod manifest;
pub mod oracle;
pub mod recording;
mod reference;
pub mod shapes;
pub mod texture;
pub mod timing_slice;
pub mod trying;
mod workload;

pub use element::{Element, ElementType};
pub use expected::{Expected, Tolerance};
pub use manifest::{Manifest, ManifestError};
pub use workload::{Workload, tabled_workloads, workloads};

/// Contents of named buffers, as little-endian bytes.
pub type Buffers = std::collections::BTreeMap<String, Vec<u8>>;

/// Values of a manifest's named integers.
pub type Scalars = std::collections::BTreeMap<String, i64>;

/// What the output buffers of a workload must hold after a run.
pub type Outputs = std::collections::BTreeMap<String, Expected>;
