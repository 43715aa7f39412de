//! Resolves the names of operands.

use super::super::ast::{BinaryOp, Expr, Name, OperandAst, UnaryOp};
use super::super::diagnostic::Diagnostic;
use super::super::ids::RegId;
use super::super::source::Span;
use super::super::special::{Axis, SpecialRegister};
use super::arg::{Arg, ArgKind};
use super::constant::Const;
use super::resolver::Resolver;
use super::scope::{Names, Symbol};

impl<'a> Resolver<'a> {
    /// Resolves an operand; `None` after reporting an error.
    pub(super) fn operand(&mut self, operand: &OperandAst<'a>, names: &mut Names<'a>) -> Option<Arg<'a>> {
        let span = operand.span();
        let kind = match operand {
            OperandAst::Expr(expr) => return self.value(expr, names),
            OperandAst::Vector(list, _) => ArgKind::Vector(self.operands(list, names)?),
            OperandAst::Mem(list, _) => ArgKind::Mem(self.operands(list, names)?),
            OperandAst::List(list, _) => ArgKind::List(self.operands(list, names)?),
            OperandAst::Dual(sides) => {
                let first = self.operand(&sides.0, names);
                let second = self.operand(&sides.1, names);
                ArgKind::Dual(Box::new((first?, second?)))
            }
        };
        Some(Arg { kind, span })
    }

    /// Resolves all operands, so that each wrong one is reported.
    pub(super) fn operands(
        &mut self,
        list: &[OperandAst<'a>],
        names: &mut Names<'a>,
    ) -> Option<Vec<Arg<'a>>> {
        let mut args = Vec::with_capacity(list.len());
        for operand in list {
            args.extend(self.operand(operand, names));
        }
        (args.len() == list.len()).then_some(args)
    }

    /// Resolves and folds an expression.
    pub(super) fn value(&mut self, expr: &Expr<'a>, names: &mut Names<'a>) -> Option<Arg<'a>> {
        let span = expr.span();
        let kind = match expr {
            Expr::Int { value, unsigned, .. } => {
                ArgKind::Const(Const::Int { value: *value, unsigned: *unsigned })
            }
            Expr::Double(bits, _) => ArgKind::Const(Const::Double(f64::from_bits(*bits))),
            Expr::Single(bits, _) => ArgKind::Const(Const::Single(*bits)),
            Expr::Name(name) => self.name(*name, names)?,
            Expr::Member(name, member) => self.member(*name, *member, names)?,
            Expr::Index(name, index) => self.element_address(*name, index, names)?,
            Expr::Unary(op, inner, _) => {
                let inner = self.value(inner, names)?;
                self.unary(*op, inner, span)?
            }
            Expr::Binary(op, sides) => {
                let left = self.value(&sides.0, names);
                let right = self.value(&sides.1, names);
                self.binary(*op, left?, right?, span)?
            }
            Expr::Ternary(parts) => {
                let condition = self.constant(&parts.0, Some(names));
                let then = self.constant(&parts.1, Some(names));
                let otherwise = self.constant(&parts.2, Some(names));
                ArgKind::Const(condition?.select(then?, otherwise?))
            }
            Expr::Generic(..) | Expr::Mask(..) => {
                self.error(span, "this form of address stands only in initialisers");
                return None;
            }
        };
        Some(Arg { kind, span })
    }

    fn unary(&mut self, op: UnaryOp, inner: Arg<'a>, span: Span) -> Option<ArgKind<'a>> {
        let reason = match (op, inner.kind) {
            (_, ArgKind::Const(value)) => match value.unary(op) {
                Ok(value) => return Some(ArgKind::Const(value)),
                Err(reason) => reason,
            },
            (UnaryOp::Not, ArgKind::Reg(reg)) => return Some(ArgKind::NotReg(reg)),
            (UnaryOp::Minus, ArgKind::Reg(reg)) => return Some(ArgKind::NegReg(reg)),
            (UnaryOp::Minus, ArgKind::Part(reg, part, false)) => return Some(ArgKind::Part(reg, part, true)),
            _ => "this operator needs a constant",
        };
        self.error(span, reason);
        None
    }

    fn binary(&mut self, op: BinaryOp, left: Arg<'a>, right: Arg<'a>, span: Span) -> Option<ArgKind<'a>> {
        let offset = |value: Const| match op {
            BinaryOp::Add => value.as_i64(),
            BinaryOp::Sub => value.as_i64().map(i64::wrapping_neg),
            _ => None,
        };
        let reason = match (left.kind, right.kind) {
            (ArgKind::Const(left), ArgKind::Const(right)) => match left.binary(op, right) {
                Ok(value) => return Some(ArgKind::Const(value)),
                Err(reason) => reason,
            },
            (base, ArgKind::Const(value)) if offset(value).is_some() => {
                if let Some(sum) = offset(value).and_then(|number| displaced(&base, number)) {
                    return Some(sum);
                }
                "an offset is added to a register or a variable"
            }
            (ArgKind::Const(value), base) if op == BinaryOp::Add => {
                if let Some(sum) = offset(value).and_then(|number| displaced(&base, number)) {
                    return Some(sum);
                }
                "an offset is added to a register or a variable"
            }
            _ => "this is neither a constant nor a symbol with a constant offset",
        };
        self.error(span, reason);
        None
    }

    /// Meaning of a name.
    fn name(&mut self, name: Name<'a>, names: &mut Names<'a>) -> Option<ArgKind<'a>> {
        let symbol = names.find(name.text);
        if symbol.is_none() {
            match name.text {
                "_" => return Some(ArgKind::Sink),
                "WARP_SZ" => return Some(ArgKind::Const(Const::signed(32))),
                _ => {}
            }
            if let Some(special) = name.text.strip_prefix('%') {
                if let Some(found) = SpecialRegister::from_name(special, None) {
                    return Some(ArgKind::Special(found));
                }
                if SpecialRegister::has_axes(special) {
                    return Some(ArgKind::Vector(special_vector(special, name.span)));
                }
            }
        }
        match symbol.or_else(|| self.symbols.get(name.text).map(|(symbol, _)| *symbol)) {
            Some(symbol) => Some(symbol_kind(symbol, names, name.span)),
            None => {
                self.undefined(name, names);
                None
            }
        }
    }

    fn undefined(&mut self, name: Name<'_>, names: &Names<'_>) {
        let what = if name.text.starts_with('%') { "register" } else { "symbol" };
        let mut undefined = Diagnostic::error(name.span, format!("undefined {what} `{}`", name.text));
        if let Some((declared, span)) = names.range_missed_by(name.text) {
            undefined = undefined.with_label(span, declared);
        }
        self.diagnostics.push(undefined);
    }

    /// `%v.x`, `%tid.x`, `%r.b0`.
    fn member(&mut self, name: Name<'a>, member: Name<'a>, names: &mut Names<'a>) -> Option<ArgKind<'a>> {
        let part = member.text.trim_start_matches('.');
        let index = match part {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => usize::MAX,
        };
        let span = name.span.to(member.span);
        if let Some(Symbol::Reg(decl, number)) = names.find(name.text) {
            let (first, count) = names.register(decl, number);
            if count == 1 {
                return Some(ArgKind::Part(first, part, false));
            }
            if index < count as usize {
                return Some(ArgKind::Reg(RegId::new(first.index() + index)));
            }
            self.error(span, format!("`{}` has {count} elements and no `.{part}`", name.text));
            return None;
        }
        let special = name.text.strip_prefix('%').filter(|special| SpecialRegister::has_axes(special));
        if let (Some(special), true) = (special, matches!(part, "x" | "y" | "z" | "w")) {
            // The fourth element of a special vector always reads as zero.
            let axis = [Axis::X, Axis::Y, Axis::Z].get(index).copied();
            let register = axis.and_then(|axis| SpecialRegister::from_name(special, Some(axis)));
            return Some(register.map_or(ArgKind::Const(Const::signed(0)), ArgKind::Special));
        }
        if names.find(name.text).is_none() && special.is_none() {
            self.undefined(name, names);
        } else {
            self.error(span, format!("`{}` has no element `.{part}`", name.text));
        }
        None
    }

    /// `array[index]`: the address of an element.
    fn element_address(
        &mut self,
        name: Name<'a>,
        index: &Expr<'a>,
        names: &mut Names<'a>,
    ) -> Option<ArgKind<'a>> {
        let base = self.name(name, names);
        let index = self.constant(index, Some(names))?.as_i64();
        let (ArgKind::Var(id, offset), Some(index)) = (base?, index) else {
            self.error(name.span, format!("`{}` is not an array", name.text));
            return None;
        };
        let variable = &self.vars[id.index()];
        let element = i64::from(variable.ty.bytes()) * i64::from(variable.vec);
        Some(ArgKind::Var(id, offset.wrapping_add(index.wrapping_mul(element))))
    }
}

/// A base moved by a number of bytes, if it is one that can be.
fn displaced<'a>(base: &ArgKind<'a>, number: i64) -> Option<ArgKind<'a>> {
    let moved = |offset: i64| offset.wrapping_add(number);
    Some(match *base {
        ArgKind::Reg(reg) => ArgKind::RegOffset(reg, number),
        ArgKind::RegOffset(reg, offset) => ArgKind::RegOffset(reg, moved(offset)),
        ArgKind::Var(id, offset) => ArgKind::Var(id, moved(offset)),
        _ => return None,
    })
}

fn symbol_kind<'a>(symbol: Symbol, names: &mut Names<'a>, span: Span) -> ArgKind<'a> {
    match symbol {
        Symbol::Reg(decl, index) => match names.register(decl, index) {
            (reg, 1) => ArgKind::Reg(reg),
            (first, count) => ArgKind::Vector(
                (0..count as usize)
                    .map(|at| Arg { kind: ArgKind::Reg(RegId::new(first.index() + at)), span })
                    .collect(),
            ),
        },
        Symbol::Var(id) => ArgKind::Var(id, 0),
        Symbol::Func(id) => ArgKind::Func(id),
        Symbol::Label(id) => ArgKind::Label(id),
        Symbol::BranchTable(id) => ArgKind::BranchTable(id),
        Symbol::CallTable(id) => ArgKind::CallTable(id),
        Symbol::Prototype(id) => ArgKind::Prototype(id),
    }
}

/// `%tid` as a vector of four, the last of them zero.
fn special_vector<'a>(name: &str, span: Span) -> Vec<Arg<'a>> {
    let axes = [Axis::X, Axis::Y, Axis::Z].into_iter();
    let mut elements: Vec<Arg<'a>> = axes
        .filter_map(|axis| SpecialRegister::from_name(name, Some(axis)))
        .map(|register| Arg { kind: ArgKind::Special(register), span })
        .collect();
    elements.push(Arg { kind: ArgKind::Const(Const::signed(0)), span });
    elements
}
