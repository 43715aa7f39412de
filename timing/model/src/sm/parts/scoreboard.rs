//! The scoreboard: per warp, the registers and predicates whose results are outstanding.
//!
//! It stalls issue for reads and writes of pending registers (RAW and WAW). A bank conflict may delay a read
//! until a later, short instruction has its result; that result then waits at the bus until the read is done
//! (WAR).

use super::cause_of_waits;
use crate::program::{RegSet, TimedInst};
use crate::stats::Stall;

/// Outstanding results of one warp.
#[derive(Clone, Debug, Default)]
struct Pending {
    registers: RegSet,
    memory: RegSet,
    /// Uniform registers and predicates, as in [`TimedInst::uniform_writes`].
    uniform: u128,
    predicates: u8,
    /// Predicates that can be read but cannot guard yet, and how often each was written meanwhile.
    guards: u8,
    guard_writes: [u8; 8],
    /// Registers that instructions in collectors have not read yet.
    reading: RegSet,
}

/// Whether a warp's next instruction may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hazard {
    /// It may issue.
    Clear,
    /// It waits for an arithmetic result.
    Alu,
    /// It waits for at least one load.
    Memory,
}

/// Outstanding results of all warps of an SM.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    pending: Vec<Pending>,
    /// By warp and register: number of instructions that have not read it yet.
    readers: Vec<[u8; 256]>,
    /// Warps whose next instruction waits, and those of them that wait for at least one load.
    held: u64,
    held_by_memory: u64,
}

impl Scoreboard {
    /// An empty scoreboard.
    #[must_use]
    pub(crate) fn new(warps: usize) -> Scoreboard {
        Scoreboard {
            pending: vec![Pending::default(); warps],
            readers: vec![[0; 256]; warps],
            held: 0,
            held_by_memory: 0,
        }
    }

    /// Registers and predicates of a warp that are outstanding, for the report of a stuck machine.
    #[must_use]
    pub(crate) fn describe(&self, warp: usize) -> String {
        let pending = &self.pending[warp];
        let name = |reg: u8| {
            let from = if pending.memory.contains(reg) { " (memory)" } else { "" };
            format!("R{reg}{from}")
        };
        let registers = (0..=254).filter(|reg| pending.registers.contains(*reg)).map(name);
        let predicates = (0..7).filter(|p| pending.predicates >> p & 1 != 0).map(|p| format!("P{p}"));
        let all: Vec<String> = registers.chain(predicates).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }

    /// What an instruction of a warp waits for.
    #[must_use]
    #[inline]
    pub(crate) fn hazard(&self, warp: usize, inst: &TimedInst) -> Hazard {
        let pending = &self.pending[warp];
        if pending.memory.meets(&inst.hazards) {
            Hazard::Memory
        } else if pending.registers.meets(&inst.hazards)
            || pending.predicates & inst.pred_hazards | pending.guards & inst.guard != 0
            || pending.uniform & inst.uniform_hazards != 0
        {
            Hazard::Alu
        } else {
            Hazard::Clear
        }
    }

    /// Whether an earlier result of a register or predicate that an instruction writes is outstanding.
    #[must_use]
    pub(crate) fn is_outstanding(&self, warp: usize, inst: &TimedInst) -> bool {
        let pending = &self.pending[warp];
        pending.registers.meets(&inst.writes)
            || pending.predicates & inst.pred_writes != 0
            || pending.uniform & inst.uniform_writes != 0
    }

    /// Looks up what the next instruction of a warp waits for; without one it waits for nothing.
    #[inline]
    pub(crate) fn look_at(&mut self, warp: usize, next: Option<&TimedInst>) {
        let hazard = next.map_or(Hazard::Clear, |inst| self.hazard(warp, inst));
        let bit = 1u64 << warp;
        self.held = self.held & !bit | u64::from(hazard != Hazard::Clear) << warp;
        self.held_by_memory = self.held_by_memory & !bit | u64::from(hazard == Hazard::Memory) << warp;
    }

    /// Warps whose next instruction waits.
    #[must_use]
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Warps whose next instruction waits for at least one load.
    #[must_use]
    #[inline]
    pub(crate) fn held_by_memory(&self) -> u64 {
        self.held_by_memory
    }

    /// Stall cause of the held warps among `warps`: arithmetic results take precedence over loads.
    #[must_use]
    pub(crate) fn refuses(&self, warps: u64) -> Option<Stall> {
        cause_of_waits(self.held & warps, self.held_by_memory)
    }

    /// Marks an instruction's destinations as outstanding.
    #[inline]
    pub(crate) fn reserve(&mut self, warp: usize, inst: &TimedInst, memory: bool) {
        let pending = &mut self.pending[warp];
        pending.registers.insert_all(&inst.writes);
        pending.predicates |= inst.pred_writes;
        pending.uniform |= inst.uniform_writes;
        if memory {
            pending.memory.insert_all(&inst.writes);
        }
    }

    /// Keeps predicates from guarding instructions until [`Scoreboard::open_guards`] is called for them.
    pub(crate) fn close_guards(&mut self, warp: usize, predicates: u8) {
        let pending = &mut self.pending[warp];
        pending.guards |= predicates;
        for (predicate, writes) in pending.guard_writes.iter_mut().enumerate() {
            *writes += predicates >> predicate & 1;
        }
    }

    /// Lets predicates guard instructions that have not been closed again since.
    pub(crate) fn open_guards(&mut self, warp: usize, predicates: u8) {
        let pending = &mut self.pending[warp];
        for (predicate, writes) in pending.guard_writes.iter_mut().enumerate() {
            *writes -= predicates >> predicate & 1;
            pending.guards &= !(u8::from(*writes == 0) << predicate);
        }
    }

    /// An instruction begins to collect some of its sources, one bit each.
    #[inline]
    pub(crate) fn begin_reads(&mut self, warp: usize, inst: &TimedInst, operands: u16) {
        for (index, reg) in inst.read_registers().iter().enumerate() {
            if operands >> index & 1 != 0 {
                self.readers[warp][usize::from(*reg)] += 1;
                self.pending[warp].reading.insert(*reg);
            }
        }
    }

    /// Whether an earlier instruction has not yet read a register that this one writes.
    #[must_use]
    #[inline]
    pub(crate) fn is_read(&self, warp: usize, inst: &TimedInst) -> bool {
        self.pending[warp].reading.meets(&inst.writes)
    }

    /// The instruction has collected these sources.
    #[inline]
    pub(crate) fn end_reads(&mut self, warp: usize, inst: &TimedInst, operands: u16) {
        for (index, reg) in inst.read_registers().iter().enumerate() {
            if operands >> index & 1 != 0 {
                let readers = &mut self.readers[warp][usize::from(*reg)];
                *readers -= 1;
                if *readers == 0 {
                    self.pending[warp].reading.remove(*reg);
                }
            }
        }
    }

    /// Clears an instruction's destinations: its results are available.
    #[inline]
    pub(crate) fn release(&mut self, warp: usize, inst: &TimedInst) {
        let pending = &mut self.pending[warp];
        pending.registers.remove_all(&inst.writes);
        pending.memory.remove_all(&inst.writes);
        pending.predicates &= !inst.pred_writes;
        pending.uniform &= !inst.uniform_writes;
    }
}
