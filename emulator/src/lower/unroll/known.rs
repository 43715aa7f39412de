//! Loops whose number of iterations is known: all iterations one after the other if that is short enough,
//! otherwise a loop of several, with the remaining ones in front of it.

use super::copies::{Names, advance, copy_body};
use super::counted::{Counted, insert_block, retarget};
use crate::lower::vir::{Blk, Def, Func, InstId, PPhi, PSrc, Phi, Term, VPred, VReg, Val};

/// What the body of a longer loop may cost.
const LOOP_BUDGET: u64 = 358;
/// The least number of iterations that must fit into [`LOOP_BUDGET`].
const LEAST_FACTOR: u64 = 5;

/// What all iterations may cost together if none of them is a loop any more: more for small bodies, which gain
/// more.
fn straight_budget(cost: u64) -> u64 {
    (200 + 14000 / cost).min(3000)
}

/// Unrolls the loop if it is small enough.
pub(super) fn unroll(f: &mut Func, b: Blk, c: &Counted, iterations: u64) -> bool {
    let cost = c.cost(f, b) as u64;
    if iterations.saturating_mul(cost) <= straight_budget(cost) {
        straighten(f, b, c, iterations);
        return true;
    }
    let most = LOOP_BUDGET / cost;
    if most < LEAST_FACTOR {
        return false;
    }
    // The largest factor that still leaves room for the remaining iterations.
    let Some(factor) = (2..=most).rev().find(|factor| factor + iterations % factor <= most) else {
        return false;
    };
    lengthen(f, b, c, factor, iterations % factor);
    true
}

/// The values of the loop before its first iteration.
fn entering(f: &Func, b: Blk, c: &Counted) -> Names {
    advance(f, b, c.entry_edge, &Names::default())
}

/// Appends copies of the body to a block; returns the names of the last one's values.
fn copies(
    f: &mut Func,
    b: Blk,
    c: &Counted,
    to: Blk,
    mut names: Names,
    body: &[InstId],
    count: u64,
) -> Names {
    for i in 0..count {
        if i > 0 {
            names = advance(f, b, c.latch_edge, &names);
        }
        copy_body(f, body, to, &mut names);
    }
    names
}

/// Replaces the loop by all its iterations.
fn straighten(f: &mut Func, b: Blk, c: &Counted, iterations: u64) {
    let body = std::mem::take(&mut f.block_mut(b).insts);
    let names = entering(f, b, c);
    let last = copies(f, b, c, b, names, &body, iterations);
    let (phis, pphis) = (std::mem::take(&mut f.block_mut(b).phis), std::mem::take(&mut f.block_mut(b).pphis));
    let block = f.block_mut(b);
    block.preds = vec![c.entry];
    block.term = Term::Goto(c.exit);
    rename(f, &phis, &pphis, &body, &last);
}

/// Makes the loop's body `factor` iterations long, behind `before` iterations of their own.
fn lengthen(f: &mut Func, b: Blk, c: &Counted, factor: u64, before: u64) {
    let body = std::mem::take(&mut f.block_mut(b).insts);
    let mut names = entering(f, b, c);
    let mut entry = c.entry;
    if before > 0 {
        let first = insert_block(f, b, c.entry);
        f.block_mut(first).preds = vec![c.entry];
        f.block_mut(first).term = Term::Goto(b);
        f.block_mut(first).line = f.block(b).line;
        retarget(f, c.entry, b, first);
        let last = copies(f, b, c, first, names, &body, before);
        names = advance(f, b, c.latch_edge, &last);
        entry = first;
    }
    // New phis, so that the old names are used outside of the loop only.
    let (phis, pphis) = (f.block(b).phis.clone(), f.block(b).pphis.clone());
    let mut current = Names::default();
    let (mut new_phis, mut new_pphis) = (Vec::new(), Vec::new());
    for phi in &phis {
        let dst = f.new_reg();
        f.defs[dst.index()] = Def::Phi(b);
        current.regs.insert(phi.dst, Val::Reg(dst));
        new_phis.push(Phi { dst, args: vec![names.val(Val::Reg(phi.dst)); 2] });
    }
    for phi in &pphis {
        let dst = f.new_pred();
        f.pdefs[dst.index()] = Def::Phi(b);
        current.preds.insert(phi.dst, PSrc::of(dst));
        new_pphis.push(PPhi { dst, args: vec![names.psrc(PSrc::of(phi.dst)); 2] });
    }
    let last = copies(f, b, c, b, current, &body, factor);
    let next = advance(f, b, c.latch_edge, &last);
    for (new, old) in new_phis.iter_mut().zip(&phis) {
        new.args[c.latch_edge] = next.val(Val::Reg(old.dst));
    }
    for (new, old) in new_pphis.iter_mut().zip(&pphis) {
        new.args[c.latch_edge] = next.psrc(PSrc::of(old.dst));
    }
    let block = f.block_mut(b);
    block.preds[c.entry_edge] = entry;
    (block.phis, block.pphis) = (new_phis, new_pphis);
    block.nounroll = true;
    if let Term::If(p, yes, no) = block.term {
        block.term = Term::If(last.psrc(p), yes, no);
    }
    rename(f, &phis, &pphis, &body, &last);
}

/// Gives the loop's values, which are used behind it only, the names of the last copy.
fn rename(f: &mut Func, phis: &[Phi], pphis: &[PPhi], body: &[InstId], last: &Names) {
    let regs: Vec<VReg> = phis
        .iter()
        .map(|phi| phi.dst)
        .chain(body.iter().flat_map(|&id| f.inst(id).dsts().collect::<Vec<_>>()))
        .collect();
    let preds: Vec<VPred> = pphis
        .iter()
        .map(|phi| phi.dst)
        .chain(body.iter().flat_map(|&id| f.inst(id).pdsts().collect::<Vec<_>>()))
        .collect();
    regs.into_iter().for_each(|r| f.replace(r, last.val(Val::Reg(r))));
    preds.into_iter().for_each(|p| f.preplace(p, last.psrc(PSrc::of(p))));
}
