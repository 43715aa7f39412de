//! Allocations that several processes have: files of those of this process, and addresses of others'.

use crate::shared_file::SharedFile;
use std::collections::BTreeMap;
use std::fs::File;

/// Allocations in both directions.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    /// Files of allocations of this process, by their start.
    pub(super) given: BTreeMap<u64, File>,
    /// Allocations of others: their start, and how often they were opened.
    pub(super) opened: BTreeMap<SharedFile, (u64, u32)>,
}
