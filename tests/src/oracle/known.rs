//! What of a function's code is known before it runs: constants, statements that never execute, and instructions that only
//! copy a source. A compiler folds these before it fuses products and sums ([`super::contract`]), so the oracle has to
//! know them too. It folds what lowering folds and no more.

use super::integer::low;
use super::pure::evaluate;
use emulator::ptx::{
    AddOp, Body, BoolOp, Comparison, Function, Inst, MovShape, MulMode, Op, Operand, RegId, Rounding,
};
use emulator::ptx::{FmaOp, ScalarType, Statement};
use std::collections::BTreeMap;

/// What is known of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Fact {
    /// It never executes.
    #[default]
    Skipped,
    /// Its results are constants, so that it reads nothing.
    Constant,
    /// Its result is the source of this number.
    Copy(usize),
    /// Nothing is known.
    Computes,
}

/// Registers with a known value.
type Values = BTreeMap<RegId, u64>;

/// What is known of a function.
pub(super) struct Known {
    facts: Vec<Fact>,
    /// For every statement whether its guard always holds, or there is none.
    always: Vec<bool>,
}

impl Known {
    /// Follows constants along all paths that are taken.
    pub(super) fn of(function: &Function, body: &Body) -> Self {
        let count = body.statements.len();
        let mut known = Self { facts: vec![Fact::Skipped; count], always: vec![false; count] };
        let mut before: Vec<Option<Values>> = vec![None; count + 1];
        before[0] = Some(Values::new());
        let mut queue = vec![0];
        while let Some(at) = queue.pop() {
            let (Some(statement), Some(values)) = (body.statements.get(at), &before[at]) else { continue };
            let mut values = values.clone();
            if let Statement::Inst(inst) = statement {
                (known.facts[at], known.always[at]) = step(function, inst, &mut values);
            } else {
                (known.facts[at], known.always[at]) = (Fact::Computes, true);
            }
            for next in known.successors(body, at).0 {
                let Some(old) = &mut before[next] else {
                    before[next] = Some(values.clone());
                    queue.push(next);
                    continue;
                };
                let common = old.len();
                old.retain(|reg, value| values.get(reg) == Some(value));
                if old.len() != common {
                    queue.push(next);
                }
            }
        }
        known
    }

    /// What is known of a statement.
    pub(super) fn fact(&self, at: usize) -> Fact {
        self.facts[at]
    }

    /// Whether a statement has a guard that may be false.
    pub(super) fn guarded(&self, at: usize) -> bool {
        !self.always[at]
    }

    /// Statements that may come next, and whether the function may end here.
    pub(super) fn successors(&self, body: &Body, at: usize) -> (Vec<usize>, bool) {
        let Statement::Inst(inst) = &body.statements[at] else { return (vec![at + 1], false) };
        if self.facts[at] == Fact::Skipped {
            return (vec![at + 1], false);
        }
        let (mut next, ends, leaves) = match inst.op {
            Op::Bra { target, .. } => (vec![body.label(target).statement], false, true),
            Op::BrxIdx { table, .. } => {
                let targets = body.branch_table(table).iter().map(|label| body.label(*label).statement);
                (targets.collect(), false, true)
            }
            Op::Ret { .. } => (Vec::new(), true, true),
            Op::Exit | Op::Trap => (Vec::new(), false, true),
            _ => (Vec::new(), false, false),
        };
        if !leaves || self.guarded(at) {
            next.push(at + 1);
        }
        (next, ends)
    }
}

/// One instruction: what is known of it, and whether its guard always holds.
fn step(function: &Function, inst: &Inst, values: &mut Values) -> (Fact, bool) {
    let guard = inst.guard.map(|guard| values.get(&guard.reg).map(|value| (*value != 0) != guard.negated));
    if guard == Some(Some(false)) {
        return (Fact::Skipped, false);
    }
    let always = guard != Some(None);
    let bits = |reg: RegId| function.register(reg).ty.bits();
    let sources: Vec<Option<u64>> =
        inst.srcs().iter().flat_map(Operand::elements).map(|source| value(source, values, &bits)).collect();
    let mut fact = Fact::Computes;
    let mut results: Vec<Option<u64>> = Vec::new();
    if always {
        let all: Option<Vec<u64>> = sources.iter().copied().collect();
        let folded =
            all.filter(|_| folds(&inst.op)).and_then(|all| evaluate(&inst.op, &all, &mut false).ok());
        if let Some(folded) = folded.filter(|results| !is_nan(&inst.op, results[0])) {
            fact = Fact::Constant;
            results = folded.iter().copied().map(Some).collect();
        } else if let Some(holds) = compared_with_itself(inst) {
            fact = Fact::Constant;
            results = [holds, !holds].map(|holds| Some(u64::from(holds))).into();
        } else if let Some(constant) = absorbed(inst, &sources) {
            fact = Fact::Constant;
            results = vec![Some(constant)];
        } else if let Some(source) = copied(inst, &sources) {
            fact = Fact::Copy(source);
            results = vec![sources[source]];
        }
    }
    for (number, dst) in inst.dsts().iter().flat_map(Operand::elements).enumerate() {
        let Some(reg) = dst.reg() else { continue };
        match results.get(number).copied().flatten() {
            Some(value) => values.insert(reg, low(value, bits(reg))),
            None => values.remove(&reg),
        };
    }
    (fact, always)
}

fn value(source: &Operand, values: &Values, bits: &impl Fn(RegId) -> u32) -> Option<u64> {
    match source {
        Operand::Reg(reg) => values.get(reg).copied(),
        Operand::NotReg(reg) => values.get(reg).map(|value| value ^ 1),
        Operand::RegOffset(reg, offset) => {
            values.get(reg).map(|value| low(value.wrapping_add_signed(*offset), bits(*reg)))
        }
        Operand::Imm(value) => Some(*value),
        _ => None,
    }
}

/// Whether lowering computes an instruction whose sources are all constants.
fn folds(op: &Op) -> bool {
    use ScalarType as T;
    let word = |ty: T| matches!(ty, T::F32);
    match *op {
        Op::Add(AddOp { ty: T::F64, rounding, .. }) | Op::Sub(AddOp { ty: T::F64, rounding, .. }) => {
            rounding.is_none_or(|rounding| rounding == Rounding::Rn)
        }
        Op::Mul(mul) if mul.mode.is_none() => {
            word(mul.ty) || mul.ty == T::F64 && mul.rounding.is_none_or(|rounding| rounding == Rounding::Rn)
        }
        Op::Add(add) | Op::Sub(add) => {
            !add.carry_in && !add.carry_out && !add.sat && add.narrow.is_none() && !is_packed(add.ty)
                || word(add.ty)
        }
        Op::Fma(FmaOp { ty, narrow, oob, .. }) => word(ty) && narrow.is_none() && !oob,
        Op::Mul(mul) => mul.mode == Some(MulMode::Lo) || mul.mode == Some(MulMode::Wide),
        Op::Mad(mad) => mad.mode == MulMode::Lo && !mad.carry_in && !mad.carry_out && !mad.sat,
        Op::Min(op) | Op::Max(op) => !op.ty.is_float() && op.ty.bits() == 32,
        Op::Setp(compare) => !compare.ty.is_float() || word(compare.ty) || compare.ty == T::F64,
        Op::Neg { ty, .. } => !is_packed(ty),
        Op::Mov { shape: MovShape::Scalar, .. }
        | Op::And(_)
        | Op::Or(_)
        | Op::Xor(_)
        | Op::Not(_)
        | Op::Lop3 { combine: None, .. }
        | Op::Shl(_)
        | Op::Shr(_)
        | Op::Selp(_) => true,
        _ => false,
    }
}

/// Halves and packed numbers, whose arithmetic lowering does not fold.
fn is_packed(ty: ScalarType) -> bool {
    use ScalarType as T;
    matches!(ty, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2 | T::F32x2 | T::U16x2 | T::S16x2 | T::U8x4 | T::S8x4)
}

/// Whether a result is NaN, which is computed when the code runs.
fn is_nan(op: &Op, result: u64) -> bool {
    match op {
        Op::Add(AddOp { ty, .. }) | Op::Sub(AddOp { ty, .. }) | Op::Fma(FmaOp { ty, .. }) => nan(*ty, result),
        Op::Mul(mul) => nan(mul.ty, result),
        _ => false,
    }
}

fn nan(ty: ScalarType, bits: u64) -> bool {
    match ty {
        ScalarType::F32 => f32::from_bits(bits as u32).is_nan(),
        ScalarType::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// The result of an integer instruction that one constant decides.
fn absorbed(inst: &Inst, sources: &[Option<u64>]) -> Option<u64> {
    let is = |value: u64| sources.iter().take(2).any(|source| *source == Some(value));
    match inst.op {
        Op::And(_) if is(0) => Some(0),
        Op::Or(ty) if is(low(u64::MAX, ty.bits())) => Some(low(u64::MAX, ty.bits())),
        Op::Xor(_) if same(inst) => Some(0),
        Op::Sub(AddOp { ty, carry_in: false, carry_out: false, sat: false, .. })
            if !ty.is_float() && same(inst) =>
        {
            Some(0)
        }
        Op::Mul(mul) if mul.mode == Some(MulMode::Lo) && is(0) => Some(0),
        Op::Setp(compare) if inst.dsts().len() == 1 => {
            match (compare.combine, sources.get(2).copied().flatten()) {
                (Some(BoolOp::And), Some(0)) => Some(0),
                (Some(BoolOp::Or), Some(1)) => Some(1),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether an integer that is compared with itself is as the comparison asks.
fn compared_with_itself(inst: &Inst) -> Option<bool> {
    match inst.op {
        Op::Setp(compare) if !compare.ty.is_float() && compare.combine.is_none() && same(inst) => {
            Some(matches!(compare.comparison, Comparison::Eq | Comparison::Le | Comparison::Ge))
        }
        _ => None,
    }
}

/// Whether the first two sources are one register.
fn same(inst: &Inst) -> bool {
    inst.srcs().len() > 1 && inst.srcs()[0].reg().is_some() && inst.srcs()[0] == inst.srcs()[1]
}

/// The source that an instruction copies: a choice that is known or has one outcome, or an operation that changes nothing.
fn copied(inst: &Inst, sources: &[Option<u64>]) -> Option<usize> {
    let equal = || same(inst) || sources[0].is_some() && sources[0] == sources[1];
    // The other source, if one of two has a value.
    let beside = |value: u64| match (sources[0] == Some(value), sources[1] == Some(value)) {
        (_, true) => Some(0),
        (true, _) => Some(1),
        _ => None,
    };
    match inst.op {
        Op::Mov { shape: MovShape::Scalar, .. } => Some(0),
        Op::Selp(_) => match sources[2] {
            Some(chosen) => Some(usize::from(chosen == 0)),
            None => equal().then_some(0),
        },
        Op::Slct { selector_ty, .. } => match sources[2] {
            Some(sign) if selector_ty != ScalarType::F32 => Some(usize::from((sign as u32 as i32) < 0)),
            _ => equal().then_some(0),
        },
        Op::And(ty) => beside(low(u64::MAX, ty.bits())).or(same(inst).then_some(0)),
        Op::Or(_) => beside(0).or(same(inst).then_some(0)),
        Op::Xor(_) => beside(0),
        Op::Add(add) if !add.ty.is_float() && !add.carry_in && !add.carry_out && !is_packed(add.ty) => {
            beside(0)
        }
        Op::Sub(sub) if !sub.ty.is_float() && !sub.carry_in && !sub.carry_out && !is_packed(sub.ty) => {
            (sources[1] == Some(0)).then_some(0)
        }
        Op::Mul(mul) if mul.mode == Some(MulMode::Lo) => beside(1),
        Op::Shl(_) | Op::Shr(_) => (sources[1] == Some(0)).then_some(0),
        Op::Min(op) | Op::Max(op) if !op.ty.is_float() && op.ty.bits() == 32 && !op.three => {
            equal().then_some(0)
        }
        _ => None,
    }
}
