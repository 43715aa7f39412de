//! Values and predicates live into and out of each block, and the uses and definitions of instructions.

use crate::lower::liveness::Mentions;
use crate::lower::vir::{Blk, Def, Func, InstId, Term, Val};

/// Values and predicates live into and out of each block, before single assignment ends.
pub(crate) struct Liveness {
    /// Ascending.
    live_in: Vec<Vec<u32>>,
    /// Ascending.
    live_out: Vec<Vec<u32>>,
    registers: usize,
}

/// A value of either kind, by dense index: registers first.
pub(super) type Item = usize;

impl Liveness {
    /// Computes liveness.
    pub(crate) fn of(f: &Func) -> Liveness {
        let registers = f.defs.len();
        let mut mentions = Mentions::new(registers + f.pdefs.len());
        for &b in &f.order {
            for &id in &f.block(b).insts {
                each_use(f, id, |u| mentions.read(b, u));
                each_def(f, id, |d| mentions.write(b, d));
            }
            each_use_at_end(f, b, |u| mentions.read(b, u));
        }
        let begins = |i: u32| {
            let i = i as usize;
            let def = if i < registers { f.defs[i] } else { f.pdefs[i - registers] };
            if let Def::Phi(b) = def { Some(b) } else { None }
        };
        let live_in = mentions.live_in(f, begins);
        let mut live_out = vec![Vec::new(); f.blocks.len()];
        for &b in &f.order {
            let out: &mut Vec<u32> = &mut live_out[b.index()];
            for s in f.block(b).term.succs() {
                out.extend(live_in[s.index()].iter().filter(|&&i| begins(i) != Some(s)));
            }
            each_use_at_end(f, b, |u| out.push(u as u32));
            out.sort_unstable();
            out.dedup();
        }
        Liveness { live_in, live_out, registers }
    }

    /// Whether a value (registers first, then predicates) is live into a block; a phi is live into its own block.
    pub(crate) fn is_live_in(&self, b: Blk, i: Item) -> bool {
        self.live_in[b.index()].binary_search(&(i as u32)).is_ok()
    }

    /// Whether a value is live out of a block.
    pub(super) fn is_live_out(&self, b: Blk, i: Item) -> bool {
        self.live_out[b.index()].binary_search(&(i as u32)).is_ok()
    }

    /// Number of registers and predicates live into a block.
    pub(super) fn count_in(&self, b: Blk) -> (i32, i32) {
        let live = &self.live_in[b.index()];
        let regs = live.partition_point(|&i| (i as usize) < self.registers);
        (regs as i32, (live.len() - regs) as i32)
    }
}

/// Uses at the end of a block: its condition, the phi arguments of its successors, and the results of a
/// subroutine.
fn each_use_at_end(f: &Func, b: Blk, mut visit: impl FnMut(Item)) {
    let registers = f.defs.len();
    for s in f.block(b).term.succs() {
        let block = f.block(s);
        for (edge, _) in block.preds.iter().enumerate().filter(|(_, p)| **p == b) {
            let args = block.phis.iter().filter_map(|phi| phi.args[edge].reg());
            args.for_each(|r| visit(r.index()));
            let args = block.pphis.iter().filter_map(|phi| phi.args[edge].pred);
            args.for_each(|p| visit(registers + p.index()));
        }
    }
    match (f.block(b).term, f.block(b).sub) {
        (Term::Return, Some(sub)) => {
            let results = f.subs[sub.index()].results.iter().filter_map(|v| v.reg());
            results.for_each(|r| visit(r.index()));
        }
        (Term::If(p, _, _), _) => p.pred.into_iter().for_each(|p| visit(registers + p.index())),
        _ => {}
    }
}

pub(super) fn each_def(f: &Func, id: InstId, mut visit: impl FnMut(Item)) {
    f.inst(id).dsts().for_each(|d| visit(d.index()));
    f.inst(id).pdsts().for_each(|p| visit(f.defs.len() + p.index()));
}

pub(super) fn each_use(f: &Func, id: InstId, mut visit: impl FnMut(Item)) {
    let registers = f.defs.len();
    f.inst(id).for_each_val(|v| {
        if let Val::Reg(r) = v {
            visit(r.index());
        }
    });
    f.inst(id).for_each_psrc(|p| {
        if let Some(p) = p.pred {
            visit(registers + p.index());
        }
    });
}
