//! Views of a replay: what the pipeline did cycle by cycle, as files that viewers open and as time series.
//!
//! [`record`] is what an SM writes down while it runs,
//! [`series`] samples counters at an interval. A replay that nobody views is compiled without any of it.

pub mod record;
pub mod series;
mod source;

pub use record::{Recording, ViewOptions};
pub use series::Series;
pub use source::Observed;
