//! Views of a replay: files for viewers, made of the records of observed SMs ([`crate::observe`]) and of samples of the
//! counters.

pub mod konata;
pub mod timeline;

use crate::observe::record::{InstRecord, Origin};
use trace_format::isa::MachineKernel;

/// Listing text of an instruction.
fn text(kernel: &MachineKernel, record: &InstRecord) -> String {
    match (record.origin, kernel.insts.get(record.pc as usize)) {
        (Origin::Inserted, _) => "(inserted)".to_owned(),
        (Origin::Program, Some(inst)) => inst.to_string(),
        (Origin::Program, None) => "?".to_owned(),
    }
}
