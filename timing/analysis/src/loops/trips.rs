//! Constant trip counts: a loop with one exit whose test compares a counter with an immediate; the counter
//! starts at an immediate and is stepped once per iteration by an immediate.
//!
//! Other loops have no count; the caller chooses the weight of an unknown count.

use super::graph::{Graph, Loop};
use trace_format::isa::{Flow, ICmp, Inst, Kind, MachineKernel, Op, Operand, Pc, Pred, Reg, Sign, Src};

/// Loops with more trips count as unknown.
const MOST_TRIPS: u64 = 1 << 20;

/// The test of a loop's exit branch: `counter cmp bound`.
struct Test {
    /// Where it stands.
    at: usize,
    cmp: ICmp,
    signed: bool,
    counter: Reg,
    bound: u32,
    /// Whether the loop continues if the comparison is true.
    stays_if: bool,
}

/// Executions of a loop's header, if constant.
pub(super) fn trips(kernel: &MachineKernel, flow: &Flow, graph: &Graph, found: &Loop) -> Option<u64> {
    let inside = |block: usize| found.blocks.binary_search_by_key(&block, |b| b.0 as usize).is_ok();
    let leaves = |b: &usize| graph.succs[*b].iter().any(|s| !inside(*s)) || graph.succs[*b].is_empty();
    let mut exits = found.blocks.iter().map(|b| b.0 as usize).filter(leaves);
    let exit = exits.next()?;
    if exits.next().is_some() {
        return None;
    }
    let pcs = |block: usize| {
        let block = flow.blocks()[block];
        block.first.index()..block.end.index()
    };
    let insts = &kernel.insts;
    if found.blocks.iter().flat_map(|b| pcs(b.0 as usize)).any(|pc| leaves_early(&insts[pc])) {
        return None;
    }
    let taken_stays = |branch: &Inst| inside(flow.block_of(branch.target).0 as usize);
    let test = test(insts, pcs(exit), taken_stays)?;
    let writers: Vec<usize> = found
        .blocks
        .iter()
        .flat_map(|b| pcs(b.0 as usize))
        .filter(|pc| insts[*pc].dst_regs().any(|r| r == test.counter))
        .collect();
    let [step_at] = writers[..] else { return None };
    let step = step(&insts[step_at], test.counter)?;
    let step_block = flow.block_of(Pc(step_at as u32)).0 as usize;
    let header = found.header.0 as usize;
    // The step comes before the test: in another dominating block, or earlier in the same.
    let stepped_first = graph.dominates(step_block, exit) && (step_block != exit || step_at < test.at);
    let every_iteration =
        graph.preds[header].iter().filter(|p| inside(**p)).all(|p| graph.dominates(step_block, *p));
    if !every_iteration {
        return None;
    }
    let start = initial(kernel, flow, graph, header, &inside, test.counter)?;
    count(start, step, &test, stepped_first)
}

/// Whether lanes may leave the loop here other than by its exit branch.
fn leaves_early(inst: &Inst) -> bool {
    matches!(inst.kind(), Kind::Exit | Kind::Return | Kind::Trap)
}

/// The comparison that guards the last branch of the exit block.
fn test(insts: &[Inst], block: std::ops::Range<usize>, taken_stays: impl Fn(&Inst) -> bool) -> Option<Test> {
    let branch = &insts[block.end - 1];
    if branch.kind() != Kind::Branch || branch.is_unguarded() {
        return None;
    }
    let writes = |pc: &usize| insts[*pc].dst_preds().any(|p| p == branch.guard.pred);
    let at = block.rev().find(writes)?;
    let inst = &insts[at];
    let Op::Isetp { cmp, sign, ex, .. } = inst.op else { return None };
    let plain = inst.is_unguarded() && !ex.0 && inst.psrc[0].pred == Pred::PT && !inst.psrc[0].not;
    if !plain || inst.pdst[0] != branch.guard.pred {
        return None;
    }
    let counter = plain_reg(&inst.src[0])?;
    let bound = immediate(&inst.src[1])?;
    let stays_if = taken_stays(branch) != branch.guard.not;
    Some(Test { at, cmp, signed: sign == Sign::S32, counter, bound, stays_if })
}

fn plain_reg(src: &Src) -> Option<Reg> {
    if src.neg || src.abs { None } else { src.as_reg() }
}

fn immediate(src: &Src) -> Option<u32> {
    match src.operand {
        Operand::Imm(value) if !src.abs => Some(if src.neg { value.wrapping_neg() } else { value }),
        Operand::Reg(r) if r.is_zero() => Some(0),
        _ => None,
    }
}

/// Immediate that an addition adds to its own destination.
fn step(inst: &Inst, counter: Reg) -> Option<u32> {
    let Op::Iadd3 { x } = inst.op else { return None };
    if x.0 || !inst.is_unguarded() || inst.dst != counter {
        return None;
    }
    let (mut sum, mut found) = (0u32, false);
    for src in inst.src {
        match plain_reg(&src) {
            Some(reg) if reg == counter && !found => found = true,
            Some(_) => return None,
            None => sum = sum.wrapping_add(immediate(&src)?),
        }
    }
    (found && sum != 0).then_some(sum)
}

/// The immediate that the counter holds when the loop is entered: the last write on the only entry edge.
fn initial(
    kernel: &MachineKernel,
    flow: &Flow,
    graph: &Graph,
    header: usize,
    inside: &impl Fn(usize) -> bool,
    counter: Reg,
) -> Option<u32> {
    let only = |block: usize| {
        let mut outside = graph.preds[block].iter().filter(|p| !inside(**p));
        let found = *outside.next()?;
        outside.next().is_none().then_some(found)
    };
    let mut block = only(header)?;
    for _ in 0..graph.succs.len() {
        let pcs = flow.blocks()[block].first.index()..flow.blocks()[block].end.index();
        // A function may write the counter.
        if kernel.insts[pcs.end - 1].kind() == Kind::Call {
            return None;
        }
        if let Some(pc) = pcs.rev().find(|pc| kernel.insts[*pc].dst_regs().any(|r| r == counter)) {
            let inst = &kernel.insts[pc];
            let moves = matches!(inst.op, Op::Mov { .. }) && inst.is_unguarded();
            return if moves { immediate(&inst.src[0]) } else { None };
        }
        block = only(block)?;
    }
    None
}

/// Runs the counter until the test leaves; the number of times that the header ran.
fn count(start: u32, step: u32, test: &Test, stepped_first: bool) -> Option<u64> {
    let mut value = start;
    for trip in 1..=MOST_TRIPS {
        if stepped_first {
            value = value.wrapping_add(step);
        }
        if holds(test, value) != test.stays_if {
            return Some(trip);
        }
        if !stepped_first {
            value = value.wrapping_add(step);
        }
    }
    None
}

fn holds(test: &Test, value: u32) -> bool {
    let order = if test.signed { (value as i32).cmp(&(test.bound as i32)) } else { value.cmp(&test.bound) };
    match test.cmp {
        ICmp::Eq => order.is_eq(),
        ICmp::Ne => order.is_ne(),
        ICmp::Lt => order.is_lt(),
        ICmp::Le => order.is_le(),
        ICmp::Gt => order.is_gt(),
        ICmp::Ge => order.is_ge(),
    }
}
