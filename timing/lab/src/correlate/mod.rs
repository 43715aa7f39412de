//! Correlation of replays with hardware: error and agreement against profiles of GPUs or published figures.
//!
//! `reference` reads the figures of hardware, `results` ours, `metrics` says what both call the same event, `matching`
//! finds our launch for each row, `statistics` measures the agreement of a metric, `correlation` joins them; `tables`,
//! `output` and `page` show the result. The command line reads the files.

mod correlation;
mod error;
pub mod matching;
pub mod metrics;
mod names;
mod output;
mod page;
mod quantity;
pub mod reference;
pub mod results;
pub mod shape;
pub mod statistics;
mod tables;

pub use correlation::{Compared, Correlation, correlate};
pub use error::CorrelateError;
pub use page::page;
