//! Affine types: which values a compiler can prove to be affine in the indices of threads and blocks, and by how many
//! conditions they differ where threads have gone different ways (DAC, sections 4.6 and 4.7).
//!
//! A forward analysis over the block graph. A value is scalar (the same in the whole grid), of the block, affine, or
//! other data; of several operands and definitions the most general counts. Where different definitions meet, threads
//! that came different ways hold different tuples, and each further definition is a condition, unless the branches
//! between them are scalar. Within a loop all threads are in the same turn, so that a value from the turn before is one
//! tuple; it is other data behind a loop that threads leave in different turns, and where a condition of one turn would
//! reach the next.
//!
//! A uniform register has one value for the whole warp, so that it never depends on the thread: it is scalar, of the block,
//! or other data, as is one that threads of a block which went different ways have written.

mod rules;
mod types;

pub use rules::{is_complement, is_half_of_sum, is_sign_word, known_carry, modulus};
pub use types::{Level, Reason, Type};
use types::{MOST_CONDITIONS, condition_at};

use super::loops::Loops;
use super::reaching::{Reaching, VARS, Var, may_keep, written};
use trace_format::isa::{BlockId, Flow, Inst, Kind, MachineKernel, PredSrc, RegSpan};

/// The number of a condition: of a further definition that meets others in a block.
fn condition_of(block: BlockId, further: usize) -> u32 {
    block.0 << 8 | (further as u32).min(255)
}

/// The block in which a condition is decided.
fn place_of(condition: u32, flow: &Flow) -> BlockId {
    if condition >> 31 != 0 {
        flow.block_of(trace_format::isa::Pc(condition & !(1 << 31)))
    } else {
        BlockId(condition >> 8)
    }
}

/// The types of an instruction's operands and results.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    /// Sources in registers, by operand; scalar for literals and constants. A uniform register that is added to an address
    /// belongs to the first.
    pub sources: [Type; 3],
    /// Its guard; of branches and exits, all that decides where threads go.
    pub guard: Type,
    /// Its results before the guard keeps old values.
    pub result: Type,
}

/// The types of a kernel.
#[derive(Debug)]
pub struct AffineTypes {
    /// By instruction; unreachable ones are other data.
    pub insts: Vec<Types>,
}

type State = Vec<Type>;

struct Analysis<'a> {
    kernel: &'a MachineKernel,
    flow: &'a Flow,
    reaching: &'a Reaching,
    limit: usize,
    preds: Vec<Vec<BlockId>>,
    order: Vec<BlockId>,
    loops: Vec<(BlockId, Vec<BlockId>)>,
    /// Branches whose two sides both reach a block before they meet for certain, by block.
    splits: Vec<Vec<BlockId>>,
    /// The guard of the branch or exit at the end of each block.
    guards: Vec<Type>,
    vars: Vec<Var>,
}

impl AffineTypes {
    /// The types of a kernel's values, with at most so many conditions each.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow, reaching: &Reaching, conditions: usize) -> AffineTypes {
        let blocks = flow.blocks().len();
        let mut preds = vec![Vec::new(); blocks];
        for block in (0..blocks as u32).map(BlockId) {
            flow.successors(block).iter().for_each(|next| preds[next.0 as usize].push(block));
        }
        let loops = Loops::of(kernel, flow);
        let mut analysis = Analysis {
            kernel,
            flow,
            reaching,
            limit: conditions.min(MOST_CONDITIONS),
            preds,
            order: reverse_post_order(flow),
            loops: loops.all().iter().map(|one| (one.header, one.blocks.clone())).collect(),
            splits: splits(flow),
            guards: vec![Type::of(Level::Scalar); blocks],
            vars: reaching.vars().collect(),
        };
        let unreached = Types {
            sources: [Type::data(Reason::Operand); 3],
            guard: Type::data(Reason::Operand),
            result: Type::data(Reason::Operand),
        };
        let mut types = AffineTypes { insts: vec![unreached; kernel.insts.len()] };
        let mut behind: Vec<Option<State>> = vec![None; blocks];
        loop {
            let mut changed = false;
            for block in analysis.order.clone() {
                let mut state = analysis.join(block, &behind);
                let range = flow.block(block);
                for pc in range.first.0..range.end.0 {
                    types.insts[pc as usize] = analysis.step(pc, &mut state);
                }
                let guard = types.insts[range.end.index() - 1].guard;
                let held = &mut analysis.guards[block.0 as usize];
                changed |= *held != guard;
                *held = guard;
                let known = &mut behind[block.0 as usize];
                if known.as_ref() != Some(&state) {
                    *known = Some(state);
                    changed = true;
                }
            }
            if !changed {
                return types;
            }
        }
    }
}

impl Analysis<'_> {
    /// Whether threads that meet in a block may have come different ways.
    fn may_diverge(&self, block: BlockId) -> bool {
        self.splits[block.0 as usize].iter().any(|branch| !self.guards[branch.0 as usize].is_uniform())
    }

    /// Whether threads of one block that meet in a block may have come different ways.
    fn may_diverge_in_block(&self, block: BlockId) -> bool {
        self.splits[block.0 as usize].iter().any(|branch| !self.guards[branch.0 as usize].is_of_block())
    }

    /// Whether threads may leave a loop in different turns.
    fn leaves_apart(&self, blocks: &[BlockId]) -> bool {
        blocks.iter().any(|block| {
            let last = &self.kernel.insts[self.flow.block(*block).end.index() - 1];
            let leaves = self.flow.successors(*block).iter().any(|next| !blocks.contains(next));
            leaves && !last.is_unguarded() && !self.guards[block.0 as usize].is_uniform()
        })
    }

    /// The types at the begin of a block.
    fn join(&self, block: BlockId, behind: &[Option<State>]) -> State {
        let mut state = vec![Type::of(Level::Scalar); VARS];
        let coming: Vec<BlockId> = self.preds[block.0 as usize]
            .iter()
            .copied()
            .filter(|from| behind[from.0 as usize].is_some())
            .collect();
        if coming.is_empty() {
            return state;
        }
        let is_back = |from: BlockId| {
            self.loops.iter().any(|(header, blocks)| *header == block && blocks.contains(&from))
        };
        let diverges = self.may_diverge(block);
        for var in self.vars.iter().copied() {
            let mut joined: Option<Type> = None;
            let mut ways: Vec<&[u32]> = Vec::new();
            for from in &coming {
                let Some(there) = &behind[from.0 as usize] else { continue };
                let mut own = there[var.index()];
                let defs = self.reaching.behind(*from, var);
                if !var.is_pred() {
                    own = self.across(own, defs, *from, block);
                }
                joined = Some(joined.map_or(own, |so_far| so_far.and(own, self.limit)));
                if !is_back(*from) && !ways.contains(&defs) {
                    ways.push(defs);
                }
            }
            let mut joined = joined.unwrap_or(Type::of(Level::Scalar));
            if diverges && ways.len() > 1 {
                if var.is_uniform() && self.may_diverge_in_block(block) {
                    joined = Type::data(Reason::Conditions);
                } else if var.is_pred() && var.is_uniform() {
                    joined.level = joined.level.max(Level::Block);
                } else if var.is_pred() {
                    // Predicates are kept thread by thread.
                    joined.level = joined.level.max(Level::Thread);
                } else {
                    for further in 1..ways.len() {
                        joined = joined.with(condition_of(block, further), self.limit);
                    }
                }
            }
            state[var.index()] = joined;
        }
        state
    }

    /// A register's type across an edge: out of loops that threads leave apart, and into the next turn.
    fn across(&self, own: Type, defs: &[u32], from: BlockId, to: BlockId) -> Type {
        if !own.is_affine() {
            return own;
        }
        for (header, blocks) in self.loops.iter().filter(|(_, blocks)| blocks.contains(&from)) {
            let in_loop = |def: &u32| {
                *def != super::reaching::ENTRY
                    && blocks.contains(&self.flow.block_of(trace_format::isa::Pc(*def)))
            };
            if !blocks.contains(&to) && defs.iter().any(in_loop) && self.leaves_apart(blocks) {
                return Type::data(Reason::Carried);
            }
            let decided = |condition: &u32| blocks.contains(&place_of(*condition, self.flow));
            if to == *header && own.conditions().iter().any(decided) {
                return Type::data(Reason::Carried);
            }
        }
        own
    }

    fn pred(&self, state: &State, source: PredSrc) -> Type {
        if source.pred.is_true() { Type::of(Level::Scalar) } else { state[Var::pred(source.pred.0).index()] }
    }

    /// The types of an instruction; its results get theirs.
    fn step(&self, pc: u32, state: &mut State) -> Types {
        let inst = &self.kernel.insts[pc as usize];
        let info = inst.info();
        let all = |vars: &mut dyn Iterator<Item = Var>| {
            vars.fold(SCALAR, |all, var| all.and(state[var.index()], self.limit))
        };
        let mut sources = [0, 1, 2].map(|i| all(&mut source(inst, i)));
        sources[0] = sources[0].and(all(&mut base(inst)), self.limit);
        let asked = inst.psrc[..usize::from(info.pred_srcs)].iter();
        let mut predicates = asked.fold(SCALAR, |all, pred| all.and(self.pred(state, *pred), self.limit));
        if inst.op.reads_all_predicates() {
            let own = inst.all_src_preds().map(|pred| Var::pred(pred.0));
            predicates = predicates.and(all(&mut own.into_iter()), self.limit);
        }
        let mut guard = self.pred(state, inst.guard);
        if matches!(inst.kind(), Kind::Branch | Kind::Exit) {
            guard = guard.and(predicates, self.limit);
        }
        let result = match inst.kind() {
            Kind::Pure => rules::result(inst, pc, &sources, predicates, self.limit),
            _ => Type::data(Reason::Operand),
        };
        if inst.kind() == Kind::Call {
            for var in &self.reaching.callees.writes {
                state[var.index()] = Type::data(Reason::Operand);
            }
        }
        for var in written(inst) {
            let old = state[var.index()];
            let is_pred = var.is_pred();
            let mut new = if is_pred { without_conditions(result) } else { Type { carry: false, ..result } };
            if is_pred && !rules::sets_carry(inst) {
                new.carry = false;
            }
            if may_keep(inst) {
                new = if guard.is_affine() && !guard.carry {
                    new.and(old, self.limit)
                } else {
                    Type::data(Reason::Operand)
                };
                if !guard.is_uniform() && new.is_affine() {
                    if var.is_uniform() && !guard.is_of_block() {
                        new = Type::data(Reason::Conditions);
                    } else if is_pred && var.is_uniform() {
                        new.level = new.level.max(Level::Block);
                    } else if is_pred {
                        new.level = new.level.max(Level::Thread);
                    } else {
                        new = new.with(condition_at(pc), self.limit);
                    }
                }
            }
            state[var.index()] = new;
        }
        Types { sources, guard, result }
    }
}

const SCALAR: Type = Type::of(Level::Scalar);

/// The registers of an operand, uniform ones too.
pub fn source(inst: &Inst, i: usize) -> impl Iterator<Item = Var> + use<> {
    let span = inst.src_span(i).into_iter().flat_map(RegSpan::iter).map(|reg| Var::reg(reg.0));
    span.chain(inst.src_uniforms_of(i).map(|reg| Var::uniform(reg.0)))
}

/// The uniform registers that are added to an address.
pub fn base(inst: &Inst) -> impl Iterator<Item = Var> + use<> {
    inst.base_uniforms().map(|reg| Var::uniform(reg.0))
}

/// A predicate's type: its bits are kept thread by thread, so that conditions end in it. A scalar one stays the same in
/// all threads only if its operands had no conditions.
fn without_conditions(result: Type) -> Type {
    let level = if result.conditions().is_empty() { result.level } else { result.level.max(Level::Thread) };
    Type { level, carry: result.carry, why: result.why, ..Type::of(level) }
}

/// Blocks in reverse post order from the first one; of two successors the one that falls through comes first.
pub fn reverse_post_order(flow: &Flow) -> Vec<BlockId> {
    let blocks = flow.blocks().len();
    let mut seen = vec![false; blocks];
    let mut order = Vec::with_capacity(blocks);
    let mut stack: Vec<(BlockId, usize)> = Vec::new();
    if blocks > 0 {
        seen[0] = true;
        stack.push((BlockId(0), 0));
    }
    while let Some((block, done)) = stack.pop() {
        // Successors in reverse, so that the first one is first in the order.
        let next = flow.successors(block);
        if done < next.len() {
            stack.push((block, done + 1));
            let to = next[next.len() - 1 - done];
            if !std::mem::replace(&mut seen[to.0 as usize], true) {
                stack.push((to, 0));
            }
        } else {
            order.push(block);
        }
    }
    order.reverse();
    order
}

/// For each block, the branches from both of whose sides it can be reached without passing the place where these meet
/// for certain, or the branch again.
fn splits(flow: &Flow) -> Vec<Vec<BlockId>> {
    let blocks = flow.blocks().len();
    let mut splits = vec![Vec::new(); blocks];
    for branch in (0..blocks as u32).map(BlockId) {
        let [first, second] = flow.successors(branch) else { continue };
        let meet = flow.post_dominator(branch);
        let reach = |from: BlockId| {
            let mut seen = vec![false; blocks];
            let mut work = vec![from];
            while let Some(block) = work.pop() {
                let again = std::mem::replace(&mut seen[block.0 as usize], true);
                if !again && Some(block) != meet && block != branch {
                    work.extend(flow.successors(block));
                }
            }
            seen
        };
        let (one, other) = (reach(*first), reach(*second));
        for block in 0..blocks {
            if one[block] && other[block] {
                splits[block].push(branch);
            }
        }
    }
    splits
}

/// Blocks that are executed or not as the branch at the end of a block decides.
pub fn controlled_by(flow: &Flow, branch: BlockId) -> Vec<BlockId> {
    let meet = flow.post_dominator(branch);
    let mut controlled = Vec::new();
    for side in flow.successors(branch) {
        let mut at = Some(*side);
        while let Some(block) = at.filter(|block| Some(*block) != meet && !controlled.contains(block)) {
            controlled.push(block);
            at = flow.post_dominator(block);
        }
    }
    controlled
}
