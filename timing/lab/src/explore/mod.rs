//! Exploration: many settings of techniques and machine over the same recordings, and those that no other one beats.
//!
//! A [`Space`] lists [`Point`]s, [`plan`] makes a sweep of them with the plain machine of each
//! configuration as the baseline, [`explored`] reads scores
//! from its results, and [`marks`] tells the Pareto front of speed, register-file energy and storage.

mod front;
mod page;
mod run;
mod space;

pub use front::marks;
pub use page::{page, table};
pub use run::{Explored, Score, explored, plan};
pub use space::{Base, Point, Space};
