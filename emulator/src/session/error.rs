//! Errors of opening and running a session.

use crate::device::LoadError;
use crate::exec::LaunchError;
use crate::manifest::ManifestError;
use crate::module::ModuleError;
use crate::native::NativeError;
use crate::ptx::Diagnostics;

/// Why a session could not be opened or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A file could not be read.
    #[error("cannot read {path}: {what}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        what: String,
    },
    /// The PTX has errors.
    #[error("{0}")]
    Ptx(Box<Diagnostics>),
    /// Machine code cannot be loaded, or a kernel of it is not supported.
    #[error("{0}")]
    Native(Box<NativeError>),
    /// The launch manifest has an error, or does not fit the kernels.
    #[error("{0}")]
    Manifest(Box<ManifestError>),
    /// A launch failed.
    #[error("launch {index}: {error}")]
    Launch {
        /// Number of the launch, repetitions counted.
        index: u32,
        /// Why.
        error: Box<LaunchError>,
    },
    /// Device memory does not suffice.
    #[error("{0}")]
    Memory(String),
    /// The trace could not be written.
    #[error("{0}")]
    Trace(String),
}

impl From<ManifestError> for SessionError {
    fn from(error: ManifestError) -> Self {
        SessionError::Manifest(Box::new(error))
    }
}

impl From<LoadError> for SessionError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Module(errors) => errors.into(),
            LoadError::Native(error) => SessionError::Native(Box::new(error)),
            full @ (LoadError::OutOfMemory { .. } | LoadError::TooLarge { .. }) => {
                SessionError::Memory(full.to_string())
            }
        }
    }
}

impl From<Diagnostics> for SessionError {
    fn from(errors: Diagnostics) -> Self {
        SessionError::Ptx(Box::new(errors))
    }
}

impl From<ModuleError> for SessionError {
    fn from(error: ModuleError) -> Self {
        match error {
            ModuleError::Read { path, what } => SessionError::Read { path, what },
            ModuleError::Ptx(errors) => SessionError::Ptx(errors),
            ModuleError::Native(error) => SessionError::Native(error),
        }
    }
}
