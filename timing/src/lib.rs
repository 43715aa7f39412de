//! Warplab's trace-driven SM timing model: configurations, the SM and memory pipeline, techniques, limit
//! studies, energy and statistics.
//!
//! A replay never executes a program: the trace's cursor regenerates every value, and this crate decides when
//! each instruction happens. Recording is done by the emulator, charts by the report crate.
//!
//! As a library without default features it links neither a command line (`cli`) nor writers of Parquet
//! (`parquet`) and PNG (`png`).
//!
//! ```
//! let loaded = timing::config::load("titanx-pascal", &["gpu.sms=4".to_owned()])?;
//! assert_eq!(loaded.config.gpu.sms, 4);
//! assert_eq!(loaded.config.sm.max_warps, 64);
//! # Ok::<(), timing::config::ConfigError>(())
//! ```

pub mod accuracy;
mod analysis;
mod banks;
#[cfg(test)]
mod believable;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod config;
pub mod correlate;
mod engine;
mod error;
pub mod explore;
mod memory;
pub mod named;
mod numbers;
pub mod observe;
pub mod overrides;
mod policy;
mod pool;
pub mod provenance;
pub use warplab_technique::{occupancy, program};
pub mod replay;
pub mod reports;
pub mod reproduce;
mod sched;
mod sm;
mod source;
pub mod stats;
pub mod store;
pub mod studies;
pub mod sweep;
pub mod techniques;
#[cfg(test)]
mod testing;
pub mod traces;
pub mod view;
pub mod why;

pub mod internals {
    //! Parts of the model that tests hold against twins of their own; nothing else uses them.

    pub use crate::source::{MemAccess, SourceError, Step, Upcoming};
    pub use crate::studies::redundancy::{Tally, of_launch};
    pub use crate::studies::source::{LaunchPaths, TraceLaunch, WarpPath};
}
