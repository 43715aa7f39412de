//! Warplab's timing programs: the [laboratory](warplab_lab) on the [timing model](warplab_model) with the
//! [techniques](warplab_techniques) that come with it, under one name.
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

#[cfg(feature = "cli")]
pub mod cli;
mod ideas;
pub mod techniques;

pub use ideas::Ideas;

pub use warplab_lab::{
    accuracy, compare, correlate, explore, named, overrides, provenance, reports, reproduce, store, sweep,
    traces, view, why,
};
pub use warplab_model::policy as policies;
pub use warplab_model::{config, observe, replay, stats};
pub use warplab_studies as studies;
pub use warplab_technique::{occupancy, program};

pub mod internals {
    //! Parts of the model that tests hold against twins of their own; nothing else uses them.

    pub use warplab_model::source::{MemAccess, SourceError, Step, Upcoming};
    pub use warplab_studies::internals::*;
}
