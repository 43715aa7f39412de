//! A second implementation of CORF's exclusive pairs, from the definition (CORF, section 2.4.2): over single
//! instructions, with sets instead of dominator trees and repeated search instead of sorting.

use std::collections::{BTreeMap, BTreeSet};
use trace_format::isa::{Flow, ICmp, Inst, Kind, MachineKernel, Op, Operand, Pc, Pred, Reg, Sign, Src};

/// Two registers, the lower one first.
pub(crate) type Pair = (u8, u8);

/// Different registers that different operands of an instruction read.
pub(crate) fn read_together(inst: &Inst) -> BTreeSet<Pair> {
    let operand = |i| inst.src_span(i).map(|span| span.iter().map(|reg| reg.0).collect::<Vec<u8>>());
    let operands: Vec<Vec<u8>> = (0..3).filter_map(operand).collect();
    let mut pairs = BTreeSet::new();
    for (i, first) in operands.iter().enumerate() {
        for (a, b) in operands[i + 1..].iter().flatten().flat_map(|b| first.iter().map(move |a| (*a, *b))) {
            if a != b {
                pairs.insert((a.min(b), a.max(b)));
            }
        }
    }
    pairs
}

/// The pairs of a kernel; loops that state no trip count run `unknown_trips` times.
pub(crate) fn exclusive(kernel: &MachineKernel, unknown_trips: u64) -> BTreeSet<Pair> {
    let graph = Graph::of(kernel);
    let loops = graph.loops();
    let mut edges: BTreeMap<Pair, u64> = BTreeMap::new();
    for (pc, inst) in kernel.insts.iter().enumerate() {
        let around = loops.iter().filter(|(_, body)| body.contains(&pc));
        let trips = around.map(|(head, body)| graph.trips(*head, body).unwrap_or(unknown_trips).max(1));
        let weight = trips.fold(1, u64::saturating_mul);
        for pair in read_together(inst) {
            let edge = edges.entry(pair).or_insert(0);
            *edge = edge.saturating_add(weight);
        }
    }
    let degree =
        |edges: &BTreeMap<Pair, u64>, reg: u8| edges.keys().filter(|(a, b)| *a == reg || *b == reg).count();
    let mut gone: Vec<(u64, Pair)> = Vec::new();
    // While a register has several edges, remove the lightest edge of such registers; of equal edges, that of the
    // highest pair.
    loop {
        let shared = |(a, b): &Pair| degree(&edges, *a) > 1 || degree(&edges, *b) > 1;
        let candidates = edges.iter().filter(|(pair, _)| shared(pair));
        let Some((&pair, &weight)) =
            candidates.min_by_key(|(pair, weight)| (**weight, std::cmp::Reverse(**pair)))
        else {
            break;
        };
        edges.remove(&pair);
        gone.push((weight, pair));
    }
    // Add edges back between registers without an edge, the heaviest first.
    gone.sort_by_key(|(weight, pair)| (std::cmp::Reverse(*weight), *pair));
    for (weight, (a, b)) in gone {
        if degree(&edges, a) == 0 && degree(&edges, b) == 0 {
            edges.insert((a, b), weight);
        }
    }
    edges.into_keys().collect()
}

/// Successors of instructions within a function; the successor of a call is the instruction after it.
struct Graph<'k> {
    kernel: &'k MachineKernel,
    /// Basic block of each instruction.
    flow: Flow,
    next: Vec<BTreeSet<usize>>,
    before: Vec<BTreeSet<usize>>,
    /// First instructions of the functions.
    entries: Vec<usize>,
    reachable: BTreeSet<usize>,
}

impl<'k> Graph<'k> {
    fn of(kernel: &'k MachineKernel) -> Graph<'k> {
        let insts = &kernel.insts;
        let follow = |(pc, inst): (usize, &Inst)| {
            let mut next = BTreeSet::new();
            let falls = match inst.kind() {
                Kind::Branch => {
                    next.insert(inst.target.index());
                    !inst.is_unguarded()
                }
                Kind::Exit | Kind::Return => !inst.is_unguarded(),
                Kind::Trap => false,
                _ => true,
            };
            next.extend((falls && pc + 1 < insts.len()).then_some(pc + 1));
            next
        };
        let next: Vec<BTreeSet<usize>> = insts.iter().enumerate().map(follow).collect();
        let mut before = vec![BTreeSet::new(); insts.len()];
        for (pc, next) in next.iter().enumerate() {
            for to in next {
                before[*to].insert(pc);
            }
        }
        let entries = std::iter::once(0).chain(kernel.functions.iter().map(|(pc, _)| pc.index())).collect();
        let mut graph =
            Graph { kernel, flow: kernel.flow(), next, before, entries, reachable: BTreeSet::new() };
        graph.reachable = graph.reached_without(usize::MAX);
        graph
    }

    /// Instructions that paths from the entries reach without passing an instruction.
    fn reached_without(&self, avoided: usize) -> BTreeSet<usize> {
        let (mut reached, mut work) = (BTreeSet::new(), self.entries.clone());
        while let Some(pc) = work.pop() {
            if pc != avoided && reached.insert(pc) {
                work.extend(&self.next[pc]);
            }
        }
        reached
    }

    /// Whether there is a path to an instruction, and every such path passes another instruction.
    fn dominates(&self, above: usize, pc: usize) -> bool {
        self.reachable.contains(&pc) && !self.reached_without(above).contains(&pc)
    }

    /// Natural loops by header: the instructions that reach a back edge without passing the header.
    fn loops(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for head in 0..self.next.len() {
            let tails: Vec<usize> =
                self.before[head].iter().copied().filter(|tail| self.dominates(head, *tail)).collect();
            if tails.is_empty() {
                continue;
            }
            let (mut body, mut work) = (BTreeSet::from([head]), tails);
            while let Some(pc) = work.pop() {
                if body.insert(pc) {
                    work.extend(self.before[pc].intersection(&self.reachable));
                }
            }
            loops.insert(head, body);
        }
        loops
    }

    fn same_block(&self, a: usize, b: usize) -> bool {
        self.flow.block_of(Pc(a as u32)) == self.flow.block_of(Pc(b as u32))
    }

    /// Executions of a loop's header, if one exit compares a counter with an immediate, and the counter starts at an
    /// immediate and is stepped by one once per iteration.
    fn trips(&self, head: usize, body: &BTreeSet<usize>) -> Option<u64> {
        let insts = &self.kernel.insts;
        if body.iter().any(|pc| matches!(insts[*pc].kind(), Kind::Exit | Kind::Return | Kind::Trap)) {
            return None;
        }
        let leaves = |pc: &usize| self.next[*pc].is_empty() || !self.next[*pc].is_subset(body);
        let exit = the_only(body.iter().copied().filter(leaves))?;
        let branch = &insts[exit];
        if branch.kind() != Kind::Branch || branch.is_unguarded() {
            return None;
        }
        let sets_guard = |pc: &usize| insts[*pc].dst_preds().any(|pred| pred == branch.guard.pred);
        let test_at = (0..exit).rev().take_while(|pc| self.same_block(*pc, exit)).find(sets_guard)?;
        let (counter, holds) = comparison(&insts[test_at], branch.guard.pred)?;
        let writes = |pc: &usize| insts[*pc].dst_regs().any(|reg| reg == counter);
        let step_at = the_only(body.iter().copied().filter(writes))?;
        let step = step(&insts[step_at], counter)?;
        let mut tails = self.before[head].intersection(body);
        if !tails.all(|tail| self.dominates(step_at, *tail)) {
            return None;
        }
        let mut value = self.initial(head, body, counter)?;
        let stays_if = body.contains(&branch.target.index()) != branch.guard.not;
        let stepped_first = self.dominates(step_at, test_at);
        for trip in 1..=1 << 20 {
            let tested = if stepped_first { value.wrapping_add(step) } else { value };
            value = value.wrapping_add(step);
            if holds(tested) != stays_if {
                return Some(trip);
            }
        }
        None
    }

    /// The immediate that a register holds when a loop is entered: the source of the last move on the only path to it.
    fn initial(&self, head: usize, body: &BTreeSet<usize>, reg: Reg) -> Option<u32> {
        let mut pc = head;
        for _ in 0..self.next.len() {
            pc = the_only(self.before[pc].difference(body).copied())?;
            let inst = &self.kernel.insts[pc];
            if inst.kind() == Kind::Call {
                return None;
            }
            if inst.dst_regs().any(|written| written == reg) {
                let moves = matches!(inst.op, Op::Mov { .. }) && inst.is_unguarded();
                return if moves { immediate(&inst.src[0]) } else { None };
            }
        }
        None
    }
}

fn the_only(mut items: impl Iterator<Item = usize>) -> Option<usize> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

/// The register that an instruction compares with an immediate, and for which values a predicate then holds.
fn comparison(inst: &Inst, pred: Pred) -> Option<(Reg, impl Fn(u32) -> bool)> {
    let Op::Isetp { cmp, sign, ex, .. } = inst.op else { return None };
    let first = inst.psrc[0];
    if !inst.is_unguarded() || ex.0 || first.pred != Pred::PT || first.not || inst.pdst[0] != pred {
        return None;
    }
    let (counter, bound) = (register(&inst.src[0])?, immediate(&inst.src[1])?);
    let wide = move |word: u32| if sign == Sign::S32 { i64::from(word as i32) } else { i64::from(word) };
    let holds = move |value: u32| {
        let (a, b) = (wide(value), wide(bound));
        match cmp {
            ICmp::Eq => a == b,
            ICmp::Ne => a != b,
            ICmp::Lt => a < b,
            ICmp::Le => a <= b,
            ICmp::Gt => a > b,
            ICmp::Ge => a >= b,
        }
    };
    Some((counter, holds))
}

/// The immediate that an instruction adds to a register, if it does nothing else.
fn step(inst: &Inst, counter: Reg) -> Option<u32> {
    let Op::Iadd3 { x } = inst.op else { return None };
    let own = inst.src.iter().filter(|src| register(src) == Some(counter)).count();
    if x.0 || !inst.is_unguarded() || inst.dst != counter || own != 1 {
        return None;
    }
    let others = inst.src.iter().filter(|src| register(src) != Some(counter));
    let sum =
        others.map(immediate).try_fold(0u32, |sum, value| value.map(|value| sum.wrapping_add(value)))?;
    (sum != 0).then_some(sum)
}

/// A register without modifiers; RZ is none.
fn register(src: &Src) -> Option<Reg> {
    match src.operand {
        Operand::Reg(reg) if !reg.is_zero() && !src.neg && !src.abs => Some(reg),
        _ => None,
    }
}

fn immediate(src: &Src) -> Option<u32> {
    match src.operand {
        Operand::Reg(reg) if reg.is_zero() => Some(0),
        Operand::Imm(value) if !src.abs => Some(if src.neg { 0u32.wrapping_sub(value) } else { value }),
        _ => None,
    }
}
