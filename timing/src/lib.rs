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
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod correlate;
pub mod explore;
pub mod named;
mod numbers;
pub mod overrides;
mod pool;
pub mod provenance;
pub mod reports;
pub mod reproduce;
pub mod store;
pub mod sweep;
pub mod techniques;
pub mod traces;
pub mod view;
pub mod why;

pub use warplab_model::{config, observe, replay, stats};
pub use warplab_studies as studies;
pub use warplab_technique::{occupancy, program};

pub mod internals {
    //! Parts of the model that tests hold against twins of their own; nothing else uses them.

    pub use warplab_model::source::{MemAccess, SourceError, Step, Upcoming};
    pub use warplab_studies::internals::*;
}
