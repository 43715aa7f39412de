//! Errors of loading modules into device memory.

use crate::native::NativeError;
use crate::ptx::Diagnostics;

/// Bytes that the variables of a module in global memory may take.
pub(super) const MAX_MODULE_BYTES: u64 = 8 << 30;

/// Error of loading a module.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An initialiser or literal holds an address that does not exist.
    #[error(transparent)]
    Module(#[from] Diagnostics),
    /// Machine code says something about a kernel that is not supported.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// The variables of a module are too large in total.
    #[error(
        "the {bytes} bytes of `{name}` are too many: the variables of a module may take {} GiB, and what this machine has",
        MAX_MODULE_BYTES >> 30
    )]
    TooLarge {
        /// The variable that exceeds the limit.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// There is not enough device memory.
    #[error("there is no device memory left for the {bytes} bytes of `{name}`")]
    OutOfMemory {
        /// The variable.
        name: String,
        /// Its size.
        bytes: u64,
    },
}
