//! Moves reloads down to their first use: values that are reloaded to be stored for a phi in memory then need
//! one register in turn, not one per phi.

use trace_format::isa::{Extended, ICmp, MemWidth, Op};

use super::spilled::Spilled;
use crate::lower::vir::{Func, Inst, InstId, PSrc, Src, VOp, VPred, VReg};

/// The reload that an instruction of spilling performs.
struct Back {
    inst: InstId,
    register: Option<VReg>,
    predicate: Option<VPred>,
    /// The slot that it reads.
    slot: Option<i32>,
    /// The word that it tests.
    word: Option<VReg>,
}

/// Moves the reloads of all blocks.
pub(super) fn sink(f: &mut Func, spilled: &Spilled) {
    for b in f.order.clone() {
        let before = std::mem::take(&mut f.block_mut(b).insts);
        let mut after: Vec<InstId> = Vec::with_capacity(before.len());
        // In their order: a reload that another one reads comes before it.
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

/// The held reloads that must come before an instruction.
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

/// The reload of an instruction, if spilling created it.
fn brought_back(id: InstId, inst: &Inst, spilled: &Spilled) -> Option<Back> {
    let none = Back { inst: id, register: None, predicate: None, slot: None, word: None };
    if inst.guard != PSrc::TRUE {
        return None;
    }
    if let VOp::M(Op::Isetp { cmp: ICmp::Ne, ex: Extended(false), .. }) = inst.op {
        let fresh = inst.pdst[0].filter(|p| spilled.has_predicate(*p))?;
        let word = spilled.word(fresh)?;
        let tested = inst.src[0].v[0].reg()?;
        let alone = inst.pdst[1].is_none() && inst.src[1] == Src::RZ && inst.psrc[0] == PSrc::TRUE;
        // The word itself, or what came back of it.
        let its = tested == word || spilled.has_register(tested);
        return (alone && its).then_some(Back { predicate: Some(fresh), word: Some(tested), ..none });
    }
    let fresh = inst.dst[0].filter(|d| spilled.has_register(*d))?;
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
