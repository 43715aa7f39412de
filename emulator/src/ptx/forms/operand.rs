//! Compares an instruction's operands with a form whose modifiers it has.

use super::super::ids::RegId;
use super::super::module::VarSpace;
use super::super::resolve::{Arg, ArgKind, Const};
use super::super::source::Span;
use super::super::types::ScalarType as T;
use super::name::{Candidate, Operand};
use super::table::{Kind, Second};
use super::tables::Tables;

/// Where operands differ from a form.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    /// The number of the operand.
    pub(super) at: usize,
    pub(super) reason: Reason,
}

/// How an operand differs.
#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// There is none.
    Missing,
    /// There is one too many.
    Excess,
    /// The operand at a place is not what the form wants.
    Wrong(Span, String),
}

/// Who decided that the operands are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Decides {
    /// The form.
    Form,
    /// The decoder will.
    Decoder,
    /// Nobody.
    Nobody,
}

/// Largest amount and position that an instruction can have.
const LAST_AMOUNT: u64 = 255;

/// Largest number of a barrier.
const LAST_BARRIER: u64 = 15;

/// Compares operands with those of a form.
pub(super) fn compare(
    candidate: &Candidate,
    args: &[Arg<'_>],
    tables: &Tables<'_>,
) -> Result<Decides, Misfit> {
    let compare = Compare { candidate, tables };
    let mut at = 0;
    for want in &candidate.operands {
        match want.kind {
            Kind::Rest => return Ok(Decides::Nobody),
            Kind::Decoder => return Ok(Decides::Decoder),
            Kind::Policy if !candidate.hinted => continue,
            _ => {}
        }
        match args.get(at) {
            Some(arg) => compare.operand(want, arg).map_err(|reason| Misfit { at, reason })?,
            None if want.optional => break,
            None => return Err(Misfit { at, reason: Reason::Missing }),
        }
        at += 1;
    }
    if at < args.len() { Err(Misfit { at, reason: Reason::Excess }) } else { Ok(Decides::Form) }
}

struct Compare<'c> {
    candidate: &'c Candidate,
    tables: &'c Tables<'c>,
}

impl Compare<'_> {
    fn wrong(arg: &Arg<'_>, wanted: impl Into<String>) -> Reason {
        Reason::Wrong(arg.span, wanted.into())
    }

    fn operand(&self, want: &Operand, arg: &Arg<'_>) -> Result<(), Reason> {
        let ty = want.ty.unwrap_or(T::B32);
        match want.kind {
            Kind::Rest | Kind::Decoder => Ok(()),
            Kind::Destination | Kind::Unused => self.destination(want, arg, ty),
            Kind::Source => self.elements(want, arg, |element| self.source(element, ty, want.wider)),
            Kind::Vector => self.elements(want, arg, |element| self.value(element, ty)),
            Kind::Strict => self.strict(arg, ty),
            Kind::Value => self.value(arg, ty),
            Kind::Variable => self.variable(arg, ty),
            Kind::Address => self.address_value(arg),
            Kind::Memory(space) => self.memory(arg, space.or(self.candidate.space)),
            Kind::Constant(first, last, step) => constant(arg, first, last, step),
            Kind::Barrier => self.limited(arg, LAST_BARRIER, 1),
            Kind::Amount => self.limited(arg, LAST_AMOUNT, 1),
            Kind::Threads => self.limited(arg, u64::MAX, 32),
            Kind::Policy => self.source(arg, T::B64, false),
            Kind::Register => match arg.kind {
                ArgKind::Reg(reg) => self.register(arg, reg, ty, want.wider),
                _ => Err(Self::wrong(arg, format!("a register of type `.{ty}`"))),
            },
            Kind::Label => match arg.kind {
                ArgKind::Label(_) => Ok(()),
                _ => Err(Self::wrong(arg, "a label of the same function")),
            },
            Kind::Table => match arg.kind {
                ArgKind::BranchTable(_) => Ok(()),
                _ => Err(Self::wrong(arg, "a `.branchtargets` list")),
            },
        }
    }

    /// One operand, or every element of a vector of the size that the form has.
    fn elements(
        &self,
        want: &Operand,
        arg: &Arg<'_>,
        element: impl Fn(&Arg<'_>) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        match (want.count, &arg.kind) {
            (None, _) => element(arg),
            (Some(1), kind) if !matches!(kind, ArgKind::Vector(_)) => element(arg),
            (Some(count), ArgKind::Vector(list)) if list.len() == usize::from(count) => {
                list.iter().try_for_each(element)
            }
            (Some(count), _) => Err(Self::wrong(arg, format!("a vector of {count} elements"))),
        }
    }

    fn destination(&self, want: &Operand, arg: &Arg<'_>, ty: T) -> Result<(), Reason> {
        let (first, second) = match (&arg.kind, want.second) {
            (ArgKind::Dual(sides), Second::May | Second::Must) => (&sides.0, Some(&sides.1)),
            (_, Second::Must) => return Err(Self::wrong(arg, "`d|p`, a register and a predicate")),
            _ => (arg, None),
        };
        let sink = want.kind == Kind::Unused || want.count.is_some() || want.second != Second::No;
        self.elements(want, first, |element| match element.kind {
            ArgKind::Sink if sink => Ok(()),
            ArgKind::Reg(reg) => self.register(element, reg, ty, want.wider),
            _ => Err(Self::wrong(element, format!("a register of type `.{ty}`, which is written"))),
        })?;
        match second.map(|second| (second, &second.kind)) {
            None | Some((_, ArgKind::Sink)) => Ok(()),
            Some((second, &ArgKind::Reg(reg))) => self.register(second, reg, T::Pred, false),
            Some((second, _)) => Err(Self::wrong(second, "a predicate register")),
        }
    }

    /// A register whose declared type goes with a type.
    fn register(&self, arg: &Arg<'_>, reg: RegId, ty: T, wider: bool) -> Result<(), Reason> {
        let declared = self.tables.registers[reg.index()].ty;
        if goes_with(declared, ty, wider) {
            return Ok(());
        }
        let name = &self.tables.registers[reg.index()].name;
        Err(Self::wrong(arg, format!("type `.{ty}`, and `{name}` is declared `.{declared}`")))
    }

    fn source(&self, arg: &Arg<'_>, ty: T, wider: bool) -> Result<(), Reason> {
        let fits = match arg.kind {
            ArgKind::Reg(reg) => return self.register(arg, reg, ty, wider),
            ArgKind::NotReg(reg) if ty == T::Pred => return self.register(arg, reg, ty, false),
            ArgKind::RegOffset(reg, _) => {
                let declared = self.tables.registers[reg.index()].ty;
                let numbers =
                    (ty.is_integer() || ty.is_packed()) && declared.is_float() && !declared.is_packed();
                ty != T::Pred && declared != T::Pred && !numbers
            }
            ArgKind::Const(value) => literal(value, ty),
            // `v+4` is a number for ptxas, `v` alone only in `mov` and `cvta`.
            ArgKind::Var(_, offset) => offset != 0 && !ty.is_float() && ty != T::Pred,
            ArgKind::Func(_) => true,
            ArgKind::Special(special) => wider && special.bits() >= ty.bits() && !ty.is_float(),
            _ => false,
        };
        let literal = matches!(arg.kind, ArgKind::Const(Const::Int { .. })) && matches!(ty, T::F32 | T::F64);
        match (fits, literal) {
            (true, _) => Ok(()),
            (_, true) => {
                Err(Self::wrong(arg, format!("a value of type `.{ty}`, such as `1.0` or `0f3F800000`")))
            }
            _ => Err(Self::wrong(arg, format!("a value of type `.{ty}`"))),
        }
    }

    /// A number of 32 bits: an amount, a count.
    fn strict(&self, arg: &Arg<'_>, ty: T) -> Result<(), Reason> {
        match arg.kind {
            ArgKind::Reg(reg) if self.tables.registers[reg.index()].ty.is_packed() => {
                Err(Self::wrong(arg, format!("type `.{ty}`")))
            }
            ArgKind::RegOffset(reg, _) => self.register(arg, reg, ty, false),
            ArgKind::Func(_) => Err(Self::wrong(arg, format!("a value of type `.{ty}`"))),
            _ => self.source(arg, ty, false),
        }
    }

    /// A number of 32 bits that as a constant has a limit and is a multiple.
    fn limited(&self, arg: &Arg<'_>, limit: u64, step: u64) -> Result<(), Reason> {
        match arg.kind {
            ArgKind::Const(_) => constant(arg, 0, limit, step),
            _ => self.strict(arg, T::U32),
        }
    }

    fn value(&self, arg: &Arg<'_>, ty: T) -> Result<(), Reason> {
        match &arg.kind {
            ArgKind::Special(special) if ty == T::Pred || special.bits() == 1 => {
                let fits = ty == T::Pred && special.bits() == 1;
                if fits { Ok(()) } else { Err(Self::wrong(arg, format!("a value of type `.{ty}`"))) }
            }
            ArgKind::Special(special) if !ty.is_float() && special.bits() >= ty.bits() => Ok(()),
            ArgKind::Var(..) if !ty.is_float() => Ok(()),
            _ => self.source(arg, ty, false),
        }
    }

    fn variable(&self, arg: &Arg<'_>, ty: T) -> Result<(), Reason> {
        match arg.kind {
            ArgKind::Var(id, _) => {
                self.in_space(arg, self.tables.vars[id.index()].space, self.candidate.space)
            }
            _ => self.source(arg, ty, false),
        }
    }

    fn address_value(&self, arg: &Arg<'_>) -> Result<(), Reason> {
        match arg.kind {
            ArgKind::Reg(reg) if self.tables.registers[reg.index()].ty.bits() == 32 => {
                self.source(arg, T::U32, false)
            }
            _ => self.source(arg, T::U64, false),
        }
    }

    fn memory(&self, arg: &Arg<'_>, space: Option<&'static str>) -> Result<(), Reason> {
        let inner = match &arg.kind {
            ArgKind::Mem(list) => match list.as_slice() {
                [only] => only,
                _ => return Err(Self::wrong(arg, "one address in brackets")),
            },
            ArgKind::Var(..) => arg,
            _ => return Err(Self::wrong(arg, "an address in brackets")),
        };
        match inner.kind {
            ArgKind::Reg(reg) | ArgKind::RegOffset(reg, _) => {
                let ty = self.tables.registers[reg.index()].ty;
                let plain = !ty.is_float() && ty != T::Pred && !ty.is_packed();
                if plain {
                    return Ok(());
                }
                let name = &self.tables.registers[reg.index()].name;
                Err(Self::wrong(inner, format!("an address, and `{name}` is declared `.{ty}`")))
            }
            ArgKind::Var(id, _) => self.in_space(inner, self.tables.vars[id.index()].space, space),
            ArgKind::Const(Const::Int { .. }) if space == Some("local") => Ok(()),
            ArgKind::Special(_) => Ok(()),
            _ => Err(Self::wrong(inner, "an address: a register or a variable, and an offset")),
        }
    }

    /// A variable in the state space that an instruction names.
    fn in_space(&self, arg: &Arg<'_>, of: VarSpace, named: Option<&str>) -> Result<(), Reason> {
        let wanted = match named {
            None => &[VarSpace::Global, VarSpace::Shared, VarSpace::Local, VarSpace::Texture][..],
            Some("global") => &[VarSpace::Global, VarSpace::Texture],
            Some("const") => &[VarSpace::Const],
            Some("local") => &[VarSpace::Local],
            Some("shared" | "shared::cta" | "shared::cluster") => &[VarSpace::Shared],
            Some(_) => &[VarSpace::Param],
        };
        if wanted.contains(&of) {
            return Ok(());
        }
        let named =
            named.map_or_else(|| "a generic address".to_owned(), |named| format!("a variable in `.{named}`"));
        Err(Self::wrong(arg, format!("{named}, and this one is in `.{}`", of.state_space())))
    }
}

/// Whether a register of a declared type goes with an operand of a type.
fn goes_with(declared: T, ty: T, wider: bool) -> bool {
    if declared == T::Pred || ty == T::Pred {
        return declared == ty;
    }
    let size = if wider { declared.bits() >= ty.bits() } else { declared.bits() == ty.bits() };
    let is_bits = |ty: T| matches!(ty, T::B8 | T::B16 | T::B32 | T::B64 | T::B128);
    let class = if is_bits(ty) || is_bits(declared) {
        true
    } else if ty.is_float() && !ty.is_packed() {
        declared == ty
    } else if ty.is_packed() {
        declared.is_packed()
    } else {
        !declared.is_float() || declared.is_packed()
    };
    size && class
}

/// Whether a literal can stand for a value of a type.
fn literal(value: Const, ty: T) -> bool {
    match (value, ty) {
        (Const::Int { .. }, ty) => !ty.is_float() && !matches!(ty, T::U16x2 | T::S16x2 | T::U8x4 | T::S8x4),
        (_, T::F32 | T::F64) | (Const::Single(_), T::B32) | (Const::Double(_), T::B64) => true,
        _ => false,
    }
}

fn constant(arg: &Arg<'_>, first: u64, last: u64, step: u64) -> Result<(), Reason> {
    match arg.kind {
        ArgKind::Const(Const::Int { value, .. }) if (first..=last).contains(&value) && value % step == 0 => {
            Ok(())
        }
        _ if first == last => Err(Compare::wrong(arg, format!("the constant {first}"))),
        _ => {
            let range = if last == u64::MAX { String::new() } else { format!(" from {first} to {last}") };
            let multiple = if step == 1 { String::new() } else { format!(", a multiple of {step}") };
            Err(Compare::wrong(arg, format!("an integer constant{range}{multiple}")))
        }
    }
}
