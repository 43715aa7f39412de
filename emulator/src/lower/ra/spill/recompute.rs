//! Recomputes values in the blocks that read them, before anything is spilled: where too many values live, an address of
//! two registers is computed again from its index of one register.
//!
//! A value is recomputed if one instruction computes it from fewer registers than it takes, literals and constants in
//! registers not counted.

use super::choose::Crowd;
use crate::lower::cfg::{self, Dominance};
use crate::lower::ra::live::{Live, Segment};
use crate::lower::ra::spill::Spilled;
use crate::lower::vir::{Blk, Func, InstId, PSrc, VOp, VReg, Val};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use trace_format::isa::Op;

/// Registers to free where alignment, or values that are free at different times, left no place.
const ROOM: usize = 4;

/// An instruction whose results may be recomputed.
struct Candidate {
    id: InstId,
    /// Blocks that read its results and do not compute them.
    readers: BTreeSet<Blk>,
    /// Cost of recomputing per position at which its results no longer live.
    price: f32,
}

/// Recomputes values until at most `limit` live at every position, as far as there are such values; whether there were.
pub(super) fn run(f: &mut Func, live: &Live, registers: usize, limit: usize, spilled: &Spilled) -> bool {
    let ranges = &live.ranges[..registers];
    let mut crowd = Crowd::of(ranges, &live.calls);
    // If no position has too many, alignment needs some room.
    let limit = limit.min(crowd.most().1.saturating_sub(ROOM));
    let mut candidates = candidates(f, ranges, spilled);
    candidates.sort_by(|a, b| a.price.total_cmp(&b.price).then(a.id.cmp(&b.id)));
    let mut chosen = Vec::new();
    loop {
        let (place, most) = crowd.most();
        if most <= limit {
            break;
        }
        let at = Segment { start: place, end: place + 1, value: 0 };
        let lives =
            |c: &Candidate| f.inst(c.id).dsts().any(|d| super::choose::lives(&ranges[d.index()], &at));
        let Some(found) = candidates.iter().position(lives) else { break };
        let candidate = candidates.remove(found);
        f.inst(candidate.id).dsts().for_each(|d| crowd.remove(&ranges[d.index()]));
        chosen.push(candidate);
    }
    for candidate in &chosen {
        candidate.readers.iter().for_each(|&b| recompute(f, candidate.id, b));
    }
    if !chosen.is_empty() {
        // A phi among the inputs now lives where a loop leaves, beside the edge that gives it its next value.
        cfg::split_critical_edges(f);
    }
    !chosen.is_empty()
}

/// The registers from which an instruction computes its results, without those that hold literals or constants.
fn inputs(f: &Func, id: InstId) -> BTreeSet<VReg> {
    let mut inputs = BTreeSet::new();
    f.inst(id).for_each_val(|v| inputs.extend(v.reg().filter(|_| constant(f, v).is_none())));
    inputs
}

/// The instruction that moves a literal or constant into a register.
fn constant(f: &Func, v: Val) -> Option<InstId> {
    let (id, _) = f.def(v)?;
    let inst = f.inst(id);
    let moves = inst.op == VOp::M(Op::Mov {}) && inst.src[0].v[0].reg().is_none();
    (moves && inst.guard == PSrc::TRUE).then_some(id)
}

fn candidates(f: &Func, ranges: &[Vec<Segment>], spilled: &Spilled) -> Vec<Candidate> {
    let mut homes: FxHashMap<VReg, InstId> = FxHashMap::default();
    let mut found: FxHashMap<InstId, Candidate> = FxHashMap::default();
    let mut order = Vec::new();
    for &b in f.order.iter().filter(|&&b| f.block(b).sub.is_none()) {
        for &id in &f.block(b).insts {
            let inst = f.inst(id);
            let mut predicates = inst.pdsts().count();
            inst.for_each_psrc(|p| predicates += usize::from(p != PSrc::TRUE));
            let results = inst.dsts().count();
            if predicates > 0 || results == 0 || inst.call.is_some() || !inst.op.is_free() {
                continue;
            }
            let inputs = inputs(f, id);
            let kept = |r: &VReg| !spilled.has_register(*r);
            if inputs.len() < results && inputs.iter().all(kept) && inst.dsts().all(|d| kept(&d)) {
                homes.extend(inst.dsts().map(|d| (d, id)));
                found.insert(id, Candidate { id, readers: BTreeSet::new(), price: 0.0 });
                order.push((id, b));
            }
        }
    }
    let depth = Dominance::of(f).depth;
    for &b in f.order.iter().filter(|&&b| f.block(b).sub.is_none()) {
        for &id in &f.block(b).insts {
            f.inst(id).for_each_val(|v| {
                let candidate = v.reg().and_then(|r| found.get_mut(homes.get(&r)?));
                if let Some(candidate) = candidate
                    && candidate.readers.insert(b)
                {
                    candidate.price += 10f32.powi(depth[b.index()].min(6) as i32);
                }
            });
        }
    }
    let length = |id: InstId| -> u32 {
        f.inst(id).dsts().flat_map(|d| &ranges[d.index()]).map(|s| s.end - s.start).sum()
    };
    let mut candidates = Vec::new();
    for (id, own) in order {
        let Some(mut candidate) = found.remove(&id) else { continue };
        candidate.readers.remove(&own);
        candidate.price /= length(id).max(1) as f32;
        if !candidate.readers.is_empty() {
            candidates.push(candidate);
        }
    }
    candidates
}

/// Computes the results of an instruction again in a block that reads them, before the first that does.
fn recompute(f: &mut Func, id: InstId, b: Blk) {
    let mut names: Vec<(VReg, VReg)> = Vec::new();
    let mut insts = std::mem::take(&mut f.block_mut(b).insts);
    let results: Vec<VReg> = f.inst(id).dsts().collect();
    let reads = |f: &Func, id: InstId| {
        let mut reads = false;
        f.inst(id).for_each_val(|v| reads |= v.reg().is_some_and(|r| results.contains(&r)));
        reads
    };
    let Some(first) = insts.iter().position(|&other| reads(f, other)) else {
        f.block_mut(b).insts = insts;
        return;
    };
    let mut copy = f.inst(id).clone();
    copy.line = f.inst(insts[first]).line;
    let mut before = Vec::new();
    let mut operands = Vec::new();
    copy.for_each_val(|v| operands.extend(v.reg().zip(constant(f, v))));
    for (r, mov) in operands {
        let fresh = f.new_reg();
        let mut again = f.inst(mov).clone();
        again.dst[0] = Some(fresh);
        again.line = copy.line;
        before.push(f.add_inst(again));
        names.push((r, fresh));
    }
    copy.map_vals(|v| super::registers::renamed(v, &names));
    names.clear();
    for d in copy.dst.iter_mut().flatten() {
        let fresh = f.new_reg();
        names.push((*d, fresh));
        *d = fresh;
    }
    before.push(f.add_inst(copy));
    for &other in &insts[first..] {
        f.insts[other.index()].map_vals(|v| super::registers::renamed(v, &names));
    }
    insts.splice(first..first, before);
    f.block_mut(b).insts = insts;
}
