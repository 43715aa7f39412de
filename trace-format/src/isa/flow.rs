//! Control flow of a machine kernel: basic blocks, successors, immediate post-dominators and register
//! liveness. Trace paths are sequences of these blocks; branches reconverge at the post-dominators.
//!
//! Calls are edges to the instruction behind them for post-dominance, and edges through the callee for
//! liveness, so that registers that a callee overwrites or keeps are known.

use super::collective::CollectiveSite;
use super::dominators::Dominators;
use super::facts::Kind;
use super::inst::{Inst, RegSpan};
use super::kernel::MachineKernel;
use super::reg_set::RegSet;
use super::regs::{Pc, Pred, Reg, UniformReg};
use super::table::Op;
use std::collections::BTreeMap;

/// Index of a basic block, in program order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

/// A maximal straight run of instructions: entered only at its first, left only after its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BasicBlock {
    /// First instruction.
    pub first: Pc,
    /// One past the last instruction.
    pub end: Pc,
}

/// Basic blocks and control flow of one kernel.
#[derive(Clone, Debug)]
pub struct Flow {
    blocks: Vec<BasicBlock>,
    block_of: Vec<BlockId>,
    succs: Vec<Vec<BlockId>>,
    ipdom: Vec<Option<BlockId>>,
}

/// Registers and predicates that may still be read, before each instruction.
#[derive(Clone, Debug)]
pub struct Liveness {
    before: Vec<LiveSet>,
}

/// A set of registers and predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveSet {
    regs: RegSet,
    /// Uniform registers, by number.
    uniforms: RegSet,
    preds: u16,
}

impl LiveSet {
    /// Whether a register is in the set.
    #[must_use]
    pub const fn has(&self, reg: Reg) -> bool {
        self.regs.contains(reg.0)
    }

    /// Whether a predicate is in the set.
    #[must_use]
    pub const fn has_pred(&self, pred: Pred) -> bool {
        self.preds >> pred.0 & 1 != 0
    }

    /// Whether a uniform register is in the set.
    #[must_use]
    pub const fn has_uniform(&self, reg: UniformReg) -> bool {
        self.uniforms.contains(reg.0)
    }

    /// Number of 32-bit registers in the set.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.regs.len() as u32
    }

    /// Number of predicates in the set.
    #[must_use]
    pub const fn pred_count(&self) -> u32 {
        self.preds.count_ones()
    }

    /// The registers in the set.
    #[must_use]
    pub const fn registers(&self) -> RegSet {
        self.regs
    }

    fn union(&mut self, other: &LiveSet) -> bool {
        let old = *self;
        self.regs.insert_all(&other.regs);
        self.uniforms.insert_all(&other.uniforms);
        self.preds |= other.preds;
        *self != old
    }

    /// Removes the registers and predicates that an instruction writes in every lane in which it takes effect.
    pub(super) fn kill(&mut self, inst: &Inst) {
        inst.dst_regs().for_each(|r| self.regs.remove(r.0));
        inst.dst_uniforms().for_each(|r| self.uniforms.remove(r.0));
        inst.surely_written_preds().for_each(|p| self.preds &= !(1 << p.0));
    }

    /// Adds the registers of one source.
    pub(super) fn use_source(&mut self, inst: &Inst, source: usize) {
        inst.src_span(source).into_iter().flat_map(RegSpan::iter).for_each(|r| self.regs.insert(r.0));
        inst.src_uniforms().for_each(|r| self.uniforms.insert(r.0));
    }

    /// Adds every register and predicate that an instruction reads, its guard among them.
    pub(super) fn use_sources(&mut self, inst: &Inst) {
        inst.src_regs().for_each(|r| self.regs.insert(r.0));
        inst.src_uniforms().for_each(|r| self.uniforms.insert(r.0));
        inst.all_src_preds().for_each(|p| self.preds |= 1 << p.0);
    }

    /// Adds every register and predicate that an instruction reads, its guard left out.
    pub(super) fn use_operands(&mut self, inst: &Inst) {
        inst.src_regs().for_each(|r| self.regs.insert(r.0));
        inst.src_uniforms().for_each(|r| self.uniforms.insert(r.0));
        inst.all_src_preds()
            .skip(usize::from(!inst.guard.pred.is_true()))
            .for_each(|p| self.preds |= 1 << p.0);
    }

    /// Adds every register and predicate that an instruction writes.
    pub(super) fn add_results(&mut self, inst: &Inst) {
        inst.dst_regs().for_each(|r| self.regs.insert(r.0));
        inst.dst_uniforms().for_each(|r| self.uniforms.insert(r.0));
        inst.all_dst_preds().for_each(|p| self.preds |= 1 << p.0);
    }

    /// Whether the two sets have something in common.
    pub(super) fn meets(&self, other: &LiveSet) -> bool {
        self.regs.meets(&other.regs) || self.uniforms.meets(&other.uniforms) || self.preds & other.preds != 0
    }

    /// Adds the uniform registers and predicates of another set.
    pub(super) fn add_uniforms(&mut self, other: &LiveSet) {
        self.uniforms.insert_all(&other.uniforms);
        self.preds |= other.preds & !((1 << (Pred::PT.0 + 1)) - 1);
    }

    /// Whether there are uniform registers or predicates in the set.
    pub(super) fn has_uniforms(&self) -> bool {
        !self.uniforms.is_empty() || self.preds >> (Pred::PT.0 + 1) != 0
    }

    /// Adds an instruction's guard.
    pub(super) fn use_guard(&mut self, inst: &Inst) {
        self.preds |= u16::from(!inst.guard.pred.is_true()) << (inst.guard.pred.0 & 15);
        // Where lanes go depends on all predicates that are read.
        if matches!(inst.kind(), Kind::Branch | Kind::Exit) {
            inst.all_src_preds().for_each(|p| self.preds |= 1 << p.0);
        }
    }
}

impl MachineKernel {
    /// Basic blocks and control flow of the kernel.
    #[must_use]
    pub fn flow(&self) -> Flow {
        Flow::of(self)
    }

    /// Sets the reconvergence point of every branch that can separate lanes.
    pub fn set_reconvergence(&mut self) {
        let flow = self.flow();
        for (pc, inst) in self.insts.iter_mut().enumerate() {
            if inst.kind() == Kind::Branch && !inst.is_unguarded() {
                inst.reconv = flow.reconvergence(Pc(pc as u32));
            }
        }
    }
}

impl Flow {
    /// Builds the control flow graph of a kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> Flow {
        let insts = &kernel.insts;
        let mut leader = vec![false; insts.len()];
        if let Some(first) = leader.first_mut() {
            *first = true;
        }
        let mut mark = |pc: Pc| {
            if let Some(l) = leader.get_mut(pc.index()) {
                *l = true;
            }
        };
        for (pc, _) in &kernel.functions {
            mark(*pc);
        }
        for (_, pc) in &kernel.entries {
            mark(*pc);
        }
        for (i, inst) in insts.iter().enumerate() {
            if let Some(target) = inst.jumps_to() {
                mark(target);
            }
            if inst.op == (Op::WarpsyncCollective {}) {
                mark(inst.target);
            }
            if let Some(r) = inst.reconv {
                mark(r);
            }
            // The instruction after it starts a new block: lanes enter it when the result is available, and
            // others may have run in between.
            if inst.op.is_barrier_reduction() {
                mark(Pc(i as u32));
            }
            if inst.kind().ends_block() {
                mark(Pc(i as u32 + 1));
            }
        }
        let mut blocks: Vec<BasicBlock> = Vec::new();
        let mut block_of = Vec::with_capacity(insts.len());
        for (i, &lead) in leader.iter().enumerate() {
            let pc = Pc(i as u32);
            if lead {
                blocks.push(BasicBlock { first: pc, end: pc });
            }
            let id = blocks.len() - 1;
            blocks[id].end = pc.next();
            block_of.push(BlockId(id as u32));
        }
        let mut flow = Flow { blocks, block_of, succs: Vec::new(), ipdom: Vec::new() };
        flow.succs = (0..flow.blocks.len()).map(|b| flow.successors_of(insts, b)).collect();
        // Lanes that execute the instructions of another place go on behind their own: they meet as if they executed theirs.
        flow.ipdom = flow.post_dominators(insts);
        flow.connect_collectives(insts);
        flow
    }

    /// Adds the ways of lanes that execute instructions of another place together with others.
    fn connect_collectives(&mut self, insts: &[Inst]) {
        let sites = CollectiveSite::all(insts);
        for site in &sites {
            let end = sites.iter().find(|of| of.pc == site.leader).map_or(site.end, |leader| leader.end);
            let ways = [(site.pc, site.leader.next()), (end, insts[site.pc.index()].target)];
            for (from, to) in ways {
                let (from, to) = (self.block_of(from), self.block_of(to));
                let succs = &mut self.succs[from.0 as usize];
                if !succs.contains(&to) {
                    succs.push(to);
                }
            }
        }
    }

    fn successors_of(&self, insts: &[Inst], block: usize) -> Vec<BlockId> {
        let end = self.blocks[block].end;
        let last = &insts[end.index() - 1];
        let next = self.block_of.get(end.index()).copied();
        let mut succs = Vec::with_capacity(2);
        match last.kind() {
            Kind::Branch => {
                if !last.is_unguarded() {
                    succs.extend(next);
                }
                let target = self.block_of[last.target.index()];
                if !succs.contains(&target) {
                    succs.push(target);
                }
            }
            Kind::Exit | Kind::Return if last.is_unguarded() => {}
            Kind::Trap => {}
            _ => succs.extend(next),
        }
        succs
    }

    /// Blocks with a guarded exit in a loop around the whole kernel, from which no other exit is reached.
    fn ends_of_endless_loops(&self, insts: &[Inst], trapped: &[bool], preds: &[Vec<usize>]) -> Vec<bool> {
        let n = self.blocks.len();
        let mut ending = vec![false; n];
        let mut work: Vec<usize> = (0..n).filter(|&b| self.succs[b].is_empty() && !trapped[b]).collect();
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut ending[b], true) {
                work.extend(&preds[b]);
            }
        }
        let leaves = |b: usize| {
            let last = &insts[self.blocks[b].end.index() - 1];
            matches!(last.kind(), Kind::Exit | Kind::Return) && !last.is_unguarded()
        };
        (0..n).map(|b| !ending[b] && leaves(b)).collect()
    }

    /// Dominators of the reversed graph with one virtual exit.
    fn post_dominators(&self, insts: &[Inst]) -> Vec<Option<BlockId>> {
        let exit = self.blocks.len();
        let trapped: Vec<bool> =
            self.blocks.iter().map(|b| insts[b.end.index() - 1].kind() == Kind::Trap).collect();
        let mut reversed: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
        for (b, succs) in self.succs.iter().enumerate() {
            succs.iter().for_each(|s| reversed[s.0 as usize].push(b));
        }
        let ends = self.ends_of_endless_loops(insts, &trapped, &reversed);
        // Guarded exits and returns both leave and continue; for reconvergence only the continuing lanes
        // count.
        for (b, succs) in self.succs.iter().enumerate() {
            // No lane continues after a fault: the other lanes reconverge as if it did not exist.
            if ends[b] || succs.is_empty() && !trapped[b] {
                reversed[exit].push(b);
            }
        }
        let tree = Dominators::of(&reversed, &[exit]);
        (0..exit).map(|b| tree.immediate(b).filter(|&d| d != exit).map(|d| BlockId(d as u32))).collect()
    }

    /// Basic blocks in program order; a [`BlockId`] indexes this list.
    #[must_use]
    pub fn blocks(&self) -> &[BasicBlock] {
        &self.blocks
    }

    /// The block with an index.
    #[must_use]
    pub fn block(&self, id: BlockId) -> BasicBlock {
        self.blocks[id.0 as usize]
    }

    /// The block that an instruction belongs to.
    #[must_use]
    pub fn block_of(&self, pc: Pc) -> BlockId {
        self.block_of[pc.index()]
    }

    /// Blocks that control may enter next within the function, the fall-through first.
    #[must_use]
    pub fn successors(&self, id: BlockId) -> &[BlockId] {
        &self.succs[id.0 as usize]
    }

    /// The block at which all paths from `id` reconverge; `None` if only at the end.
    #[must_use]
    pub fn post_dominator(&self, id: BlockId) -> Option<BlockId> {
        self.ipdom[id.0 as usize]
    }

    /// First instruction of the immediate post-dominator of the block that ends with the branch at `pc`.
    #[must_use]
    pub fn reconvergence(&self, pc: Pc) -> Option<Pc> {
        self.post_dominator(self.block_of(pc)).map(|b| self.block(b).first)
    }

    /// Registers that may still be read, before every instruction.
    #[must_use]
    pub fn liveness(&self, kernel: &MachineKernel) -> Liveness {
        let mut before = vec![LiveSet::default(); kernel.insts.len()];
        self.backwards(kernel, |pc, inst, live| {
            if inst.is_unguarded() {
                live.kill(inst);
            }
            live.use_sources(inst);
            before[pc.index()] = *live;
        });
        Liveness { before }
    }

    /// Propagates sets backwards over all instructions until a fixed point; the last call of `step` for an
    /// instruction gets the final set after it.
    pub(super) fn backwards(&self, kernel: &MachineKernel, mut step: impl FnMut(Pc, &Inst, &mut LiveSet)) {
        let succs = self.call_graph_successors(kernel);
        let mut live_in = vec![LiveSet::default(); self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (b, block) in self.blocks.iter().enumerate().rev() {
                let mut live = LiveSet::default();
                for s in &succs[b] {
                    live.union(&live_in[s.0 as usize]);
                }
                for pc in (block.first.index()..block.end.index()).rev() {
                    step(Pc(pc as u32), &kernel.insts[pc], &mut live);
                }
                changed |= live_in[b].union(&live);
            }
        }
    }

    /// Propagates sets forwards over all instructions until a fixed point; the last call of `step` for an
    /// instruction gets the final set before it.
    pub(super) fn forwards(&self, kernel: &MachineKernel, mut step: impl FnMut(Pc, &Inst, &mut LiveSet)) {
        let succs = self.call_graph_successors(kernel);
        let mut before = vec![LiveSet::default(); self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (b, block) in self.blocks.iter().enumerate() {
                let mut set = before[b];
                for pc in block.first.index()..block.end.index() {
                    step(Pc(pc as u32), &kernel.insts[pc], &mut set);
                }
                for s in &succs[b] {
                    changed |= before[s.0 as usize].union(&set);
                }
            }
        }
    }

    /// Successors in which a call enters its callee and a return goes to every place that called it.
    #[must_use]
    pub fn call_graph_successors(&self, kernel: &MachineKernel) -> Vec<Vec<BlockId>> {
        let mut succs = self.succs.clone();
        let mut return_sites: BTreeMap<BlockId, Vec<BlockId>> = BTreeMap::new();
        let entries: Vec<BlockId> = kernel.entries.iter().map(|(_, pc)| self.block_of(*pc)).collect();
        for (b, block) in self.blocks.iter().enumerate() {
            let last = &kernel.insts[block.end.index() - 1];
            if last.kind() == Kind::Call {
                let direct = last.jumps_to().map(|target| self.block_of(target));
                if last.is_unguarded() {
                    succs[b].clear();
                }
                // A call through a register may reach any function with an address.
                for &callee in direct.as_ref().map_or(&entries[..], std::slice::from_ref) {
                    return_sites.entry(callee).or_default().extend(self.block_of.get(block.end.index()));
                    succs[b].push(callee);
                }
            }
        }
        for (callee, sites) in return_sites {
            for b in self.reachable(callee) {
                let last = &kernel.insts[self.blocks[b.0 as usize].end.index() - 1];
                if last.kind() == Kind::Return {
                    succs[b.0 as usize].extend(&sites);
                }
            }
        }
        succs
    }

    /// Blocks that a function's entry block reaches without following calls.
    #[must_use]
    pub fn reachable(&self, entry: BlockId) -> Vec<BlockId> {
        let mut seen = vec![false; self.blocks.len()];
        let mut list = vec![entry];
        seen[entry.0 as usize] = true;
        let mut next = 0;
        while let Some(&b) = list.get(next) {
            next += 1;
            for &s in self.successors(b) {
                if !seen[s.0 as usize] {
                    seen[s.0 as usize] = true;
                    list.push(s);
                }
            }
        }
        list
    }
}

impl Liveness {
    /// Registers that may be read at or after an instruction.
    #[must_use]
    pub fn before(&self, pc: Pc) -> &LiveSet {
        &self.before[pc.index()]
    }

    /// Number of live 32-bit registers before an instruction.
    #[must_use]
    pub fn count(&self, pc: Pc) -> u32 {
        self.before[pc.index()].count()
    }

    /// Largest number of registers live at any instruction.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.before.iter().map(LiveSet::count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Op, Pred, PredSrc};

    #[test]
    fn lanes_meet_inside_a_loop_around_the_whole_kernel() {
        let branch = |to: u32, guard| {
            let mut inst = Inst::new(Op::Bra {}).guarded(guard);
            inst.target = Pc(to);
            inst
        };
        let p = |n| PredSrc::of(Pred(n));
        let insts = vec![
            branch(2, p(0)),
            Inst::new(Op::Mov {}),
            Inst::new(Op::Mov {}),
            Inst::new(Op::Exit {}).guarded(p(1)),
            branch(0, PredSrc::TRUE),
        ];
        let lines = vec![Default::default(); insts.len()];
        let kernel = MachineKernel { insts, lines, ..MachineKernel::default() };
        assert_eq!(kernel.flow().reconvergence(Pc(0)), Some(Pc(2)));
    }
}
