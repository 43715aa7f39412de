//! The scoreboard: per warp, the registers and predicates whose results are outstanding.
//!
//! It holds back reads and writes of pending registers (RAW and WAW). Reads that are still being collected do
//! not hold back later writes: as in the published models, collectors read long before a later result comes.

use crate::program::{RegSet, TimedInst};

/// Outstanding results of one warp.
#[derive(Clone, Debug, Default)]
struct Pending {
    registers: RegSet,
    memory: RegSet,
    predicates: u8,
}

/// Whether a warp's next instruction may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// It may.
    Clear,
    /// It waits for an arithmetic result.
    Alu,
    /// It waits for at least one load.
    Memory,
}

/// Outstanding results of all warps of an SM.
#[derive(Clone, Debug)]
pub struct Scoreboard(Vec<Pending>);

impl Scoreboard {
    /// An empty scoreboard.
    #[must_use]
    pub fn new(warps: usize) -> Scoreboard {
        Scoreboard(vec![Pending::default(); warps])
    }

    /// What an instruction of a warp waits for.
    #[must_use]
    #[inline]
    pub fn hazard(&self, warp: usize, inst: &TimedInst) -> Hazard {
        let pending = &self.0[warp];
        if pending.memory.meets(&inst.hazards) {
            Hazard::Memory
        } else if pending.registers.meets(&inst.hazards) || pending.predicates & inst.pred_hazards != 0 {
            Hazard::Alu
        } else {
            Hazard::Clear
        }
    }

    /// Marks an instruction's destinations as outstanding.
    #[inline]
    pub fn reserve(&mut self, warp: usize, inst: &TimedInst, memory: bool) {
        let pending = &mut self.0[warp];
        pending.registers.insert_all(&inst.writes);
        pending.predicates |= inst.pred_writes;
        if memory {
            pending.memory.insert_all(&inst.writes);
        }
    }

    /// An instruction's results are there.
    #[inline]
    pub fn release(&mut self, warp: usize, inst: &TimedInst) {
        let pending = &mut self.0[warp];
        pending.registers.remove_all(&inst.writes);
        pending.memory.remove_all(&inst.writes);
        pending.predicates &= !inst.pred_writes;
    }
}
