//! Views of a replay: the pipeline's events cycle by cycle, as files for viewers and as time series.
//!
//! [`record`] records events while an SM runs, [`timeline`] and [`konata`] turn them into files, [`series`]
//! samples counters at an interval. A replay without views is compiled without all of this.

pub mod konata;
pub(crate) mod record;
pub(crate) mod series;
mod source;
pub mod timeline;

pub use record::{Recording, ViewOptions};
pub use series::{Column, Series};
pub use source::Observed;

use record::{InstRecord, Origin};
use trace_format::isa::MachineKernel;

/// Listing text of an instruction.
fn text(kernel: &MachineKernel, record: &InstRecord) -> String {
    match (record.origin, kernel.insts.get(record.pc as usize)) {
        (Origin::Inserted, _) => "(inserted)".to_owned(),
        (Origin::Program, Some(inst)) => inst.to_string(),
        (Origin::Program, None) => "?".to_owned(),
    }
}
