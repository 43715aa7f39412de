//! Views of a replay: what the pipeline did cycle by cycle, as files that viewers open and as time series.
//!
//! [`record`] is what an SM writes down while it runs, [`timeline`] and [`konata`] turn that into files,
//! [`series`] samples counters at an interval. A replay that nobody views is compiled without any of it.

pub mod konata;
pub mod record;
pub mod series;
mod source;
pub mod timeline;

pub use record::{Recording, ViewOptions};
pub use series::Series;
pub use source::Observed;

use record::{InstRecord, Origin};
use trace_format::isa::MachineKernel;

/// An instruction as it is listed.
fn text(kernel: &MachineKernel, record: &InstRecord) -> String {
    match (record.origin, kernel.insts.get(record.pc as usize)) {
        (Origin::Inserted, _) => "(inserted)".to_owned(),
        (Origin::Program, Some(inst)) => inst.to_string(),
        (Origin::Program, None) => "?".to_owned(),
    }
}
