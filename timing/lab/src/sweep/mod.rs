//! Sweeps: the same recordings on many machines, in one table.
//!
//! A [`Space`] of machines, techniques and varied values is expanded into [`Point`]s; a [`Plan`] has one run for every
//! recording and point, each under a key of all that its result depends on. [`Sweep::run`] works on all cores and keeps every
//! finished run in a store, so that nothing runs twice, whether a sweep was interrupted, extended, or shared by several
//! programs. [`table`] puts the results into one tidy table, [`page`] draws them. A plan as a file is work that any scheduler
//! can hand out by number; [`slurm`] does so with job arrays.

mod axes;
mod page;
mod plan;
mod run;
pub mod slurm;
mod space;
mod table;
mod vary;

pub use page::page;
pub use plan::{Plan, PlannedRun, PlannedTrace, Requested};
pub use run::{LaunchResult, Outcome, Progress, RF_ENERGY, Results, RunResult, Sweep};
pub use space::{Point, Space};
pub use table::{means, table, to_json};
pub use vary::Vary;
pub(crate) use vary::{combinations, technique_of};

/// `1 trace`, `2 traces`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
