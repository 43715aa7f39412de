//! Spilled predicates, kept in a register as 1 or 0.

use trace_format::isa::{BoolOp, Extended, ICmp, Op, Sign, SourceLine};

use super::ends::Ends;
use super::spilled::Spilled;
use crate::lower::vir::{Blk, Def, Func, Inst, InstId, PSrc, Phi, Src, Term, VOp, VPred, VReg, Val};

/// The word of each spilled predicate, by number.
struct Words(Vec<Option<VReg>>);

impl Words {
    /// The spilled predicate that an operand reads, and its word.
    fn of(&self, p: PSrc) -> Option<(VPred, VReg)> {
        let p = p.pred?;
        Some((p, (*self.0.get(p.index())?)?))
    }
}

/// Predicates that came back, each with its own name.
type Back = Vec<(VPred, VPred)>;

/// Spills predicates in one walk over the code.
pub(super) fn spill(f: &mut Func, predicates: &[VPred], spilled: &mut Spilled) {
    let mut words = Words(vec![None; f.pdefs.len()]);
    for &p in predicates {
        spilled.predicates.insert(p.index());
        let word = f.new_reg();
        spilled.words.insert(p, word);
        words.0[p.index()] = Some(word);
    }
    let mut ends = Ends::default();
    for b in f.order.clone() {
        word_phis(f, b, &words, &mut ends, spilled);
        instructions(f, b, &words, spilled);
        branch(f, b, &words, &mut ends, spilled);
        predicate_phis(f, b, &words, &mut ends, spilled);
    }
    ends.append(f);
}

/// An instruction that tests a word.
fn test(f: &mut Func, line: SourceLine, word: VReg, spilled: &mut Spilled) -> (VPred, InstId) {
    let fresh = spilled.fresh_predicate(f, word);
    let op = Op::Isetp { cmp: ICmp::Ne, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut test = Inst::new(VOp::M(op), line);
    test.src[0] = Src::one(Val::Reg(word));
    test.src[1] = Src::RZ;
    test.pdst[0] = Some(fresh);
    (fresh, f.add_inst(test))
}

/// d = p ? 1 : 0.
fn select(f: &mut Func, line: SourceLine, d: VReg, p: PSrc) -> InstId {
    let mut select = Inst::new(VOp::M(Op::Sel {}), line);
    select.src[0] = Src::one(Val::Imm(1));
    select.src[1] = Src::RZ;
    select.psrc[0] = p;
    select.dst[0] = Some(d);
    f.add_inst(select)
}

fn renamed(s: PSrc, back: &[(VPred, VPred)]) -> PSrc {
    let found = back.iter().find(|(old, _)| s.pred == Some(*old));
    found.map_or(s, |(_, fresh)| PSrc { pred: Some(*fresh), not: s.not })
}

/// Spilled phis become phis of words.
fn word_phis(f: &mut Func, b: Blk, words: &Words, ends: &mut Ends, spilled: &mut Spilled) {
    let list = std::mem::take(&mut f.block_mut(b).pphis);
    let (gone, kept) = list.into_iter().partition(|phi| words.of(PSrc::of(phi.dst)).is_some());
    f.block_mut(b).pphis = kept;
    for phi in gone {
        let Some((own, word)) = words.of(PSrc::of(phi.dst)) else { continue };
        let mut args = Vec::with_capacity(phi.args.len());
        for (from, mut arg) in f.block(b).preds.clone().into_iter().zip(phi.args) {
            let line = f.block(from).line;
            if arg == PSrc::of(own) {
                args.push(Val::Reg(word));
                continue;
            }
            // A value that is already in a register is passed on unchanged.
            let held = arg.pred.and_then(|p| spilled.word(p));
            if let Some(word) = held.filter(|word| !arg.not && !spilled.has_register(*word)) {
                args.push(Val::Reg(word));
                continue;
            }
            if let Some((p, word)) = words.of(arg) {
                let (fresh, inst) = test(f, line, word, spilled);
                ends.of(from).bring.push(inst);
                arg = renamed(arg, &[(p, fresh)]);
            }
            let fresh = spilled.fresh_register(f);
            let inst = select(f, line, fresh, arg);
            ends.of(from).pass.push(inst);
            args.push(Val::Reg(fresh));
        }
        f.defs[word.index()] = Def::Phi(b);
        f.block_mut(b).phis.push(Phi { dst: word, args });
    }
}

/// Tests before the instructions of a block that read spilled predicates, selections after those that write them.
fn instructions(f: &mut Func, b: Blk, words: &Words, spilled: &mut Spilled) {
    let before = std::mem::take(&mut f.block_mut(b).insts);
    let mut after = Vec::with_capacity(before.len());
    let mut back = Back::new();
    for id in before {
        let line = f.inst(id).line;
        let mut read = Vec::new();
        f.inst(id).for_each_psrc(|s| read.extend(words.of(s)));
        back.clear();
        for (p, word) in read {
            if back.iter().all(|(old, _)| *old != p) {
                let (fresh, inst) = test(f, line, word, spilled);
                back.push((p, fresh));
                after.push(inst);
            }
        }
        if !back.is_empty() {
            f.insts[id.index()].map_psrcs(|s| renamed(s, &back));
        }
        after.push(id);
        for p in f.inst(id).pdsts().collect::<Vec<_>>() {
            if let Some((_, word)) = words.of(PSrc::of(p)) {
                after.push(select(f, line, word, PSrc::of(p)));
            }
        }
    }
    f.block_mut(b).insts = after;
}

/// The condition at the end of a block.
fn branch(f: &mut Func, b: Blk, words: &Words, ends: &mut Ends, spilled: &mut Spilled) {
    let Term::If(s, yes, no) = f.block(b).term else { return };
    if let Some((p, word)) = words.of(s) {
        let line = f.block(b).line;
        let (fresh, inst) = test(f, line, word, spilled);
        ends.of(b).bring.push(inst);
        f.block_mut(b).term = Term::If(renamed(s, &[(p, fresh)]), yes, no);
    }
}

/// Phis that stay predicates and read spilled ones.
fn predicate_phis(f: &mut Func, b: Blk, words: &Words, ends: &mut Ends, spilled: &mut Spilled) {
    let mut list = std::mem::take(&mut f.block_mut(b).pphis);
    for (edge, from) in f.block(b).preds.clone().into_iter().enumerate() {
        let line = f.block(from).line;
        let mut back = Back::new();
        for phi in &mut list {
            let Some((p, word)) = words.of(phi.args[edge]) else { continue };
            if back.iter().all(|(old, _)| *old != p) {
                let (fresh, inst) = test(f, line, word, spilled);
                back.push((p, fresh));
                ends.of(from).bring.push(inst);
            }
            phi.args[edge] = renamed(phi.args[edge], &back);
        }
    }
    f.block_mut(b).pphis = list;
}
