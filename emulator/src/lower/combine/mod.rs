//! Instruction selection by combination: two or three simple operations become one machine instruction.
//!
//! Rules look at an instruction and the definitions of its operands, rewrite the instruction in place; unused
//! definitions are removed later. They run over the code until nothing changes. `arith` has the integer and
//! logic rules, `address` those of 64-bit addresses and memory operands, `predicate` those of comparisons,
//! `sign` those of floating-point modifiers.

mod address;
mod arith;
mod predicate;
mod sign;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::{self, Dominance};
use super::fold;
use super::vir::{Blk, Func, Inst, InstId, PSrc, VOp, VReg, Val};
use trace_format::isa::Op;

/// Rounds after which combination stops even if rules still apply (each round is linear in the code).
const MAX_ROUNDS: usize = 12;

/// Combines instructions until nothing changes.
pub(super) fn run(f: &mut Func) {
    for _ in 0..MAX_ROUNDS {
        f.resolve_all();
        let mut pass = Combiner::new(f);
        let changed = pass.round();
        cfg::remove_dead(f);
        if !changed {
            break;
        }
    }
    f.resolve_all();
}

/// Where a value is used.
#[derive(Clone, Default)]
struct Users {
    /// Instructions, once per operand.
    insts: Vec<InstId>,
    /// Phis, terminators and results of subroutines.
    others: u32,
}

/// State of one round.
pub(super) struct Combiner<'f> {
    f: &'f mut Func,
    users: Vec<Users>,
    pusers: Vec<u32>,
    block_of: Vec<Blk>,
    position: Vec<u32>,
    depth: Vec<u32>,
    changed: bool,
    /// Instructions to put before or after existing ones, by block.
    inserted: Vec<(Blk, InstId, InstId)>,
    /// Instructions whose results are known.
    gone: FxHashSet<InstId>,
}

impl<'f> Combiner<'f> {
    fn new(f: &'f mut Func) -> Self {
        let depth = Dominance::of(f).depth;
        let mut users = vec![Users::default(); f.defs.len()];
        let mut block_of = vec![Blk(0); f.insts.len()];
        let mut position = vec![0; f.insts.len()];
        for &b in &f.order {
            for (i, &id) in f.block(b).insts.iter().enumerate() {
                block_of[id.index()] = b;
                position[id.index()] = i as u32;
                f.inst(id).for_each_val(|v| {
                    if let Val::Reg(r) = v {
                        users[r.index()].insts.push(id);
                    }
                });
            }
            for phi in &f.block(b).phis {
                for v in &phi.args {
                    if let Val::Reg(r) = v {
                        users[r.index()].others += 1;
                    }
                }
            }
        }
        for sub in &f.subs {
            for v in &sub.results {
                if let Val::Reg(r) = v {
                    users[r.index()].others += 1;
                }
            }
        }
        let pusers = f.use_counts().1;
        Combiner {
            f,
            users,
            pusers,
            block_of,
            position,
            depth,
            changed: false,
            inserted: Vec::new(),
            gone: FxHashSet::default(),
        }
    }

    fn round(&mut self) -> bool {
        for b in self.f.order.clone() {
            for id in self.f.block(b).insts.clone() {
                self.instruction(id);
            }
        }
        if !self.gone.is_empty() {
            for b in self.f.order.clone() {
                let gone = &self.gone;
                self.f.block_mut(b).insts.retain(|id| !gone.contains(id));
            }
            self.gone.clear();
        }
        self.insert();
        self.changed
    }

    /// Inserts new instructions, each before another one, which may be new itself.
    fn insert(&mut self) {
        let mut blocks: Vec<Blk> = Vec::new();
        let mut before: FxHashMap<InstId, Vec<InstId>> = FxHashMap::default();
        let inserted = std::mem::take(&mut self.inserted);
        for &(b, at, id) in &inserted {
            blocks.push(b);
            before.entry(at).or_default().push(id);
        }
        blocks.sort_unstable();
        blocks.dedup();
        for b in blocks {
            let old = std::mem::take(&mut self.f.block_mut(b).insts);
            let mut new = Vec::with_capacity(old.len() + before.len());
            // What is still to come, the next one last.
            let mut stack: Vec<InstId> = Vec::new();
            for id in old {
                stack.push(id);
                while let Some(&next) = stack.last() {
                    match before.remove(&next) {
                        Some(list) => stack.extend(list.into_iter().rev()),
                        None => {
                            new.push(next);
                            stack.pop();
                        }
                    }
                }
            }
            self.f.block_mut(b).insts = new;
        }
        // If the other one was removed, the new one is not used.
        for (b, at, id) in inserted {
            if before.contains_key(&at) {
                self.f.block_mut(b).insts.insert(0, id);
            }
        }
    }

    fn instruction(&mut self, id: InstId) {
        self.refresh(id);
        let inst = self.f.inst(id);
        if inst.op.is_free() {
            let wants_pred = inst.pdst[0].is_some();
            let mut folded = inst.clone();
            if let Some(known) = fold::fold(&mut folded, wants_pred) {
                self.replace_results(id, &known);
                self.gone.insert(id);
                self.changed = true;
                return;
            }
            self.f.insts[id.index()] = folded;
        }
        self.narrow_unused(id);
        let rule =
            self.address_rules(id) || self.arith_rules(id) || self.predicate_rules(id) || self.sign_rules(id);
        self.changed |= rule;
    }

    /// Applies replacements to one instruction's operands.
    fn refresh(&mut self, id: InstId) {
        let mut inst =
            std::mem::replace(&mut self.f.insts[id.index()], Inst::new(VOp::Add64, Default::default()));
        inst.map_vals(|v| self.f.resolve(v));
        inst.map_psrcs(|p| self.f.presolve(p));
        self.f.insts[id.index()] = inst;
    }

    fn replace_results(&mut self, id: InstId, known: &fold::Known) {
        let inst = self.f.inst(id);
        let (dst, pdst) = (inst.dst, inst.pdst);
        for (d, v) in dst.into_iter().zip(known.dst) {
            if let Some(d) = d {
                self.f.replace(d, v);
            }
        }
        for (d, p) in pdst.into_iter().zip(known.pdst) {
            if let Some(d) = d {
                self.f.preplace(d, p);
            }
        }
    }

    /// Pairs of which only the low word is used shrink to one word.
    fn narrow_unused(&mut self, id: InstId) {
        let inst = self.f.inst(id);
        let Some(high) = inst.dst[1] else { return };
        if self.uses(high) > 0 {
            return;
        }
        let low =
            |s: &super::vir::Src| super::vir::Src { v: [s.v[0], Val::Undef, Val::Undef, Val::Undef], ..*s };
        let (op, src) = match inst.op {
            VOp::Add64 => {
                let op = Op::Iadd3 { x: trace_format::isa::Extended(false) };
                (op, [low(&inst.src[0]), low(&inst.src[1]), super::vir::Src::RZ])
            }
            VOp::M(Op::ImadWide { .. }) => (Op::Imad {}, [inst.src[0], inst.src[1], low(&inst.src[2])]),
            _ => return,
        };
        let inst = &mut self.f.insts[id.index()];
        inst.op = VOp::M(op);
        inst.src = src;
        inst.dst[1] = None;
        self.changed = true;
    }

    /// Number of uses of a value.
    fn uses(&self, r: VReg) -> u32 {
        self.users.get(r.index()).map_or(1, |u| u.insts.len() as u32 + u.others)
    }

    /// The machine instruction that computes an unmodified operand, if its result is used once.
    fn single(&self, v: Val) -> Option<InstId> {
        let r = v.reg()?;
        let (id, _) = self.f.def(v)?;
        (self.uses(r) == 1 && self.is_plain(id)).then_some(id)
    }

    /// The machine instruction that computes an operand.
    fn definition(&self, v: Val) -> Option<(InstId, Op)> {
        let (id, _) = self.f.def(v)?;
        let op = self.f.inst(id).machine()?;
        self.is_plain(id).then_some((id, op))
    }

    /// Whether an instruction is unguarded.
    fn is_plain(&self, id: InstId) -> bool {
        self.f.inst(id).guard == PSrc::TRUE
    }

    /// Whether work moved from `inner` to `outer` runs no more often than before.
    fn no_deeper(&self, outer: InstId, inner: InstId) -> bool {
        let depth = |id: InstId| self.depth[self.block(id).index()];
        depth(outer) <= depth(inner)
    }

    fn block(&self, id: InstId) -> Blk {
        self.block_of.get(id.index()).copied().unwrap_or(Blk(0))
    }

    /// Puts a new instruction before an existing one at the end of the round.
    fn insert_before(&mut self, at: InstId, inst: Inst) -> InstId {
        let id = self.f.add_inst(inst);
        let b = self.block(at);
        self.block_of.push(b);
        self.position.push(self.position[at.index()]);
        self.inserted.push((b, at, id));
        self.changed = true;
        id
    }
}

/// Number of operands that need the instruction's literal place.
fn literals(srcs: &[super::vir::Src]) -> usize {
    srcs.iter().filter(|s| s.v[0].is_literal()).count()
}
