//! The syntax tree: a file as written, names unresolved, instructions undecoded.
//!
//! Borrows its names from the source. An instruction keeps its opcode and its modifiers in order as tokens,
//! so that the syntax tree is independent of the instruction set.

use super::lexer::Token;
use super::module::{Limits, Linkage};
use super::op_data::OpaqueKind;
use super::source::Span;
use super::types::{ScalarType, StateSpace};

/// A name with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct FileAst<'a> {
    pub(super) version: Option<((u32, u32), Span)>,
    pub(super) target: Vec<Name<'a>>,
    pub(super) address_bits: Option<(u32, Span)>,
    pub(super) files: Vec<(u32, String)>,
    pub(super) pragmas: Vec<String>,
    pub(super) aliases: Vec<(Name<'a>, Name<'a>)>,
    pub(super) vars: Vec<VarDecl<'a>>,
    pub(super) functions: Vec<FunctionAst<'a>>,
}

/// `.entry` or `.func`.
#[derive(Debug)]
pub(super) struct FunctionAst<'a> {
    pub(super) name: Name<'a>,
    pub(super) is_kernel: bool,
    pub(super) linkage: Linkage,
    pub(super) returns: Vec<VarDecl<'a>>,
    pub(super) params: Vec<VarDecl<'a>>,
    pub(super) noreturn: bool,
    pub(super) limits: Limits,
    pub(super) pragmas: Vec<String>,
    pub(super) body: Option<Vec<Stmt<'a>>>,
}

/// The space a variable is declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclSpace {
    Reg,
    Param,
    Local,
    Shared,
    Global,
    Const,
    Tex,
}

/// The declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclType {
    Scalar(ScalarType),
    Opaque(OpaqueKind),
}

/// One declaration with all its declarators.
#[derive(Debug)]
pub(super) struct VarDecl<'a> {
    pub(super) linkage: Linkage,
    pub(super) space: DeclSpace,
    pub(super) align: Option<(u64, Span)>,
    pub(super) vec: u8,
    pub(super) ty: DeclType,
    pub(super) pointer: Option<(StateSpace, Option<u64>)>,
    pub(super) managed: bool,
    pub(super) names: Vec<Declarator<'a>>,
}

/// `name<count>[dim]… = init`.
#[derive(Debug)]
pub(super) struct Declarator<'a> {
    pub(super) name: Name<'a>,
    pub(super) count: Option<Expr<'a>>,
    pub(super) dims: Vec<Option<Expr<'a>>>,
    pub(super) init: Option<Init<'a>>,
}

/// An initialiser.
#[derive(Debug)]
pub(super) enum Init<'a> {
    Value(Expr<'a>),
    List(Vec<Init<'a>>, Span),
    /// `field = value` of an opaque reference; carried for completeness, the value has no effect here.
    Field(Span),
}

/// One statement of a body.
#[derive(Debug)]
pub(super) enum Stmt<'a> {
    Label(Name<'a>),
    Inst(InstAst<'a>),
    Vars(VarDecl<'a>),
    Scope(Vec<Stmt<'a>>),
    Pragma(Vec<String>),
    Loc(super::module::Loc),
    BranchTargets(Name<'a>, Vec<Name<'a>>),
    CallTargets(Name<'a>, Vec<Name<'a>>),
    CallPrototype(Name<'a>, PrototypeAst<'a>),
}

/// `.callprototype`.
#[derive(Debug)]
pub(super) struct PrototypeAst<'a> {
    pub(super) returns: Vec<VarDecl<'a>>,
    pub(super) params: Vec<VarDecl<'a>>,
    pub(super) noreturn: bool,
}

/// One instruction.
#[derive(Debug)]
pub(super) struct InstAst<'a> {
    pub(super) guard: Option<(bool, Name<'a>)>,
    pub(super) opcode: Name<'a>,
    /// Dotted words in order, as a range of the file's tokens.
    pub(super) modifiers: std::ops::Range<u32>,
    pub(super) operands: Vec<OperandAst<'a>>,
    pub(super) span: Span,
}

impl InstAst<'_> {
    /// The modifier tokens out of the file's tokens.
    pub(super) fn modifiers<'t>(&self, tokens: &'t [Token]) -> &'t [Token] {
        &tokens[self.modifiers.start as usize..self.modifiers.end as usize]
    }
}

/// One operand.
#[derive(Debug)]
pub(super) enum OperandAst<'a> {
    Expr(Expr<'a>),
    /// `{a, b}`.
    Vector(Vec<OperandAst<'a>>, Span),
    /// `[a, b]`.
    Mem(Vec<OperandAst<'a>>, Span),
    /// `(a, b)` of a call.
    List(Vec<OperandAst<'a>>, Span),
    /// `a|b`.
    Dual(Box<(OperandAst<'a>, OperandAst<'a>)>),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Plus,
    Minus,
    Not,
    Complement,
    /// `(.s64)`.
    ToSigned,
    /// `(.u64)`.
    ToUnsigned,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    AndAnd,
    OrOr,
}

/// An expression: register, symbol, literal or anything constant built of them.
#[derive(Debug)]
pub(super) enum Expr<'a> {
    /// An integer; `unsigned` where it carries a `U` or does not fit 63 bits.
    Int {
        value: u64,
        unsigned: bool,
        span: Span,
    },
    /// A decimal or `0d` float, as the bits of an f64.
    Double(u64, Span),
    /// A `0f` float, as its bits.
    Single(u32, Span),
    Name(Name<'a>),
    /// `%v.x`.
    Member(Name<'a>, Name<'a>),
    /// `array[index]`, outside brackets.
    Index(Name<'a>, Box<Expr<'a>>),
    Unary(UnaryOp, Box<Expr<'a>>, Span),
    Binary(BinaryOp, Box<(Expr<'a>, Expr<'a>)>),
    Ternary(Box<(Expr<'a>, Expr<'a>, Expr<'a>)>),
    /// `generic(symbol)`.
    Generic(Box<Expr<'a>>, Span),
    /// `0xFF00(symbol)`.
    Mask(u64, Box<Expr<'a>>, Span),
}

impl Expr<'_> {
    /// The text the expression covers.
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Int { span, .. }
            | Self::Double(_, span)
            | Self::Single(_, span)
            | Self::Unary(_, _, span)
            | Self::Generic(_, span)
            | Self::Mask(_, _, span) => *span,
            Self::Name(name) => name.span,
            Self::Member(name, member) => name.span.to(member.span),
            Self::Index(name, index) => name.span.to(index.span()),
            Self::Binary(_, sides) => sides.0.span().to(sides.1.span()),
            Self::Ternary(parts) => parts.0.span().to(parts.2.span()),
        }
    }
}

impl OperandAst<'_> {
    /// The text the operand covers.
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Expr(expr) => expr.span(),
            Self::Vector(_, span) | Self::Mem(_, span) | Self::List(_, span) => *span,
            Self::Dual(sides) => sides.0.span().to(sides.1.span()),
        }
    }
}
