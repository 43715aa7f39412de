//! State of a launch's run, for all ways of running its blocks.

use super::block::Block;
use super::executable::Executable;
use super::fault::{Fault, FaultKind, Location};
use super::interface::{LaunchError, Observer, Options, Stats};
use super::tolerated::{Site, Sites};
use super::trouble::Trouble;
use crate::check::Checker;
use crate::memory::GlobalMemory;
use crate::record::LaunchSink;

/// State of a running launch.
pub(super) struct Run<'r, L> {
    pub executable: &'r Executable<'r>,
    pub options: Options,
    pub sink: &'r mut L,
    pub observer: &'r dyn Observer,
    pub stats: Stats,
    /// The checker, if the run is checked.
    pub checker: Option<&'r mut Checker>,
    /// Loads out of bounds that were tolerated.
    pub tolerated: Sites,
}

/// A started block with its sink.
pub(super) type Pending<L> = (Box<Block>, <L as LaunchSink>::Block);

/// Counts of a finished block.
pub(super) struct Done {
    pub instructions: u64,
    pub thread_instructions: u64,
    pub printed: Vec<u8>,
    pub tolerated: Vec<Site>,
}

impl Done {
    pub(super) fn of(block: &mut Block) -> Done {
        let printed = std::mem::take(&mut block.shared.printed);
        let (instructions, thread_instructions) = (block.instructions, block.shared.thread_instructions);
        let tolerated = std::mem::take(&mut block.shared.tolerated);
        Done { instructions, thread_instructions, printed, tolerated }
    }
}

/// Trouble, with its block.
pub(super) struct BlockTrouble {
    pub trouble: Trouble,
    pub block: u64,
}

impl BlockTrouble {
    /// The error for the caller: a fault gets its place in words and the nearest allocation.
    pub(super) fn complete(self, executable: &Executable<'_>, memory: &GlobalMemory) -> LaunchError {
        match self.trouble {
            Trouble::Fault(fault) => {
                let (mut kind, place) = *fault;
                if let FaultKind::OutOfBounds { size: None, address, nearest, .. } = &mut kind {
                    *nearest = memory.nearest(*address);
                }
                let index = executable.geometry.block_index(self.block);
                let fault = Fault::new(kind, executable.kernel, place, index, executable.geometry.block);
                LaunchError::Fault(Box::new(fault))
            }
            Trouble::Sink(error) => LaunchError::Sink(error),
            Trouble::Order(refusal) => {
                let what = format!("block order matters to an access that runs in order ({refusal:?})");
                let kind = FaultKind::Unsupported(what);
                let place = Location { pc: 0, warp: 0, lane: None };
                let index = executable.geometry.block_index(self.block);
                LaunchError::Fault(Box::new(Fault::new(
                    kind,
                    executable.kernel,
                    place,
                    index,
                    executable.geometry.block,
                )))
            }
            Trouble::Cancelled => LaunchError::Malformed("the launch was cancelled".into()),
        }
    }
}
