//! Decoder cursor: handlers take an instruction's modifiers and operands one by one.

use super::super::ast::Name;
use super::super::diagnostic::Diagnostic;
use super::super::ids::RegId;
use super::super::inst::{Address, AddressBase, Operand};
use super::super::lexer::Token;
use super::super::module::Register;
use super::super::resolve::{Arg, ArgKind, Const};
use super::super::source::Span;
use super::super::types::ScalarType;
use super::raw::{Decode, RawInst, Signatures};

/// How wide a register must be for a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Exactly as wide as the type.
    Exact,
    /// At least as wide (loads, stores, conversions).
    AtLeast,
}

/// Modifiers an instruction may have; the longest real one has about a dozen.
const MAX_MODIFIERS: usize = 64;

/// One instruction being decoded.
pub(super) struct Decoder<'a, 'c> {
    opcode: Name<'a>,
    text: &'c str,
    modifiers: &'c [Token],
    /// Bit `i`: modifier `i` has been taken.
    taken: u64,
    /// All modifiers have been asked for: handlers read operands last.
    reads_operands: bool,
    args: std::vec::IntoIter<Arg<'a>>,
    registers: &'c [Register],
    pub(super) signatures: &'c Signatures<'c>,
    operands: Vec<Operand>,
    dst_count: usize,
    span: Span,
}

impl<'a, 'c> Decoder<'a, 'c> {
    pub(super) fn new(
        raw: RawInst<'a, 'c>,
        text: &'c str,
        registers: &'c [Register],
        signatures: &'c Signatures<'c>,
    ) -> Decode<Self> {
        let operands = Vec::with_capacity(raw.args.len() + 1);
        let decoder = Self {
            opcode: raw.opcode,
            text,
            modifiers: raw.modifiers,
            taken: 0,
            reads_operands: false,
            args: raw.args.into_iter(),
            registers,
            signatures,
            operands,
            dst_count: 0,
            span: raw.span,
        };
        if decoder.modifiers.len() > MAX_MODIFIERS {
            return Err(decoder.whole("has too many modifiers", "no instruction has more than a dozen"));
        }
        Ok(decoder)
    }

    pub(super) fn opcode(&self) -> &'a str {
        self.opcode.text
    }

    // ---- errors

    /// An error about the instruction as a whole: "`opcode` `message`".
    pub(super) fn whole(&self, message: &str, help: &str) -> Box<Diagnostic> {
        let message = format!("`{}` {message}", self.full_name());
        Box::new(Diagnostic::error(self.name_span(), message).with_help(help))
    }

    /// An error at a place in the instruction, its name put before the message.
    pub(super) fn error(&self, span: Span, message: impl std::fmt::Display) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(span, format!("`{}`: {message}", self.full_name())))
    }

    /// The opcode with all its modifiers.
    fn full_name(&self) -> &str {
        let span = self.name_span();
        self.text.get(span.start as usize..span.end as usize).unwrap_or(self.opcode.text)
    }

    fn name_span(&self) -> Span {
        self.modifiers.last().map_or(self.opcode.span, |last| self.opcode.span.to(last.span))
    }

    /// The better diagnostic if a handler failed at an operand: an unknown modifier.
    pub(super) fn blame(&self, error: Box<Diagnostic>) -> Box<Diagnostic> {
        match self.unknown_modifier() {
            Some(unknown) if self.reads_operands => unknown,
            _ => error,
        }
    }

    /// The diagnostic for the first modifier that no handler took, if one is left.
    fn unknown_modifier(&self) -> Option<Box<Diagnostic>> {
        let left = (0..self.modifiers.len()).find(|at| self.taken & (1 << at) == 0)?;
        let word = self.modifier(left);
        let message = format!("`.{word}` is not a modifier that `{}` can have here", self.opcode.text);
        let diagnostic = Diagnostic::error(self.modifiers[left].span, message);
        Some(Box::new(diagnostic.with_help(format!("the whole instruction is `{}`", self.full_name()))))
    }

    /// Checks that all modifiers and operands are used, and returns the operands.
    pub(super) fn finish(mut self) -> Decode<(Vec<Operand>, usize)> {
        if let Some(error) = self.unknown_modifier() {
            return Err(error);
        }
        match self.args.next() {
            Some(arg) => Err(self.error(arg.span, "this operand is one too many")),
            None => Ok((self.operands, self.dst_count)),
        }
    }

    // ---- modifiers

    fn modifier(&self, at: usize) -> &'c str {
        let span = self.modifiers[at].span;
        self.text.get(span.start as usize + 1..span.end as usize).unwrap_or("")
    }

    /// Takes the first modifier that `parse` accepts.
    pub(super) fn take<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        (0..self.modifiers.len()).find_map(|at| {
            if self.taken & (1 << at) != 0 {
                return None;
            }
            let value = parse(self.modifier(at))?;
            self.taken |= 1 << at;
            Some(value)
        })
    }

    /// Takes a modifier by its word.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.take(|modifier| (modifier == word).then_some(())).is_some()
    }

    /// Takes a modifier that must be there; `what` names it.
    pub(super) fn need<T>(&mut self, what: &str, parse: impl Fn(&str) -> Option<T>) -> Decode<T> {
        if let Some(value) = self.take(parse) {
            return Ok(value);
        }
        let mut left = (0..self.modifiers.len()).filter(|at| self.taken & (1 << at) == 0);
        if let (Some(at), None) = (left.next(), left.next()) {
            let message =
                format!("`{}` lacks {what}, and `.{}` is none", self.opcode.text, self.modifier(at));
            return Err(Box::new(Diagnostic::error(self.modifiers[at].span, message)));
        }
        Err(self.whole(&format!("lacks {what}"), "see the PTX ISA for the forms it has"))
    }

    /// Takes a word that must be there.
    pub(super) fn need_flag(&mut self, word: &str) -> Decode<()> {
        self.need(&format!("`.{word}`"), |modifier| (modifier == word).then_some(()))
    }

    /// Takes the next type, if one is left.
    pub(super) fn maybe_type(&mut self) -> Option<ScalarType> {
        self.take(ScalarType::from_keyword)
    }

    /// The type that would be taken next.
    pub(super) fn next_type(&self) -> Option<ScalarType> {
        let left = (0..self.modifiers.len()).filter(|at| self.taken & (1 << at) == 0);
        left.filter_map(|at| ScalarType::from_keyword(self.modifier(at))).next()
    }

    /// Takes the next type, which must be one of `allowed`.
    pub(super) fn ty(&mut self, allowed: &[ScalarType]) -> Decode<ScalarType> {
        let before = self.taken;
        let ty = self.need("a type", ScalarType::from_keyword)?;
        if allowed.contains(&ty) {
            return Ok(ty);
        }
        let at = (self.taken & !before).trailing_zeros() as usize;
        let list: Vec<String> = allowed.iter().map(|ty| format!(".{ty}")).collect();
        let message = format!("`{}` has no form for type `.{ty}`", self.opcode.text);
        let diagnostic = Diagnostic::error(self.modifiers[at].span, message);
        Err(Box::new(diagnostic.with_help(format!("types it takes: {}", list.join(", ")))))
    }

    // ---- operands

    /// Operands not taken yet.
    pub(super) fn remaining(&self) -> usize {
        self.args.len()
    }

    /// The operand that comes next.
    pub(super) fn peek(&self) -> Option<&ArgKind<'a>> {
        self.args.as_slice().first().map(|arg| &arg.kind)
    }

    pub(super) fn next(&mut self) -> Decode<Arg<'a>> {
        self.reads_operands = true;
        match self.args.next() {
            Some(arg) => Ok(arg),
            None => Err(self.whole("lacks an operand", "see the PTX ISA for the operands it takes")),
        }
    }

    pub(super) fn push_src(&mut self, operand: Operand) {
        self.operands.push(operand);
    }

    /// Destinations are pushed before any source.
    pub(super) fn push_dst(&mut self, operand: Operand) {
        self.operands.insert(self.dst_count, operand);
        self.dst_count += 1;
    }

    /// `d ← a, b, …`: a type and operands that all have it.
    pub(super) fn uniform(&mut self, allowed: &[ScalarType], sources: usize) -> Decode<ScalarType> {
        let ty = self.ty(allowed)?;
        self.dst(ty)?;
        for _ in 0..sources {
            self.src(ty)?;
        }
        Ok(ty)
    }

    /// Takes a destination register of a type, or a sink.
    pub(super) fn dst(&mut self, ty: ScalarType) -> Decode<()> {
        let arg = self.next()?;
        let operand = self.dst_operand(&arg, ty, Width::Exact)?;
        self.push_dst(operand);
        Ok(())
    }

    /// Takes `d` or `d|p`; returns whether `p` is present.
    pub(super) fn dst_dual(&mut self, ty: ScalarType) -> Decode<bool> {
        let arg = self.next()?;
        let ArgKind::Dual(sides) = arg.kind else {
            let operand = self.dst_operand(&arg, ty, Width::Exact)?;
            self.push_dst(operand);
            return Ok(false);
        };
        let first = self.dst_operand(&sides.0, ty, Width::Exact)?;
        let second = self.dst_operand(&sides.1, ScalarType::Pred, Width::Exact)?;
        self.push_dst(first);
        self.push_dst(second);
        Ok(true)
    }

    /// Takes a destination: one register, or a vector of `count` if that is more than 1.
    pub(super) fn dst_elements(&mut self, ty: ScalarType, count: u8, width: Width) -> Decode<()> {
        let arg = self.next()?;
        let operand = self.elements(&arg, count, |this, element| this.dst_operand(element, ty, width))?;
        self.push_dst(operand);
        Ok(())
    }

    /// Takes a source: one value, or a vector of `count` if that is more than 1.
    pub(super) fn src_elements(&mut self, ty: ScalarType, count: u8, width: Width) -> Decode<()> {
        let arg = self.next()?;
        let operand = self.elements(&arg, count, |this, element| this.src_operand(element, ty, width))?;
        self.push_src(operand);
        Ok(())
    }

    fn elements(
        &self,
        arg: &Arg<'a>,
        count: u8,
        element: impl Fn(&Self, &Arg<'a>) -> Decode<Operand>,
    ) -> Decode<Operand> {
        match &arg.kind {
            ArgKind::Vector(list) if list.len() == count as usize => {
                let elements: Decode<Vec<Operand>> = list.iter().map(|arg| element(self, arg)).collect();
                let mut elements = elements?;
                if count == 1 {
                    return Ok(elements.remove(0));
                }
                Ok(Operand::Vector(elements.into_boxed_slice()))
            }
            _ if count == 1 => element(self, arg),
            _ => Err(self.error(arg.span, format!("expected a vector of {count} elements"))),
        }
    }

    /// Takes a matrix fragment: a vector of `count` registers, one alone without braces too.
    pub(super) fn fragment(&mut self, ty: ScalarType, count: u32, destination: bool) -> Decode<()> {
        let arg = self.next()?;
        let list = match &arg.kind {
            ArgKind::Vector(list) => list.as_slice(),
            _ => std::slice::from_ref(&arg),
        };
        if list.len() != count as usize {
            return Err(
                self.error(arg.span, format!("this fragment has {count} registers, not {}", list.len()))
            );
        }
        let elements: Decode<Vec<Operand>> = list
            .iter()
            .map(|element| {
                if destination {
                    self.dst_operand(element, ty, Width::Exact)
                } else {
                    self.src_operand(element, ty, Width::Exact)
                }
            })
            .collect();
        let operand = Operand::Vector(elements?.into_boxed_slice());
        if destination {
            self.push_dst(operand);
        } else {
            self.push_src(operand);
        }
        Ok(())
    }

    /// Takes a source of a type.
    pub(super) fn src(&mut self, ty: ScalarType) -> Decode<()> {
        self.src_elements(ty, 1, Width::Exact)
    }

    /// Takes a source if one is left; returns whether.
    pub(super) fn maybe_src(&mut self, ty: ScalarType) -> Decode<bool> {
        if self.remaining() == 0 {
            return Ok(false);
        }
        self.src(ty)?;
        Ok(true)
    }

    /// Takes a constant that becomes part of the operation.
    pub(super) fn constant(&mut self) -> Decode<u64> {
        let arg = self.next()?;
        match arg.kind {
            ArgKind::Const(Const::Int { value, .. }) => Ok(value),
            _ => Err(self.error(arg.span, "this operand is an integer constant")),
        }
    }

    /// Takes a memory operand.
    pub(super) fn mem(&mut self) -> Decode<()> {
        let arg = self.next()?;
        let address = match &arg.kind {
            ArgKind::Mem(list) => match list.as_slice() {
                [only] => self.address(only)?,
                _ => return Err(self.error(arg.span, "an address is one expression in brackets")),
            },
            // `ld.global.u32 r, array[3]` without brackets around the whole.
            ArgKind::Var(..) => self.address(&arg)?,
            _ => return Err(self.error(arg.span, "expected an address in brackets")),
        };
        self.push_src(Operand::Mem(address));
        Ok(())
    }

    /// The address of an operand in brackets.
    pub(super) fn address(&self, arg: &Arg<'a>) -> Decode<Address> {
        let (base, offset) = match arg.kind {
            ArgKind::Reg(reg) => (AddressBase::Reg(reg), 0),
            ArgKind::RegOffset(reg, offset) => (AddressBase::Reg(reg), offset),
            ArgKind::Var(id, offset) => (AddressBase::Var(id), offset),
            ArgKind::Const(Const::Int { value, .. }) => (AddressBase::Absolute, value as i64),
            _ => {
                return Err(
                    self.error(arg.span, "an address is a register, a variable or a number, plus an offset")
                );
            }
        };
        if let AddressBase::Reg(reg) = base
            && !matches!(self.registers[reg.index()].ty.bits(), 32 | 64)
        {
            return Err(self.wrong_width(arg.span, reg, "an address of 32 or 64 bits"));
        }
        Ok(Address { base, offset })
    }

    /// A register or sink as destination.
    pub(super) fn dst_operand(&self, arg: &Arg<'a>, ty: ScalarType, width: Width) -> Decode<Operand> {
        match arg.kind {
            ArgKind::Reg(reg) => {
                self.check_width(arg.span, reg, ty, width)?;
                Ok(Operand::Reg(reg))
            }
            ArgKind::Sink => Ok(Operand::Sink),
            _ => Err(self.error(arg.span, "this operand is written, so it must be a register")),
        }
    }

    /// Anything that has a value of a type.
    pub(super) fn src_operand(&self, arg: &Arg<'a>, ty: ScalarType, width: Width) -> Decode<Operand> {
        match arg.kind {
            ArgKind::Reg(reg) => {
                self.check_width(arg.span, reg, ty, width)?;
                Ok(Operand::Reg(reg))
            }
            ArgKind::NotReg(reg) if ty == ScalarType::Pred => {
                self.check_width(arg.span, reg, ty, width)?;
                Ok(Operand::NotReg(reg))
            }
            // ptxas takes `%r + 1` wherever it takes a register that holds an integer.
            ArgKind::RegOffset(reg, offset)
                if !ty.is_float() && !self.registers[reg.index()].ty.is_float() && ty != ScalarType::Pred =>
            {
                self.check_width(arg.span, reg, ty, width)?;
                Ok(Operand::RegOffset(reg, offset))
            }
            ArgKind::Const(value) => match value.bits_as(ty) {
                Ok(bits) => Ok(Operand::Imm(bits)),
                Err(reason) => Err(self.error(arg.span, reason)),
            },
            ArgKind::Special(special) if ty != ScalarType::Pred || special.bits() == 1 => {
                Ok(Operand::Special(special))
            }
            ArgKind::Var(id, offset) if ty.bits() >= 32 => Ok(Operand::Var(id, offset)),
            ArgKind::Func(id) if ty.bits() >= 32 => Ok(Operand::Func(id)),
            _ => Err(self.error(arg.span, format!("this operand cannot stand for a value of type `.{ty}`"))),
        }
    }

    pub(super) fn check_width(&self, span: Span, reg: RegId, ty: ScalarType, width: Width) -> Decode<()> {
        let declared = self.registers[reg.index()].ty;
        let predicates = (declared == ScalarType::Pred, ty == ScalarType::Pred);
        let fits = match predicates {
            (false, false) => match width {
                Width::Exact => declared.bits() == ty.bits(),
                Width::AtLeast => declared.bits() >= ty.bits(),
            },
            (a, b) => a == b,
        };
        if fits {
            return Ok(());
        }
        Err(self.wrong_width(span, reg, &format!("type `.{ty}`")))
    }

    fn wrong_width(&self, span: Span, reg: RegId, wanted: &str) -> Box<Diagnostic> {
        let Register { name, ty } = &self.registers[reg.index()];
        self.error(span, format!("`{name}` is declared `.{ty}`, this operand has {wanted}"))
    }

    /// The declared type of a register.
    pub(super) fn register_type(&self, reg: RegId) -> ScalarType {
        self.registers[reg.index()].ty
    }

    /// The text from the instruction's begin to its semicolon.
    pub(super) fn span(&self) -> Span {
        self.span
    }
}
