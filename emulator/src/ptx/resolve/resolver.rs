//! The state of the resolver.

use super::super::ast::Name;
use super::super::diagnostic::{Diagnostic, Diagnostics};
use super::super::forms::Forms;
use super::super::lexer::Token;
use super::super::module::{Function, Variable};
use super::super::source::Span;
use super::scope::Symbol;
use std::collections::HashMap;

/// The file being resolved, with what all its functions share.
pub(super) struct Resolver<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) symbols: HashMap<&'a str, (Symbol, Span)>,
    pub(super) vars: Vec<Variable>,
    pub(super) functions: Vec<Function>,
    /// The instruction forms of the file's version and target.
    pub(super) forms: Forms<'a>,
    /// Bytes of the initial values of all variables so far.
    pub(super) initialised_bytes: u64,
}

impl<'a> Resolver<'a> {
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }

    pub(super) fn duplicate(&mut self, name: Name<'_>, first: Span) {
        let duplicate =
            Diagnostic::error(name.span, format!("`{}` is defined twice in this scope", name.text));
        self.diagnostics.push(duplicate.with_label(first, "first defined here"));
    }
}
