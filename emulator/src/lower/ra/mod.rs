//! Register allocation: from single-assignment values to machine registers.
//!
//! `code` leaves SSA form by inserting copies where two values may have to share a register (phis, tuples,
//! predicated results, call arguments). `live` computes live ranges, `coalesce` merges values and tuples
//! whose ranges allow it, so that most copies disappear, `assign` picks registers, from the banks that `banks` asks for, `spill` rewrites the code
//! when there are not enough, and `emit` writes the machine instructions. `check` proves the result
//! independently, by symbolic execution against the code before allocation.

pub(super) mod assign;
mod banks;
pub(super) mod check;
pub(super) mod coalesce;
pub(super) mod code;
pub(super) mod emit;
mod limits;
pub(super) mod live;
pub(super) mod spill;

pub(super) use limits::Limits;

use super::vir::Func;
use assign::Assignment;
use code::Code;

/// Rounds of spilling before every value is spilled. Each round relieves every position with too many live
/// values; reloads need registers again, which the next round handles.
const MAX_ROUNDS: usize = 40;
/// Rounds after that: only predicates and the operands of single instructions remain.
const LAST_ROUNDS: usize = 20;

/// Allocated code: what [`emit`] turns into machine instructions.
pub(super) struct Allocated {
    /// Code with copies.
    pub code: Code,
    /// Register of every value.
    pub assignment: Assignment,
    /// Bytes of local memory taken for spills.
    pub spill_bytes: u32,
    /// The code before allocation, spills included, for the checker.
    pub before: Func,
}

/// Allocates registers, spilling to local memory from `frame_bytes` on only when the limits are too tight.
///
/// # Errors
/// Even spilling does not make the code fit (an instruction needs more registers at once than there are).
pub(super) fn allocate(f: &mut Func, limits: Limits, frame_bytes: u32) -> Result<Allocated, String> {
    let mut spilled = spill::Spilled::default();
    let (mut rounds, mut everything) = (MAX_ROUNDS, false);
    loop {
        let mut attempt = f.clone();
        let code = Code::of(&mut attempt);
        let live = live::Live::of(&attempt, &code);
        let webs = coalesce::Webs::of(&attempt, &code, &live);
        match assign::assign(&attempt, &code, &webs, limits) {
            Ok(assignment) => {
                let before = std::mem::replace(f, attempt);
                return Ok(Allocated { code, assignment, spill_bytes: spilled.bytes, before });
            }
            Err(pressure) => {
                let regs = attempt.defs.len();
                rounds -= 1;
                let relieved = match rounds {
                    0 => Err("the code needs more registers than there are, even with spilling".into()),
                    _ => spill::rewrite(f, &live, regs, &pressure, limits, frame_bytes, &mut spilled),
                };
                match relieved {
                    Ok(()) => {}
                    Err(why) if everything => return Err(why),
                    Err(_) => {
                        spill::everything(f, frame_bytes, &mut spilled);
                        (rounds, everything) = (LAST_ROUNDS, true);
                    }
                }
            }
        }
    }
}
