//! Copies of a loop's body, and the names of the loop's values in and after them.

use rustc_hash::FxHashMap;

use crate::lower::vir::{Blk, Func, InstId, PSrc, VPred, VReg, Val};

/// Renaming of a block's values in a copy.
#[derive(Default, Clone)]
pub(super) struct Names {
    pub regs: FxHashMap<VReg, Val>,
    pub preds: FxHashMap<VPred, PSrc>,
}

impl Names {
    pub(super) fn val(&self, v: Val) -> Val {
        v.reg().and_then(|r| self.regs.get(&r).copied()).unwrap_or(v)
    }
    pub(super) fn psrc(&self, p: PSrc) -> PSrc {
        match p.pred.and_then(|p| self.preds.get(&p).copied()) {
            Some(new) => PSrc { pred: new.pred, not: new.not != p.not },
            None => p,
        }
    }
}

/// Names of the phis at the start of the next copy.
pub(super) fn advance(f: &Func, b: Blk, latch_edge: usize, latest: &Names) -> Names {
    let mut names = Names::default();
    for phi in &f.block(b).phis {
        names.regs.insert(phi.dst, latest.val(phi.args[latch_edge]));
    }
    for phi in &f.block(b).pphis {
        names.preds.insert(phi.dst, latest.psrc(phi.args[latch_edge]));
    }
    names
}

/// Appends a copy of instructions with new results, which are added to the names.
pub(super) fn copy_body(f: &mut Func, body: &[InstId], to: Blk, names: &mut Names) {
    for &id in body {
        let mut inst = f.inst(id).clone();
        inst.map_vals(|v| names.val(v));
        inst.map_psrcs(|p| names.psrc(p));
        for d in inst.dst.iter_mut().flatten() {
            let new = f.new_reg();
            names.regs.insert(*d, Val::Reg(new));
            *d = new;
        }
        for p in inst.pdst.iter_mut().flatten() {
            let new = f.new_pred();
            names.preds.insert(*p, PSrc::of(new));
            *p = new;
        }
        let id = f.add_inst(inst);
        f.block_mut(to).insts.push(id);
    }
}
