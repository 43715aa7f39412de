//! Loops whose number of iterations is not known: a loop of four iterations while at least four are certain to
//! remain, then two iterations if these are certain, then the original loop for the rest.
//!
//! "Certain" takes wrap-around into account: the longer bodies are only entered where none can occur.

use rustc_hash::FxHashMap;

use super::copies::{Names, advance, copy_body};
use super::counted::{Counted, insert_block, is_step, retarget};
use super::limit::Limit;
use crate::lower::vir::{Blk, Def, Func, PPhi, PSrc, Phi, Term, VPred, VReg, Val};
use trace_format::isa::{Kind, space::Space};

/// Iterations of the main loop's body.
const FACTOR: usize = 4;
/// What the body of a loop may cost if it waits for loads, which the copies can do together.
const MAX_COST: usize = 46;
/// What it may cost otherwise.
const MAX_COST_WITHOUT_LOADS: usize = 18;

/// What it may cost if it fetches from textures, and what a fetch costs more than another instruction: two fetches
/// leave room for some eighty instructions, three for hardly any.
const MAX_COST_WITH_FETCHES: usize = 240;
const FETCH_COST: usize = 75;

/// Unrolls the loop if it is small enough.
pub(super) fn unroll(f: &mut Func, b: Blk, mut c: Counted, outside: &mut Outside) -> bool {
    if exceeds_budget(f, b, &c) {
        return false;
    }
    let out = close_exit(f, b, c.exit, outside);
    for (factor, repeats) in [(FACTOR, true), (2, false)] {
        c.entry = stage(f, b, &c, out, factor, repeats, outside);
    }
    f.block_mut(b).nounroll = true;
    true
}

/// Whether the body costs more than ptxas unrolls.
fn exceeds_budget(f: &Func, b: Blk, c: &Counted) -> bool {
    let loads = || {
        f.block(b).insts.iter().filter_map(|&id| match f.inst(id).op.kind() {
            Kind::Load(space) => Some(space),
            _ => None,
        })
    };
    let fetches = loads().filter(|&space| space == Space::Texture).count();
    let most = match fetches {
        0 if loads().next().is_none() => MAX_COST_WITHOUT_LOADS,
        0 => MAX_COST,
        _ => MAX_COST_WITH_FETCHES,
    };
    c.cost(f, b) + FETCH_COST * fetches > most
}

/// Whether an iteration has to wait for the one before, as far as ptxas sees it: its loads for stores to the same
/// memory, or for a barrier. Stores through a pointer that moves by a constant are no obstacle.
pub(super) fn has_to_wait(f: &Func, b: Blk, c: &Counted) -> bool {
    let insts = || f.block(b).insts.iter().map(|&id| f.inst(id));
    let loads_from = |space: Space| {
        insts().any(|inst| match inst.op.kind() {
            Kind::Load(from) | Kind::Atomic(from) | Kind::Reduction(from) => from == space,
            _ => false,
        })
    };
    insts().any(|inst| match inst.op.kind() {
        Kind::Barrier => true,
        Kind::Atomic(_) | Kind::Reduction(_) => true,
        Kind::Store(space) => {
            loads_from(space) && (inst.guard != PSrc::TRUE || !moves(f, b, c, inst.src[0].v[0]))
        }
        _ => false,
    })
}

/// Whether a value is a phi of the loop that moves by a constant.
fn moves(f: &Func, b: Blk, c: &Counted, v: Val) -> bool {
    f.block(b).phis.iter().any(|phi| {
        let next = f.def(phi.args[c.latch_edge]);
        Val::Reg(phi.dst) == v && next.is_some_and(|(id, word)| word == 0 && is_step(f.inst(id), phi.dst))
    })
}

/// Puts a body of several iterations before the loop, executed once or as long as they are certain to remain.
/// Returns the block from which the loop is then entered.
fn stage(
    f: &mut Func,
    b: Blk,
    c: &Counted,
    out: Blk,
    factor: usize,
    repeats: bool,
    outside: &mut Outside,
) -> Blk {
    let line = f.block(b).line;
    let body = f.block(b).insts.clone();
    let (phis, pphis) = (f.block(b).phis.clone(), f.block(b).pphis.clone());
    let guard = insert_block(f, b, c.entry);
    let main = insert_block(f, b, guard);
    let tail = if repeats { insert_block(f, b, main) } else { main };
    let rest = insert_block(f, b, tail);
    for block in [guard, main, tail, rest] {
        f.block_mut(block).line = line;
        outside.loops.insert(block, b);
    }
    // The guard decides about the main body with the counter's first value.
    let entering = advance(f, b, c.entry_edge, &Names::default());
    let limit = Limit::of(f, guard, c, factor as i64 - 1, line);
    let enter = limit.holds(f, guard, c, c.counter.map(|v| entering.val(v)), line);
    let enter = limit.and_possible(f, guard, enter, line);
    retarget(f, c.entry, b, guard);
    f.block_mut(guard).preds = vec![c.entry];
    f.block_mut(guard).term = Term::If(enter, main, rest);
    // The main body: phis like the original's if it is a loop, then copies of the body.
    let mut names = entering.clone();
    if repeats {
        for phi in &phis {
            let dst = f.new_reg();
            f.defs[dst.index()] = Def::Phi(main);
            let args = vec![entering.val(Val::Reg(phi.dst)), Val::Undef];
            names.regs.insert(phi.dst, Val::Reg(dst));
            f.block_mut(main).phis.push(Phi { dst, args });
        }
        for phi in &pphis {
            let dst = f.new_pred();
            f.pdefs[dst.index()] = Def::Phi(main);
            let args = vec![entering.psrc(PSrc::of(phi.dst)), PSrc::FALSE];
            names.preds.insert(phi.dst, PSrc::of(dst));
            f.block_mut(main).pphis.push(PPhi { dst, args });
        }
    }
    for copy in 0..factor {
        if copy > 0 {
            names = advance(f, b, c.latch_edge, &names);
        }
        copy_body(f, &body, main, &mut names);
    }
    let next = advance(f, b, c.latch_edge, &names);
    f.block_mut(main).preds = vec![guard];
    f.block_mut(main).nounroll = true;
    if repeats {
        for (i, phi) in phis.iter().enumerate() {
            f.block_mut(main).phis[i].args[1] = next.val(Val::Reg(phi.dst));
        }
        for (i, phi) in pphis.iter().enumerate() {
            f.block_mut(main).pphis[i].args[1] = next.psrc(PSrc::of(phi.dst));
        }
        let again = limit.holds(f, main, c, c.counter.map(|v| next.val(v)), line);
        f.block_mut(main).preds.push(main);
        f.block_mut(main).term = Term::If(again, main, tail);
        f.block_mut(tail).preds = vec![main];
    }
    // After it: leave, or continue with the rest.
    if let Term::If(p, yes, _) = f.block(b).term {
        let p = names.psrc(p);
        f.block_mut(tail).term = if yes == b { Term::If(p, rest, out) } else { Term::If(p, out, rest) };
    }
    leave(f, out, tail, &names);
    // The rest starts where the guard or the main body left off.
    f.block_mut(rest).preds = vec![guard, tail];
    f.block_mut(rest).term = Term::Goto(b);
    for (i, phi) in phis.iter().enumerate() {
        let dst = f.new_reg();
        f.defs[dst.index()] = Def::Phi(rest);
        let args = vec![entering.val(Val::Reg(phi.dst)), next.val(Val::Reg(phi.dst))];
        f.block_mut(rest).phis.push(Phi { dst, args });
        f.block_mut(b).phis[i].args[c.entry_edge] = Val::Reg(dst);
    }
    for (i, phi) in pphis.iter().enumerate() {
        let dst = f.new_pred();
        f.pdefs[dst.index()] = Def::Phi(rest);
        let args = vec![entering.psrc(PSrc::of(phi.dst)), next.psrc(PSrc::of(phi.dst))];
        f.block_mut(rest).pphis.push(PPhi { dst, args });
        f.block_mut(b).pphis[i].args[c.entry_edge] = PSrc::of(dst);
    }
    f.block_mut(b).preds[c.entry_edge] = rest;
    rest
}

/// A block through which the loop is left: its phis are what other blocks use from now on.
fn close_exit(f: &mut Func, b: Blk, exit: Blk, outside: &mut Outside) -> Blk {
    let insts = || f.block(b).insts.iter();
    let regs = f.block(b).phis.iter().map(|p| p.dst);
    let regs: Vec<VReg> = regs.chain(insts().flat_map(|&id| f.inst(id).dsts().collect::<Vec<_>>())).collect();
    let preds = f.block(b).pphis.iter().map(|p| p.dst);
    let preds: Vec<VPred> =
        preds.chain(insts().flat_map(|&id| f.inst(id).pdsts().collect::<Vec<_>>())).collect();
    let out = insert_block(f, b, b);
    f.block_mut(out).preds = vec![b];
    f.block_mut(out).term = Term::Goto(exit);
    f.block_mut(out).line = f.block(b).line;
    if let Some(x) = f.block_mut(exit).preds.iter_mut().find(|x| **x == b) {
        *x = out;
    }
    if let Term::If(p, yes, no) = f.block(b).term {
        let map = |x: Blk| if x == b { b } else { out };
        f.block_mut(b).term = Term::If(p, map(yes), map(no));
    }
    for r in regs {
        let dst = f.new_reg();
        f.defs[dst.index()] = Def::Phi(out);
        outside.regs.insert(r, (dst, b));
        f.block_mut(out).phis.push(Phi { dst, args: vec![Val::Reg(r)] });
    }
    for p in preds {
        let dst = f.new_pred();
        f.pdefs[dst.index()] = Def::Phi(out);
        outside.preds.insert(p, (dst, b));
        f.block_mut(out).pphis.push(PPhi { dst, args: vec![PSrc::of(p)] });
    }
    outside.loops.extend([(b, b), (out, b)]);
    out
}

/// Adds an edge on which the loop is left; `last` names its values there.
fn leave(f: &mut Func, out: Blk, from: Blk, last: &Names) {
    let block = f.block_mut(out);
    block.preds.push(from);
    block.phis.iter_mut().for_each(|phi| phi.args.push(last.val(phi.args[0])));
    block.pphis.iter_mut().for_each(|phi| phi.args.push(last.psrc(phi.args[0])));
}

/// New names of the values of unrolled loops outside of them; all uses are renamed together, when all loops
/// are unrolled.
#[derive(Default)]
pub(super) struct Outside {
    /// New name and loop of each value.
    regs: FxHashMap<VReg, (VReg, Blk)>,
    preds: FxHashMap<VPred, (VPred, Blk)>,
    /// The blocks that belong to a loop, each with that loop.
    loops: FxHashMap<Blk, Blk>,
}

impl Outside {
    pub(super) fn rename(&self, f: &mut Func) {
        if self.loops.is_empty() {
            return;
        }
        for x in f.order.clone() {
            let own = self.loops.get(&x).copied();
            for id in f.block(x).insts.clone() {
                f.insts[id.index()].map_vals(|v| self.val(v, own));
                f.insts[id.index()].map_psrcs(|p| self.psrc(p, own));
            }
            let block = f.block_mut(x);
            for phi in &mut block.phis {
                phi.args.iter_mut().for_each(|v| *v = self.val(*v, own));
            }
            for phi in &mut block.pphis {
                phi.args.iter_mut().for_each(|p| *p = self.psrc(*p, own));
            }
            if let Term::If(p, yes, no) = block.term {
                block.term = Term::If(self.psrc(p, own), yes, no);
            }
        }
        for s in &mut f.subs {
            s.results.iter_mut().for_each(|v| *v = self.val(*v, None));
        }
    }

    /// The name of a value in a block of the loop `own`, if it is one of an unrolled loop.
    fn val(&self, v: Val, own: Option<Blk>) -> Val {
        let name = v.reg().and_then(|r| self.regs.get(&r)).filter(|(_, home)| own != Some(*home));
        name.map_or(v, |(new, _)| Val::Reg(*new))
    }

    fn psrc(&self, p: PSrc, own: Option<Blk>) -> PSrc {
        let name = p.pred.and_then(|p| self.preds.get(&p)).filter(|(_, home)| own != Some(*home));
        name.map_or(p, |(new, _)| PSrc { pred: Some(*new), not: p.not })
    }
}
