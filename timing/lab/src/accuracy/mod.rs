//! How near the cycles of the model are to silicon and to other simulators: every reference that this repository has, with
//! ours as it was measured last.
//!
//! `reference` reads the list and its tables, which are part of the program; `figures` are the errors by program, size and
//! cause; `tables` and `output` show them in a terminal and as JSON, `page` as a page of the book. Nothing is replayed here:
//! the tables say with which revision of this repository their columns were measured. For results of one's own beside a
//! profile there is [`crate::correlate`].

mod error;
mod figures;
mod output;
mod page;
mod reference;
mod tables;
#[cfg(test)]
mod tests;

pub use error::AccuracyError;
pub use figures::{Group, Grouping};
pub use output::{to_json, to_text};
pub use page::{Page, page};
pub use reference::{Against, Cause, Fit, Fitted, Measured, Reference, Row, references};
