//! Reproduction of papers, figure by figure.
//!
//! An [`Experiment`] is a data file: a paper's programs, its machine, and for each figure what is measured and what the
//! paper reports. [`questions`](question) are asked of recordings: the counts of a study, or the statistics of a replay.
//! [`run`](work::run) records what is missing with the emulator's command line, answers all open questions on all cores
//! and keeps every answer in a [`Cache`] by the content of what it depends on, so that an interrupted run goes on where
//! it stopped. [`measured`] puts ours beside the paper's, and [`page`] draws it.
//!
//! The timing model knows programs only as recordings: the emulator is run as a program and not linked.

mod answer;
mod assembler;
mod builtin;
mod cache;
mod experiment;
mod measured;
mod page;
mod program;
mod question;
mod recorder;
mod work;
mod workloads;

pub use crate::numbers::Numbers;
pub use answer::Answer;
pub use assembler::Assembler;
pub use builtin::{PAPERS, paper};
pub use cache::Cache;
pub use experiment::{By, Experiment, Figure, Form, Paper, Program, Relation, Replayed, Series, Unit};
pub use measured::{Line, Measured, measured};
pub use page::{page, text};
pub use question::{Question, questions};
pub use recorder::Recorder;
pub use work::{Answers, Plan, Progress, Task, plan, run};
pub use workloads::{Recording, Workload, Workloads};
