//! Reasons for which warps stop and blocks cannot continue.

use super::fault::{FaultKind, Location};
use crate::record::SinkError;
use crate::view::access::Refusal;

/// Reason for which a warp stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Nothing can run: all lanes have exited or wait.
    Idle,
    /// It has executed its share of instructions.
    Share,
}

/// Reason for which a block cannot continue.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A guest fault.
    Fault(Box<(FaultKind, Location)>),
    /// The block must run again, alone (see [`crate::view::global`]).
    Order(Refusal),
    /// The block is cancelled because of another block's trouble.
    Cancelled,
    /// The trace cannot be written.
    Sink(SinkError),
}

impl Trouble {
    #[cold]
    pub(super) fn fault(kind: FaultKind, place: Location) -> Trouble {
        Trouble::Fault(Box::new((kind, place)))
    }
}
