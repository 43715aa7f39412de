//! Records of a replay for views and reports: [`record`] records the events of an SM while it runs, [`Observed`] marks a
//! source whose SMs do so. A replay without views is compiled without all of this.

pub mod record;
mod source;

pub use crate::memory::{RequestKind, Served, Token};
pub use record::{Recording, ViewOptions};
pub use source::Observed;
