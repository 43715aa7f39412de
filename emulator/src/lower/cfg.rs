//! Control flow of the intermediate form: clean-up of blocks, dominators, loops, critical edges.

use super::vir::{Blk, Block, Func, SubId, Term, VOp, VPred, VReg, Val};
use trace_format::isa::Dominators;

/// Dominator tree and loop nesting, indexed by block.
#[derive(Clone, Debug)]
pub(super) struct Dominance {
    /// Reachable blocks in reverse post-order, functions one after the other.
    pub rpo: Vec<Blk>,
    /// Number of loops around each block.
    pub depth: Vec<u32>,
    tree: Dominators,
}

impl Dominance {
    /// Computes the dominator tree and natural loops.
    pub(super) fn of(f: &Func) -> Dominance {
        // The second successor first, so that the first one comes next in the order.
        let succs = |block: &Block| {
            let mut succs: Vec<usize> = block.term.succs().map(Blk::index).collect();
            succs.reverse();
            succs
        };
        let graph: Vec<Vec<usize>> = f.blocks.iter().map(succs).collect();
        let roots: Vec<usize> = roots(f).into_iter().map(Blk::index).collect();
        let tree = Dominators::of(&graph, &roots);
        let rpo = tree.order().iter().map(|&b| Blk(b as u32)).collect();
        let mut d = Dominance { rpo, depth: vec![0; f.blocks.len()], tree };
        d.find_loops(f);
        d
    }

    fn find_loops(&mut self, f: &Func) {
        for (_, body) in self.loops(f) {
            for b in body {
                self.depth[b.index()] += 1;
            }
        }
    }

    /// Natural loops: header and body (header included), one per header.
    pub(super) fn loops(&self, f: &Func) -> Vec<(Blk, Vec<Blk>)> {
        let mut loops: Vec<(Blk, Vec<Blk>)> = Vec::new();
        // The last header in whose loop a block was found.
        let mut inside: Vec<Option<Blk>> = vec![None; f.blocks.len()];
        for &h in &self.rpo {
            let latches: Vec<Blk> =
                f.block(h).preds.iter().copied().filter(|&p| self.dominates(h, p)).collect();
            if latches.is_empty() {
                continue;
            }
            inside[h.index()] = Some(h);
            let mut body = vec![h];
            let mut stack = latches;
            while let Some(b) = stack.pop() {
                if inside[b.index()].replace(h) != Some(h) {
                    body.push(b);
                    stack.extend(f.block(b).preds.iter().copied().filter(|p| self.reachable(*p)));
                }
            }
            loops.push((h, body));
        }
        loops
    }

    /// Whether a block can be reached.
    fn reachable(&self, b: Blk) -> bool {
        self.tree.reaches(b.index())
    }

    /// The last block that every path to `b` goes through before.
    pub(super) fn immediate(&self, b: Blk) -> Option<Blk> {
        self.tree.immediate(b.index()).map(|b| Blk(b as u32))
    }

    /// Whether every path to `b` goes through `a`.
    pub(super) fn dominates(&self, a: Blk, b: Blk) -> bool {
        self.tree.dominates(a.index(), b.index())
    }

    /// The place of a block in the tree of dominators: blocks that it dominates follow it directly.
    pub(super) fn place(&self, b: Blk) -> u32 {
        self.tree.place(b.index())
    }
}

/// Entry blocks: the kernel's and those of its subroutines.
pub(super) fn roots(f: &Func) -> Vec<Blk> {
    std::iter::once(Blk(0)).chain(f.subs.iter().map(|s| s.entry)).collect()
}

/// Folds known branches, drops unreachable blocks and joins blocks that follow each other without choice.
pub(super) fn clean(f: &mut Func) {
    f.resolve_all();
    fold_branches(f);
    drop_unreachable(f);
    join_chains(f);
    skip_empty(f);
    drop_unreachable(f);
    join_chains(f);
    super::build::phi_copies::remove(f);
}

fn fold_branches(f: &mut Func) {
    for b in 0..f.blocks.len() {
        let blk = Blk(b as u32);
        let Term::If(p, yes, no) = f.blocks[b].term else { continue };
        let (keep, lose) = match p.constant() {
            Some(true) => (yes, Some(no)),
            Some(false) => (no, Some(yes)),
            None if yes == no => (yes, Some(no)),
            None => continue,
        };
        if keep == no && yes == no && p.constant().is_none() && !same_phi_inputs(f, yes, blk) {
            continue;
        }
        f.blocks[b].term = Term::Goto(keep);
        if let Some(lose) = lose {
            remove_edge(f, blk, lose);
        }
    }
}

/// Whether the phis of `to` have the same arguments on both edges from `from`.
fn same_phi_inputs(f: &Func, to: Blk, from: Blk) -> bool {
    let block = f.block(to);
    let edges: Vec<usize> = (0..block.preds.len()).filter(|&i| block.preds[i] == from).collect();
    let [a, b] = edges[..] else { return false };
    block.phis.iter().all(|p| p.args[a] == p.args[b]) && block.pphis.iter().all(|p| p.args[a] == p.args[b])
}

/// Removes one edge and the phi arguments that came over it.
pub(super) fn remove_edge(f: &mut Func, from: Blk, to: Blk) {
    let block = f.block_mut(to);
    if let Some(i) = block.preds.iter().position(|&p| p == from) {
        block.preds.remove(i);
        for phi in &mut block.phis {
            phi.args.remove(i);
        }
        for phi in &mut block.pphis {
            phi.args.remove(i);
        }
    }
}

/// Removes all edges from certain blocks, and the phi arguments that came over them.
fn remove_edges(block: &mut Block, gone: impl Fn(Blk) -> bool) {
    let stays: Vec<bool> = block.preds.iter().map(|&p| !gone(p)).collect();
    if stays.iter().all(|&stays| stays) {
        return;
    }
    fn keep<T>(list: &mut Vec<T>, stays: &[bool]) {
        let mut stays = stays.iter();
        list.retain(|_| stays.next().copied().unwrap_or(true));
    }
    keep(&mut block.preds, &stays);
    block.phis.iter_mut().for_each(|phi| keep(&mut phi.args, &stays));
    block.pphis.iter_mut().for_each(|phi| keep(&mut phi.args, &stays));
}

fn drop_unreachable(f: &mut Func) {
    let mut seen = vec![false; f.blocks.len()];
    let mut stack = roots(f);
    while let Some(b) = stack.pop() {
        if !std::mem::replace(&mut seen[b.index()], true) {
            stack.extend(f.block(b).term.succs());
        }
    }
    for b in 0..f.blocks.len() {
        if seen[b] {
            remove_edges(&mut f.blocks[b], |p| !seen[p.index()]);
        } else {
            f.blocks[b].preds.clear();
            f.blocks[b].phis.clear();
            f.blocks[b].pphis.clear();
            f.blocks[b].insts.clear();
            f.blocks[b].term = Term::Exit;
        }
    }
    f.order.retain(|b| seen[b.index()]);
}

fn join_chains(f: &mut Func) {
    let entries = roots(f);
    let mut joined = vec![false; f.blocks.len()];
    for i in 0..f.order.len() {
        let a = f.order[i];
        if joined[a.index()] {
            continue;
        }
        while let Term::Goto(b) = f.block(a).term {
            let single = f.block(b).preds.len() == 1 && b != a && !entries.contains(&b);
            if !single || f.block(a).sub != f.block(b).sub {
                break;
            }
            let mut taken = std::mem::take(&mut f.block_mut(b).insts);
            for phi in std::mem::take(&mut f.block_mut(b).phis) {
                f.replace(phi.dst, phi.args[0]);
            }
            for phi in std::mem::take(&mut f.block_mut(b).pphis) {
                f.preplace(phi.dst, phi.args[0]);
            }
            let (term, line, nounroll) = (f.block(b).term, f.block(b).line, f.block(b).nounroll);
            let block = f.block_mut(a);
            block.insts.append(&mut taken);
            block.term = term;
            block.line = line;
            block.nounroll |= nounroll;
            for s in term.succs() {
                for p in &mut f.block_mut(s).preds {
                    if *p == b {
                        *p = a;
                    }
                }
            }
            f.block_mut(b).preds.clear();
            f.block_mut(b).term = Term::Exit;
            joined[b.index()] = true;
        }
    }
    f.order.retain(|b| !joined[b.index()]);
    f.resolve_all();
}

/// Redirects branches to an empty block to its successor, unless a phi depends on the block.
fn skip_empty(f: &mut Func) {
    let entries = roots(f);
    for i in 0..f.order.len() {
        let b = f.order[i];
        let Term::Goto(to) = f.block(b).term else { continue };
        let block = f.block(b);
        if !block.insts.is_empty()
            || !block.phis.is_empty()
            || !block.pphis.is_empty()
            || to == b
            || entries.contains(&b)
        {
            continue;
        }
        let preds = block.preds.clone();
        let target_preds = f.block(to).preds.clone();
        // A predecessor that reaches the target already would carry two different phi inputs.
        if preds.iter().any(|p| target_preds.contains(p))
            && !(f.block(to).phis.is_empty() && f.block(to).pphis.is_empty())
        {
            continue;
        }
        let Some(edge) = target_preds.iter().position(|&p| p == b) else { continue };
        for &p in &preds {
            let term = f.block(p).term;
            let redirect = |x: Blk| if x == b { to } else { x };
            f.block_mut(p).term = match term {
                Term::Goto(x) => Term::Goto(redirect(x)),
                Term::If(c, x, y) => Term::If(c, redirect(x), redirect(y)),
                other => other,
            };
            let target = f.block_mut(to);
            target.preds.push(p);
            for phi in &mut target.phis {
                let v = phi.args[edge];
                phi.args.push(v);
            }
            for phi in &mut target.pphis {
                let v = phi.args[edge];
                phi.args.push(v);
            }
        }
        remove_edge(f, b, to);
        f.block_mut(b).preds.clear();
    }
    fold_branches(f);
}

/// Splits critical edges to blocks with phis, if the phis' copies would disturb the other successor: a phi is live there, or
/// it is an argument of the other successor's phis and that edge is split, so that its copies read the phi later.
pub(super) fn split_critical_edges(f: &mut Func) {
    let live = super::schedule::Liveness::of(f);
    let registers = f.defs.len();
    let mut order = Vec::with_capacity(f.order.len());
    for b in std::mem::take(&mut f.order) {
        order.push(b);
        let Term::If(p, yes, no) = f.block(b).term else { continue };
        let may_be_split = |to: Blk| {
            let block = f.block(to);
            block.preds.len() >= 2 && !(block.phis.is_empty() && block.pphis.is_empty())
        };
        let disturbs = |to: Blk, other: Blk| {
            let block = f.block(to);
            to == other
                || block.phis.iter().any(|phi| live.is_live_in(other, phi.dst.index()))
                || block.pphis.iter().any(|phi| live.is_live_in(other, registers + phi.dst.index()))
        };
        let is_argument = |to: Blk, other: Blk| {
            let (block, other) = (f.block(to), f.block(other));
            let Some(edge) = other.preds.iter().position(|&pred| pred == b) else { return false };
            let read = |dst: VReg| other.phis.iter().any(|phi| phi.args[edge] == Val::Reg(dst));
            let read_pred = |dst: VPred| other.pphis.iter().any(|phi| phi.args[edge].pred == Some(dst));
            block.phis.iter().any(|phi| read(phi.dst)) || block.pphis.iter().any(|phi| read_pred(phi.dst))
        };
        let mut split = [(yes, no), (no, yes)].map(|(to, other)| may_be_split(to) && disturbs(to, other));
        if split[0] != split[1] {
            let (unsplit, to, other) = if split[0] { (1, no, yes) } else { (0, yes, no) };
            split[unsplit] = may_be_split(to) && is_argument(to, other);
        }
        let mut edge = |to: Blk| {
            let edge = f.new_block(f.block(b).sub);
            f.block_mut(edge).term = Term::Goto(to);
            f.block_mut(edge).line = f.block(b).line;
            f.block_mut(edge).preds.push(b);
            if let Some(x) = f.block_mut(to).preds.iter_mut().find(|x| **x == b) {
                *x = edge;
            }
            edge
        };
        let yes = if split[0] { edge(yes) } else { yes };
        let no = if split[1] { edge(no) } else { no };
        f.block_mut(b).term = Term::If(p, yes, no);
        // The new blocks, the second one first.
        order.extend(f.order.drain(..).rev());
    }
    f.order = order;
}

/// Removes instructions without used results, and phis that only feed each other.
pub(super) fn remove_dead(f: &mut Func) {
    keep_needed(f, &[]);
}

/// Removes the calls of subroutines that only compute, if nothing reads their results, and the branches to them.
pub(super) fn remove_dead_calls(f: &mut Func) {
    let mut computes = vec![true; f.subs.len()];
    for &b in &f.order {
        if let Some(sub) = f.block(b).sub {
            computes[sub.index()] &= f.block(b).insts.iter().all(|&id| f.inst(id).op.is_free());
        }
    }
    keep_needed(f, &computes);
    drop_uncalled(f);
    clean(f);
    remove_dead(f);
}

/// Removes the subroutines that nothing calls.
fn drop_uncalled(f: &mut Func) {
    let mut called = vec![false; f.subs.len()];
    let mut calls = Vec::new();
    for &b in &f.order {
        for &id in &f.block(b).insts {
            if let VOp::Call(sub) = f.inst(id).op {
                called[sub.index()] = true;
                calls.push(id);
            }
        }
    }
    let new = |sub: SubId| SubId(called[..sub.index()].iter().filter(|&&called| called).count() as u32);
    for id in calls {
        if let VOp::Call(sub) = &mut f.insts[id.index()].op {
            *sub = new(*sub);
        }
    }
    f.order.retain(|b| f.blocks[b.index()].sub.is_none_or(|sub| called[sub.index()]));
    for block in &mut f.blocks {
        block.sub = block.sub.filter(|sub| called[sub.index()]).map(new);
    }
    let mut kept = called.iter();
    f.subs.retain(|_| kept.next().copied().unwrap_or(true));
}

/// Removes what nothing needs, calls of some subroutines included.
fn keep_needed(f: &mut Func, may_go: &[bool]) {
    f.resolve_all();
    let mut live = vec![false; f.defs.len()];
    let mut plive = vec![false; f.pdefs.len()];
    let mut work: Vec<Need> = Vec::new();
    let mut kept = vec![false; f.insts.len()];
    for &b in &f.order {
        for &id in &f.block(b).insts {
            let inst = f.inst(id);
            let unneeded = match inst.op {
                VOp::Call(sub) => may_go.get(sub.index()).copied().unwrap_or(false),
                op => op.is_free() || removable(inst),
            };
            if !unneeded {
                kept[id.index()] = true;
                needs(inst, &mut work);
            }
        }
        if let Term::If(p, _, _) = f.block(b).term {
            work.extend(p.pred.map(Need::Pred));
        }
    }
    for sub in &f.subs {
        work.extend(sub.results.iter().filter_map(|v| v.reg()).map(Need::Reg));
    }
    let phis = phi_index(f);
    while let Some(need) = work.pop() {
        let (def, blk) = match need {
            Need::Reg(r) if !std::mem::replace(&mut live[r.index()], true) => {
                (f.defs[r.index()], phis.0.get(&r))
            }
            Need::Pred(p) if !std::mem::replace(&mut plive[p.index()], true) => {
                (f.pdefs[p.index()], phis.1.get(&p))
            }
            _ => continue,
        };
        if let Some(&(b, i)) = blk {
            match need {
                Need::Reg(_) => {
                    work.extend(f.block(b).phis[i].args.iter().filter_map(|v| v.reg()).map(Need::Reg));
                }
                Need::Pred(_) => {
                    work.extend(f.block(b).pphis[i].args.iter().filter_map(|p| p.pred).map(Need::Pred));
                }
            }
        } else if let super::vir::Def::Inst(id, _) = def
            && !std::mem::replace(&mut kept[id.index()], true)
        {
            needs(f.inst(id), &mut work);
        }
    }
    for b in f.order.clone() {
        let mut insts = std::mem::take(&mut f.block_mut(b).insts);
        insts.retain(|id| kept[id.index()]);
        for id in &insts {
            let inst = &mut f.insts[id.index()];
            drop_unused_results(inst, &live, &plive);
            keep_used_words(inst, &live);
            for (i, dst) in inst.dst.iter().enumerate() {
                if let Some(dst) = dst {
                    f.defs[dst.index()] = super::vir::Def::Inst(*id, i as u8);
                }
            }
        }
        let block = f.block_mut(b);
        block.insts = insts;
        block.phis.retain(|p| live[p.dst.index()]);
        block.pphis.retain(|p| plive[p.dst.index()]);
    }
}

enum Need {
    Reg(VReg),
    Pred(VPred),
}

fn needs(inst: &super::vir::Inst, work: &mut Vec<Need>) {
    inst.for_each_val(|v| work.extend(v.reg().map(Need::Reg)));
    inst.for_each_psrc(|p| work.extend(p.pred.map(Need::Pred)));
}

/// Whether an instruction with side effects may be removed if its results are unused: plain loads, shuffles
/// and votes, external registers.
fn removable(inst: &super::vir::Inst) -> bool {
    use trace_format::isa::Kind;
    let Some(op) = inst.machine().filter(|_| !inst.strong) else { return false };
    let info = op.info();
    match info.kind {
        Kind::Pure => true,
        Kind::Load(_) => !op.reads_others() && info.memory.is_some_and(|memory| memory.width().is_some()),
        _ => false,
    }
}

fn drop_unused_results(inst: &mut super::vir::Inst, live: &[bool], plive: &[bool]) {
    use trace_format::isa::{AtomOp, Op, space::Space};
    for p in &mut inst.pdst {
        if p.is_some_and(|p| !plive[p.index()]) {
            *p = None;
        }
    }
    let unused = inst.dst.iter().flatten().all(|d| !live[d.index()]);
    if !unused || inst.dst[0].is_none() {
        return;
    }
    let keep = matches!(inst.op.kind(), trace_format::isa::Kind::Load(space) if space != Space::Const);
    if !keep {
        inst.dst = [None; 4];
        inst.tied = [Val::Undef; 4];
    }
    if let VOp::M(Op::Atomg { op, ty, mode, order, scope }) = inst.op
        && !matches!(op, AtomOp::Cas | AtomOp::Exch)
    {
        inst.op = VOp::M(Op::Red { op, ty, mode, order, scope });
    }
}

/// Makes a texture fetch write the words that are used, and no others: one, two or all of them.
fn keep_used_words(inst: &mut super::vir::Inst, live: &[bool]) {
    use trace_format::isa::{Op, TexResult, TexWords};
    let VOp::M(Op::Tex { result, words, .. }) = &mut inst.op else { return };
    if *result == TexResult::Halves {
        return;
    }
    let written = words.positions();
    let used = |i: &usize| inst.dst[*i].is_some_and(|d| live[d.index()]);
    // A fetch without a use stays for its faults.
    let first_if_none = |used: Vec<usize>| if used.is_empty() { vec![0] } else { used };
    let used = first_if_none((0..written.len()).filter(used).collect());
    let positions: Vec<u8> = used.iter().map(|&i| written[i]).collect();
    let Some(fewer) = TexWords::ALL.iter().find(|words| words.positions() == positions) else { return };
    *words = *fewer;
    let (dst, tied) = (inst.dst, inst.tied);
    (inst.dst, inst.tied) = ([None; 4], [Val::Undef; 4]);
    for (to, &from) in used.iter().enumerate() {
        inst.dst[to] = dst[from];
        inst.tied[to] = tied[from];
    }
}

type PhiIndex = (rustc_hash::FxHashMap<VReg, (Blk, usize)>, rustc_hash::FxHashMap<VPred, (Blk, usize)>);

fn phi_index(f: &Func) -> PhiIndex {
    let mut index = PhiIndex::default();
    for &b in &f.order {
        for (i, phi) in f.block(b).phis.iter().enumerate() {
            index.0.insert(phi.dst, (b, i));
        }
        for (i, phi) in f.block(b).pphis.iter().enumerate() {
            index.1.insert(phi.dst, (b, i));
        }
    }
    index
}
