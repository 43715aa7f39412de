//! Conversion out of SSA form: instructions and parallel copies.
//!
//! If two values may have to share a register, or a value must be at a certain position of a tuple, a copy is
//! inserted; coalescing removes unnecessary copies. Values that must share a register in any case (both ends
//! of a predicated result, arguments and parameters) are listed in `ties`.

use crate::lower::vir::{Blk, Func, InstId, PSrc, SubId, Term, VOp, VPred, VReg, Val};

/// A value of either kind: registers first, then predicates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Node {
    /// A 32-bit value.
    R(VReg),
    /// A predicate.
    P(VPred),
}

/// One copy; all copies of an [`Item::Copies`] happen at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copy {
    /// Of a 32-bit operand.
    R(VReg, Val),
    /// Of a predicate operand.
    P(VPred, PSrc),
}

/// An element of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// An instruction.
    Inst(InstId),
    /// A parallel copy.
    Copies(Vec<Copy>),
}

/// A block's code.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeBlock {
    /// Instructions and copies in order.
    pub items: Vec<Item>,
    /// How often the block probably runs, for the choice of copies to remove first.
    pub weight: f32,
}

/// Code with copies.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// Blocks by index; those not in the function's order are empty.
    pub blocks: Vec<CodeBlock>,
    /// Values that must share a register; they are never live at the same time.
    pub ties: Vec<(Node, Node)>,
    /// Tuples that instructions name: consecutive registers, aligned to their number.
    pub tuples: Vec<Vec<VReg>>,
    /// Values that hold the results of each subroutine when it returns.
    pub sub_results: Vec<Vec<VReg>>,
}

impl Code {
    /// Inserts the copies; instructions of `f` are rewritten to use them.
    pub(crate) fn of(f: &mut Func) -> Code {
        let dominance = crate::lower::cfg::Dominance::of(f);
        let mut code = Code {
            blocks: vec![CodeBlock::default(); f.blocks.len()],
            ties: Vec::new(),
            tuples: Vec::new(),
            sub_results: Vec::new(),
        };
        for s in 0..f.subs.len() {
            let n = f.subs[s].results.len();
            code.sub_results.push((0..n).map(|_| f.new_reg()).collect());
        }
        for b in f.order.clone() {
            let depth = dominance.depth[b.index()].min(6) as i32;
            let slow = f.block(b).sub.is_some();
            code.blocks[b.index()].weight = if slow { 0.01 } else { 10f32.powi(depth) };
            for id in f.block(b).insts.clone() {
                code.instruction(f, b, id);
            }
            code.block_end(f, b);
        }
        code
    }

    fn push(&mut self, b: Blk, copies: Vec<Copy>) {
        if !copies.is_empty() {
            self.blocks[b.index()].items.push(Item::Copies(copies));
        }
    }

    fn instruction(&mut self, f: &mut Func, b: Blk, id: InstId) {
        let mut inst = f.inst(id).clone();
        let shape = inst.op.shape();
        let mut before = Vec::new();
        for i in 0..3 {
            let n = shape.src[i] as usize;
            if n < 2 || inst.src[i].v[0].reg().is_none() {
                continue;
            }
            let fresh: Vec<VReg> = (0..n).map(|_| f.new_reg()).collect();
            for (k, t) in fresh.iter().enumerate() {
                before.push(Copy::R(*t, inst.src[i].v[k]));
                inst.src[i].v[k] = Val::Reg(*t);
            }
            self.tuples.push(fresh);
        }
        let dst: Vec<VReg> = inst.dst.iter().copied().flatten().collect();
        if dst.len() > 1 {
            self.tuples.push(dst);
        }
        for k in 0..4 {
            let (Some(d), Val::Reg(_)) = (inst.dst[k], inst.tied[k]) else { continue };
            let t = f.new_reg();
            before.push(Copy::R(t, inst.tied[k]));
            inst.tied[k] = Val::Reg(t);
            self.ties.push((Node::R(t), Node::R(d)));
        }
        let mut after = Vec::new();
        if let VOp::Call(sub) = inst.op {
            self.call(f, sub, &mut inst, &mut before, &mut after);
        }
        f.insts[id.index()] = inst;
        self.push(b, before);
        self.blocks[b.index()].items.push(Item::Inst(id));
        self.push(b, after);
    }

    fn call(
        &mut self,
        f: &mut Func,
        sub: SubId,
        inst: &mut crate::lower::vir::Inst,
        before: &mut Vec<Copy>,
        after: &mut Vec<Copy>,
    ) {
        let Some(call) = &mut inst.call else { return };
        for (k, arg) in call.args.iter_mut().enumerate() {
            let t = f.new_reg();
            before.push(Copy::R(t, *arg));
            *arg = Val::Reg(t);
            self.ties.push((Node::R(f.subs[sub.index()].params[k]), Node::R(t)));
        }
        for (k, result) in call.results.iter_mut().enumerate() {
            let t = f.new_reg();
            after.push(Copy::R(*result, Val::Reg(t)));
            *result = t;
            self.ties.push((Node::R(self.sub_results[sub.index()][k]), Node::R(t)));
        }
    }

    /// Copies into the phis of successors, before the branch, and into the results of a subroutine.
    ///
    /// The branch reads its condition after these copies. A condition that is itself one of the phis written
    /// here would already have its next value, so the branch reads a copy of the old one.
    fn block_end(&mut self, f: &mut Func, b: Blk) {
        let mut copies = Vec::new();
        for to in f.block(b).term.succs() {
            let target = f.block(to);
            let Some(edge) = target.preds.iter().position(|&p| p == b) else { continue };
            for phi in &target.phis {
                if phi.args[edge] != Val::Undef && phi.args[edge] != Val::Reg(phi.dst) {
                    copies.push(Copy::R(phi.dst, phi.args[edge]));
                }
            }
            for phi in &target.pphis {
                if phi.args[edge] != PSrc::of(phi.dst) {
                    copies.push(Copy::P(phi.dst, phi.args[edge]));
                }
            }
        }
        if let (Term::Return, Some(sub)) = (f.block(b).term, f.block(b).sub) {
            for (k, v) in f.subs[sub.index()].results.iter().enumerate() {
                copies.push(Copy::R(self.sub_results[sub.index()][k], *v));
            }
        }
        if let Term::If(PSrc { pred: Some(condition), not }, yes, no) = f.block(b).term
            && copies.iter().any(|copy| copy.dst() == Node::P(condition))
        {
            let kept = f.new_pred();
            copies.push(Copy::P(kept, PSrc::of(condition)));
            f.block_mut(b).term = Term::If(PSrc { pred: Some(kept), not }, yes, no);
        }
        self.push(b, copies);
    }

    /// Number of nodes: registers, then predicates.
    pub(crate) fn nodes(f: &Func) -> usize {
        f.defs.len() + f.pdefs.len()
    }
}

impl Node {
    /// Dense index.
    pub(crate) fn index(self, f: &Func) -> usize {
        match self {
            Node::R(r) => r.index(),
            Node::P(p) => f.defs.len() + p.index(),
        }
    }

    /// The node of a dense index.
    pub(crate) fn at(f: &Func, index: usize) -> Node {
        if index < f.defs.len() {
            Node::R(VReg(index as u32))
        } else {
            Node::P(VPred((index - f.defs.len()) as u32))
        }
    }
}

impl Copy {
    /// Destination.
    pub(crate) const fn dst(&self) -> Node {
        match *self {
            Copy::R(d, _) => Node::R(d),
            Copy::P(d, _) => Node::P(d),
        }
    }

    /// Source, if it is a value.
    pub(crate) const fn src(&self) -> Option<Node> {
        match *self {
            Copy::R(_, Val::Reg(r)) => Some(Node::R(r)),
            Copy::P(_, PSrc { pred: Some(p), .. }) => Some(Node::P(p)),
            _ => None,
        }
    }

    /// Whether source and destination may become one.
    pub(crate) const fn coalescable(&self) -> bool {
        match *self {
            Copy::R(_, v) => matches!(v, Val::Reg(_)),
            Copy::P(_, p) => p.pred.is_some() && !p.not,
        }
    }
}

impl Item {
    /// Calls `def` with everything written and `used` with everything read.
    pub(crate) fn visit(&self, f: &Func, mut used: impl FnMut(Node), mut def: impl FnMut(Node)) {
        match self {
            Item::Copies(copies) => {
                for c in copies {
                    def(c.dst());
                    if let Some(s) = c.src() {
                        used(s);
                    }
                }
            }
            Item::Inst(id) => {
                let inst = f.inst(*id);
                inst.dsts().for_each(|d| def(Node::R(d)));
                inst.pdsts().for_each(|p| def(Node::P(p)));
                inst.for_each_val(|v| {
                    if let Val::Reg(r) = v {
                        used(Node::R(r));
                    }
                });
                inst.for_each_psrc(|p| {
                    if let Some(p) = p.pred {
                        used(Node::P(p));
                    }
                });
            }
        }
    }
}
