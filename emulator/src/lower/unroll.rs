//! Unrolling of counted inner loops.
//!
//! A small loop whose counter moves by a constant towards an invariant bound gets a second copy that executes
//! four iterations at a time while at least four are certain to remain; the original loop executes the rest.
//! "Certain" takes wrap-around into account: the main loop is only entered where none can occur. Loops with
//! barriers, fences or operations across lanes, and those marked `.pragma "nounroll"`, are not unrolled.

use std::collections::HashMap;

use super::cfg::{self, Dominance};
use super::vir::{Blk, Func, Inst, InstId, PPhi, PSrc, Phi, Src, Term, VOp, VPred, VReg, Val};
use trace_format::isa::{BoolOp, Extended, ICmp, Kind, Op, Sign};

/// Iterations of the main loop's body.
const FACTOR: usize = 4;
/// Largest body, in instructions, that is unrolled.
const MAX_BODY: usize = 30;

/// Unrolls all loops that qualify.
pub(super) fn run(f: &mut Func) {
    f.resolve_all();
    cfg::remove_dead(f);
    let dominance = Dominance::of(f);
    let loops = dominance.loops(f);
    let mut outside = Outside::default();
    for (header, body) in loops {
        if body.len() == 1
            && let Some(counted) = find(f, header)
        {
            unroll(f, header, &counted, &mut outside);
        }
    }
    outside.rename(f);
    cfg::remove_dead(f);
    cfg::clean(f);
}

/// A loop of one block that goes on while `next cmp bound`, where `next` is the counter plus `step`.
struct Counted {
    /// The counter's phi.
    counter: VReg,
    step: i32,
    cmp: ICmp,
    sign: Sign,
    bound: Val,
    /// Predecessor outside the loop, and positions of both edges.
    entry: Blk,
    entry_edge: usize,
    latch_edge: usize,
    exit: Blk,
}

fn find(f: &Func, b: Blk) -> Option<Counted> {
    let block = f.block(b);
    if block.nounroll || block.sub.is_some() || block.preds.len() != 2 || block.insts.len() > MAX_BODY {
        return None;
    }
    if !block.insts.iter().all(|&id| repeatable(f.inst(id))) {
        return None;
    }
    let Term::If(p, yes, no) = block.term else { return None };
    let (stay, exit) = if yes == b { (p, no) } else { (p.negated(), yes) };
    let latch_edge = block.preds.iter().position(|&x| x == b)?;
    let entry_edge = 1 - latch_edge;
    let entry = block.preds[entry_edge];
    if exit == b || entry == b {
        return None;
    }
    let (compare, 0) = f.pdef(stay.pred?)? else { return None };
    let inst = f.inst(compare);
    let VOp::M(Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(false) }) = inst.op else { return None };
    if inst.psrc[0] != PSrc::TRUE || inst.guard != PSrc::TRUE {
        return None;
    }
    let (next, bound) = (inst.src[0].v[0], inst.src[1].v[0]);
    let cmp = if stay.not { super::fold::inverted(cmp) } else { cmp };
    let (counter, step) = induction(f, b, next, latch_edge)?;
    let inside = |v: Val| match v {
        Val::Reg(r) => defined_in(f, b, r),
        _ => false,
    };
    let towards = match cmp {
        ICmp::Lt | ICmp::Le => step > 0,
        ICmp::Gt | ICmp::Ge => step < 0,
        ICmp::Ne => step != 0,
        ICmp::Eq => false,
    };
    let reach = step.checked_mul(FACTOR as i32 - 1)?;
    let small = reach.unsigned_abs() < 1 << 30;
    (towards && small && !inside(bound)).then_some(Counted {
        counter,
        step,
        cmp,
        sign,
        bound,
        entry,
        entry_edge,
        latch_edge,
        exit,
    })
}

/// Whether an instruction may be copied without visible effect.
fn repeatable(inst: &Inst) -> bool {
    match inst.op.kind() {
        Kind::Pure => !inst.op.crosses_lanes(),
        Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) | Kind::Reduction(_) => true,
        _ => false,
    }
}

/// The phi and the step of `next = phi + step`, where `next` is the phi's value in the next iteration.
fn induction(f: &Func, b: Blk, next: Val, latch_edge: usize) -> Option<(VReg, i32)> {
    let (id, 0) = f.def(next)? else { return None };
    let inst = f.inst(id);
    if inst.op != VOp::M(Op::Iadd3 { x: Extended(false) })
        || inst.guard != PSrc::TRUE
        || inst.pdst[0].is_some()
    {
        return None;
    }
    let literal = inst.src.iter().position(|s| s.v[0].imm().is_some_and(|x| x != 0))?;
    let mut others = (0..3).filter(|&i| i != literal && inst.src[i].v[0].imm() != Some(0));
    let (i, None) = (others.next()?, others.next()) else { return None };
    let (base, step) = (inst.src[i], inst.src[literal]);
    let r = base.v[0].reg()?;
    let phi = f.block(b).phis.iter().find(|p| p.dst == r)?;
    let step = step.v[0].imm().map(|x| if step.neg { x.wrapping_neg() } else { x })? as i32;
    (!base.neg && phi.args[latch_edge] == next).then_some((r, step))
}

fn defined_in(f: &Func, b: Blk, r: VReg) -> bool {
    f.block(b).phis.iter().any(|p| p.dst == r)
        || f.block(b).insts.iter().any(|&id| f.inst(id).dsts().any(|d| d == r))
}

/// Renaming of a block's values in a copy.
#[derive(Default, Clone)]
struct Names {
    regs: HashMap<VReg, Val>,
    preds: HashMap<VPred, PSrc>,
}

impl Names {
    fn val(&self, v: Val) -> Val {
        v.reg().and_then(|r| self.regs.get(&r).copied()).unwrap_or(v)
    }
    fn psrc(&self, p: PSrc) -> PSrc {
        match p.pred.and_then(|p| self.preds.get(&p).copied()) {
            Some(new) => PSrc { pred: new.pred, not: new.not != p.not },
            None => p,
        }
    }
}

fn unroll(f: &mut Func, b: Blk, c: &Counted, outside: &mut Outside) {
    let line = f.block(b).line;
    let guard = insert_block(f, b, c.entry);
    let main = insert_block(f, b, guard);
    let tail = insert_block(f, b, main);
    // The guard decides about the main loop with the counter's first value.
    let first = f.block(b).phis.iter().find(|p| p.dst == c.counter).map(|p| p.args[c.entry_edge]);
    let Some(first) = first else { return };
    let (limit, possible) = main_limit(f, guard, c, line);
    let enter = certain(f, guard, c, first, limit, line);
    let enter = and(f, guard, enter, possible, line);
    retarget(f, c.entry, b, guard);
    f.block_mut(guard).preds = vec![c.entry];
    f.block_mut(guard).term = Term::If(enter, main, b);
    f.block_mut(guard).line = line;
    f.block_mut(b).preds[c.entry_edge] = guard;
    // The main loop: phis like the original's, then copies of its body.
    let mut names = Names::default();
    for phi in f.block(b).phis.clone() {
        let dst = f.new_reg();
        f.defs[dst.index()] = super::vir::Def::Phi(main);
        names.regs.insert(phi.dst, Val::Reg(dst));
        f.block_mut(main).phis.push(Phi { dst, args: vec![phi.args[c.entry_edge], Val::Undef] });
    }
    for phi in f.block(b).pphis.clone() {
        let dst = f.new_pred();
        f.pdefs[dst.index()] = super::vir::Def::Phi(main);
        names.preds.insert(phi.dst, PSrc::of(dst));
        f.block_mut(main).pphis.push(PPhi { dst, args: vec![phi.args[c.entry_edge], PSrc::FALSE] });
    }
    let mut latest = names.clone();
    for copy in 0..FACTOR {
        if copy > 0 {
            names = advance(f, b, c.latch_edge, &latest);
            latest = names.clone();
        }
        copy_body(f, b, main, &mut latest);
    }
    let next = advance(f, b, c.latch_edge, &latest);
    for (i, phi) in f.block(b).phis.clone().iter().enumerate() {
        f.block_mut(main).phis[i].args[1] = next.val(Val::Reg(phi.dst));
    }
    for (i, phi) in f.block(b).pphis.clone().iter().enumerate() {
        f.block_mut(main).pphis[i].args[1] = next.psrc(PSrc::of(phi.dst));
    }
    let again = certain(f, main, c, next.val(Val::Reg(c.counter)), limit, line);
    f.block_mut(main).preds = vec![guard, main];
    f.block_mut(main).term = Term::If(again, main, tail);
    f.block_mut(main).line = line;
    // After it: leave, or continue with the original loop.
    let Term::If(p, yes, _) = f.block(b).term else { return };
    let p = latest.psrc(p);
    let out = insert_block(f, b, b);
    f.block_mut(tail).preds = vec![main];
    f.block_mut(tail).term = if yes == b { Term::If(p, b, out) } else { Term::If(p, out, b) };
    f.block_mut(tail).line = line;
    let (phis, pphis) = (f.block(b).phis.clone(), f.block(b).pphis.clone());
    let block = f.block_mut(b);
    block.preds.push(tail);
    for (phi, old) in block.phis.iter_mut().zip(&phis) {
        phi.args.push(next.val(Val::Reg(old.dst)));
    }
    for (phi, old) in block.pphis.iter_mut().zip(&pphis) {
        phi.args.push(next.psrc(PSrc::of(old.dst)));
    }
    let map = |x: Blk| if x == b { b } else { out };
    if let Term::If(p, yes, no) = block.term {
        block.term = Term::If(p, map(yes), map(no));
    }
    close_exit(f, b, c.exit, [tail, out], &latest, outside);
}

/// A new block in the order, before `b` (or behind it when `after` is `b` itself).
fn insert_block(f: &mut Func, b: Blk, after: Blk) -> Blk {
    let new = f.new_block(f.block(b).sub);
    f.order.pop();
    let at = f.order.iter().position(|&x| x == b).unwrap_or(f.order.len());
    f.order.insert(if after == b { at + 1 } else { at }, new);
    new
}

fn retarget(f: &mut Func, from: Blk, old: Blk, new: Blk) {
    let map = |x: Blk| if x == old { new } else { x };
    f.block_mut(from).term = match f.block(from).term {
        Term::Goto(x) => Term::Goto(map(x)),
        Term::If(p, x, y) => Term::If(p, map(x), map(y)),
        other => other,
    };
}

fn push(f: &mut Func, b: Blk, inst: Inst) {
    let id = f.add_inst(inst);
    f.block_mut(b).insts.push(id);
}

fn add(f: &mut Func, b: Blk, x: Src, y: Src, line: trace_format::isa::SourceLine) -> Val {
    let mut inst = Inst::new(VOp::M(Op::Iadd3 { x: Extended(false) }), line);
    inst.src = [x, y, Src::RZ];
    let d = f.new_reg();
    inst.dst[0] = Some(d);
    push(f, b, inst);
    Val::Reg(d)
}

fn compare(
    f: &mut Func,
    b: Blk,
    cmp: ICmp,
    sign: Sign,
    x: Val,
    y: Val,
    line: trace_format::isa::SourceLine,
) -> PSrc {
    let mut inst = Inst::new(VOp::M(Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(false) }), line);
    inst.src[0] = x.into();
    inst.src[1] = y.into();
    let p = f.new_pred();
    inst.pdst[0] = Some(p);
    push(f, b, inst);
    PSrc::of(p)
}

fn and(f: &mut Func, b: Blk, p: PSrc, q: PSrc, line: trace_format::isa::SourceLine) -> PSrc {
    if q == PSrc::TRUE {
        return p;
    }
    let lut = trace_format::isa::Lut(0xC0);
    let mut inst = Inst::new(VOp::M(Op::Plop3 { lut }), line);
    inst.psrc = [p, q, PSrc::TRUE];
    let d = f.new_pred();
    inst.pdst[0] = Some(d);
    push(f, b, inst);
    PSrc::of(d)
}

/// The bound moved back by the iterations that must be certain, and whether that did not wrap around.
fn main_limit(f: &mut Func, b: Blk, c: &Counted, line: trace_format::isa::SourceLine) -> (Val, PSrc) {
    let reach = c.step.wrapping_mul(FACTOR as i32 - 1);
    match (c.cmp, c.bound.imm()) {
        (ICmp::Ne, _) => (Val::Imm(reach.wrapping_neg() as u32), PSrc::TRUE),
        (cmp, Some(k)) => {
            let limit = (k as i32).wrapping_sub(reach) as u32;
            let ordered = match c.sign {
                Sign::S32 => (limit as i32).cmp(&(k as i32)),
                Sign::U32 => limit.cmp(&k),
            };
            let fine = if matches!(cmp, ICmp::Lt | ICmp::Le) { ordered.is_lt() } else { ordered.is_gt() };
            (Val::Imm(limit), if fine { PSrc::TRUE } else { PSrc::FALSE })
        }
        (cmp, None) => {
            let limit = add(f, b, c.bound.into(), Src::one(Val::Imm(reach.wrapping_neg() as u32)), line);
            let strict = if matches!(cmp, ICmp::Lt | ICmp::Le) { ICmp::Lt } else { ICmp::Gt };
            let possible = compare(f, b, strict, c.sign, limit, c.bound, line);
            (limit, possible)
        }
    }
}

/// Whether the loop certainly continues after each of the next `FACTOR - 1` iterations when the counter is
/// `value`.
fn certain(
    f: &mut Func,
    b: Blk,
    c: &Counted,
    value: Val,
    limit: Val,
    line: trace_format::isa::SourceLine,
) -> PSrc {
    if c.cmp != ICmp::Ne {
        return compare(f, b, c.cmp, c.sign, value, limit, line);
    }
    // The distance to the bound, signed: beyond the limit it cannot become zero.
    let distance = match c.bound {
        Val::Imm(0) => value,
        bound => add(f, b, value.into(), Src::one(bound).negated(), line),
    };
    let cmp = if c.step < 0 { ICmp::Gt } else { ICmp::Lt };
    compare(f, b, cmp, Sign::S32, distance, limit, line)
}

/// Names of the phis at the start of the next copy.
fn advance(f: &Func, b: Blk, latch_edge: usize, latest: &Names) -> Names {
    let mut names = Names::default();
    for phi in &f.block(b).phis {
        names.regs.insert(phi.dst, latest.val(phi.args[latch_edge]));
    }
    for phi in &f.block(b).pphis {
        names.preds.insert(phi.dst, latest.psrc(phi.args[latch_edge]));
    }
    names
}

/// Appends a copy of a block's instructions with new results, which are added to the names.
fn copy_body(f: &mut Func, b: Blk, to: Blk, names: &mut Names) {
    let insts: Vec<InstId> = f.block(b).insts.clone();
    for id in insts {
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
        push(f, to, inst);
    }
}

/// Joins both exits of the loop in one block, whose phis are used outside of the loop.
fn close_exit(f: &mut Func, b: Blk, exit: Blk, [tail, out]: [Blk; 2], last: &Names, outside: &mut Outside) {
    let regs: Vec<VReg> = f
        .block(b)
        .phis
        .iter()
        .map(|p| p.dst)
        .chain(f.block(b).insts.iter().flat_map(|&id| f.inst(id).dsts().collect::<Vec<_>>()))
        .collect();
    let preds: Vec<VPred> = f
        .block(b)
        .pphis
        .iter()
        .map(|p| p.dst)
        .chain(f.block(b).insts.iter().flat_map(|&id| f.inst(id).pdsts().collect::<Vec<_>>()))
        .collect();
    f.block_mut(out).preds = vec![b, tail];
    f.block_mut(out).term = Term::Goto(exit);
    f.block_mut(out).line = f.block(b).line;
    if let Some(x) = f.block_mut(exit).preds.iter_mut().find(|x| **x == b) {
        *x = out;
    }
    for r in regs {
        let dst = f.new_reg();
        f.defs[dst.index()] = super::vir::Def::Phi(out);
        outside.regs.insert(r, (dst, b));
        f.block_mut(out).phis.push(Phi { dst, args: vec![Val::Reg(r), last.val(Val::Reg(r))] });
    }
    for p in preds {
        let dst = f.new_pred();
        f.pdefs[dst.index()] = super::vir::Def::Phi(out);
        outside.preds.insert(p, (dst, b));
        f.block_mut(out).pphis.push(PPhi { dst, args: vec![PSrc::of(p), last.psrc(PSrc::of(p))] });
    }
    outside.loops.extend([(b, b), (tail, b), (out, b)]);
}

/// New names of the values of unrolled loops outside of them; all uses are renamed together, when all loops
/// are unrolled.
#[derive(Default)]
struct Outside {
    /// New name and loop of each value.
    regs: HashMap<VReg, (VReg, Blk)>,
    preds: HashMap<VPred, (VPred, Blk)>,
    /// The blocks that belong to a loop, each with that loop.
    loops: HashMap<Blk, Blk>,
}

impl Outside {
    fn rename(&self, f: &mut Func) {
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
