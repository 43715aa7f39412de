//! The allocation checker: proves that allocated machine code computes what the code before allocation does.
//!
//! It runs the machine code symbolically. Every register and predicate holds a set of values that it is known
//! to be equal to; an instruction is correct if its operands' registers hold the values that the instruction
//! named before allocation, and a branch if its target matches the block's terminator. Sets at a block's
//! start are the intersection over all incoming edges. The checker shares nothing with the allocator: no live
//! ranges, coalescing or parallel copies.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use trace_format::isa::{self, Kind, Lut, Op, Operand, PredSrc};

use super::emit::{Emitted, Origin};
use crate::lower::frame::Addressing;
use crate::lower::vir::{Blk, Func, Inst, PSrc, SubId, Term, VOp, VPred, VReg, Val};

/// A value that a register is known to hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Sym {
    /// A value.
    Reg(VReg),
    /// A literal.
    Imm(u32),
    /// A constant-bank word.
    Const(u8, u16),
}

/// A value that a predicate is known to hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct PSym {
    pred: Option<VPred>,
    not: bool,
}

/// Known values at one point.
#[derive(Clone, PartialEq, Eq)]
struct State {
    regs: Vec<BTreeSet<Sym>>,
    preds: Vec<BTreeSet<PSym>>,
}

impl State {
    fn empty() -> State {
        State { regs: vec![BTreeSet::new(); 256], preds: vec![BTreeSet::new(); 8] }
    }

    /// Keeps the knowledge common to both states; returns whether this removed something.
    fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (a, b) in self.regs.iter_mut().zip(&other.regs) {
            let n = a.len();
            a.retain(|s| b.contains(s));
            changed |= a.len() != n;
        }
        for (a, b) in self.preds.iter_mut().zip(&other.preds) {
            let n = a.len();
            a.retain(|s| b.contains(s));
            changed |= a.len() != n;
        }
        changed
    }

    fn define(&mut self, reg: usize, v: VReg) {
        for set in &mut self.regs {
            set.remove(&Sym::Reg(v));
        }
        self.regs[reg] = BTreeSet::from([Sym::Reg(v)]);
    }

    fn pdefine(&mut self, pred: usize, v: VPred) {
        for set in &mut self.preds {
            set.retain(|s| s.pred != Some(v));
        }
        self.preds[pred] = BTreeSet::from([PSym { pred: Some(v), not: false }]);
    }

    fn operand(&self, o: &Operand) -> BTreeSet<Sym> {
        match *o {
            Operand::Reg(r) if r.is_zero() => BTreeSet::from([Sym::Imm(0)]),
            Operand::Reg(r) => self.regs[r.index()].clone(),
            Operand::Imm(x) => BTreeSet::from([Sym::Imm(x)]),
            Operand::Const { bank, offset } => BTreeSet::from([Sym::Const(bank, offset)]),
            Operand::Uniform(_) | Operand::None => BTreeSet::new(),
        }
    }

    fn predicate(&self, p: PredSrc) -> BTreeSet<PSym> {
        if p.pred.is_true() {
            return BTreeSet::from([PSym { pred: None, not: p.not }]);
        }
        self.preds[p.pred.index()].iter().map(|s| PSym { pred: s.pred, not: s.not != p.not }).collect()
    }
}

/// Destination of control flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Destination {
    At(u32),
    Exit,
    Return,
    Trap,
}

/// The value of a block's condition, if it has one.
type Condition = Option<(PSrc, bool)>;

struct Checker<'a> {
    f: &'a Func,
    code: &'a Emitted,
    entry: FxHashMap<Blk, State>,
    /// State at the return of each subroutine.
    exits: FxHashMap<SubId, State>,
    error: Option<String>,
    report: bool,
    addressing: Addressing,
}

/// Checks machine code against the code before allocation (in single assignment, legal, scheduled).
///
/// # Errors
/// The first difference, with its place in the machine code.
pub(crate) fn check(before: &Func, code: &Emitted, addressing: Addressing) -> Result<(), String> {
    let mut c = Checker {
        f: before,
        code,
        entry: FxHashMap::default(),
        exits: FxHashMap::default(),
        error: None,
        report: false,
        addressing,
    };
    c.entry.insert(Blk(0), State::empty());
    // Sets only shrink, so this ends.
    loop {
        let mut changed = false;
        for &b in &before.order {
            if let Some(state) = c.entry.get(&b).cloned() {
                changed |= c.block(b, state);
            }
        }
        if !changed {
            break;
        }
    }
    c.report = true;
    for &b in &before.order {
        if let Some(state) = c.entry.get(&b).cloned() {
            c.block(b, state);
        }
    }
    match c.error {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

impl Checker<'_> {
    fn fail(&mut self, pc: u32, why: impl FnOnce() -> String) {
        if self.report && self.error.is_none() {
            let text = self.code.insts.get(pc as usize).map(ToString::to_string).unwrap_or_default();
            self.error = Some(format!("PC {pc}, `{text}`: {}", why()));
        }
    }

    /// Runs a block and passes the result on; returns whether the state of a successor changed.
    fn block(&mut self, b: Blk, mut state: State) -> bool {
        let (start, end) = self.code.ranges.get(&b).copied().unwrap_or((0, 0));
        let mut expected = self.f.block(b).insts.clone().into_iter();
        let mut changed = false;
        let mut pc = start;
        while pc < end {
            let inst = self.code.insts[pc as usize];
            match self.code.origins[pc as usize] {
                Origin::Inst(id) => {
                    if expected.next() != Some(id) {
                        self.fail(pc, || "not the next instruction of its block".into());
                    }
                    let before = self.f.inst(id).clone();
                    if let VOp::Call(sub) = before.op {
                        match self.call(pc, &before, sub, &mut state) {
                            Some(c) => changed |= c,
                            // The subroutine's effect is not known yet.
                            None => return changed,
                        }
                    } else {
                        self.instruction(pc, &before, &inst, &mut state);
                    }
                    pc += 1;
                }
                Origin::Glue if is_control(&inst) => break,
                Origin::Glue => pc += self.glue(pc, &mut state),
            }
        }
        if expected.next().is_some() {
            self.fail(pc.min(end.saturating_sub(1)), || {
                format!("an instruction of block {} is missing", b.0)
            });
        }
        self.terminator(b, pc, end, &state);
        changed | self.pass_on(b, &state)
    }

    /// A move, or three exclusive ors that swap; returns how many instructions it took.
    fn glue(&mut self, pc: u32, state: &mut State) -> u32 {
        let inst = self.code.insts[pc as usize];
        let xor = Lut(Lut::A ^ Lut::B);
        if !inst.is_unguarded() {
            self.fail(pc, || "a copy is guarded".into());
        }
        match inst.op {
            Op::Mov {} => {
                state.regs[inst.dst.index()] = state.operand(&inst.src[0].operand);
                1
            }
            Op::Lop3 { lut } if lut == xor => {
                let (Some(a), Some(b)) = (inst.src[0].as_reg(), inst.src[1].as_reg()) else {
                    self.fail(pc, || "not a swap".into());
                    return 1;
                };
                let swap = [a, b, a].iter().enumerate().all(|(i, d)| {
                    self.code.insts.get(pc as usize + i).is_some_and(|x| {
                        x.op == inst.op
                            && x.dst == *d
                            && x.src[0] == inst.src[0]
                            && x.src[1] == inst.src[1]
                            && x.is_unguarded()
                    })
                });
                if !swap {
                    self.fail(pc, || "not a swap".into());
                }
                state.regs.swap(a.index(), b.index());
                3
            }
            Op::Plop3 { lut } if lut.0 == Lut::A || lut.0 == !Lut::A => {
                let flip = lut.0 != Lut::A;
                let source = state.predicate(PredSrc { not: inst.psrc[0].not != flip, ..inst.psrc[0] });
                state.preds[inst.pdst[0].index()] = source;
                1
            }
            Op::Plop3 { lut } if lut == xor => {
                let [a, b, _] = inst.psrc;
                let swap = [a, b, a].iter().enumerate().all(|(i, d)| {
                    self.code.insts.get(pc as usize + i).is_some_and(|x| {
                        x.op == inst.op
                            && x.pdst == [d.pred, isa::Pred::PT]
                            && x.psrc == inst.psrc
                            && x.is_unguarded()
                    })
                });
                if !swap || a.not || b.not {
                    self.fail(pc, || "not a swap".into());
                }
                state.preds.swap(a.pred.index(), b.pred.index());
                3
            }
            _ => {
                self.fail(pc, || "an instruction from nowhere".into());
                1
            }
        }
    }

    fn holds(&self, set: &BTreeSet<Sym>, v: Val) -> bool {
        match v {
            Val::Undef => true,
            Val::Reg(r) => set.contains(&Sym::Reg(r)),
            Val::Imm(x) => set.contains(&Sym::Imm(x)),
            Val::Const { bank, offset } => set.contains(&Sym::Const(bank, offset)),
        }
    }

    fn pholds(set: &BTreeSet<PSym>, p: PSrc) -> bool {
        set.contains(&PSym { pred: p.pred, not: p.not })
    }

    fn instruction(&mut self, pc: u32, before: &Inst, inst: &isa::Inst, state: &mut State) {
        match before.op {
            VOp::CallFunction(_) => {
                let called = self
                    .code
                    .calls
                    .iter()
                    .any(|(at, func)| *at == pc as usize && before.op == VOp::CallFunction(*func));
                if !called || inst.op != (Op::Call {}) {
                    self.fail(pc, || "the call goes elsewhere".into());
                }
                return;
            }
            VOp::FrameAddress => {
                let (base, offset) = self.addressing.operand(before.offset);
                let sum = Op::Iadd3 { x: isa::Extended(false) };
                let same = inst.src == [base, isa::Src::imm(offset as u32), isa::Src::RZ];
                if inst.op != sum || !same {
                    self.fail(pc, || "not the address of the place in the frame".into());
                }
                return self.results(pc, before, inst, state);
            }
            _ => {}
        }
        let on_stack = self.is_stack_access(before, inst, state);
        if before.machine() != Some(inst.op) || (before.offset != inst.offset && !on_stack) {
            self.fail(pc, || format!("opcode or offset is not that of {:?}", before.op));
        }
        let shape = before.op.shape();
        for i in 0..3 {
            let n = shape.src[i] as usize;
            if before.src[i].neg != inst.src[i].neg || before.src[i].abs != inst.src[i].abs {
                self.fail(pc, || format!("modifiers of source {i} differ"));
            }
            for k in 0..n {
                let want = before.src[i].v[k];
                if i == 0 && on_stack {
                    continue;
                }
                let ok = match inst.src[i].operand {
                    Operand::Reg(r) if !r.is_zero() => self.holds(&state.regs[r.index() + k], want),
                    Operand::Reg(_) => matches!(want, Val::Undef | Val::Imm(0)),
                    Operand::Const { bank, offset } => {
                        want == Val::Const { bank, offset: offset + 4 * k as u16 }
                    }
                    Operand::Imm(x) => self.literal_word(inst, n, k, x) == want,
                    Operand::Uniform(_) | Operand::None => false,
                };
                if !ok {
                    self.fail(pc, || format!("source {i} word {k} does not hold {want:?}"));
                }
            }
        }
        let guards = std::iter::once((before.guard, inst.guard));
        let sources = (0..shape.psrc as usize).map(|i| (before.psrc[i], inst.psrc[i]));
        for (want, have) in guards.chain(sources) {
            if !Self::pholds(&state.predicate(have), want) {
                self.fail(pc, || format!("predicate {have} does not hold {want:?}"));
            }
        }
        self.results(pc, before, inst, state);
    }

    /// Whether a local access at a known address was made relative to the stack pointer, which holds the size
    /// of local memory.
    fn is_stack_access(&self, before: &Inst, inst: &isa::Inst, state: &State) -> bool {
        let known = before.src[0].v[0] == Val::ZERO && inst.kind().space() == Some(isa::space::Space::Local);
        let size = Sym::Const(isa::space::BANK_PARAM, isa::space::PARAM_STACK);
        match self.addressing {
            Addressing::Fixed { local_bytes } => {
                known
                    && inst.src[0].as_reg().is_some_and(|r| state.regs[r.index()].contains(&size))
                    && inst.offset.wrapping_add(local_bytes as i32) == before.offset
            }
            Addressing::Framed { .. } => {
                known && (inst.src[0], inst.offset) == self.addressing.operand(before.offset)
            }
        }
    }

    /// The word `k` of a literal operand of `n` words.
    fn literal_word(&self, inst: &isa::Inst, n: usize, k: usize, x: u32) -> Val {
        if n == 1 {
            return Val::Imm(x);
        }
        Val::Imm(inst.op.literal_pair(x).get(k).copied().unwrap_or(0))
    }

    fn results(&mut self, pc: u32, before: &Inst, inst: &isa::Inst, state: &mut State) {
        let n = before.op.shape().dst as usize;
        for k in 0..n {
            if before.tied[k] != Val::Undef && before.guard != PSrc::TRUE && before.dst[k].is_some() {
                let set = &state.regs[inst.dst.index() + k];
                if !self.holds(set, before.tied[k]) {
                    self.fail(pc, || {
                        format!(
                            "destination word {k} does not hold {:?} where the guard is false",
                            before.tied[k]
                        )
                    });
                }
            }
        }
        for k in 0..n {
            match (before.dst[k], inst.dst.is_zero()) {
                (Some(d), false) => state.define(inst.dst.index() + k, d),
                (Some(_), true) => self.fail(pc, || "a result is lost".into()),
                (None, false) => self.fail(pc, || "an unwanted result is written".into()),
                (None, true) => {}
            }
        }
        for k in 0..before.op.shape().pdst as usize {
            match (before.pdst[k], inst.pdst[k].is_true()) {
                (Some(p), false) => state.pdefine(inst.pdst[k].index(), p),
                (Some(_), true) => self.fail(pc, || "a predicate result is lost".into()),
                (None, false) => self.fail(pc, || "an unwanted predicate is written".into()),
                (None, true) => {}
            }
        }
    }

    /// Passes arguments to a subroutine and takes its results; `None` while its end has not been reached.
    fn call(&mut self, pc: u32, before: &Inst, sub: SubId, state: &mut State) -> Option<bool> {
        let call = before.call.as_ref()?;
        let target = self.code.insts[pc as usize].target.0;
        if self.code.subs.get(sub.index()).map(|p| p.0) != Some(target) {
            self.fail(pc, || "the call goes elsewhere".into());
        }
        let params = self.f.subs[sub.index()].params.clone();
        let mut inside = State::empty();
        for (set, known) in inside.regs.iter_mut().zip(&state.regs) {
            // Constants (such as the stack pointer) are the same on both sides.
            set.extend(known.iter().copied().filter(|s| !matches!(s, Sym::Reg(_))));
            for (param, arg) in params.iter().zip(&call.args) {
                if self.holds(known, *arg) {
                    set.insert(Sym::Reg(*param));
                }
            }
        }
        let changed = self.arrive(self.f.subs[sub.index()].entry, &inside);
        let exit = self.exits.get(&sub)?;
        let (written, pwritten) = self.clobbered(sub);
        for r in written {
            let mut set = BTreeSet::new();
            for (result, v) in call.results.iter().zip(&self.f.subs[sub.index()].results) {
                if self.holds(&exit.regs[r], *v) {
                    set.insert(Sym::Reg(*result));
                }
            }
            state.regs[r] = set;
        }
        // A result that is an unchanged argument stays where the argument is.
        for (result, v) in call.results.iter().zip(&self.f.subs[sub.index()].results) {
            if let (Val::Reg(v), false) = (*v, state.regs.iter().any(|s| s.contains(&Sym::Reg(*result))))
                && let Some(k) = params.iter().position(|p| *p == v)
            {
                let arg = call.args[k];
                let places: Vec<usize> = (0..256).filter(|&r| self.holds(&state.regs[r], arg)).collect();
                for r in places {
                    state.regs[r].insert(Sym::Reg(*result));
                }
            }
        }
        for p in pwritten {
            state.preds[p].clear();
        }
        Some(changed)
    }

    /// Registers and predicates that a subroutine's code writes.
    fn clobbered(&self, sub: SubId) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut regs, mut preds) = (BTreeSet::new(), BTreeSet::new());
        for &b in &self.f.order {
            if self.f.block(b).sub == Some(sub) {
                let (start, end) = self.code.ranges.get(&b).copied().unwrap_or((0, 0));
                for inst in &self.code.insts[start as usize..end as usize] {
                    regs.extend(inst.dst_regs().map(isa::Reg::index));
                    preds.extend(inst.dst_preds().map(isa::Pred::index));
                }
            }
        }
        (regs, preds)
    }

    /// Destination from `pc` on for lanes with a given value of the block's condition.
    fn destination(&self, mut pc: u32, end: u32, condition: Condition, state: &State) -> Option<Destination> {
        while pc < end {
            let inst = &self.code.insts[pc as usize];
            let taken = if inst.is_unguarded() {
                true
            } else {
                let (p, value) = condition?;
                let known = state.predicate(inst.guard);
                if Self::pholds(&known, p) {
                    value
                } else if Self::pholds(&known, p.negated()) {
                    !value
                } else {
                    return None;
                }
            };
            if taken {
                return match inst.op {
                    Op::Bra {} => Some(Destination::At(inst.target.0)),
                    Op::Exit {} => Some(Destination::Exit),
                    Op::Ret {} => Some(Destination::Return),
                    Op::Bpt {} => Some(Destination::Trap),
                    _ => None,
                };
            }
            pc += 1;
        }
        Some(Destination::At(end))
    }

    /// Destination of a branch to a block: its first instruction, or the block's own destination if it is
    /// empty.
    fn meaning(&self, b: Blk) -> Option<Destination> {
        let mut b = b;
        for _ in 0..=self.f.order.len() {
            if let Some((start, _)) = self.code.ranges.get(&b) {
                return Some(Destination::At(*start));
            }
            match self.f.block(b).term {
                Term::Goto(to) => b = to,
                Term::Exit => return Some(Destination::Exit),
                Term::Return => return Some(Destination::Return),
                Term::Trap(_) => return Some(Destination::Trap),
                Term::If(..) => return None,
            }
        }
        None
    }

    fn terminator(&mut self, b: Blk, pc: u32, end: u32, state: &State) {
        if !self.code.ranges.contains_key(&b) {
            return;
        }
        let cases: Vec<(Condition, Option<Destination>)> = match self.f.block(b).term {
            Term::Goto(to) => vec![(None, self.meaning(to))],
            Term::If(p, yes, no) => {
                let mut cases =
                    vec![(Some((p, true)), self.meaning(yes)), (Some((p, false)), self.meaning(no))];
                // A literal condition has one case only.
                cases.retain(|(case, _)| p.constant().is_none_or(|value| *case == Some((p, value))));
                cases
            }
            Term::Exit => vec![(None, Some(Destination::Exit))],
            Term::Return => vec![(None, Some(Destination::Return))],
            Term::Trap(_) => vec![(None, Some(Destination::Trap))],
        };
        for (condition, want) in cases {
            let have = self.destination(pc, end, condition, state);
            // An empty block's exit may be an explicit instruction of its own.
            let same = have == want
                || matches!((have, want), (Some(Destination::At(at)), Some(other)) if self.at(at) == Some(other))
                || matches!((have, want), (Some(other), Some(Destination::At(at))) if self.at(at) == Some(other));
            if !same || want.is_none() {
                self.fail(pc, || format!("block {} goes to {have:?} instead of {want:?}", b.0));
            }
        }
    }

    /// Destination of the single unconditional control instruction at a position.
    fn at(&self, pc: u32) -> Option<Destination> {
        let inst = self.code.insts.get(pc as usize)?;
        match inst.op {
            Op::Exit {} if inst.is_unguarded() => Some(Destination::Exit),
            Op::Ret {} if inst.is_unguarded() => Some(Destination::Return),
            _ if self.code.epilogue == Some(isa::Pc(pc)) => Some(Destination::Return),
            _ => None,
        }
    }

    /// Propagates a block's final state to its successors.
    fn pass_on(&mut self, b: Blk, state: &State) -> bool {
        let mut changed = false;
        let block = self.f.block(b);
        if let (Term::Return, Some(sub)) = (block.term, block.sub) {
            match self.exits.get_mut(&sub) {
                Some(exit) => changed |= exit.meet(state),
                None => {
                    self.exits.insert(sub, state.clone());
                    changed = true;
                }
            }
        }
        let succs: Vec<Blk> = block.term.succs().collect();
        for s in succs {
            let target = self.f.block(s);
            let edges: Vec<usize> = (0..target.preds.len()).filter(|&i| target.preds[i] == b).collect();
            for edge in edges {
                let mut arrived = state.clone();
                self.phis(s, edge, &mut arrived);
                changed |= self.arrive(s, &arrived);
            }
        }
        changed
    }

    /// Renames values over an edge: what holds a phi's argument holds the phi.
    fn phis(&self, to: Blk, edge: usize, state: &mut State) {
        let block = self.f.block(to);
        let old = state.clone();
        for (set, was) in state.regs.iter_mut().zip(&old.regs) {
            for phi in &block.phis {
                set.remove(&Sym::Reg(phi.dst));
            }
            for phi in &block.phis {
                if self.holds(was, phi.args[edge]) {
                    set.insert(Sym::Reg(phi.dst));
                }
            }
        }
        for (set, was) in state.preds.iter_mut().zip(&old.preds) {
            for phi in &block.pphis {
                set.retain(|s| s.pred != Some(phi.dst));
            }
            for phi in &block.pphis {
                for not in [false, true] {
                    let arg = if not { phi.args[edge].negated() } else { phi.args[edge] };
                    if Self::pholds(was, arg) {
                        set.insert(PSym { pred: Some(phi.dst), not });
                    }
                }
            }
        }
    }

    fn arrive(&mut self, b: Blk, state: &State) -> bool {
        match self.entry.get_mut(&b) {
            Some(known) => known.meet(state),
            None => {
                self.entry.insert(b, state.clone());
                true
            }
        }
    }
}

fn is_control(inst: &isa::Inst) -> bool {
    matches!(inst.kind(), Kind::Branch | Kind::Exit | Kind::Return | Kind::Trap)
}

#[cfg(test)]
mod tests;
