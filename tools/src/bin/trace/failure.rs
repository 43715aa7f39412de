//! The error of a command.

use std::io;
use trace_format::container::TraceError;
use warplab_accelsim::AccelsimError;

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Limit(String),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Accelsim(#[from] AccelsimError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}
