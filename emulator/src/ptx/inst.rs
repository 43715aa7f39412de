//! Resolved, decoded instructions: guard, operation, operands.
//!
//! The operation is pure data ([`Op`]); the operands are one flat list, destinations first. Literals have
//! already been converted to the bits of the operand's type, symbols to table indices.

use super::ids::{FuncId, LocId, RegId, VarId};
use super::op::Op;
use super::source::Span;
use super::special::SpecialRegister;

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate register.
    pub reg: RegId,
    /// `@!p`: runs where it is false.
    pub negated: bool,
}

/// One operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(RegId),
    /// `!p`: a negated predicate source.
    NotReg(RegId),
    /// `reg + constant`: the sum, as wide as the register.
    RegOffset(RegId, i64),
    /// A constant, as the bits of the operand's type in the low end, the rest zero. (An integer literal
    /// is truncated to the type's width, a decimal or `0d` float is rounded to nearest even.)
    Imm(u64),
    /// A special register.
    Special(SpecialRegister),
    /// A variable plus a byte offset, as a value: its address in its own state space. As argument or
    /// result of `call`, the variable itself (offset 0); as texture operand, the reference.
    Var(VarId, i64),
    /// The address of a function.
    Func(FuncId),
    /// `{a, b, …}`: registers, constants or sinks; a vector register is spelt out likewise.
    Vector(Box<[Operand]>),
    /// `[base + offset]`.
    Mem(Address),
    /// `_`: an unused result.
    Sink,
}

impl Operand {
    /// The register, if the operand is a plain one.
    #[must_use]
    pub const fn reg(&self) -> Option<RegId> {
        match self {
            Self::Reg(reg) => Some(*reg),
            _ => None,
        }
    }

    /// The elements of a vector, or the operand itself as the only one.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Vector(elements) => elements,
            other => std::slice::from_ref(other),
        }
    }

    /// Calls `visit` with every register that the operand mentions, those in addresses included.
    pub fn for_each_reg(&self, mut visit: impl FnMut(RegId)) {
        for element in self.elements() {
            match element {
                Self::Reg(reg)
                | Self::NotReg(reg)
                | Self::RegOffset(reg, _)
                | Self::Mem(Address { base: AddressBase::Reg(reg), .. }) => {
                    visit(*reg);
                }
                _ => {}
            }
        }
    }
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// In bytes.
    pub offset: i64,
}

/// The base of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressBase {
    /// A register, 32 or 64 bits wide.
    Reg(RegId),
    /// A variable.
    Var(VarId),
    /// Zero: the offset is the address.
    Absolute,
}

/// One decoded instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Condition under which a thread executes it.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
    /// Its text, from guard to semicolon.
    pub span: Span,
    /// The CUDA source position in force, into [`Body::locs`](super::Body).
    pub loc: Option<LocId>,
    operands: Box<[Operand]>,
    dst_count: u8,
}

impl Inst {
    /// Puts an instruction together.
    ///
    /// # Panics
    /// Panics on more than 255 destinations (a call returns at most a few).
    #[must_use]
    pub fn new(guard: Option<Guard>, op: Op, dsts: &[Operand], srcs: &[Operand], span: Span) -> Self {
        let mut operands = Vec::with_capacity(dsts.len() + srcs.len());
        operands.extend_from_slice(dsts);
        operands.extend_from_slice(srcs);
        Self::from_operands(guard, op, operands, dsts.len(), span)
    }

    /// As [`Self::new`], from one list of which the first `dst_count` are destinations.
    pub(super) fn from_operands(
        guard: Option<Guard>,
        op: Op,
        operands: Vec<Operand>,
        dst_count: usize,
        span: Span,
    ) -> Self {
        let dst_count = u8::try_from(dst_count).expect("few destinations");
        Self { guard, op, span, loc: None, operands: operands.into_boxed_slice(), dst_count }
    }

    /// Destinations, in the order that [`Op`] states.
    #[must_use]
    pub fn dsts(&self) -> &[Operand] {
        &self.operands[..self.dst_count as usize]
    }

    /// Sources, in the order that [`Op`] states.
    #[must_use]
    pub fn srcs(&self) -> &[Operand] {
        &self.operands[self.dst_count as usize..]
    }
}
