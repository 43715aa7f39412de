//! If-conversion: short branches become predicated code.
//!
//! Computations run unconditionally; memory accesses run under the branch's predicate. At the reconvergence
//! point, a value becomes the predicated result of its last instruction, tied to its other value, or a
//! selection. Branches to the end of the thread are kept: they cost one predicated EXIT.

use rustc_hash::FxHashMap;

use super::cfg;
use super::vir::{Blk, Func, Inst, InstId, PSrc, Term, VOp, Val};
use trace_format::isa::{Kind, Lut, Op};

/// Maximum number of instructions of the conditional part (both sides together).
const MAX_INSTRUCTIONS: usize = 8;
/// Maximum number of memory accesses among them.
const MAX_ACCESSES: usize = 4;

/// Converts branches from the inside out.
pub(super) fn run(f: &mut Func) {
    for _ in 0..16 {
        f.resolve_all();
        let mut changed = false;
        let (mut uses, _) = f.use_counts();
        for b in f.order.clone() {
            while convert(f, b, &mut uses) {
                changed = true;
            }
        }
        cfg::clean(f);
        if !changed {
            break;
        }
    }
}

/// A branch whose sides reconverge immediately.
struct Hammock {
    p: PSrc,
    /// Side taken where `p` holds, if it has a block of its own.
    then: Option<Blk>,
    /// The other side.
    other: Option<Blk>,
    join: Blk,
}

fn find(f: &Func, b: Blk) -> Option<Hammock> {
    let Term::If(p, yes, no) = f.block(b).term else { return None };
    let side = |x: Blk| -> Option<Blk> {
        let block = f.block(x);
        match block.term {
            Term::Goto(to)
                if block.preds.len() == 1 && block.phis.is_empty() && block.pphis.is_empty() && to != x =>
            {
                Some(to)
            }
            _ => None,
        }
    };
    let (after_yes, after_no) = (side(yes), side(no));
    let h = if after_yes == Some(no) {
        Hammock { p, then: Some(yes), other: None, join: no }
    } else if after_no == Some(yes) {
        Hammock { p, then: None, other: Some(no), join: yes }
    } else if after_yes.is_some() && after_yes == after_no {
        Hammock { p, then: Some(yes), other: Some(no), join: after_yes? }
    } else {
        return None;
    };
    let ends = f.block(h.join).insts.is_empty()
        && f.block(h.join).phis.is_empty()
        && f.block(h.join).pphis.is_empty()
        && f.block(h.join).term == Term::Exit;
    (h.join != b && !ends && yes != no).then_some(h)
}

/// Converts a block's branch; `uses` are the numbers of uses of all values, before and after.
fn convert(f: &mut Func, b: Blk, uses: &mut Vec<u32>) -> bool {
    let Some(h) = find(f, b) else { return false };
    let (mut count, mut accesses) = (0, 0);
    for side in [h.then, h.other].into_iter().flatten() {
        for &id in &f.block(side).insts {
            let inst = f.inst(id);
            if !convertible(inst) {
                return false;
            }
            count += if inst.op == VOp::Add64 { 2 } else { 1 };
            accesses += usize::from(!inst.op.is_free());
        }
    }
    if count > MAX_INSTRUCTIONS || accesses > MAX_ACCESSES {
        return false;
    }
    let edge = |f: &Func, from: Blk| f.block(h.join).preds.iter().position(|&p| p == from);
    let (Some(edge_then), Some(edge_other)) = (edge(f, h.then.unwrap_or(b)), edge(f, h.other.unwrap_or(b)))
    else {
        return false;
    };
    // The phis cost selections, too.
    let choices = f.block(h.join).phis.iter().filter(|p| p.args[edge_then] != p.args[edge_other]).count();
    if count + choices > MAX_INSTRUCTIONS + 2 {
        return false;
    }
    let other = take_side(f, b, h.other, h.p.negated());
    let then = take_side(f, b, h.then, h.p);
    merge_values(f, b, &h, [(edge_then, &then), (edge_other, &other)], uses);
    // One edge from b remains.
    f.block_mut(b).term = Term::Goto(h.join);
    let sides: Vec<Blk> = [h.then, h.other].into_iter().flatten().collect();
    if let [first, _] = sides[..] {
        // After a diamond the first side's edge becomes the branching block's.
        if let Some(pred) = f.block_mut(h.join).preds.iter_mut().find(|p| **p == first) {
            *pred = b;
        }
    }
    for &side in &sides {
        if f.block(h.join).preds.contains(&side) {
            cfg::remove_edge(f, side, h.join);
        }
        // Unreachable blocks are removed from the order afterwards.
        f.block_mut(side).preds.clear();
        f.block_mut(side).term = Term::Exit;
    }
    true
}

fn convertible(inst: &Inst) -> bool {
    inst.op.is_free()
        || matches!(inst.op.kind(), Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) | Kind::Reduction(_))
}

/// Moves a side's instructions to the end of the branching block, and lists them.
fn take_side(f: &mut Func, b: Blk, side: Option<Blk>, p: PSrc) -> Vec<InstId> {
    let Some(side) = side else { return Vec::new() };
    let insts = std::mem::take(&mut f.block_mut(side).insts);
    let mut guards: FxHashMap<PSrc, PSrc> = FxHashMap::default();
    for &id in &insts {
        let inst = f.inst(id).clone();
        if !inst.op.is_free() || inst.guard != PSrc::TRUE {
            let guard = if inst.guard == PSrc::TRUE {
                p
            } else if inst.op.is_free() {
                // Predicated arithmetic may run wherever its own predicate holds.
                inst.guard
            } else {
                *guards.entry(inst.guard).or_insert_with(|| {
                    let both = f.new_pred();
                    let mut and = Inst::new(VOp::M(Op::Plop3 { lut: Lut(Lut::A & Lut::B) }), inst.line);
                    and.psrc = [p, inst.guard, PSrc::TRUE];
                    and.pdst[0] = Some(both);
                    let and = f.add_inst(and);
                    f.block_mut(b).insts.push(and);
                    PSrc::of(both)
                })
            };
            f.insts[id.index()].guard = guard;
        }
        f.block_mut(b).insts.push(id);
    }
    insts
}

/// Values at the join that come from the branching block, in the order of its phis.
fn merge_values(f: &mut Func, b: Blk, h: &Hammock, sides: [(usize, &[InstId]); 2], uses: &mut Vec<u32>) {
    let [(edge_then, then), (edge_other, other)] = sides;
    let phis = f.block(h.join).phis.clone();
    let pphis = f.block(h.join).pphis.clone();
    let line = f.block(b).line;
    let mut merged = Vec::new();
    for phi in &phis {
        let (yes, no) = (phi.args[edge_then], phi.args[edge_other]);
        merged.push(merge_value(f, b, h.p, [(yes, then), (no, other)], uses, line));
    }
    // A value that came over both edges is read once less, a selection's by its phi. What a selection or a predicated
    // instruction reads was read by the phi before.
    uses.resize(f.defs.len(), 0);
    for (phi, new) in phis.iter().zip(&merged) {
        let (yes, no) = (phi.args[edge_then], phi.args[edge_other]);
        if let Some(r) = new.reg() {
            if yes == no {
                uses[r.index()] = uses[r.index()].saturating_sub(1);
            } else if *new != yes && *new != no {
                uses[r.index()] = 1;
            }
        }
    }
    let mut pmerged = Vec::new();
    for phi in &pphis {
        let (yes, no) = (phi.args[edge_then], phi.args[edge_other]);
        pmerged.push(if yes == no {
            yes
        } else {
            let d = f.new_pred();
            let choose = (Lut::A & Lut::B) | (!Lut::A & Lut::C);
            let mut inst = Inst::new(VOp::M(Op::Plop3 { lut: Lut(choose) }), line);
            inst.psrc = [h.p, yes, no];
            inst.pdst[0] = Some(d);
            let id = f.add_inst(inst);
            f.block_mut(b).insts.push(id);
            PSrc::of(d)
        });
    }
    // Both old edges get the merged value; one of them is removed afterwards.
    let block = f.block_mut(h.join);
    for (phi, v) in block.phis.iter_mut().zip(&merged) {
        phi.args[edge_then] = *v;
        phi.args[edge_other] = *v;
    }
    for (phi, p) in block.pphis.iter_mut().zip(&pmerged) {
        phi.args[edge_then] = *p;
        phi.args[edge_other] = *p;
    }
}

fn merge_value(
    f: &mut Func,
    b: Blk,
    p: PSrc,
    values: [(Val, &[InstId]); 2],
    uses: &[u32],
    line: trace_format::isa::SourceLine,
) -> Val {
    let [(yes, then), (no, other)] = values;
    if yes == no || no == Val::Undef {
        return yes;
    }
    if yes == Val::Undef {
        return no;
    }
    // The later side's value may be predicated in place.
    for (own, otherwise, side, p) in [(yes, no, then, p), (no, yes, other, p.negated())] {
        if f.def(own).is_some_and(|(id, _)| side.contains(&id)) && tie(f, b, own, otherwise, p, uses) {
            return own;
        }
    }
    let d = f.new_reg();
    let mut inst = Inst::new(VOp::M(Op::Sel {}), line);
    inst.src[0] = yes.into();
    inst.src[1] = no.into();
    inst.psrc[0] = p;
    inst.dst[0] = Some(d);
    let id = f.add_inst(inst);
    f.block_mut(b).insts.push(id);
    Val::Reg(d)
}

/// Makes `own` the predicated result of its instruction in `b`, with the value `otherwise` where `p` does
/// not hold; tells whether that was possible.
fn tie(f: &mut Func, b: Blk, own: Val, otherwise: Val, p: PSrc, uses: &[u32]) -> bool {
    let Some(r) = own.reg() else { return false };
    let Some((id, k)) = f.def(own) else { return false };
    if uses.get(r.index()).copied() != Some(1) {
        return false;
    }
    let at = |id: InstId| f.block(b).insts.iter().position(|&x| x == id);
    let Some(position) = at(id) else { return false };
    // The other value must exist already where the instruction stands.
    if let Some((def, _)) = f.def(otherwise)
        && at(def).is_some_and(|d| d >= position)
    {
        return false;
    }
    let inst = f.inst(id);
    let free = inst.op.is_free();
    let ready = inst.guard == p || (free && inst.guard == PSrc::TRUE);
    let single = inst.dst[1].is_none() && inst.pdst[0].is_none();
    if !ready || inst.tied[k as usize] != Val::Undef || matches!(inst.op, VOp::Call(_) | VOp::Add64) {
        return false;
    }
    if free && (!single || otherwise.reg().is_none()) {
        return false;
    }
    let inst = &mut f.insts[id.index()];
    inst.guard = p;
    inst.tied[k as usize] = otherwise;
    true
}
