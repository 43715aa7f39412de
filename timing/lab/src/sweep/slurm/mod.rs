//! A sweep on a Slurm cluster: arrays of jobs over a shared folder.
//!
//! Every task of an array runs some runs of the plan and keeps their results in the store, as any `timing sweep` does. What
//! is finished is read from the store alone, and Slurm is asked only which tasks are still there: a run that no task of the
//! queue has and that has no result was lost, and is submitted again. The tracking program may therefore be ended at any time:
//! its successor finds the tasks in the queue by the names of their jobs.

mod batch;
mod client;
mod settings;
mod track;

pub use settings::Settings;
pub use track::{Cluster, Status, preview, run};
