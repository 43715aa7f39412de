//! Warp-wide operations at several places to which lanes of a warp may come apart.
//!
//! `vote.sync` and its like act on all lanes of their mask that execute one, wherever it is. Where the code runs on after
//! divergent branches one side after the other, such lanes would be counted alone. Operations that lanes may reach over
//! both sides of a branch get a second way, as compilers for hardware since Volta give them: a branch is taken if lanes of
//! the mask are missing; behind it the operands are moved to registers that all such places share, and `WARPSYNC.COLLECTIVE`
//! gathers the lanes, which execute the operation together.

use crate::ptx::{FuncId, Module, Op as PtxOp, Statement};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::isa::{
    BlockId, BoolOp, Extended, Flow, ICmp, Inst, Kind, MachineKernel, NanProp, Op, Pc, Pred, PredSrc,
    ReduxOp, ReduxTy, Reg, Sign, SourceLine, SpecialReg, Src, VoteMode, Wide,
};

/// Registers that the places share: two operands of one word or one of two, the third operand, and the mask.
const SHARED_REGISTERS: u16 = 4;
/// Branches whose sides are looked through at most: a kernel with more has no such places in practice.
const MOST_BRANCHES: usize = 4096;

/// Kinds of operations whose lanes act together; those of one kind may be at different places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Together {
    Vote,
    Shuffle,
    Match,
    Reduce,
}

fn together(op: Op) -> Option<Together> {
    match op {
        Op::Vote { .. } => Some(Together::Vote),
        Op::Shfl { .. } => Some(Together::Shuffle),
        Op::Match { .. } => Some(Together::Match),
        Op::Redux { .. } => Some(Together::Reduce),
        _ => None,
    }
}

/// Whether a function has operations of before Volta, which act on the lanes that happen to be active.
pub(super) fn counts_active_lanes(module: &Module, func: FuncId) -> bool {
    let Some(body) = &module.function(func).body else { return false };
    body.statements.iter().any(|statement| match statement {
        Statement::Inst(inst) => match inst.op {
            PtxOp::Vote { sync, .. } => !sync,
            PtxOp::Shfl { .. } => inst.srcs().len() < 4,
            _ => false,
        },
        _ => false,
    })
}

/// The registers of a kernel with those that the places share.
pub(super) fn registers(kernel: &MachineKernel) -> u16 {
    kernel.regs_per_thread.next_multiple_of(2) + SHARED_REGISTERS
}

/// The registers that a kernel may have beside those that the places share.
pub(super) fn registers_beside(most: u16) -> u16 {
    most.saturating_sub(SHARED_REGISTERS) & !1
}

/// Whether a kernel has operations that need a second way.
pub(super) fn has_sites(kernel: &MachineKernel) -> bool {
    !sites(kernel, &kernel.flow()).is_empty()
}

/// Gives the operations of a kernel that need it their second way, for which it must have registers left. Code without
/// lowering keeps its traps.
pub(super) fn gather(kernel: &mut MachineKernel) {
    let flow = kernel.flow();
    let sites = sites(kernel, &flow);
    kernel.regs_per_thread = registers(kernel);
    let shared = Shared { first: (kernel.regs_per_thread - SHARED_REGISTERS) as u8 };
    // Registers of masks that are overwritten before the operation are kept in the shared one from the `WARPSYNC` on.
    let mut kept: BTreeMap<usize, Src> = BTreeMap::new();
    let masks: BTreeMap<usize, Src> = sites
        .iter()
        .map(|&pc| {
            let (mask, from) = mask(kernel, &flow, pc);
            let between = from.map_or(&[][..], |from| &kernel.insts[from + 1..pc]);
            if !between.iter().any(|inst| inst.dst_regs().any(|reg| mask == Src::reg(reg))) {
                return (pc, mask);
            }
            kept.extend(from.map(|from| (from, mask)));
            (pc, shared.mask())
        })
        .collect();
    let places: BTreeSet<usize> = sites.iter().chain(kept.keys()).copied().collect();
    make_room(kernel, &places);
    for (number, pc) in places.into_iter().enumerate() {
        let branch = pc + number;
        let Some(&mask) = masks.get(&pc) else {
            let guard = kernel.insts[branch + 1].guard;
            kernel.insts[branch] = moved(kept[&pc], shared.reg(3)).guarded(guard);
            continue;
        };
        let (operation, line) = (kernel.insts[branch + 1], kernel.lines[branch + 1]);
        let begin = Pc(kernel.insts.len() as u32);
        kernel.insts[branch] =
            Inst { target: begin, ..Inst::new(Op::BraDiv {}).srcs([mask]).guarded(operation.guard) };
        let back = Pc(branch as u32 + 2);
        let code = shared.code(&operation, mask, begin, back);
        kernel.lines.extend(std::iter::repeat_n(line, code.len()));
        kernel.insts.extend(code);
    }
}

/// Operations that lanes may reach over both sides of a branch.
fn sites(kernel: &MachineKernel, flow: &Flow) -> BTreeSet<usize> {
    let own = contents(kernel, flow);
    let mut sites = BTreeSet::new();
    if own.iter().all(BTreeSet::is_empty) {
        return sites;
    }
    let branches = (0..flow.blocks().len() as u32).map(BlockId).filter(|&block| {
        let last = &kernel.insts[flow.block(block).end.index() - 1];
        last.kind() == Kind::Branch && !last.is_unguarded() && flow.successors(block).len() > 1
    });
    for branch in branches.take(MOST_BRANCHES) {
        let end = flow.post_dominator(branch);
        let sides: Vec<BTreeMap<Together, BTreeSet<usize>>> = flow
            .successors(branch)
            .iter()
            .map(|&side| {
                let mut found: BTreeMap<Together, BTreeSet<usize>> = BTreeMap::new();
                for block in within(flow, side, end) {
                    for &pc in &own[block.0 as usize] {
                        let kind = together(kernel.insts[pc].op);
                        kind.map(|kind| found.entry(kind).or_default().insert(pc));
                    }
                }
                found
            })
            .collect();
        for (number, side) in sides.iter().enumerate() {
            for (kind, here) in side {
                let others = sides.iter().enumerate().filter(|(other, _)| *other != number);
                if others.into_iter().any(|(_, other)| other.contains_key(kind)) {
                    sites.extend(here);
                }
            }
        }
    }
    sites
}

/// The operations of every block, and of the functions that it calls.
fn contents(kernel: &MachineKernel, flow: &Flow) -> Vec<BTreeSet<usize>> {
    let of_block = |block: BlockId| {
        let range = flow.block(block);
        (range.first.index()..range.end.index()).filter(|&pc| together(kernel.insts[pc].op).is_some())
    };
    let blocks = || (0..flow.blocks().len() as u32).map(BlockId);
    let mut own: Vec<BTreeSet<usize>> = blocks().map(|block| of_block(block).collect()).collect();
    if own.iter().all(BTreeSet::is_empty) {
        return own;
    }
    // Blocks that call, with the entries of what they call.
    let entries: Vec<BlockId> = kernel.entries.iter().map(|(_, pc)| flow.block_of(*pc)).collect();
    let calls: Vec<(BlockId, Vec<BlockId>)> = blocks()
        .filter_map(|block| {
            let last = &kernel.insts[flow.block(block).end.index() - 1];
            let called = match last.jumps_to() {
                Some(target) => vec![flow.block_of(target)],
                None => entries.clone(),
            };
            (last.kind() == Kind::Call).then_some((block, called))
        })
        .collect();
    loop {
        let mut changed = false;
        for (block, called) in &calls {
            let inside: BTreeSet<usize> = called
                .iter()
                .flat_map(|&entry| flow.reachable(entry))
                .flat_map(|inner| own[inner.0 as usize].iter().copied())
                .collect();
            let before = own[block.0 as usize].len();
            own[block.0 as usize].extend(inside);
            changed |= own[block.0 as usize].len() != before;
        }
        if !changed {
            return own;
        }
    }
}

/// Blocks that are reached from one without passing the end.
fn within(flow: &Flow, from: BlockId, end: Option<BlockId>) -> Vec<BlockId> {
    let mut seen = BTreeSet::from([from]);
    let mut work = vec![from];
    if end == Some(from) {
        return Vec::new();
    }
    while let Some(block) = work.pop() {
        let next = flow.successors(block).iter().filter(|&&next| Some(next) != end);
        work.extend(next.copied().filter(|&next| seen.insert(next)));
    }
    seen.into_iter().collect()
}

/// The lanes of an operation: it names them, or the `WARPSYNC` before it does, which is given as well; otherwise they are all
/// of the warp.
fn mask(kernel: &MachineKernel, flow: &Flow, pc: usize) -> (Src, Option<usize>) {
    let inst = &kernel.insts[pc];
    match inst.op {
        Op::Vote { .. } => (inst.src[0], None),
        Op::Match { .. } | Op::Redux { .. } => (inst.src[1], None),
        _ => {
            let begin = flow.block(flow.block_of(Pc(pc as u32))).first.index();
            let gathers = begin.checked_sub(1).filter(|&before| kernel.insts[before].op == Op::Warpsync {});
            (gathers.map_or(Src::imm(u32::MAX), |before| kernel.insts[before].src[0]), gathers)
        }
    }
}

/// Makes room for an instruction before every site, to which branches to the site then go.
fn make_room(kernel: &mut MachineKernel, sites: &BTreeSet<usize>) {
    let sites: Vec<usize> = sites.iter().copied().collect();
    let moved = |pc: Pc| Pc(pc.0 + sites.partition_point(|&site| site < pc.index()) as u32);
    let count = kernel.insts.len() + sites.len();
    let (mut insts, mut lines): (Vec<Inst>, Vec<SourceLine>) =
        (Vec::with_capacity(count), Vec::with_capacity(count));
    for (pc, (inst, line)) in kernel.insts.iter().zip(&kernel.lines).enumerate() {
        if sites.binary_search(&pc).is_ok() {
            insts.push(Inst::new(Op::BraDiv {}));
            lines.push(*line);
        }
        let target = if inst.jumps_to().is_some() { moved(inst.target) } else { inst.target };
        insts.push(Inst { target, ..*inst });
        lines.push(*line);
    }
    (kernel.insts, kernel.lines) = (insts, lines);
    kernel.functions.iter_mut().for_each(|(pc, _)| *pc = moved(*pc));
    kernel.entries.iter_mut().for_each(|(_, pc)| *pc = moved(*pc));
    kernel.traps.iter_mut().for_each(|(pc, _)| *pc = moved(*pc));
}

/// The registers that all places share.
#[derive(Clone, Copy)]
struct Shared {
    first: u8,
}

impl Shared {
    fn reg(self, number: u8) -> Reg {
        Reg(self.first + number)
    }

    fn src(self, number: u8) -> Src {
        Src::reg(self.reg(number))
    }

    fn mask(self) -> Src {
        self.src(3)
    }

    /// The second way of an operation, which begins at `begin` and ends with a branch to `back`.
    fn code(self, operation: &Inst, mask: Src, begin: Pc, back: Pc) -> Vec<Inst> {
        let mut code = self.operands(operation);
        code.push(moved(mask, self.reg(3)));
        let body = self.body(operation);
        let behind = Pc(begin.0 + (code.len() + body.len() + 2) as u32);
        code.push(Inst { target: behind, ..Inst::new(Op::WarpsyncCollective {}).srcs([self.mask()]) });
        code.extend(body);
        code.push(Inst::new(Op::EndCollective {}));
        code.extend(self.results(operation));
        code.push(Inst { target: back, ..Inst::new(Op::Bra {}) });
        code
    }

    /// Moves the operands to the shared registers.
    fn operands(self, operation: &Inst) -> Vec<Inst> {
        let plain = |src: Src| Src { neg: false, abs: false, ..src };
        match operation.op {
            Op::Vote { .. } => {
                // Its own bit if the predicate holds, and its own bit.
                let own = Inst::new(Op::S2r { sr: SpecialReg::LaneMaskEq }).dst(self.reg(1));
                let mut bit = Inst::new(Op::Sel {}).srcs([self.src(1), Src::RZ]).dst(self.reg(0));
                bit.psrc[0] = operation.psrc[0];
                vec![own, bit]
            }
            Op::Shfl { .. } => {
                (0..3).map(|number| moved(operation.src[usize::from(number)], self.reg(number))).collect()
            }
            Op::Match { wide: Wide(true), .. } => {
                vec![Inst::new(Op::MovPair {}).srcs([operation.src[0]]).dst(self.reg(0))]
            }
            _ => vec![moved(plain(operation.src[0]), self.reg(0))],
        }
    }

    /// What the lanes execute together. It is the same at all places of one operation.
    fn body(self, operation: &Inst) -> Vec<Inst> {
        let or = |number: u8| {
            let op = Op::Redux { op: ReduxOp::Or, ty: ReduxTy::U32, nan: NanProp(false) };
            Inst::new(op).srcs([self.src(number), self.mask()]).dst(self.reg(number))
        };
        let again = |srcs: [Src; 3]| Inst::new(operation.op).srcs(srcs).dst(self.reg(0));
        match operation.op {
            Op::Vote { .. } => vec![or(0), or(1)],
            Op::Shfl { .. } => vec![again([self.src(0), self.src(1), self.src(2)])],
            _ => {
                let value = Src { operand: self.src(0).operand, ..operation.src[0] };
                vec![again([value, self.mask(), Src::NONE])]
            }
        }
    }

    /// Moves the results to the places of the operation's own.
    fn results(self, operation: &Inst) -> Vec<Inst> {
        let compared = |pred: Pred, cmp: ICmp, with: Src| {
            let mut inst =
                Inst::new(Op::Isetp { cmp, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) });
            inst.src[..2].copy_from_slice(&[self.src(0), with]);
            inst.pdst[0] = pred;
            inst.psrc[0] = PredSrc::TRUE;
            inst
        };
        let own = operation.pdst[0];
        let mut results = Vec::new();
        match operation.op {
            Op::Vote { mode: VoteMode::Ballot } => {}
            Op::Vote { mode: VoteMode::Any } => results.push(compared(own, ICmp::Ne, Src::RZ)),
            Op::Vote { mode: VoteMode::All } => results.push(compared(own, ICmp::Eq, self.src(1))),
            Op::Vote { mode: VoteMode::Uni } => {
                // All or none.
                let mut all = compared(own, ICmp::Eq, Src::RZ);
                results.push(all);
                all = compared(own, ICmp::Eq, self.src(1));
                if let Op::Isetp { bop, .. } = &mut all.op {
                    *bop = BoolOp::Or;
                }
                all.psrc[0] = PredSrc::of(own);
                results.push(all);
            }
            // Whether its lane is in range depends on the operands alone, which are still where they were.
            Op::Shfl { .. } if !own.is_true() => {
                results.push(Inst { dst: Reg::RZ, guard: PredSrc::TRUE, ..*operation });
            }
            Op::Match { .. } if !own.is_true() => results.push(compared(own, ICmp::Ne, Src::RZ)),
            _ => {}
        }
        if !operation.dst.is_zero() && !matches!(operation.op, Op::Vote { mode } if mode != VoteMode::Ballot)
        {
            results.push(moved(self.src(0), operation.dst));
        }
        results
    }
}

fn moved(source: Src, to: Reg) -> Inst {
    Inst::new(Op::Mov {}).srcs([source]).dst(to)
}
