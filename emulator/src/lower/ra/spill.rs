//! Spilling: when registers run out, long-lived and rarely used values are spilled.
//!
//! A spilled value is stored to the thread's local memory where it is defined and loaded before each use; a
//! value that one instruction can recompute (a literal, a constant, a special register) is rematerialised
//! instead. A spilled predicate is kept in a register as 1 or 0.
//!
//! `recompute` first moves what can be computed again to where it is read. `choose` selects all values needed to
//! relieve every crowded position at once; `registers` and `predicates` rewrite the code for all of them in one
//! walk; `sink` moves reloads down to their uses. So the number of attempts does not grow with the code, and each
//! takes about linear time.

use super::assign::{Pressure, available};
use super::limits::Limits;
use super::live::Live;
use crate::lower::vir::{Func, VPred, VReg};

mod choose;
mod ends;
mod predicates;
mod recompute;
mod registers;
mod sink;
mod spilled;

pub(crate) use spilled::Spilled;

/// Rewrites the code so that fewer values are alive at the crowded places.
///
/// `live` are the ranges of the failed attempt, which has `attempt_regs` registers, the first of them those of `f`;
/// spill slots begin at `frame_bytes`.
///
/// # Errors
/// Nothing is left to spill.
pub(crate) fn rewrite(
    f: &mut Func,
    live: &Live,
    attempt_regs: usize,
    pressure: &Pressure,
    limits: Limits,
    frame_bytes: u32,
    spilled: &mut Spilled,
) -> Result<(), String> {
    let predicate = pressure.predicate;
    let limit = available(predicate, if predicate { limits.predicates } else { limits.registers });
    if !predicate && recompute::run(f, live, attempt_regs, limit, spilled) {
        return Ok(());
    }
    let attempt = choose::Attempt { f, live, registers: attempt_regs, pressure, limit };
    let chosen = choose::choose(&attempt, spilled);
    if chosen.is_empty() {
        return Err("the code needs more registers at once than there are".into());
    }
    if predicate {
        let chosen: Vec<VPred> = chosen.into_iter().map(|i| VPred(i as u32)).collect();
        predicates::spill(f, &chosen, spilled);
    } else {
        let chosen: Vec<VReg> = chosen.into_iter().map(|i| VReg(i as u32)).collect();
        registers::spill(f, &chosen, frame_bytes, spilled);
    }
    sink::sink(f, spilled);
    Ok(())
}

/// The last resort: every value is in memory and is reloaded for each instruction that reads it.
pub(crate) fn everything(f: &mut Func, frame_bytes: u32, spilled: &mut Spilled) {
    let mut defined: Vec<VReg> = Vec::new();
    for &b in &f.order {
        let block = f.block(b);
        defined.extend(block.phis.iter().map(|phi| phi.dst));
        block.insts.iter().for_each(|&id| defined.extend(f.inst(id).dsts()));
    }
    f.subs.iter().for_each(|sub| defined.extend(&sub.params));
    defined.sort_unstable();
    defined.dedup();
    defined.retain(|r| !spilled.has_register(*r));
    registers::spill(f, &defined, frame_bytes, spilled);
    sink::sink(f, spilled);
}
