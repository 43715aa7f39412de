//! The trace of the process.
//!
//! [`Recording`] owns the state. [`recorder`] writes the trace, [`ending`] completes it however the process ends.

pub mod ending;
pub mod recorder;
mod state;

pub use state::Recording;
