//! Loops of one block whose counter moves by a constant towards an invariant bound.

use super::divergence::Divergence;
use crate::lower::vir::{Blk, Func, Inst, InstId, PSrc, Src, Term, VOp, VReg, Val};
use trace_format::isa::{BoolOp, Extended, ICmp, Kind, Op, Sign, space::Space};

/// Largest multiple of the counter's step that is added to it.
const MAX_REACH: u64 = 1 << 30;

/// A loop of one block that goes on while `next cmp bound`, where `next` is the counter plus `step`.
pub(super) struct Counted {
    /// The counter's phis: its words, the upper one only if it is wide.
    pub counter: [Val; 2],
    /// Whether the counter has 64 bits.
    pub wide: bool,
    pub step: i64,
    pub cmp: ICmp,
    pub sign: Sign,
    pub bound: [Val; 2],
    /// Predecessor outside the loop, and positions of both edges.
    pub entry: Blk,
    pub entry_edge: usize,
    pub latch_edge: usize,
    pub exit: Blk,
}

impl Counted {
    /// The number that a literal of the counter's type stands for.
    pub(super) fn number(&self, v: [Val; 2]) -> Option<i128> {
        if v[0] == Val::Undef {
            return None;
        }
        let low = v[0].imm()?;
        let high = if self.wide { v[1].imm()? } else { 0 };
        let value = u64::from(high) << 32 | u64::from(low);
        Some(match (self.sign, self.wide) {
            (Sign::U32, _) => i128::from(value),
            (Sign::S32, false) => i128::from(low as i32),
            (Sign::S32, true) => i128::from(value as i64),
        })
    }

    /// The number of iterations, if both ends are known and the counter reaches its bound without wrapping
    /// around.
    pub(super) fn iterations(&self, f: &Func, b: Blk) -> Option<u64> {
        let first = |v: Val| {
            let phi = f.block(b).phis.iter().find(|p| Val::Reg(p.dst) == v);
            phi.map_or(Val::Undef, |phi| f.resolve(phi.args[self.entry_edge]))
        };
        let (first, bound) =
            (self.number(self.counter.map(first))?, self.number(self.bound.map(|v| f.resolve(v)))?);
        let step = i128::from(self.step);
        // How far the counter has to move until the comparison fails.
        let way = (bound - first) * step.signum();
        let way = match self.cmp {
            ICmp::Le | ICmp::Ge => way + 1,
            ICmp::Ne if way <= 0 || way % step.abs() != 0 => return None,
            _ => way,
        };
        let iterations = way.max(1).unsigned_abs().div_ceil(step.unsigned_abs());
        let last = first + step * i128::try_from(iterations).ok()?;
        let fits = match (self.sign, self.wide) {
            (Sign::S32, false) => i32::try_from(last).is_ok(),
            (Sign::U32, false) => u32::try_from(last).is_ok(),
            (Sign::S32, true) => i64::try_from(last).is_ok(),
            (Sign::U32, true) => u64::try_from(last).is_ok(),
        };
        u64::try_from(iterations).ok().filter(|_| fits)
    }

    /// Whether lanes of a warp may execute different numbers of iterations.
    pub(super) fn differs_by_lane(&self, divergence: &Divergence, f: &Func, b: Blk) -> bool {
        let words = if self.wide { 2 } else { 1 };
        let mut ends = self.counter[..words].iter().chain(&self.bound[..words]);
        let mut differs = ends.any(|v| divergence.val(*v));
        for phi in &f.block(b).phis {
            differs |= self.counter.contains(&Val::Reg(phi.dst)) && divergence.val(phi.args[self.entry_edge]);
        }
        differs
    }

    /// What a copy of the body costs: the instructions that stay when it is copied, without those of the loop
    /// itself, by their [`weight`].
    pub(super) fn cost(&self, f: &Func, b: Blk) -> usize {
        let block = f.block(b);
        let all: usize = block.insts.iter().map(|&id| weight(f.inst(id)) + conversion(f, b, id)).sum();
        // The comparison, and the steps of the counter and of pointers.
        let steps = block.phis.iter().filter_map(|phi| {
            let (id, word) = f.def(phi.args[self.latch_edge])?;
            (word == 0 && is_step(f.inst(id), phi.dst)).then(|| weight(f.inst(id)))
        });
        let own = if self.wide { 4 } else { 2 } + steps.sum::<usize>();
        (all.saturating_sub(own) / 2).max(1)
    }
}

/// Twice the number of instructions that ptxas seems to count for one of ours: stores, and loads that are not from
/// shared memory, count double, such loads of bytes three times, atomics eleven times, operations that were several
/// before they were combined count as these, and what was behind a branch counts with it.
fn weight(inst: &Inst) -> usize {
    let bytes = inst.machine().and_then(|op| op.info().memory).map(|memory| memory.bytes());
    let own = match inst.op {
        _ if is_far_load(inst) => {
            if bytes == Some(1) {
                6
            } else {
                4
            }
        }
        _ if matches!(inst.op.kind(), Kind::Store(_)) => 4,
        _ if matches!(inst.op.kind(), Kind::Atomic(_) | Kind::Reduction(_)) => 22,
        VOp::M(Op::Isetp { .. } | Op::Fsetp { .. } | Op::Dsetp { .. }) if inst.psrc[0].pred.is_some() => 4,
        VOp::Add64 => 4,
        VOp::M(Op::ImadWide { .. }) => 3,
        _ => 2,
    };
    if inst.guard == PSrc::TRUE { own } else { own + 4 }
}

/// Whether an instruction loads from a memory with a long latency.
fn is_far_load(inst: &Inst) -> bool {
    matches!(inst.op.kind(), Kind::Load(space) if !matches!(space, Space::Shared | Space::Const))
}

/// The weight of the conversion that PTX has behind a load of fewer than 32 bits, unless the result is only stored.
fn conversion(f: &Func, b: Blk, id: InstId) -> usize {
    let inst = f.inst(id);
    let narrow = inst.machine().and_then(|op| op.info().memory).is_some_and(|memory| memory.bytes() < 4);
    let Some(loaded) = inst.dst[0].filter(|_| narrow && is_far_load(inst)) else { return 0 };
    let mut computed_with = false;
    for &user in &f.block(b).insts {
        let user = f.inst(user);
        let stores = matches!(user.op.kind(), Kind::Store(_));
        user.for_each_val(|v| computed_with |= !stores && v == Val::Reg(loaded));
    }
    if computed_with { 2 } else { 0 }
}

/// Whether an instruction adds a literal to a value.
pub(super) fn is_step(inst: &Inst, value: VReg) -> bool {
    let add = matches!(inst.op, VOp::Add64 | VOp::M(Op::Iadd3 { x: Extended(false) }));
    let from = inst.src.iter().any(|s| s.v[0] == Val::Reg(value));
    add && from && inst.src.iter().any(|s| s.v[0].imm().is_some_and(|x| x != 0))
}

pub(super) fn find(f: &Func, b: Blk) -> Option<Counted> {
    let block = f.block(b);
    if block.nounroll || block.sub.is_some() || block.preds.len() != 2 {
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
    let Compared { cmp, sign, wide, next, bound } = comparison(f, stay)?;
    let (counter, step) =
        if wide { wide_induction(f, b, next, latch_edge)? } else { induction(f, b, next[0], latch_edge)? };
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
    let small = step.unsigned_abs() < MAX_REACH / 4;
    (towards && small && !inside(bound[0]) && !(wide && inside(bound[1]))).then_some(Counted {
        counter,
        wide,
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

/// A comparison of one or two words.
struct Compared {
    cmp: ICmp,
    sign: Sign,
    wide: bool,
    next: [Val; 2],
    bound: [Val; 2],
}

/// The comparison of integers that a predicate is the result of.
fn comparison(f: &Func, p: PSrc) -> Option<Compared> {
    let (id, 0) = f.pdef(p.pred?)? else { return None };
    let inst = f.inst(id);
    let VOp::M(Op::Isetp { cmp, sign, bop: BoolOp::And, ex }) = inst.op else { return None };
    if inst.psrc[0] != PSrc::TRUE || inst.guard != PSrc::TRUE {
        return None;
    }
    let (mut next, mut bound) = ([inst.src[0].v[0], Val::Undef], [inst.src[1].v[0], Val::Undef]);
    if ex.0 {
        // The comparison of the lower words, whose result the upper one reads.
        let low = inst.psrc[1];
        let (id, 0) = f.pdef(low.pred.filter(|_| !low.not)?)? else { return None };
        let inst = f.inst(id);
        let same = Op::Isetp { cmp, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        if inst.op != VOp::M(same) || inst.psrc[0] != PSrc::TRUE || inst.guard != PSrc::TRUE {
            return None;
        }
        (next[1], bound[1]) = (next[0], bound[0]);
        (next[0], bound[0]) = (inst.src[0].v[0], inst.src[1].v[0]);
    }
    let cmp = if p.not { crate::lower::fold::inverted(cmp) } else { cmp };
    Some(Compared { cmp, sign, wide: ex.0, next, bound })
}

/// Whether an instruction may be copied without visible effect.
fn repeatable(inst: &Inst) -> bool {
    match inst.op.kind() {
        Kind::Pure => !inst.op.crosses_lanes(),
        Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) | Kind::Reduction(_) => true,
        Kind::Barrier => inst.pdst[0].is_none() && inst.dst[0].is_none(),
        _ => false,
    }
}

/// The phi and the step of `next = phi + step`, where `next` is the phi's value in the next iteration.
fn induction(f: &Func, b: Blk, next: Val, latch_edge: usize) -> Option<([Val; 2], i64)> {
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
    let counter = [base.v[0], Val::Undef];
    (!base.neg && phi.args[latch_edge] == next).then_some((counter, i64::from(step)))
}

/// The same for a counter of 64 bits.
fn wide_induction(f: &Func, b: Blk, next: [Val; 2], latch_edge: usize) -> Option<([Val; 2], i64)> {
    let (id, 0) = f.def(next[0])? else { return None };
    let inst = f.inst(id);
    if inst.op != VOp::Add64 || inst.guard != PSrc::TRUE || f.def(next[1]) != Some((id, 1)) {
        return None;
    }
    let literal = |s: &Src| {
        let value = i64::from(s.v[0].imm()?) | i64::from(s.v[1].imm()?) << 32;
        Some(if s.neg { value.wrapping_neg() } else { value })
    };
    let (base, step) = match (literal(&inst.src[0]), literal(&inst.src[1])) {
        (None, Some(step)) => (inst.src[0], step),
        (Some(step), None) => (inst.src[1], step),
        _ => return None,
    };
    let counter = [base.v[0], base.v[1]];
    let steps = |word: usize| {
        let phi = f.block(b).phis.iter().find(|p| Val::Reg(p.dst) == counter[word]);
        phi.is_some_and(|phi| phi.args[latch_edge] == next[word])
    };
    (!base.neg && steps(0) && steps(1)).then_some((counter, step))
}

fn defined_in(f: &Func, b: Blk, r: VReg) -> bool {
    f.block(b).phis.iter().any(|p| p.dst == r)
        || f.block(b).insts.iter().any(|&id| f.inst(id).dsts().any(|d| d == r))
}

/// A new block in the order, before `b` (or behind it when `after` is `b` itself).
pub(super) fn insert_block(f: &mut Func, b: Blk, after: Blk) -> Blk {
    let new = f.new_block(f.block(b).sub);
    f.order.pop();
    let at = f.order.iter().position(|&x| x == b).unwrap_or(f.order.len());
    f.order.insert(if after == b { at + 1 } else { at }, new);
    new
}

pub(super) fn retarget(f: &mut Func, from: Blk, old: Blk, new: Blk) {
    let map = |x: Blk| if x == old { new } else { x };
    f.block_mut(from).term = match f.block(from).term {
        Term::Goto(x) => Term::Goto(map(x)),
        Term::If(p, x, y) => Term::If(p, map(x), map(y)),
        other => other,
    };
}
