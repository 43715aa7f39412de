//! Warplab's trace-driven SM timing model: configurations, the SM and its memory system, the parallel engine, statistics
//! and energy. It knows no technique: what it calls is the interface of [`warplab_technique`].
//!
//! A replay never executes a program: the trace's cursor regenerates every value, and this crate decides when each
//! instruction happens. Recording is done by the emulator; techniques, studies and programs stand on this crate.
//!
//! ```
//! let loaded = warplab_model::config::load("titanx-pascal", &["gpu.sms=4".to_owned()])?;
//! assert_eq!(loaded.config.gpu.sms, 4);
//! assert_eq!(loaded.config.sm.max_warps, 64);
//! # Ok::<(), warplab_model::config::ConfigError>(())
//! ```

#[cfg(test)]
mod bank_tests;
#[cfg(test)]
mod believable;
pub mod config;
mod engine;
mod error;
mod memory;
pub mod observe;
pub mod policy;
pub mod replay;
mod sched;
mod sm;
pub mod source;
pub mod stats;
pub mod techniques;
pub mod testing;

pub use memory::coalesce::coalesce;
pub use warplab_technique::{occupancy, program};
