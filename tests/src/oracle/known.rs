//! What of a function's code is known before it runs: constants, statements that never execute, and instructions that only
//! copy a source. A compiler folds these before it fuses products and sums ([`super::contract`]), so the oracle has to
//! know them too. It folds what lowering folds and no more.

use super::integer::low;
use super::pure::evaluate;
use emulator::ptx::{
    AddOp, Body, BoolOp, Comparison, Function, Inst, MovShape, MulMode, Op, Operand, RegId, Rounding,
};
use emulator::ptx::{Address, AddressBase, SpecialRegister, StateSpace, VarId};
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

/// Where the value of a register comes from. Two registers of one origin hold the same value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Bytes of a parameter of the kernel, or of a constant variable: the variable, the first of them, the bits.
    Constant(VarId, i64, u32),
    /// A special register that is the same for all threads of a launch.
    Launch(SpecialRegister),
    /// A result of a statement, when that was last executed.
    Result(usize, usize),
}

/// What is known of the registers.
#[derive(Clone, Default)]
struct Values {
    /// Those with a known value.
    constants: BTreeMap<RegId, u64>,
    /// Those of which it is known where they come from.
    origins: BTreeMap<RegId, Origin>,
}

impl Values {
    /// Keeps what is known on another path as well; whether something else was known.
    fn keep_common(&mut self, other: &Self) -> bool {
        let before = (self.constants.len(), self.origins.len());
        self.constants.retain(|reg, value| other.constants.get(reg) == Some(value));
        self.origins.retain(|reg, origin| other.origins.get(reg) == Some(origin));
        before != (self.constants.len(), self.origins.len())
    }

    /// Whether two sources are one register, or have one origin.
    fn are_same(&self, a: &Operand, b: &Operand) -> bool {
        let (Some(a), Some(b)) = (a.reg(), b.reg()) else { return false };
        a == b || self.origins.get(&a).is_some_and(|origin| self.origins.get(&b) == Some(origin))
    }

    /// Gives a register a new value, the result of a statement with this number.
    fn set_result(&mut self, reg: RegId, at: usize, number: usize) {
        let origin = Origin::Result(at, number);
        self.origins.retain(|_, other| *other != origin);
        self.origins.insert(reg, origin);
    }

    /// Where a register's value comes from; if that is not known, the statement that copies it counts.
    fn origin_of(&mut self, reg: RegId, at: usize, number: usize) -> Origin {
        if !self.origins.contains_key(&reg) {
            self.set_result(reg, at, number);
        }
        self.origins[&reg]
    }
}

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
        before[0] = Some(Values::default());
        let mut queue = vec![0];
        while let Some(at) = queue.pop() {
            let (Some(statement), Some(values)) = (body.statements.get(at), &before[at]) else { continue };
            let mut values = values.clone();
            if let Statement::Inst(inst) = statement {
                (known.facts[at], known.always[at]) = step(function, inst, at, &mut values);
            } else {
                (known.facts[at], known.always[at]) = (Fact::Computes, true);
            }
            for next in known.successors(body, at).0 {
                let Some(old) = &mut before[next] else {
                    before[next] = Some(values.clone());
                    queue.push(next);
                    continue;
                };
                if old.keep_common(&values) {
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
fn step(function: &Function, inst: &Inst, at: usize, values: &mut Values) -> (Fact, bool) {
    let guard =
        inst.guard.map(|guard| values.constants.get(&guard.reg).map(|value| (*value != 0) != guard.negated));
    if guard == Some(Some(false)) {
        return (Fact::Skipped, false);
    }
    let always = guard != Some(None);
    let bits = |reg: RegId| function.register(reg).ty.bits();
    let sources: Vec<Option<u64>> =
        inst.srcs().iter().flat_map(Operand::elements).map(|source| value(source, values, &bits)).collect();
    let same = inst.srcs().len() > 1 && values.are_same(&inst.srcs()[0], &inst.srcs()[1]);
    let mut fact = Fact::Computes;
    let mut results: Vec<Option<u64>> = Vec::new();
    if always {
        let all: Option<Vec<u64>> = sources.iter().copied().collect();
        let folded =
            all.filter(|_| folds(&inst.op)).and_then(|all| evaluate(&inst.op, &all, &mut false).ok());
        if let Some(folded) = folded.filter(|results| !is_nan(&inst.op, results[0])) {
            fact = Fact::Constant;
            results = folded.iter().copied().map(Some).collect();
        } else if let Some(holds) = compared_with_itself(inst, same) {
            fact = Fact::Constant;
            results = [holds, !holds].map(|holds| Some(u64::from(holds))).into();
        } else if let Some(constant) = absorbed(inst, &sources, same) {
            fact = Fact::Constant;
            results = vec![Some(constant)];
        } else if let Some(source) = copied(inst, &sources, same) {
            fact = Fact::Copy(source);
            results = vec![sources[source]];
        }
    }
    for (number, dst) in inst.dsts().iter().flat_map(Operand::elements).enumerate() {
        let Some(reg) = dst.reg() else { continue };
        match results.get(number).copied().flatten() {
            Some(value) => values.constants.insert(reg, low(value, bits(reg))),
            None => values.constants.remove(&reg),
        };
        values.origins.remove(&reg);
        if !always {
            continue;
        }
        let copied = match fact {
            Fact::Copy(source) => inst.srcs().get(source),
            _ => None,
        };
        let origin = match copied {
            Some(Operand::Reg(source)) if *source != reg && bits(*source) == bits(reg) => {
                Some(values.origin_of(*source, at, number))
            }
            Some(Operand::Special(special)) if is_launch_constant(*special) => Some(Origin::Launch(*special)),
            _ => constant_word(function, inst, number, bits(reg)),
        };
        match origin {
            Some(origin) => drop(values.origins.insert(reg, origin)),
            None => values.set_result(reg, at, number),
        }
    }
    (fact, always)
}

/// Special registers that machine code reads from the constant bank.
fn is_launch_constant(special: SpecialRegister) -> bool {
    matches!(special, SpecialRegister::Ntid(_) | SpecialRegister::Nctaid(_))
}

/// The origin of a loaded element of a parameter or constant variable that is whole words of the constant bank.
fn constant_word(function: &Function, inst: &Inst, number: usize, wanted: u32) -> Option<Origin> {
    let Op::Ld(load) = inst.op else { return None };
    let is_constant = match load.space {
        StateSpace::Param => function.is_kernel,
        space => space == StateSpace::Const,
    };
    let Operand::Mem(Address { base: AddressBase::Var(var), offset }) = inst.srcs().first()? else {
        return None;
    };
    let bits = load.ty.bits();
    let first = offset + number as i64 * i64::from(bits / 8);
    (is_constant && bits >= 32 && bits == wanted && first % 4 == 0)
        .then_some(Origin::Constant(*var, first, bits))
}

fn value(source: &Operand, values: &Values, bits: &impl Fn(RegId) -> u32) -> Option<u64> {
    let values = &values.constants;
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
fn absorbed(inst: &Inst, sources: &[Option<u64>], same: bool) -> Option<u64> {
    let is = |value: u64| sources.iter().take(2).any(|source| *source == Some(value));
    match inst.op {
        Op::And(_) if is(0) => Some(0),
        Op::Or(ty) if is(low(u64::MAX, ty.bits())) => Some(low(u64::MAX, ty.bits())),
        Op::Xor(_) if same => Some(0),
        Op::Sub(AddOp { ty, carry_in: false, carry_out: false, sat: false, .. })
            if !ty.is_float() && same =>
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
fn compared_with_itself(inst: &Inst, same: bool) -> Option<bool> {
    match inst.op {
        Op::Setp(compare) if !compare.ty.is_float() && compare.combine.is_none() && same => {
            Some(matches!(compare.comparison, Comparison::Eq | Comparison::Le | Comparison::Ge))
        }
        _ => None,
    }
}

/// The source that an instruction copies: a choice that is known or has one outcome, or an operation that changes nothing.
fn copied(inst: &Inst, sources: &[Option<u64>], same: bool) -> Option<usize> {
    let equal = || same || sources[0].is_some() && sources[0] == sources[1];
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
        Op::And(ty) => beside(low(u64::MAX, ty.bits())).or(same.then_some(0)),
        Op::Or(_) => beside(0).or(same.then_some(0)),
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
