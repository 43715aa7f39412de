//! Name tables: what is declared in a function, scope by scope, and in the module.
//!
//! A parametrised declaration (`%r<4096>`) is one entry; its registers get their numbers when they are first
//! mentioned, so that tables grow with the text and not with the number of declared registers.

use std::collections::HashMap;

use super::super::ids::{BranchTableId, CallTableId, FuncId, LabelId, PrototypeId, RegId, VarId};
use super::super::module::Register;
use super::super::source::Span;
use super::super::types::ScalarType;

/// Meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// Scalar or vector registers: number of the declaration, index within it.
    Reg(u32, u32),
    Var(VarId),
    Label(LabelId),
    Func(FuncId),
    BranchTable(BranchTableId),
    CallTable(CallTableId),
    Prototype(PrototypeId),
}

/// A register declaration: names, how many of them, their type.
#[derive(Debug)]
pub(super) struct RegDecl<'a> {
    prefix: &'a str,
    /// How many, for a parametrised declaration.
    count: Option<u32>,
    ty: ScalarType,
    vec: u8,
    span: Span,
}

/// One level of names.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, (Symbol, Span)>,
    /// Prefixes of parametrised register declarations, with the declaration's number.
    ranges: HashMap<&'a str, u32>,
}

/// The names of one function and its registers.
#[derive(Debug)]
pub(super) struct Names<'a> {
    scopes: Vec<Scope<'a>>,
    decls: Vec<RegDecl<'a>>,
    /// First scalar register of each register mentioned so far.
    numbers: HashMap<(u32, u32), RegId>,
    pub(super) registers: Vec<Register>,
}

/// The elements of a vector register.
pub(super) const COMPONENTS: [&str; 8] = ["x", "y", "z", "w", "4", "5", "6", "7"];

impl<'a> Names<'a> {
    /// Names with one, outermost scope.
    pub(super) fn new() -> Self {
        Self {
            scopes: vec![Scope::default()],
            decls: Vec::new(),
            numbers: HashMap::new(),
            registers: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    fn innermost(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Declares a name in the innermost scope; `Err` is the place of an earlier declaration there.
    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol, span: Span) -> Result<(), Span> {
        if let Some(index) = self.scopes.len().checked_sub(1)
            && let Some(Symbol::Reg(decl, _)) = self.in_range(index, name)
        {
            return Err(self.decls[decl as usize].span);
        }
        match self.innermost().names.entry(name) {
            std::collections::hash_map::Entry::Occupied(entry) => Err(entry.get().1),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert((symbol, span));
                Ok(())
            }
        }
    }

    /// Declares a register, or `count` of them with numbers appended.
    pub(super) fn declare_registers(
        &mut self,
        prefix: &'a str,
        count: Option<u32>,
        ty: ScalarType,
        vec: u8,
        span: Span,
    ) -> Result<(), Span> {
        let number = u32::try_from(self.decls.len()).unwrap_or(u32::MAX);
        self.decls.push(RegDecl { prefix, count, ty, vec, span });
        if count.is_none() {
            return self.declare(prefix, Symbol::Reg(number, 0), span);
        }
        match self.innermost().ranges.insert(prefix, number) {
            Some(first) => Err(self.decls[first as usize].span),
            None => Ok(()),
        }
    }

    /// Finds a name, innermost scope first.
    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        (0..self.scopes.len()).rev().find_map(|index| {
            let exact = self.scopes[index].names.get(name).map(|(symbol, _)| *symbol);
            exact.or_else(|| self.in_range(index, name))
        })
    }

    /// Finds a name among the parametrised declarations of a scope.
    fn in_range(&self, scope: usize, name: &str) -> Option<Symbol> {
        let ranges = &self.scopes[scope].ranges;
        if ranges.is_empty() {
            return None;
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        // `%r1<10>` declares `%r10`: which trailing digits are the number depends on the declaration.
        (1..=digits.min(10)).rev().find_map(|length| {
            let (prefix, number) = name.split_at(name.len() - length);
            if length > 1 && number.starts_with('0') {
                return None;
            }
            let decl = *ranges.get(prefix)?;
            let number = number.parse().ok()?;
            (Some(number) < self.decls[decl as usize].count).then_some(Symbol::Reg(decl, number))
        })
    }

    /// If a name is just past the end of a parametrised declaration: the declared names, and its place.
    pub(super) fn range_missed_by(&self, name: &str) -> Option<(String, Span)> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let decl = self.scopes.iter().rev().find_map(|scope| scope.ranges.get(prefix))?;
        let shape = &self.decls[*decl as usize];
        let last = shape.count?.checked_sub(1)?;
        Some((format!("this declares `{prefix}0` to `{prefix}{last}`"), shape.span))
    }

    /// The scalar registers of a declared register, numbered on first mention: the first one's number and
    /// how many there are.
    pub(super) fn register(&mut self, decl: u32, index: u32) -> (RegId, u8) {
        let shape = &self.decls[decl as usize];
        let registers = &mut self.registers;
        let first = *self.numbers.entry((decl, index)).or_insert_with(|| {
            let first = RegId::new(registers.len());
            let name = match shape.count {
                Some(_) => format!("{}{index}", shape.prefix),
                None => shape.prefix.to_owned(),
            };
            if shape.vec == 1 {
                registers.push(Register { name, ty: shape.ty });
            } else {
                let elements = COMPONENTS.iter().take(shape.vec as usize);
                registers.extend(
                    elements.map(|element| Register { name: format!("{name}.{element}"), ty: shape.ty }),
                );
            }
            first
        });
        (first, shape.vec)
    }
}
