//! Writes that techniques are not notified of: of instructions that go through no collector, such as a barrier's reduction.

use warplab_technique::program::{Path, Program, RegSet};

/// Registers and predicates that are written without a collector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unseen {
    /// Registers.
    pub registers: RegSet,
    /// Predicates, one bit each.
    pub predicates: u8,
}

impl Unseen {
    /// Those of a program.
    #[must_use]
    pub fn of(program: &Program) -> Unseen {
        let mut unseen = Unseen::default();
        for timed in program.insts.iter().filter(|timed| !matches!(timed.path, Path::Alu | Path::Memory(_))) {
            timed.inst.dst_regs().for_each(|reg| unseen.registers.insert(reg.0));
            timed.inst.dst_preds().for_each(|pred| unseen.predicates |= 1 << (pred.0 & 7));
        }
        unseen
    }
}
