//! The input of the decoder, and the result of a handler.

use crate::ptx::ast::Name;
use crate::ptx::diagnostic::Diagnostic;
use crate::ptx::ids::LocId;
use crate::ptx::inst::Guard;
use crate::ptx::lexer::Token;
use crate::ptx::module::{Function, Prototype};
use crate::ptx::resolve::Arg;
use crate::ptx::source::Span;

/// Result of a handler; the error is boxed to keep the success path small.
pub(in crate::ptx) type Decode<T> = Result<T, Box<Diagnostic>>;

/// An instruction with resolved operands.
pub(in crate::ptx) struct RawInst<'a, 't> {
    pub(in crate::ptx) guard: Option<Guard>,
    pub(in crate::ptx) opcode: Name<'a>,
    pub(in crate::ptx) modifiers: &'t [Token],
    pub(in crate::ptx) args: Vec<Arg<'a>>,
    pub(in crate::ptx) span: Span,
    pub(in crate::ptx) loc: Option<LocId>,
}

/// Signatures to check calls.
pub(in crate::ptx) struct Signatures<'s> {
    pub(in crate::ptx) functions: &'s [Function],
    pub(in crate::ptx) prototypes: &'s [Prototype],
}
