//! Operands with their names resolved, still without a type: what the decoder and the forms of instructions read.

use super::super::ids::{BranchTableId, CallTableId, FuncId, LabelId, PrototypeId, RegId, VarId};
use super::super::source::Span;
use super::super::special::SpecialRegister;
use super::constant::Const;

/// A resolved operand and its place.
#[derive(Clone, Debug)]
pub(in super::super) struct Arg<'a> {
    pub(in super::super) kind: ArgKind<'a>,
    pub(in super::super) span: Span,
}

/// What a resolved operand is.
#[derive(Clone, Debug)]
pub(in super::super) enum ArgKind<'a> {
    Reg(RegId),
    /// `!p`.
    NotReg(RegId),
    /// `-r` (video instructions).
    NegReg(RegId),
    /// `reg + offset`, inside brackets.
    RegOffset(RegId, i64),
    /// `r.b0`, `r.h1`, `r.b3210`: part of a scalar register, negated with `-`.
    Part(RegId, &'a str, bool),
    Const(Const),
    Special(SpecialRegister),
    Var(VarId, i64),
    Func(FuncId),
    Label(LabelId),
    BranchTable(BranchTableId),
    CallTable(CallTableId),
    Prototype(PrototypeId),
    Sink,
    Vector(Vec<Arg<'a>>),
    Mem(Vec<Arg<'a>>),
    List(Vec<Arg<'a>>),
    Dual(Box<(Arg<'a>, Arg<'a>)>),
}
