//! Guest memory: device allocations, and lane-wise access to plain bytes.
//!
//! `global` holds the allocations and finds the one that an address falls into; `lanes` moves the data of
//! a warp between rows and bytes, all lanes at once where addresses allow; `atomic` is the arithmetic of
//! read-modify-write operations. `crate::view` provides the memory view of running blocks. Bytes are owned
//! or mapped where the host program accesses them (`storage`, the only unsafe code here), which may access
//! them at any time; threads that run blocks share memory only while no block writes it.

pub(crate) mod atomic;
pub(crate) mod global;
pub(crate) mod heap;
pub(crate) mod lanes;
pub(crate) mod storage;

pub(crate) use global::zeroed;
pub use global::{Allocation, AllocationId, GLOBAL_BASE, GlobalMemory, Nearest, PAGE_BYTES};
pub use storage::Storage;
