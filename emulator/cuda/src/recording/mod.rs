//! The trace of the process.
//!
//! [`Recording`] owns the state. [`recorder`] writes the trace, [`ending`] completes it however the process ends.

pub(crate) mod ending;
pub(crate) mod recorder;
mod state;

pub(crate) use state::Recording;
