//! Which products and sums of a function are one fused multiply-add when contraction is on: the oracle's own reading
//! of the rule, on PTX registers.
//!
//! A `mul` and an `add` or `sub` are fused when neither names a rounding, they have one type and agree on `.ftz`, the
//! `mul` neither saturates nor has a guard, and the sum reads its product, copied or negated at most, in the same run
//! of statements. All uses of the product must be such sums; a result that the caller does not read is no use, but a division with a slow
//! path is one even if nothing reads its quotient, because its code stays. Sums choose in the order of the text; of
//! two products they take the one with fewer sums, else the first. A product with several sums is left where one of them
//! could take a product with fewer, and a product that is added to a fused one is no product to later sums.
//!
//! Constants, copies and statements that never execute are known before ([`super::known`]): a product of constants in single
//! or double precision is a constant, and what such an instruction would read is no use.
//!
//! A run ends at a label that is jumped to, a branch or call, a guarded instruction that does more than compute, and
//! an IEEE division or root or a 64-bit integer division.

use super::known::{Fact, Known};
use emulator::ptx::{
    Accuracy, AddOp, Body, FmaOp, Formal, Function, Inst, MovShape, MulOp, Op, Operand, RegId, Rounding,
    ScalarType, Statement,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A sum that is fused: which of its operands is a product, computed where, and negated or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fused {
    /// 0 or 1.
    pub operand: usize,
    /// Statement of the `mul`.
    pub product: usize,
    /// Whether the product is negated on its way, `sub` left aside.
    pub negated: bool,
}

/// What is fused in a function, by statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Contraction {
    /// Sums.
    pub sums: HashMap<usize, Fused>,
    /// Products whose factors sums want.
    pub products: BTreeSet<usize>,
    /// Which results of the function that it calls are wanted afterwards, for every call.
    pub calls: HashMap<usize, Vec<bool>>,
}

/// What a register holds within a run: the product of a statement, negated or not.
type Tag = (usize, bool);

struct Product {
    op: MulOp,
    /// Sums that are not fused yet, with the operand that is the product and its sign.
    sums: Vec<(usize, usize, bool)>,
    /// How many sums there are in all.
    count: usize,
    /// Something else wants it.
    kept: bool,
}

/// The walk over a function.
#[derive(Default)]
struct Walk {
    tags: HashMap<RegId, Tag>,
    products: BTreeMap<usize, Product>,
}

impl Contraction {
    /// Of a function's code, when its caller wants some of its results.
    pub(super) fn of(function: &Function, body: &Body, wanted: &[bool]) -> Self {
        let known = Known::of(function, body);
        let live = Liveness::of(function, body, wanted, &known);
        let jumped_to = jumped_to(body);
        let mut walk = Walk::default();
        for (at, statement) in body.statements.iter().enumerate() {
            match statement {
                Statement::Label(label) if jumped_to.contains(&label.index()) => {
                    walk.end_run(&live.before[at]);
                }
                Statement::Inst(inst) => {
                    if live.needed[at] {
                        walk.visit(at, inst, &known, &live.after[at]);
                    }
                    if ends_run(inst) {
                        walk.end_run(&live.after[at]);
                    }
                }
                _ => {}
            }
        }
        Self { calls: live.calls(body), ..choose(walk.products) }
    }
}

impl Walk {
    fn keep(&mut self, product: usize) {
        if let Some(product) = self.products.get_mut(&product) {
            product.kept = true;
        }
    }

    /// Values that are wanted after a run have to be computed.
    fn end_run(&mut self, live: &BTreeSet<RegId>) {
        for (register, (product, _)) in std::mem::take(&mut self.tags) {
            if live.contains(&register) {
                self.keep(product);
            }
        }
    }

    /// Whatever an instruction reads has to be computed.
    fn keep_sources(&mut self, inst: &Inst) {
        let mut read = Vec::new();
        inst.srcs().iter().for_each(|source| source.for_each_reg(|reg| read.push(reg)));
        for reg in read {
            if let Some(&(product, _)) = self.tags.get(&reg) {
                self.keep(product);
            }
        }
    }

    fn tag(&self, operand: &Operand) -> Option<Tag> {
        self.tags.get(&operand.reg()?).copied()
    }

    /// Whether a product is of the kind that a sum takes.
    fn fits(&self, product: usize, ty: ScalarType, ftz: bool) -> bool {
        self.products.get(&product).is_some_and(|p| p.op.ty == ty && p.op.ftz == ftz)
    }

    /// One instruction: which products it uses, and what its registers hold afterwards.
    fn visit(&mut self, at: usize, inst: &Inst, known: &Known, live_after: &BTreeSet<RegId>) {
        let guarded = known.guarded(at);
        // A register that is given what it holds stays as it is, whatever the guard.
        if let (Op::Mov { shape: MovShape::Scalar, .. }, [dst]) = (inst.op, inst.dsts())
            && self.tag(dst).is_some()
            && self.tag(dst) == self.tag(&inst.srcs()[0])
        {
            return;
        }
        let mut result = None;
        match inst.op {
            _ if known.fact(at) == Fact::Constant => {}
            _ if let Fact::Copy(source) = known.fact(at) => result = self.tag(&inst.srcs()[source]),
            Op::Mul(op) if is_product(&op) && !guarded => {
                self.keep_sources(inst);
                self.products.insert(at, Product { op, sums: Vec::new(), count: 0, kept: false });
                result = Some((at, false));
            }
            Op::Add(op) | Op::Sub(op) if is_sum(&op) => self.sum(at, inst, &op),
            Op::Neg { ty, ftz } if !guarded => {
                let tag = self.tag(&inst.srcs()[0]);
                let through = tag.filter(|(p, _)| self.fits(*p, ty, ftz) || self.fits(*p, ty, true));
                match through {
                    Some((product, negated)) => result = Some((product, !negated)),
                    None => self.keep_sources(inst),
                }
            }
            // The sign bit flipped as a word.
            Op::Xor(bits) if !guarded => {
                let sign = Operand::Imm(1 << (bits.bits() - 1));
                let [a, b] = [&inst.srcs()[0], &inst.srcs()[1]];
                let flipped = if *b == sign { self.tag(a) } else { self.tag(b).filter(|_| *a == sign) };
                let ty = if bits.bits() == 64 { ScalarType::F64 } else { ScalarType::F32 };
                match flipped.filter(|(p, _)| self.fits(*p, ty, false) || self.fits(*p, ty, true)) {
                    Some((product, negated)) => result = Some((product, !negated)),
                    None => self.keep_sources(inst),
                }
            }
            _ => self.keep_sources(inst),
        }
        for dst in inst.dsts().iter().flat_map(Operand::elements) {
            let Some(reg) = dst.reg() else { continue };
            // Where the guard is false the register goes on holding the product.
            if let Some((product, _)) = self.tags.remove(&reg)
                && guarded
                && live_after.contains(&reg)
            {
                self.keep(product);
            }
            if let Some(tag) = result {
                self.tags.insert(reg, tag);
            }
        }
    }

    fn sum(&mut self, at: usize, inst: &Inst, op: &AddOp) {
        let found = [0, 1].map(|i| self.tag(&inst.srcs()[i]));
        let with_itself = found[0].zip(found[1]).is_some_and(|(a, b)| a.0 == b.0);
        for (i, tag) in found.into_iter().enumerate() {
            let Some((product, negated)) = tag else { continue };
            if with_itself || !self.fits(product, op.ty, op.ftz) {
                self.keep(product);
            } else if let Some(product) = self.products.get_mut(&product) {
                product.sums.push((at, i, negated));
                product.count += 1;
            }
        }
    }
}

fn is_product(op: &MulOp) -> bool {
    op.mode.is_none() && op.rounding.is_none() && !op.sat
}

fn is_sum(op: &AddOp) -> bool {
    op.ty.is_float() && op.rounding.is_none() && op.narrow.is_none()
}

/// Lets sums choose, in the order of the text.
fn choose(mut products: BTreeMap<usize, Product>) -> Contraction {
    let mut order = BTreeMap::<usize, [Option<(usize, bool)>; 2]>::new();
    for (&id, product) in &products {
        for &(sum, operand, negated) in &product.sums {
            order.entry(sum).or_default()[operand] = Some((id, negated));
        }
    }
    let mut contraction = Contraction::default();
    for (&sum, operands) in &order {
        // A product that another one with fewer sums beats at one of its own is left alone.
        let beaten = |id: usize| {
            let mine = &products[&id];
            let better =
                |other: usize| other != id && !products[&other].kept && products[&other].count < mine.count;
            mine.sums.iter().any(|(s, ..)| order[s].iter().flatten().any(|(other, _)| better(*other)))
        };
        let candidate = |i: usize| operands[i].filter(|(id, _)| !products[id].kept && !beaten(*id));
        let rank = |i: usize| candidate(i).map(|(id, _)| (products[&id].count, i));
        let Some((_, operand)) = [rank(0), rank(1)].into_iter().flatten().min() else { continue };
        let Some((product, negated)) = operands[operand] else { continue };
        contraction.sums.insert(sum, Fused { operand, product, negated });
        contraction.products.insert(product);
        if let Some((other, _)) = operands[1 - operand]
            && let Some(other) = products.get_mut(&other)
        {
            other.kept = true;
        }
        if let Some(taken) = products.get_mut(&product) {
            taken.sums.retain(|(s, ..)| *s != sum);
        }
    }
    contraction
}

/// The multiply-add that a sum becomes: its operation, and its three sources in the place of the sum's two.
pub(super) fn multiply_add(op: &Op, sum: Fused, factors: [u64; 2], sources: &mut Vec<u64>) -> Op {
    let (add, subtracts) = match op {
        Op::Sub(add) => (add, true),
        Op::Add(add) => (add, false),
        _ => unreachable!("only sums are fused"),
    };
    let signs = match add.ty {
        ScalarType::F16x2 | ScalarType::Bf16x2 => 0x8000_8000,
        ty => 1 << (ty.bits() - 1),
    };
    let mut addend = sources[1 - sum.operand];
    // The second operand of a difference is negated, whether it is the product or not.
    if subtracts && sum.operand == 0 {
        addend ^= signs;
    }
    let negated = sum.negated != (subtracts && sum.operand == 1);
    let a = if negated { factors[0] ^ signs } else { factors[0] };
    *sources = vec![a, factors[1], addend];
    let AddOp { ty, ftz, sat, .. } = *add;
    Op::Fma(FmaOp { ty, narrow: None, rounding: Rounding::Rn, ftz, sat, relu: false, oob: false })
}

/// Indices of the labels that something jumps to.
fn jumped_to(body: &Body) -> BTreeSet<usize> {
    let mut targets: BTreeSet<usize> =
        body.branch_tables.iter().flatten().map(|label| label.index()).collect();
    targets.extend(body.statements.iter().filter_map(|statement| match statement {
        Statement::Inst(Inst { op: Op::Bra { target, .. }, .. }) => Some(target.index()),
        _ => None,
    }));
    targets
}

fn ends_run(inst: &Inst) -> bool {
    match inst.op {
        Op::Bra { .. } | Op::BrxIdx { .. } | Op::Call { .. } | Op::Ret { .. } | Op::Exit | Op::Trap => true,
        _ => has_slow_path(&inst.op) || (inst.guard.is_some() && reaches_out(&inst.op)),
    }
}

/// Whether an instruction becomes code that calls a routine for rare operands.
fn has_slow_path(op: &Op) -> bool {
    match op {
        Op::Div(op) | Op::Rcp(op) | Op::Sqrt(op) => match op.accuracy {
            Accuracy::Ieee(_) => true,
            Accuracy::Integer => op.ty.bits() == 64,
            _ => false,
        },
        Op::Rem(ty) => ty.bits() == 64,
        _ => false,
    }
}

/// Whether an instruction does more than compute in the thread's registers.
fn reaches_out(op: &Op) -> bool {
    matches!(
        op,
        Op::Ld(_)
            | Op::St(_)
            | Op::Atom(_)
            | Op::Red(_)
            | Op::Prefetch { .. }
            | Op::CacheHint { .. }
            | Op::Fence(_)
            | Op::Bar(_)
            | Op::BarWarpSync
            | Op::Vote { .. }
            | Op::Shfl { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Elect
            | Op::Nanosleep
            | Op::Pmevent { .. }
            | Op::Griddepcontrol { .. }
            | Op::CpAsync(_)
            | Op::CpAsyncMbarrierArrive { .. }
            | Op::CpAsyncCommitGroup
            | Op::CpAsyncWait { .. }
            | Op::Mbarrier(_)
            | Op::WmmaLoad(_)
            | Op::WmmaStore(_)
            | Op::WmmaMma(_)
            | Op::Mma(_)
            | Op::Ldmatrix(_)
            | Op::Movmatrix
    )
}

/// Registers that are wanted, and the statements that make them. A register that only useless statements read is not
/// wanted.
struct Liveness {
    before: Vec<BTreeSet<RegId>>,
    after: Vec<BTreeSet<RegId>>,
    needed: Vec<bool>,
}

impl Liveness {
    fn of(function: &Function, body: &Body, wanted: &[bool], known: &Known) -> Self {
        let count = body.statements.len();
        let returned: BTreeSet<RegId> = function
            .returns
            .iter()
            .zip(wanted)
            .filter_map(|(formal, wanted)| match formal {
                Formal::Reg(reg) if *wanted => Some(*reg),
                _ => None,
            })
            .collect();
        let none = || vec![BTreeSet::new(); count];
        let mut live = Self { before: none(), after: none(), needed: vec![false; count] };
        loop {
            let mut changed = false;
            for at in (0..count).rev() {
                let mut after = BTreeSet::new();
                let (next, ends) = known.successors(body, at);
                for next in next {
                    match live.before.get(next) {
                        Some(before) => after.extend(before.iter().copied()),
                        None => after.extend(returned.iter().copied()),
                    }
                }
                if ends {
                    after.extend(returned.iter().copied());
                }
                changed |= live.step(body, at, known, after);
            }
            if !changed {
                return live;
            }
        }
    }

    /// Which results of each call are wanted: those in memory, and those in registers that are read later.
    fn calls(&self, body: &Body) -> HashMap<usize, Vec<bool>> {
        let mut calls = HashMap::new();
        for (at, statement) in body.statements.iter().enumerate() {
            if let Statement::Inst(inst @ Inst { op: Op::Call { .. }, .. }) = statement {
                let wanted = |dst: &Operand| match dst {
                    Operand::Var(..) => true,
                    dst => dst.reg().is_some_and(|reg| self.after[at].contains(&reg)),
                };
                calls.insert(at, inst.dsts().iter().map(wanted).collect());
            }
        }
        calls
    }

    /// One statement backwards; whether anything is new.
    fn step(&mut self, body: &Body, at: usize, known: &Known, after: BTreeSet<RegId>) -> bool {
        let mut before = after.clone();
        if let Statement::Inst(inst) = &body.statements[at]
            && known.fact(at) != Fact::Skipped
        {
            let written: Vec<RegId> =
                inst.dsts().iter().flat_map(Operand::elements).filter_map(Operand::reg).collect();
            let stays = reaches_out(&inst.op) || ends_control(&inst.op) || has_slow_path(&inst.op);
            let pure = !stays || matches!(inst.op, Op::Ld(_));
            self.needed[at] = !pure || written.iter().any(|reg| after.contains(reg));
            if self.needed[at] {
                match inst.guard.filter(|_| known.guarded(at)) {
                    None => written.iter().for_each(|reg| {
                        before.remove(reg);
                    }),
                    Some(guard) => {
                        before.insert(guard.reg);
                    }
                }
                let read = match known.fact(at) {
                    Fact::Constant | Fact::Skipped => &[],
                    Fact::Copy(source) => &inst.srcs()[source..=source],
                    Fact::Computes => inst.srcs(),
                };
                for source in read {
                    source.for_each_reg(|reg| {
                        before.insert(reg);
                    });
                }
                if let Op::Call { callee: emulator::ptx::Callee::Indirect { pointer, .. }, .. } = inst.op {
                    before.insert(pointer);
                }
            }
        }
        let changed = before != self.before[at] || after != self.after[at];
        (self.before[at], self.after[at]) = (before, after);
        changed
    }
}

fn ends_control(op: &Op) -> bool {
    matches!(op, Op::Bra { .. } | Op::BrxIdx { .. } | Op::Call { .. } | Op::Ret { .. } | Op::Exit | Op::Trap)
}
