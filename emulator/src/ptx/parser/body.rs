//! Statements of a function body.

use super::super::ast::{InstAst, Name, PrototypeAst, Stmt};
use super::super::diagnostic::Diagnostic;
use super::super::lexer::{Punct, TokenKind};
use super::super::module::Loc;
use super::super::source::Span;
use super::{Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// `{ statements }` of a function. A function that begins where a statement should ends it, reported.
    pub(super) fn function_body(&mut self) -> Parsed<Vec<Stmt<'a>>> {
        let open = self.expect(Punct::LeftBrace, "`{`")?;
        let statements = self.statements();
        self.close_block(open);
        Ok(statements)
    }

    /// The closing brace of a block that was opened at `open`.
    fn close_block(&mut self, open: Span) {
        if !self.eat(Punct::RightBrace) {
            let here = self.token().span;
            let missing = Diagnostic::error(open, "this `{` is never closed")
                .with_label(here, "`}` expected before this");
            self.diagnostics.push(missing);
        }
    }

    /// Statements up to a closing brace, the end, or the begin of another function.
    fn statements(&mut self) -> Vec<Stmt<'a>> {
        let mut statements = Vec::new();
        while self.kind() != TokenKind::End && !self.is(Punct::RightBrace) && !self.starts_function() {
            let start = self.at;
            if self.statement(&mut statements).is_err() {
                self.recover(start);
            }
        }
        statements
    }

    fn statement(&mut self, out: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        match self.kind() {
            TokenKind::Word if self.kind_ahead(1) == TokenKind::Punct(Punct::Colon) => self.label(out),
            TokenKind::Word | TokenKind::Punct(Punct::At) => {
                let instruction = self.instruction()?;
                out.push(Stmt::Inst(instruction));
                Ok(())
            }
            TokenKind::Dot => self.body_directive(out),
            TokenKind::Punct(Punct::LeftBrace) => self.scope(out),
            TokenKind::DwarfLine => {
                self.at += 1;
                Ok(())
            }
            _ => self.expected("an instruction, a label or a directive"),
        }
    }

    /// A nested scope. One too deep is reported and skipped as a whole.
    fn scope(&mut self, out: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        let result = self.nested(|parser| {
            let open = parser.advance().span;
            let statements = parser.statements();
            parser.close_block(open);
            Ok(statements)
        });
        match result {
            Ok(statements) => out.push(Stmt::Scope(statements)),
            Err(_) => self.skip_block(),
        }
        Ok(())
    }

    /// Skips a block with all blocks inside it.
    fn skip_block(&mut self) {
        let mut open = 0usize;
        loop {
            match self.advance().kind {
                TokenKind::Punct(Punct::LeftBrace) => open += 1,
                TokenKind::Punct(Punct::RightBrace) if open <= 1 => return,
                TokenKind::Punct(Punct::RightBrace) => open -= 1,
                TokenKind::End => return,
                _ => {}
            }
        }
    }

    /// `name:`, with the target list or prototype that it may name.
    fn label(&mut self, out: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        let token = self.advance();
        let name = self.name_of(token);
        self.at += 1;
        let statement = match self.dot() {
            "branchtargets" => {
                self.at += 1;
                Stmt::BranchTargets(name, self.comma_list(|parser| parser.expect_word("a label"))?)
            }
            "calltargets" => {
                self.at += 1;
                Stmt::CallTargets(name, self.comma_list(|parser| parser.expect_word("a function"))?)
            }
            "callprototype" => {
                self.at += 1;
                Stmt::CallPrototype(name, self.prototype()?)
            }
            _ => {
                out.push(Stmt::Label(name));
                return Ok(());
            }
        };
        out.push(statement);
        self.semicolon()
    }

    /// `(returns) _ (params) .noreturn`.
    fn prototype(&mut self) -> Parsed<PrototypeAst<'a>> {
        let returns = if self.is(Punct::LeftParen) { self.param_list()? } else { Vec::new() };
        if self.kind() == TokenKind::Word {
            self.at += 1;
        }
        let params = if self.is(Punct::LeftParen) { self.param_list()? } else { Vec::new() };
        let mut noreturn = false;
        while self.kind() == TokenKind::Dot {
            match self.dot() {
                "noreturn" => {
                    noreturn = true;
                    self.at += 1;
                }
                "abi_preserve" | "abi_preserve_control" => {
                    self.at += 1;
                    self.expect_u32("a number of registers")?;
                }
                _ => return self.expected("`.noreturn` or `;`"),
            }
        }
        Ok(PrototypeAst { returns, params, noreturn })
    }

    fn body_directive(&mut self, out: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        match self.dot() {
            "loc" => {
                let loc = self.loc()?;
                out.push(Stmt::Loc(loc));
                Ok(())
            }
            "pragma" => {
                let pragmas = self.pragma()?;
                out.push(Stmt::Pragma(pragmas));
                Ok(())
            }
            "branchtargets" | "calltargets" | "callprototype" => {
                let span = self.token().span;
                self.fail_with(
                    span,
                    "this directive needs a label before it",
                    "write `name: .branchtargets …;`",
                )
            }
            _ if self.starts_declaration() => {
                let decl = self.var_decl()?;
                out.push(Stmt::Vars(decl));
                self.semicolon()
            }
            word => {
                let span = self.token().span;
                self.fail(span, format!("unknown directive `.{word}` in a function body"))
            }
        }
    }

    /// `.loc file line col, function_name label + offset, inlined_at file line col`.
    pub(super) fn loc(&mut self) -> Parsed<Loc> {
        self.at += 1;
        let file = self.expect_u32("a file number")?;
        let line = self.expect_u32("a line")?;
        let col = if self.kind() == TokenKind::Int { self.expect_u32("a column")? } else { 0 };
        let mut loc = Loc { file, line, col, inlined_at: None };
        while self.eat(Punct::Comma) {
            let attribute = self.expect_word("`function_name` or `inlined_at`")?;
            match attribute.text {
                "function_name" => {
                    self.expect_word("a label in the debug strings")?;
                    if self.eat(Punct::Plus) {
                        self.expect_u32("an offset")?;
                    }
                }
                "inlined_at" => {
                    let file = self.expect_u32("a file number")?;
                    let line = self.expect_u32("a line")?;
                    loc.inlined_at = Some((file, line, self.expect_u32("a column")?));
                }
                other => return self.fail(attribute.span, format!("unknown attribute `{other}` of .loc")),
            }
        }
        Ok(loc)
    }

    /// `@!p opcode.modifiers operands;`.
    fn instruction(&mut self) -> Parsed<InstAst<'a>> {
        let start = self.token().span;
        let guard = self.guard()?;
        let opcode = self.expect_word("an instruction")?;
        let first = self.at;
        while self.kind() == TokenKind::Dot {
            self.at += 1;
        }
        let modifiers = narrow(first)..narrow(self.at);
        let mut operands = Vec::new();
        if !self.is(Punct::Semicolon) && !self.ends_without_operands() {
            operands.reserve(4);
            let is_call = opcode.text == "call";
            loop {
                operands.push(self.operand(is_call)?);
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        self.semicolon()?;
        let span = start.to(self.previous());
        Ok(InstAst { guard, opcode, modifiers, operands, span })
    }

    /// Whether an instruction without operands lacks its semicolon here.
    fn ends_without_operands(&self) -> bool {
        self.is(Punct::RightBrace) || self.kind() == TokenKind::End
    }

    /// `@p` or `@!p`: negated, predicate.
    fn guard(&mut self) -> Parsed<Option<(bool, Name<'a>)>> {
        if !self.eat(Punct::At) {
            return Ok(None);
        }
        let negated = self.eat(Punct::Not);
        let name = self.expect_word("a predicate register")?;
        Ok(Some((negated, name)))
    }
}

/// A token index; the texts accepted have less than 2^32 tokens.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
