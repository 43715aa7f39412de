//! The input of a report.

use super::measure::{Lab, Workload};
use crate::provenance::Provenance;
use crate::studies::StudyResult;

/// Maximum number of traces whose charts fit side by side.
pub(super) const FEW: usize = 6;

/// Input of a report.
pub struct Contents<'a> {
    /// Configuration and machines.
    pub lab: &'a Lab,
    /// Traces with their replays.
    pub workloads: &'a [Workload],
    /// Results of the studies.
    pub studies: &'a [StudyResult],
    /// Traces that could not be replayed, with the reasons.
    pub left_out: &'a [(String, String)],
    /// Traces that were recorded without values, which studies need.
    pub without_values: &'a [String],
    /// What produces the report.
    pub produced_by: &'a Provenance,
}
