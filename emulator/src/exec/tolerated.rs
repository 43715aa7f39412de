//! Loads out of bounds that a launch tolerates (see [`super::Options::lenient`]).
//!
//! Hardware checks addresses by page, so that a read beside a buffer usually goes undetected. Reads are
//! tolerated here up to a page from an allocation. Bytes that belong to no allocation read as zero.

use super::fault::{Access, Fault, FaultKind, Location};
use crate::memory::GlobalMemory;
use std::collections::BTreeMap;
use std::fmt;
use trace_format::isa::MachineKernel;
use trace_format::isa::space::Space;
use trace_format::semantics::Geometry;

/// Loads out of bounds of one instruction that yielded zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tolerated {
    /// The first of them, as a fault.
    pub first: Fault,
    /// Number of loads, counted by lane.
    pub loads: u64,
}

impl Tolerated {
    /// Merges tolerated loads of a launch into a list; true if there are new places.
    pub fn merge(all: &mut Vec<Tolerated>, loads: &[Tolerated]) -> bool {
        let before = all.len();
        for new in loads {
            let same =
                |old: &&mut Tolerated| old.first.pc == new.first.pc && old.first.kernel == new.first.kernel;
            match all.iter_mut().find(same) {
                Some(old) => old.loads += new.loads,
                None => all.push(new.clone()),
            }
        }
        all.len() > before
    }
}

impl fmt::Display for Tolerated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tolerated { first, loads } = self;
        let loads =
            if *loads == 1 { "this load".into() } else { format!("{loads} such loads at this place") };
        write!(f, "{first}\n  note: {loads} gave 0 where nothing is allocated")
    }
}

/// Tolerated loads of one instruction while the launch runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub place: Location,
    pub block: u64,
    pub address: u64,
    pub width: u8,
    pub loads: u64,
}

/// Tolerated loads of a launch by program counter.
#[derive(Debug, Default)]
pub(super) struct Sites(BTreeMap<u32, Site>);

impl Sites {
    /// Adds the loads of a finished block.
    pub(super) fn add(&mut self, sites: &mut Vec<Site>) {
        for site in sites.drain(..) {
            self.0.entry(site.place.pc).and_modify(|s| s.loads += site.loads).or_insert(site);
        }
    }

    /// The loads for the caller's report.
    pub(super) fn told(
        &self,
        (kernel, geometry): (&MachineKernel, &Geometry),
        memory: &GlobalMemory,
    ) -> Vec<Tolerated> {
        let fault = |site: &Site| {
            let nearest = memory.nearest(site.address);
            let (access, space, width) = (Access::Load, Space::Global, site.width);
            let kind =
                FaultKind::OutOfBounds { access, space, address: site.address, width, size: None, nearest };
            let index = geometry.block_index(site.block);
            Fault::new(kind, kernel, site.place, index, geometry.block)
        };
        self.0.values().map(|site| Tolerated { first: fault(site), loads: site.loads }).collect()
    }
}
