//! Spilling: when registers run out, values that are long alive and seldom used make room.
//!
//! A spilled value is stored to the thread's local memory where it is defined and loaded before each use; a
//! value that one instruction can make again (a literal, a constant, a special register) is made again
//! instead. A spilled predicate waits in a register as 1 or 0.

use std::collections::{HashMap, HashSet};

use trace_format::isa::{BoolOp, Extended, ICmp, MemWidth, Op, Sign};

use super::Limits;
use super::assign::Pressure;
use super::live::{Live, Segment};
use crate::lower::cfg::Dominance;
use crate::lower::vir::{Blk, Def, Func, Inst, InstId, PSrc, Phi, Src, Term, VOp, VPred, VReg, Val};

/// Crowded places that are relieved between two attempts to allocate.
const PLACES_AT_A_TIME: usize = 32;

/// Values made by spilling, which are never spilled again, and the local memory taken so far.
#[derive(Default)]
pub struct Spilled {
    registers: HashSet<VReg>,
    predicates: HashSet<VPred>,
    /// The register that holds a spilled predicate, or one that was brought back, as 1 or 0.
    words: HashMap<VPred, VReg>,
    /// Bytes of local memory taken.
    pub bytes: u32,
}

/// Rewrites the code so that fewer values are alive at the most crowded places.
///
/// `live` are the ranges of the failed attempt, whose first values are those of `f`; spill slots begin at
/// `frame_bytes`.
///
/// # Errors
/// A sentence when there is nothing left to spill.
pub fn rewrite(
    f: &mut Func,
    live: &Live,
    attempt_regs: usize,
    pressure: &Pressure,
    limits: Limits,
    frame_bytes: u32,
    spilled: &mut Spilled,
) -> Result<(), String> {
    let predicate = pressure.predicate;
    let (first, count) = if predicate { (attempt_regs, f.pdefs.len()) } else { (0, f.defs.len()) };
    let ranges = |i: usize| -> &[Segment] { live.ranges.get(first + i).map_or(&[], Vec::as_slice) };
    let total = if predicate { live.ranges.len() - attempt_regs } else { attempt_regs };
    let limit = usize::from(if predicate { limits.predicates } else { limits.registers });
    let costs = costs(f, predicate);
    let lengths: Vec<u32> = (0..count).map(|i| ranges(i).iter().map(|s| s.end - s.start).sum()).collect();
    let done = |i: usize| {
        if predicate {
            spilled.predicates.contains(&VPred(i as u32))
        } else {
            spilled.registers.contains(&VReg(i as u32))
        }
    };
    let mut chosen: Vec<usize> = Vec::new();
    let mut taken = vec![false; total];
    // As many crowded places at a time as are worth the next attempt.
    for round in 0..PLACES_AT_A_TIME {
        let left = (0..total).filter(|&i| !taken[i]).map(|i| live.ranges[first + i].as_slice());
        let (place, most) = most_crowded(left);
        if round > 0 && most <= limit {
            break;
        }
        let crowded = Segment { start: place, end: place + 1, value: 0 };
        // Where registers are too few, or, if only their alignment is in the way, where one was not found.
        let here = |i: usize, at: &Segment| ranges(i).iter().any(|s| s.start < at.end && at.start < s.end);
        let is_here = |i: usize| {
            if most > limit { here(i, &crowded) } else { pressure.ranges.iter().any(|at| here(i, at)) }
        };
        let mut candidates: Vec<(f32, usize)> = (0..count)
            .filter(|&i| !taken[i] && lengths[i] > 4 && !done(i) && is_here(i))
            .map(|i| (costs[i] / lengths[i] as f32, i))
            .collect();
        if candidates.is_empty() && round == 0 {
            // All there are were brought back already, to be passed on to phis: then those make room.
            candidates = phis_behind(f, live, place, predicate, spilled).map(|i| (costs[i], i)).collect();
            if candidates.is_empty() {
                return Err("the code needs more registers at once than there are".into());
            }
        }
        if candidates.is_empty() {
            break;
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, i) in candidates.into_iter().take(most.saturating_sub(limit).max(1)) {
            taken[i] = true;
            chosen.push(i);
        }
    }
    for i in chosen {
        if predicate {
            spill_predicate(f, VPred(i as u32), spilled);
        } else {
            spill_register(f, VReg(i as u32), frame_bytes, spilled);
        }
    }
    sink(f, spilled);
    Ok(())
}

/// The last resort: every value lives in memory and comes back for each instruction that reads it.
pub fn everything(f: &mut Func, frame_bytes: u32, spilled: &mut Spilled) {
    let mut defined: Vec<VReg> = Vec::new();
    for &b in &f.order {
        let block = f.block(b);
        defined.extend(block.phis.iter().map(|phi| phi.dst));
        block.insts.iter().for_each(|&id| defined.extend(f.inst(id).dsts()));
    }
    f.subs.iter().for_each(|sub| defined.extend(&sub.params));
    for r in defined {
        if !spilled.registers.contains(&r) {
            spill_register(f, r, frame_bytes, spilled);
        }
    }
    sink(f, spilled);
}

/// What an instruction made by spilling brings back.
struct Back {
    inst: InstId,
    register: Option<VReg>,
    predicate: Option<VPred>,
    /// The slot that it reads.
    slot: Option<i32>,
    /// The word that it tests.
    word: Option<VReg>,
}

/// Moves what spilling brings back down to its first use: values that come back to be stored for a phi in memory
/// need one register in turn, not as many as there are phis.
fn sink(f: &mut Func, spilled: &Spilled) {
    for b in f.order.clone() {
        let before = std::mem::take(&mut f.block_mut(b).insts);
        let mut after: Vec<InstId> = Vec::with_capacity(before.len());
        // In the order in which they were: what another one of them reads stands before it.
        let mut held: Vec<Back> = Vec::new();
        for id in before {
            let inst = f.inst(id);
            if let Some(back) = brought_back(id, inst, spilled) {
                held.push(back);
                continue;
            }
            if !held.is_empty() {
                let goes = needed(&held, inst);
                let mut at = 0;
                held.retain(|back| {
                    at += 1;
                    if goes[at - 1] {
                        after.push(back.inst);
                    }
                    !goes[at - 1]
                });
            }
            after.push(id);
        }
        after.extend(held.into_iter().map(|back| back.inst));
        f.block_mut(b).insts = after;
    }
}

/// Which of those that wait have to come before an instruction.
fn needed(held: &[Back], inst: &Inst) -> Vec<bool> {
    let writes = spill_store(inst);
    let (mut registers, mut predicates) = (Vec::new(), Vec::new());
    inst.for_each_val(|v| registers.extend(v.reg()));
    inst.for_each_psrc(|p| predicates.extend(p.pred));
    let mut goes = vec![false; held.len()];
    for (at, back) in held.iter().enumerate().rev() {
        goes[at] = back.register.is_some_and(|r| registers.contains(&r))
            || back.predicate.is_some_and(|p| predicates.contains(&p))
            || back.slot.is_some() && writes == back.slot;
        if goes[at] {
            registers.extend(back.word);
        }
    }
    goes
}

/// What an instruction brings back, if it is one of those that spilling makes for that.
fn brought_back(id: InstId, inst: &Inst, spilled: &Spilled) -> Option<Back> {
    let none = Back { inst: id, register: None, predicate: None, slot: None, word: None };
    if inst.guard != PSrc::TRUE {
        return None;
    }
    if let VOp::M(Op::Isetp { cmp: ICmp::Ne, ex: Extended(false), .. }) = inst.op {
        let fresh = inst.pdst[0].filter(|p| spilled.predicates.contains(p))?;
        let word = *spilled.words.get(&fresh)?;
        let tested = inst.src[0].v[0].reg()?;
        let alone = inst.pdst[1].is_none() && inst.src[1] == Src::RZ && inst.psrc[0] == PSrc::TRUE;
        // The word itself, or what came back of it.
        let its = tested == word || spilled.registers.contains(&tested);
        return (alone && its).then_some(Back { predicate: Some(fresh), word: Some(tested), ..none });
    }
    let fresh = inst.dst[0].filter(|d| spilled.registers.contains(d))?;
    match inst.op {
        VOp::M(Op::Ldl { width: MemWidth::B32 }) if inst.src[0] == Src::RZ => {
            Some(Back { register: Some(fresh), slot: Some(inst.offset), ..none })
        }
        VOp::M(Op::Mov {}) if inst.src[0].v[0].reg().is_none() => {
            Some(Back { register: Some(fresh), ..none })
        }
        _ => None,
    }
}

/// The slot that an instruction of the kind that spilling makes writes. Only such instructions write slots.
fn spill_store(inst: &Inst) -> Option<i32> {
    let plain = matches!(inst.op, VOp::M(Op::Stl { .. })) && inst.src[0] == Src::RZ;
    plain.then_some(inst.offset)
}

/// The phis, not yet spilled, that get their values at the end of the block around a position.
fn phis_behind<'a>(
    f: &'a Func,
    live: &'a Live,
    place: u32,
    predicate: bool,
    spilled: &'a Spilled,
) -> impl Iterator<Item = usize> + 'a {
    let around = move |b: &&Blk| (live.block_start[b.index()]..live.block_end[b.index()]).contains(&place);
    let block = f.order.iter().find(around).map(|&b| f.block(b));
    block.into_iter().flat_map(|block| block.term.succs()).flat_map(move |s| {
        let s = f.block(s);
        let preds = s.pphis.iter().map(|phi| phi.dst).filter(|p| !spilled.predicates.contains(p));
        let regs = s.phis.iter().map(|phi| phi.dst).filter(|r| !spilled.registers.contains(r));
        let list: Vec<usize> =
            if predicate { preds.map(VPred::index).collect() } else { regs.map(VReg::index).collect() };
        list
    })
}

/// The position at which most ranges overlap, and how many do.
fn most_crowded<'a>(ranges: impl Iterator<Item = &'a [Segment]>) -> (u32, usize) {
    let mut events: Vec<(u32, i32)> = ranges.flatten().flat_map(|s| [(s.start, 1), (s.end, -1)]).collect();
    events.sort_unstable();
    let (mut now, mut best) = (0i32, (0, 0i32));
    for (at, change) in events {
        now += change;
        if now > best.1 {
            best = (at, now);
        }
    }
    (best.0, best.1.max(0) as usize)
}

/// How much spilling each value would cost: its definitions and uses, weighted by loop depth.
fn costs(f: &Func, predicate: bool) -> Vec<f32> {
    let depth = Dominance::of(f).depth;
    let mut cost = vec![0.0f32; if predicate { f.pdefs.len() } else { f.defs.len() }];
    for &b in &f.order {
        let weight = 10f32.powi(depth[b.index()].min(6) as i32);
        let block = f.block(b);
        for &id in &block.insts {
            let inst = f.inst(id);
            if predicate {
                inst.pdsts().for_each(|p| cost[p.index()] += weight);
                inst.for_each_psrc(|p| p.pred.into_iter().for_each(|p| cost[p.index()] += weight));
            } else {
                inst.dsts().for_each(|d| cost[d.index()] += weight);
                inst.for_each_val(|v| v.reg().into_iter().for_each(|r| cost[r.index()] += weight));
            }
        }
        if let (true, Term::If(p, _, _)) = (predicate, block.term) {
            p.pred.into_iter().for_each(|p| cost[p.index()] += weight);
        }
        if predicate {
            block.pphis.iter().for_each(|phi| cost[phi.dst.index()] += weight);
        } else {
            block.phis.iter().for_each(|phi| cost[phi.dst.index()] += weight);
        }
    }
    cost
}

/// When several instructions go to one place: what keeps a fresh result comes first, then what brings values
/// back, last what passes values on to a phi, because all phis of all successors read the old values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Keep,
    Bring,
    Pass,
}

/// Instructions to insert: into a block, before a position (its length for the end).
type Insertion = (Blk, usize, Phase, InstId);

fn insert_all(f: &mut Func, mut list: Vec<Insertion>) {
    list.sort_by_key(|(b, at, phase, _)| (*b, *at, *phase));
    // From the back, so that positions stay valid.
    for (b, at, _, id) in list.into_iter().rev() {
        f.block_mut(b).insts.insert(at, id);
    }
}

/// The one instruction that makes a value again, if its operands are known everywhere.
fn recipe(f: &Func, r: VReg) -> Option<Inst> {
    let (id, 0) = f.def(Val::Reg(r))? else { return None };
    let inst = f.inst(id);
    let cheap = match inst.op {
        VOp::FrameAddress => true,
        VOp::M(Op::Mov {}) => inst.src[0].v[0].reg().is_none(),
        VOp::M(op @ Op::S2r { .. }) => op.info().kind == trace_format::isa::Kind::Pure && inst.op.is_free(),
        _ => false,
    };
    (cheap && inst.guard == PSrc::TRUE).then(|| inst.clone())
}

fn spill_register(f: &mut Func, r: VReg, frame_bytes: u32, spilled: &mut Spilled) {
    spilled.registers.insert(r);
    let recipe = recipe(f, r);
    let offset = (frame_bytes + spilled.bytes) as i32;
    if recipe.is_none() {
        spilled.bytes += 4;
    }
    let mut insertions = Vec::new();
    let load = |f: &mut Func, near: &Inst, spilled: &mut Spilled| -> (VReg, InstId) {
        let fresh = f.new_reg();
        spilled.registers.insert(fresh);
        let mut inst = recipe.clone().unwrap_or_else(|| {
            let mut load = Inst::new(VOp::M(Op::Ldl { width: MemWidth::B32 }), near.line);
            load.src[0] = Src::RZ;
            load.offset = offset;
            load
        });
        inst.dst = [Some(fresh), None, None, None];
        (fresh, f.add_inst(inst))
    };
    // Stores at a block's start come before loads for its first instruction.
    for s in 0..f.subs.len() {
        let entry = f.subs[s].entry;
        if f.subs[s].params.contains(&r) {
            let near = Inst::new(VOp::Add64, f.block(entry).line);
            insertions.push((entry, 0, Phase::Keep, store(f, &near, r, offset)));
        }
    }
    for b in f.order.clone() {
        for (i, id) in f.block(b).insts.clone().into_iter().enumerate() {
            let mut used = false;
            f.inst(id).for_each_val(|v| used |= v == Val::Reg(r));
            let near = f.inst(id).clone();
            if used {
                let (fresh, load) = load(f, &near, spilled);
                insertions.push((b, i, Phase::Bring, load));
                f.insts[id.index()].map_vals(|v| if v == Val::Reg(r) { Val::Reg(fresh) } else { v });
            }
            if recipe.is_none() && near.dsts().any(|d| d == r) {
                insertions.push((b, i + 1, Phase::Keep, store(f, &near, r, offset)));
            }
        }
        let preds = f.block(b).preds.clone();
        for (edge, p) in preds.into_iter().enumerate() {
            let near = Inst::new(VOp::Add64, f.block(p).line);
            let end = f.block(p).insts.len();
            if f.block(b).phis.iter().any(|phi| phi.dst != r && phi.args[edge] == Val::Reg(r)) {
                let (fresh, load) = load(f, &near, spilled);
                insertions.push((p, end, Phase::Bring, load));
                for phi in &mut f.block_mut(b).phis {
                    if phi.dst != r && phi.args[edge] == Val::Reg(r) {
                        phi.args[edge] = Val::Reg(fresh);
                    }
                }
            }
            // A phi in memory is written by its predecessors, after whatever they still read of it.
            let own = f.block(b).phis.iter().find(|phi| phi.dst == r).map(|phi| phi.args[edge]);
            if let Some(arg) = own.filter(|v| !matches!(v, Val::Undef) && *v != Val::Reg(r)) {
                let value = arg.reg().unwrap_or_else(|| {
                    let (fresh, mov) = constant(f, &near, arg, spilled);
                    insertions.push((p, end, Phase::Bring, mov));
                    fresh
                });
                insertions.push((p, end, Phase::Pass, store(f, &near, value, offset)));
            }
        }
        f.block_mut(b).phis.retain(|phi| phi.dst != r);
    }
    for s in 0..f.subs.len() {
        if f.subs[s].results.contains(&Val::Reg(r)) {
            let returns =
                f.order.iter().copied().find(|&b| {
                    f.block(b).sub.is_some_and(|x| x.index() == s) && f.block(b).term == Term::Return
                });
            if let Some(b) = returns {
                let near = Inst::new(VOp::Add64, f.block(b).line);
                let (fresh, load) = load(f, &near, spilled);
                insertions.push((b, f.block(b).insts.len(), Phase::Bring, load));
                for v in &mut f.subs[s].results {
                    if *v == Val::Reg(r) {
                        *v = Val::Reg(fresh);
                    }
                }
            }
        }
    }
    insert_all(f, insertions);
}

fn store(f: &mut Func, near: &Inst, r: VReg, offset: i32) -> InstId {
    let mut store = Inst::new(VOp::M(Op::Stl { width: MemWidth::B32 }), near.line);
    store.src[0] = Src::RZ;
    store.src[1] = Src::one(Val::Reg(r));
    store.offset = offset;
    f.add_inst(store)
}

/// A register that holds a literal or constant.
fn constant(f: &mut Func, near: &Inst, v: Val, spilled: &mut Spilled) -> (VReg, InstId) {
    let fresh = f.new_reg();
    spilled.registers.insert(fresh);
    let mut mov = Inst::new(VOp::M(Op::Mov {}), near.line);
    mov.src[0] = Src::one(v);
    mov.dst[0] = Some(fresh);
    (fresh, f.add_inst(mov))
}

/// d = p ? 1 : 0.
fn select(f: &mut Func, line: trace_format::isa::SourceLine, d: VReg, p: PSrc) -> InstId {
    let mut select = Inst::new(VOp::M(Op::Sel {}), line);
    select.src[0] = Src::one(Val::Imm(1));
    select.src[1] = Src::RZ;
    select.psrc[0] = p;
    select.dst[0] = Some(d);
    f.add_inst(select)
}

/// Keeps a predicate in a register between its definition and its uses.
fn spill_predicate(f: &mut Func, p: VPred, spilled: &mut Spilled) {
    spilled.predicates.insert(p);
    let word = f.new_reg();
    spilled.words.insert(p, word);
    let mut insertions = Vec::new();
    let keep = |f: &mut Func, line| select(f, line, word, PSrc::of(p));
    let back = |f: &mut Func, line, spilled: &mut Spilled| -> (VPred, InstId) {
        let fresh = f.new_pred();
        spilled.predicates.insert(fresh);
        spilled.words.insert(fresh, word);
        let op = Op::Isetp { cmp: ICmp::Ne, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut test = Inst::new(VOp::M(op), line);
        test.src[0] = Src::one(Val::Reg(word));
        test.src[1] = Src::RZ;
        test.pdst[0] = Some(fresh);
        (fresh, f.add_inst(test))
    };
    let renamed =
        |s: PSrc, to: VPred| if s.pred == Some(p) { PSrc { pred: Some(to), not: s.not } } else { s };
    for b in f.order.clone() {
        let line = f.block(b).line;
        // A predicate phi becomes a phi of words.
        if let Some(i) = f.block(b).pphis.iter().position(|phi| phi.dst == p) {
            let phi = f.block_mut(b).pphis.remove(i);
            let preds = f.block(b).preds.clone();
            let mut args = Vec::with_capacity(preds.len());
            for (from, arg) in preds.into_iter().zip(phi.args) {
                let (line, end) = (f.block(from).line, f.block(from).insts.len());
                if arg == PSrc::of(p) {
                    args.push(Val::Reg(word));
                    continue;
                }
                // What waits in a register already is passed on as it is.
                let held = arg.pred.and_then(|p| spilled.words.get(&p)).copied();
                let held = held.filter(|word| !arg.not && !spilled.registers.contains(word));
                if let Some(word) = held {
                    args.push(Val::Reg(word));
                    continue;
                }
                // Its own complement comes back from the word first: the predicate is no more.
                let mut arg = arg;
                if arg.pred == Some(p) {
                    let (own, test) = back(f, line, spilled);
                    insertions.push((from, end, Phase::Bring, test));
                    arg = renamed(arg, own);
                }
                let fresh = f.new_reg();
                spilled.registers.insert(fresh);
                let sel = select(f, line, fresh, arg);
                insertions.push((from, end, Phase::Pass, sel));
                args.push(Val::Reg(fresh));
            }
            f.defs[word.index()] = Def::Phi(b);
            f.block_mut(b).phis.push(Phi { dst: word, args });
        }
        for (i, id) in f.block(b).insts.clone().into_iter().enumerate() {
            let mut used = false;
            f.inst(id).for_each_psrc(|s| used |= s.pred == Some(p));
            let line = f.inst(id).line;
            if used {
                let (fresh, test) = back(f, line, spilled);
                insertions.push((b, i, Phase::Bring, test));
                f.insts[id.index()].map_psrcs(|s| renamed(s, fresh));
            }
            if f.inst(id).pdsts().any(|d| d == p) {
                let keep = keep(f, line);
                insertions.push((b, i + 1, Phase::Keep, keep));
            }
        }
        if let Term::If(s, yes, no) = f.block(b).term
            && s.pred == Some(p)
        {
            let (fresh, test) = back(f, line, spilled);
            insertions.push((b, f.block(b).insts.len(), Phase::Bring, test));
            f.block_mut(b).term = Term::If(renamed(s, fresh), yes, no);
        }
        for (edge, from) in f.block(b).preds.clone().into_iter().enumerate() {
            if f.block(b).pphis.iter().any(|phi| phi.args[edge].pred == Some(p)) {
                let (fresh, test) = back(f, f.block(from).line, spilled);
                insertions.push((from, f.block(from).insts.len(), Phase::Bring, test));
                for phi in &mut f.block_mut(b).pphis {
                    phi.args[edge] = renamed(phi.args[edge], fresh);
                }
            }
        }
    }
    insert_all(f, insertions);
}
