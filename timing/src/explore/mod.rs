//! Exploration: many settings of techniques and machine over the same recordings, and those that no other one beats.
//!
//! A [`Space`] lists [`Point`]s, [`explore`] replays every recording at each, and [`marks`] tells the Pareto front of speed,
//! register-file energy and storage.

mod front;
mod page;
mod run;
mod space;

pub use front::marks;
pub use page::{page, table};
pub use run::{Explored, Score, explore};
pub use space::{Point, Space, Vary};
