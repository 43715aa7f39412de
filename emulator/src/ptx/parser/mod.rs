//! Tokens to syntax tree, by recursive descent.
//!
//! This file holds the cursor, the way errors are raised and where parsing resumes after one; the grammar
//! is in `file` (directives of a module), `decl` (variables and parameters), `body` (statements) and
//! `expr` (operands). A failed production has already reported why ([`Failed`]); its statement is skipped
//! to the next `;` or closing brace, so that every broken statement of a file is reported once. Nesting is
//! bounded, so no input can exhaust the stack.

mod body;
mod decl;
mod expr;
mod file;

use super::ast::{FileAst, Name};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::lexer::{Punct, Token, TokenKind};
use super::source::Span;

/// Deepest nesting of scopes, brackets, parentheses and initialiser lists together.
const MAX_DEPTH: usize = 96;

/// Most operators in one expression.
const MAX_OPERATORS: usize = 512;

/// A production failed and has reported why.
pub(super) struct Failed;

/// Result of a production.
type Parsed<T> = Result<T, Failed>;

/// Parses a whole file; all errors go to `diagnostics`; returns the parts that could be parsed.
pub(super) fn parse_file<'a>(
    text: &'a str,
    tokens: &'a [Token],
    diagnostics: &mut Diagnostics,
) -> FileAst<'a> {
    let mut parser = Parser { text, tokens, at: 0, depth: 0, operators: 0, diagnostics };
    parser.file()
}

struct Parser<'a, 'd> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    operators: usize,
    diagnostics: &'d mut Diagnostics,
}

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn kind_ahead(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    /// Advances by one token, but not beyond the end token.
    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
    }

    fn name_of(&self, token: Token) -> Name<'a> {
        Name { text: self.text_of(token), span: token.span }
    }

    /// End of the token before the current one: where something missing should have stood.
    fn previous(&self) -> Span {
        self.at.checked_sub(1).map_or_else(Span::default, |before| self.tokens[before].span)
    }

    fn is(&self, punct: Punct) -> bool {
        self.kind() == TokenKind::Punct(punct)
    }

    fn eat(&mut self, punct: Punct) -> bool {
        let found = self.is(punct);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, punct: Punct, shown: &str) -> Parsed<Span> {
        if self.is(punct) {
            return Ok(self.advance().span);
        }
        self.expected(shown)
    }

    /// The dotted word at the cursor without its dot, or `""`.
    fn dot(&self) -> &'a str {
        match self.kind() {
            TokenKind::Dot => &self.text_of(self.token())[1..],
            _ => "",
        }
    }

    fn eat_dot(&mut self, word: &str) -> bool {
        let found = self.dot() == word;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect_word(&mut self, what: &str) -> Parsed<Name<'a>> {
        if self.kind() == TokenKind::Word {
            let token = self.advance();
            return Ok(self.name_of(token));
        }
        self.expected(what)
    }

    /// An integer literal that fits 32 bits.
    fn expect_u32(&mut self, what: &str) -> Parsed<u32> {
        if self.kind() != TokenKind::Int {
            return self.expected(what);
        }
        let token = self.advance();
        match u32::try_from(self.integer(token)?) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(token.span, format!("{what} does not fit 32 bits")),
        }
    }

    /// The value of an integer token.
    fn integer(&mut self, token: Token) -> Parsed<u64> {
        let text = self.text_of(token).trim_end_matches('U');
        let (radix, digits) = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &text[2..]),
            [b'0', b'b' | b'B', ..] => (2, &text[2..]),
            [b'0', _, ..] => (8, &text[1..]),
            _ => (10, text),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(value) => Ok(value),
            Err(_) if digits.bytes().all(|byte| (byte as char).is_digit(radix)) && !digits.is_empty() => {
                self.fail(token.span, format!("the number `{text}` does not fit 64 bits"))
            }
            Err(_) => self.fail(token.span, format!("malformed number `{text}`")),
        }
    }

    /// A quoted text without its quotes; backslash escapes are left as they are.
    fn expect_string(&mut self, what: &str) -> Parsed<String> {
        if self.kind() != TokenKind::Str {
            return self.expected(what);
        }
        let token = self.advance();
        Ok(self.text_of(token).trim_matches('"').to_owned())
    }

    /// Comma-separated list of at least one element.
    fn comma_list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut list = vec![element(self)?];
        while self.eat(Punct::Comma) {
            list.push(element(self)?);
        }
        Ok(list)
    }

    /// Runs a production one nesting level deeper.
    fn nested<T>(&mut self, production: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.token().span;
            return self.fail(span, format!("nested more than {MAX_DEPTH} levels deep"));
        }
        self.depth += 1;
        let result = production(self);
        self.depth -= 1;
        result
    }

    /// The semicolon of a statement. Where it is missing at the end of a line, that is reported and the
    /// statement counts as complete.
    fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(Punct::Semicolon) {
            return Ok(());
        }
        let previous = self.previous();
        let gap = self.text.get(previous.end as usize..self.token().span.start as usize).unwrap_or("");
        if gap.contains('\n') || self.is(Punct::RightBrace) || self.kind() == TokenKind::End {
            let last = Span::new(previous.end.saturating_sub(1), previous.end);
            self.diagnostics.push(Diagnostic::error(last, "expected `;` after this"));
            return Ok(());
        }
        self.expected("`,` or `;`")
    }

    fn fail<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.diagnostics.push(Diagnostic::error(span, message));
        Err(Failed)
    }

    fn fail_with<T>(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Parsed<T> {
        self.diagnostics.push(Diagnostic::error(span, message).with_help(help));
        Err(Failed)
    }

    /// Fails with "expected `what`, found …" at the cursor.
    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::DwarfLine => "a debug line".to_owned(),
            _ => format!("`{}`", self.text_of(token)),
        };
        self.fail(token.span, format!("expected {what}, found {found}"))
    }

    /// Resumes after a failed statement that began at `start`: behind its `;`, or before the brace that
    /// closes the surrounding block. Braces of vector operands in between do not count.
    fn recover(&mut self, start: usize) {
        let failed_at = self.at;
        self.at = start;
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Punct(Punct::Semicolon) if self.at >= failed_at => {
                    self.at += 1;
                    return;
                }
                TokenKind::Punct(Punct::LeftBrace) => open += 1,
                TokenKind::Punct(Punct::RightBrace) if open == 0 => return,
                TokenKind::Punct(Punct::RightBrace) => open -= 1,
                _ if self.at > failed_at && self.starts_function() => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether a kernel or function begins at the cursor, a linkage before it included.
    fn starts_function(&self) -> bool {
        let word = |token: &Token| if token.kind == TokenKind::Dot { &self.text_of(*token)[1..] } else { "" };
        let first = word(&self.tokens[self.at]);
        let second = self.tokens.get(self.at + 1).map_or("", word);
        let opens = |text: &str| matches!(text, "entry" | "func");
        opens(first) || (matches!(first, "visible" | "extern" | "weak") && opens(second))
    }
}
