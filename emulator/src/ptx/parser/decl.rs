//! Declarations of registers, variables and parameters.

use super::super::ast::{DeclSpace, DeclType, Declarator, Init, VarDecl};
use super::super::lexer::{Punct, TokenKind};
use super::super::module::Linkage;
use super::super::op_data::OpaqueKind;
use super::super::source::Span;
use super::super::types::{ScalarType, StateSpace};
use super::{Parsed, Parser};

/// Most dimensions of an array.
const MAX_DIMENSIONS: usize = 32;

/// The state space of a declaration's keyword.
fn decl_space(word: &str) -> Option<DeclSpace> {
    Some(match word {
        "reg" => DeclSpace::Reg,
        "param" => DeclSpace::Param,
        "local" => DeclSpace::Local,
        "shared" | "shared::cta" => DeclSpace::Shared,
        "global" => DeclSpace::Global,
        "const" => DeclSpace::Const,
        "tex" => DeclSpace::Tex,
        _ => return None,
    })
}

/// The part of a declaration before its names, as far as it has been read.
#[derive(Default)]
struct Head {
    space: Option<DeclSpace>,
    align: Option<(u64, Span)>,
    vec: u8,
    ty: Option<DeclType>,
    pointer: Option<(StateSpace, Option<u64>)>,
    managed: bool,
}

impl<'a> Parser<'a, '_> {
    /// Whether a variable declaration begins at the cursor.
    pub(super) fn starts_declaration(&self) -> bool {
        let word = self.dot();
        decl_space(word).is_some() || matches!(word, "visible" | "extern" | "weak" | "common" | "align")
    }

    /// `.linkage .space .align n .v4 .type name<n>[dims] = init, …`, without the semicolon.
    pub(super) fn var_decl(&mut self) -> Parsed<VarDecl<'a>> {
        let linkage = self.linkage();
        let start = self.token().span;
        let head = self.decl_head()?;
        let names = self.comma_list(Self::declarator)?;
        self.finish_decl(linkage, start, &head, names)
    }

    /// One parameter: a declaration of a single name (`_` in prototypes).
    pub(super) fn param(&mut self) -> Parsed<VarDecl<'a>> {
        let start = self.token().span;
        let head = self.decl_head()?;
        let name = self.declarator()?;
        self.finish_decl(Linkage::Internal, start, &head, vec![name])
    }

    fn finish_decl(
        &mut self,
        linkage: Linkage,
        start: Span,
        head: &Head,
        names: Vec<Declarator<'a>>,
    ) -> Parsed<VarDecl<'a>> {
        let Some(space) = head.space else {
            return self.fail_with(
                start,
                "this declaration names no state space",
                "add `.reg`, `.param`, `.local`, `.shared`, `.global` or `.const`",
            );
        };
        let Some(ty) = head.ty else {
            return self.fail_with(
                start,
                "this declaration names no type",
                "add one such as `.b32` or `.f64`",
            );
        };
        let Head { align, pointer, managed, .. } = *head;
        let vec = head.vec.max(1);
        Ok(VarDecl { linkage, space, align, vec, ty, pointer, managed, names })
    }

    /// The dotted words before the names, in any order.
    fn decl_head(&mut self) -> Parsed<Head> {
        let mut head = Head::default();
        while self.kind() == TokenKind::Dot {
            let word = self.dot();
            let span = self.token().span;
            match word {
                "attribute" => {
                    head.managed |= self.attribute()?;
                    continue;
                }
                "align" => {
                    self.at += 1;
                    head.align = Some(self.alignment()?);
                    continue;
                }
                "ptr" => {
                    self.at += 1;
                    head.pointer = Some(self.pointer()?);
                    continue;
                }
                "v2" => head.vec = 2,
                "v4" => head.vec = 4,
                "v8" => head.vec = 8,
                _ => self.decl_word(&mut head, word, span)?,
            }
            self.at += 1;
        }
        Ok(head)
    }

    /// A state space or a type.
    fn decl_word(&mut self, head: &mut Head, word: &str, span: Span) -> Parsed<()> {
        let opaque = OpaqueKind::from_keyword(word).map(DeclType::Opaque);
        let ty = opaque.or_else(|| ScalarType::from_keyword(word).map(DeclType::Scalar));
        if let Some(ty) = ty {
            if head.ty.replace(ty).is_some() {
                return self.fail(span, "this declaration names two types");
            }
        } else if let Some(space) = decl_space(word) {
            if head.space.replace(space).is_some() {
                return self.fail(span, "this declaration names two state spaces");
            }
            // `.const[bank]` of early PTX: the banks are one space now.
            if space == DeclSpace::Const && self.kind_ahead(1) == TokenKind::Punct(Punct::LeftBracket) {
                self.at += 2;
                self.expect_u32("a bank number")?;
                if !self.is(Punct::RightBracket) {
                    return self.expected("`]`");
                }
            }
        } else {
            return self
                .fail(span, format!("`.{word}` is neither a state space nor a type of a declaration"));
        }
        Ok(())
    }

    /// The number after `.align`.
    fn alignment(&mut self) -> Parsed<(u64, Span)> {
        let span = self.token().span;
        let value = u64::from(self.expect_u32("an alignment in bytes")?);
        if !value.is_power_of_two() {
            return self.fail(span, "an alignment is a power of two");
        }
        Ok((value, span))
    }

    /// What follows `.ptr`: the space and alignment of the target.
    fn pointer(&mut self) -> Parsed<(StateSpace, Option<u64>)> {
        let space = match self.dot() {
            "global" => StateSpace::Global,
            "const" => StateSpace::Const,
            "local" => StateSpace::Local,
            "shared" | "shared::cta" => StateSpace::Shared,
            "generic" => StateSpace::Generic,
            "param" => StateSpace::Param,
            _ => StateSpace::Generic,
        };
        if matches!(self.dot(), "global" | "const" | "local" | "shared" | "shared::cta" | "generic" | "param")
        {
            self.at += 1;
        }
        let align = if self.eat_dot("align") { Some(self.alignment()?.0) } else { None };
        Ok((space, align))
    }

    /// `name`, `name<n>`, `name[n][m]`, each with an initialiser.
    fn declarator(&mut self) -> Parsed<Declarator<'a>> {
        let name = self.expect_word("a name")?;
        let mut count = None;
        if self.eat(Punct::Less) {
            let span = self.token().span;
            if self.kind() != TokenKind::Int {
                return self.expected("the number of names");
            }
            let token = self.advance();
            let value = self.integer(token)?;
            count = Some(super::super::ast::Expr::Int { value, unsigned: false, span });
            self.expect(Punct::Greater, "`>`")?;
        }
        let mut dims = Vec::new();
        while self.eat(Punct::LeftBracket) {
            if dims.len() == MAX_DIMENSIONS {
                return self.fail(name.span, format!("an array of more than {MAX_DIMENSIONS} dimensions"));
            }
            if self.eat(Punct::RightBracket) {
                dims.push(None);
                continue;
            }
            dims.push(Some(self.expr()?));
            self.expect(Punct::RightBracket, "`]`")?;
        }
        let init = if self.eat(Punct::Assign) { Some(self.init()?) } else { None };
        Ok(Declarator { name, count, dims, init })
    }

    /// A value, `field = value`, or a list of them.
    fn init(&mut self) -> Parsed<Init<'a>> {
        if self.kind() == TokenKind::Word && self.kind_ahead(1) == TokenKind::Punct(Punct::Assign) {
            let field = self.advance().span;
            self.at += 1;
            self.expr()?;
            return Ok(Init::Field(field.to(self.previous())));
        }
        if !self.is(Punct::LeftBrace) {
            return self.expr().map(Init::Value);
        }
        self.nested(|parser| {
            let open = parser.advance().span;
            let mut list = Vec::new();
            while !parser.is(Punct::RightBrace) {
                list.push(parser.init()?);
                if !parser.eat(Punct::Comma) {
                    break;
                }
            }
            let close = parser.expect(Punct::RightBrace, "`,` or `}`")?;
            Ok(Init::List(list, open.to(close)))
        })
    }
}
