//! Values that may differ between the lanes of a warp.
//!
//! Thread and lane numbers differ, and what is computed from them, loaded from addresses that differ, exchanged
//! between lanes, or chosen by a branch on such a predicate. Block numbers, parameters and clocks do not.

use crate::lower::cfg::Dominance;
use crate::lower::vir::{Blk, Func, Inst, PSrc, Term, VOp, Val};
use fixedbitset::FixedBitSet;
use trace_format::isa::{Op, SpecialReg};

/// The values of a function that may differ.
pub(super) struct Divergence {
    regs: FixedBitSet,
    preds: FixedBitSet,
}

impl Divergence {
    /// Finds them.
    pub(super) fn of(f: &Func, dominance: &Dominance) -> Divergence {
        let (regs, preds) = (f.defs.len(), f.pdefs.len());
        let mut found =
            Divergence { regs: FixedBitSet::with_capacity(regs), preds: FixedBitSet::with_capacity(preds) };
        // What a subroutine is given may differ.
        for sub in &f.subs {
            sub.params.iter().for_each(|r| found.regs.insert(r.index()));
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &b in &dominance.rpo {
                changed |= found.block(f, dominance, b);
            }
        }
        found
    }

    /// Whether a value may differ.
    pub(super) fn val(&self, v: Val) -> bool {
        v.reg().is_some_and(|r| self.regs.contains(r.index()))
    }

    fn psrc(&self, p: PSrc) -> bool {
        p.pred.is_some_and(|p| self.preds.contains(p.index()))
    }

    /// Looks at a block; whether more values were found to differ.
    fn block(&mut self, f: &Func, dominance: &Dominance, b: Blk) -> bool {
        let mut more = false;
        let block = f.block(b);
        let chosen = self.is_join_of_divergent(f, dominance, b);
        for phi in &block.phis {
            if chosen || phi.args.iter().any(|v| self.val(*v)) {
                more |= !self.regs.put(phi.dst.index());
            }
        }
        for phi in &block.pphis {
            if chosen || phi.args.iter().any(|p| self.psrc(*p)) {
                more |= !self.preds.put(phi.dst.index());
            }
        }
        for &id in &block.insts {
            let inst = f.inst(id);
            if self.differs(inst) {
                inst.dsts().for_each(|d| more |= !self.regs.put(d.index()));
                inst.pdsts().for_each(|p| more |= !self.preds.put(p.index()));
            }
        }
        more
    }

    /// Whether paths meet in a block that lanes of a warp took differently.
    fn is_join_of_divergent(&self, f: &Func, dominance: &Dominance, b: Blk) -> bool {
        let preds = &f.block(b).preds;
        if preds.iter().filter(|&&p| !dominance.dominates(b, p)).count() < 2 {
            return false;
        }
        let above = dominance.immediate(b);
        above.is_none_or(|above| matches!(f.block(above).term, Term::If(p, ..) if self.psrc(p)))
    }

    fn differs(&self, inst: &Inst) -> bool {
        let own = match inst.op {
            VOp::M(Op::S2r { sr }) => !matches!(
                sr,
                SpecialReg::CtaidX
                    | SpecialReg::CtaidY
                    | SpecialReg::CtaidZ
                    | SpecialReg::SmId
                    | SpecialReg::NSmId
                    | SpecialReg::ClockLo
                    | SpecialReg::ClockHi
                    | SpecialReg::GlobalTimerLo
                    | SpecialReg::GlobalTimerHi
                    | SpecialReg::GridId
            ),
            VOp::Call(_) | VOp::CallFunction(_) => true,
            _ => inst.op.crosses_lanes() || matches!(inst.op.kind(), trace_format::isa::Kind::Atomic(_)),
        };
        let mut differs = own || self.psrc(inst.guard);
        inst.for_each_val(|v| differs |= self.val(v));
        inst.for_each_psrc(|p| differs |= self.psrc(p));
        differs
    }
}
