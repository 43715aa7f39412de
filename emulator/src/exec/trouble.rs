//! Why warps stop, and why blocks cannot go on.

use super::fault::{FaultKind, Place};
use crate::record::SinkError;
use crate::view::access::Refusal;

/// Why a warp stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Nothing can run: all lanes have exited or wait.
    Idle,
    /// It has had its share.
    Share,
}

/// Why a block cannot go on.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The guest is at fault.
    Fault(Box<(FaultKind, Place)>),
    /// The block has to run again, alone (see [`crate::view::global`]).
    Order(Refusal),
    /// Another block's trouble makes going on pointless.
    Cancelled,
    /// The trace cannot be written.
    Sink(SinkError),
}

impl Trouble {
    #[cold]
    pub fn fault(kind: FaultKind, place: Place) -> Trouble {
        Trouble::Fault(Box::new((kind, place)))
    }
}
