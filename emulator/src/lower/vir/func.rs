//! Functions of the intermediate form: tables of blocks, instructions and values, and the replacement of
//! values by operands, which passes use.

use super::{Blk, Block, Inst, InstId, PSrc, SubId, Term, VPred, VReg, Val};
use trace_format::isa::SourceLine;

/// An out-of-line subroutine, shared by all its calls.
#[derive(Clone, Debug)]
pub(crate) struct Sub {
    /// Name in the listing.
    pub name: String,
    /// First block.
    pub entry: Blk,
    /// Values that hold the arguments at the entry.
    pub params: Vec<VReg>,
    /// What is returned, set where the subroutine is built (one return block).
    pub results: Vec<Val>,
}

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    /// Nothing yet, or no longer.
    None,
    /// Result `k` of an instruction.
    Inst(InstId, u8),
    /// A phi of a block.
    Phi(Blk),
    /// A parameter of a subroutine.
    Param(SubId),
}

/// A function under construction: the kernel with everything inlined, and its subroutines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Func {
    /// Blocks; [`Blk`] indexes them.
    pub blocks: Vec<Block>,
    /// Block order for layout and passes that go through the code.
    pub order: Vec<Blk>,
    /// All instructions ever made; blocks list the live ones.
    pub insts: Vec<Inst>,
    /// Definition of each value.
    pub defs: Vec<Def>,
    /// Definition of each predicate.
    pub pdefs: Vec<Def>,
    /// Subroutines.
    pub subs: Vec<Sub>,
    /// Reason of the fault of [`super::Term::Trap`], if it replaces an instruction without lowering.
    pub traps: Vec<String>,
    alias: Vec<Option<Val>>,
    palias: Vec<Option<PSrc>>,
}

impl Func {
    /// A new value without definition.
    pub(crate) fn new_reg(&mut self) -> VReg {
        self.defs.push(Def::None);
        self.alias.push(None);
        VReg(self.defs.len() as u32 - 1)
    }

    /// A new predicate without definition.
    pub(crate) fn new_pred(&mut self) -> VPred {
        self.pdefs.push(Def::None);
        self.palias.push(None);
        VPred(self.pdefs.len() as u32 - 1)
    }

    /// A new empty block at the end of the order.
    pub(crate) fn new_block(&mut self, sub: Option<SubId>) -> Blk {
        let blk = Blk(self.blocks.len() as u32);
        self.blocks.push(Block {
            phis: Vec::new(),
            pphis: Vec::new(),
            insts: Vec::new(),
            term: Term::Exit,
            line: SourceLine::default(),
            preds: Vec::new(),
            sub,
            nounroll: false,
        });
        self.order.push(blk);
        blk
    }

    /// Adds an instruction to the table (not to a block), and notes what it defines.
    pub(crate) fn add_inst(&mut self, inst: Inst) -> InstId {
        let id = InstId(self.insts.len() as u32);
        self.insts.push(inst);
        self.note_defs(id);
        id
    }

    /// Makes the instruction the definition of its destinations.
    pub(crate) fn note_defs(&mut self, id: InstId) {
        let inst = &self.insts[id.index()];
        for (k, d) in inst.dst.iter().enumerate() {
            if let Some(d) = d {
                self.defs[d.index()] = Def::Inst(id, k as u8);
            }
        }
        for (k, p) in inst.pdst.iter().enumerate() {
            if let Some(p) = p {
                self.pdefs[p.index()] = Def::Inst(id, k as u8);
            }
        }
        if let Some(call) = &inst.call {
            for (k, d) in call.results.iter().enumerate() {
                self.defs[d.index()] = Def::Inst(id, k as u8);
            }
        }
    }

    /// An instruction.
    pub(crate) fn inst(&self, id: InstId) -> &Inst {
        &self.insts[id.index()]
    }

    /// A block.
    pub(crate) fn block(&self, blk: Blk) -> &Block {
        &self.blocks[blk.index()]
    }

    /// A block.
    pub(crate) fn block_mut(&mut self, blk: Blk) -> &mut Block {
        &mut self.blocks[blk.index()]
    }

    /// The instruction that defines an operand and which of its results it is.
    pub(crate) fn def(&self, v: Val) -> Option<(InstId, u8)> {
        match self.resolve(v) {
            Val::Reg(r) => match self.defs[r.index()] {
                Def::Inst(id, k) => Some((id, k)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The instruction that defines a predicate and which of its results it is.
    pub(crate) fn pdef(&self, p: VPred) -> Option<(InstId, u8)> {
        match self.pdefs[p.index()] {
            Def::Inst(id, k) => Some((id, k)),
            _ => None,
        }
    }

    /// Replaces every use of a value by another operand.
    pub(crate) fn replace(&mut self, old: VReg, new: Val) {
        let new = self.resolve(new);
        if new != Val::Reg(old) {
            self.alias[old.index()] = Some(new);
        }
    }

    /// Replaces every use of a predicate by another operand.
    pub(crate) fn preplace(&mut self, old: VPred, new: PSrc) {
        let new = self.presolve(new);
        if new.pred != Some(old) {
            self.palias[old.index()] = Some(new);
        }
    }

    /// An operand after replacements.
    pub(crate) fn resolve(&self, mut v: Val) -> Val {
        while let Val::Reg(r) = v {
            match self.alias[r.index()] {
                Some(next) => v = next,
                None => break,
            }
        }
        v
    }

    /// A predicate operand after replacements.
    pub(crate) fn presolve(&self, mut p: PSrc) -> PSrc {
        while let Some(r) = p.pred {
            match self.palias[r.index()] {
                Some(next) => p = PSrc { pred: next.pred, not: next.not != p.not },
                None => break,
            }
        }
        p
    }

    /// Aliases of aliases become aliases of the last. Every alias on the way is settled with the first, so that a chain
    /// is followed once.
    fn settle_aliases(&mut self) {
        for i in 0..self.alias.len() {
            let Some(first) = self.alias[i] else { continue };
            let last = self.resolve(first);
            let mut at = Val::Reg(VReg(i as u32));
            while let Val::Reg(reg) = at {
                let Some(next) = self.alias[reg.index()] else { break };
                self.alias[reg.index()] = Some(last);
                at = if next == last { break } else { next };
            }
        }
        for i in 0..self.palias.len() {
            self.palias[i] = self.palias[i].map(|p| self.presolve(p));
        }
    }

    /// Applies all replacements to the code, so that passes may compare operands directly.
    pub(crate) fn resolve_all(&mut self) {
        self.settle_aliases();
        let mut insts = std::mem::take(&mut self.insts);
        for inst in &mut insts {
            inst.map_vals(|v| self.resolve(v));
            inst.map_psrcs(|p| self.presolve(p));
        }
        self.insts = insts;
        let mut blocks = std::mem::take(&mut self.blocks);
        for block in &mut blocks {
            for phi in &mut block.phis {
                phi.args.iter_mut().for_each(|v| *v = self.resolve(*v));
            }
            for phi in &mut block.pphis {
                phi.args.iter_mut().for_each(|p| *p = self.presolve(*p));
            }
            if let Term::If(p, _, _) = &mut block.term {
                *p = self.presolve(*p);
            }
        }
        self.blocks = blocks;
        let mut subs = std::mem::take(&mut self.subs);
        for sub in &mut subs {
            sub.results.iter_mut().for_each(|v| *v = self.resolve(*v));
        }
        self.subs = subs;
    }

    /// Number of uses of every value and predicate in the live code (phis, terminators and subroutine
    /// results included).
    pub(crate) fn use_counts(&self) -> (Vec<u32>, Vec<u32>) {
        let mut regs = vec![0; self.defs.len()];
        let mut preds = vec![0; self.pdefs.len()];
        let mut reg = |v: Val| {
            if let Val::Reg(r) = v {
                regs[r.index()] += 1;
            }
        };
        let mut pred = |p: PSrc| {
            if let Some(p) = p.pred {
                preds[p.index()] += 1;
            }
        };
        for &blk in &self.order {
            let block = self.block(blk);
            block.phis.iter().flat_map(|p| &p.args).for_each(|v| reg(*v));
            block.pphis.iter().flat_map(|p| &p.args).for_each(|p| pred(*p));
            for &id in &block.insts {
                self.inst(id).for_each_val(&mut reg);
                self.inst(id).for_each_psrc(&mut pred);
            }
            if let Term::If(p, _, _) = block.term {
                pred(p);
            }
        }
        self.subs.iter().flat_map(|s| &s.results).for_each(|v| reg(*v));
        (regs, preds)
    }
}
