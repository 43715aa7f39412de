//! Operands and expressions.
//!
//! One expression grammar serves registers, symbols with offsets, literals and the constant expressions of C;
//! resolution checks which of them are allowed where.

use super::super::ast::{BinaryOp, Expr, OperandAst, UnaryOp};
use super::super::lexer::{Punct, TokenKind};
use super::{MAX_OPERATORS, Parsed, Parser};

/// Precedence (higher binds tighter) and operator of a token.
fn binary_operator(kind: TokenKind) -> Option<(u8, BinaryOp)> {
    let TokenKind::Punct(punct) = kind else { return None };
    Some(match punct {
        Punct::OrOr => (1, BinaryOp::OrOr),
        Punct::AndAnd => (2, BinaryOp::AndAnd),
        Punct::Or => (3, BinaryOp::Or),
        Punct::Caret => (4, BinaryOp::Xor),
        Punct::And => (5, BinaryOp::And),
        Punct::EqualEqual => (6, BinaryOp::Equal),
        Punct::NotEqual => (6, BinaryOp::NotEqual),
        Punct::Less => (7, BinaryOp::Less),
        Punct::LessEqual => (7, BinaryOp::LessEqual),
        Punct::Greater => (7, BinaryOp::Greater),
        Punct::GreaterEqual => (7, BinaryOp::GreaterEqual),
        Punct::ShiftLeft => (8, BinaryOp::ShiftLeft),
        Punct::ShiftRight => (8, BinaryOp::ShiftRight),
        Punct::Plus => (9, BinaryOp::Add),
        Punct::Minus => (9, BinaryOp::Sub),
        Punct::Star => (10, BinaryOp::Mul),
        Punct::Slash => (10, BinaryOp::Div),
        Punct::Percent => (10, BinaryOp::Rem),
        _ => return None,
    })
}

impl<'a> Parser<'a, '_> {
    /// One operand; `lists` allows `(a, b)` (calls).
    pub(super) fn operand(&mut self, lists: bool) -> Parsed<OperandAst<'a>> {
        match self.kind() {
            TokenKind::Punct(Punct::LeftParen) if lists => {
                let (list, span) = self.bracketed(Punct::LeftParen, Punct::RightParen, "`,` or `)`")?;
                Ok(OperandAst::List(list, span))
            }
            TokenKind::Punct(Punct::LeftBrace) => {
                let (list, span) = self.bracketed(Punct::LeftBrace, Punct::RightBrace, "`,` or `}`")?;
                let vector = OperandAst::Vector(list, span);
                if self.eat(Punct::Or) {
                    let second = self.primary().map(OperandAst::Expr)?;
                    return Ok(OperandAst::Dual(Box::new((vector, second))));
                }
                Ok(vector)
            }
            TokenKind::Punct(Punct::LeftBracket) => {
                let (list, span) = self.bracketed(Punct::LeftBracket, Punct::RightBracket, "`,` or `]`")?;
                Ok(OperandAst::Mem(list, span))
            }
            _ => Ok(match self.expr()? {
                Expr::Binary(BinaryOp::Or, sides) if matches!(sides.0, Expr::Name(_) | Expr::Member(..)) => {
                    OperandAst::Dual(Box::new((OperandAst::Expr(sides.0), OperandAst::Expr(sides.1))))
                }
                expr => OperandAst::Expr(expr),
            }),
        }
    }

    /// Operands between brackets.
    fn bracketed(
        &mut self,
        open: Punct,
        close: Punct,
        shown: &str,
    ) -> Parsed<(Vec<OperandAst<'a>>, super::super::source::Span)> {
        self.nested(|parser| {
            let start = parser.expect(open, "an opening bracket")?;
            let mut list = Vec::new();
            if !parser.is(close) {
                list = parser.comma_list(|parser| parser.operand(false))?;
            }
            let end = parser.expect(close, shown)?;
            Ok((list, start.to(end)))
        })
    }

    /// An expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr<'a>> {
        self.operators = 0;
        self.ternary()
    }

    fn ternary(&mut self) -> Parsed<Expr<'a>> {
        self.nested(|parser| {
            let condition = parser.binary(1)?;
            if !parser.eat(Punct::Question) {
                return Ok(condition);
            }
            parser.count_operator()?;
            let then = parser.ternary()?;
            parser.expect(Punct::Colon, "`:`")?;
            let otherwise = parser.ternary()?;
            Ok(Expr::Ternary(Box::new((condition, then, otherwise))))
        })
    }

    /// Operators of at least this precedence, left to right.
    fn binary(&mut self, lowest: u8) -> Parsed<Expr<'a>> {
        let mut left = self.unary()?;
        while let Some((precedence, op)) = binary_operator(self.kind()) {
            if precedence < lowest {
                break;
            }
            self.count_operator()?;
            self.at += 1;
            let right = self.binary(precedence + 1)?;
            left = Expr::Binary(op, Box::new((left, right)));
        }
        Ok(left)
    }

    /// Bounds the size of the tree, which is as deep as it has operators.
    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let span = self.token().span;
            return self.fail(span, format!("more than {MAX_OPERATORS} operators in one expression"));
        }
        Ok(())
    }

    fn unary(&mut self) -> Parsed<Expr<'a>> {
        let op = match self.kind() {
            TokenKind::Punct(Punct::Plus) => UnaryOp::Plus,
            TokenKind::Punct(Punct::Minus) => UnaryOp::Minus,
            TokenKind::Punct(Punct::Not) => UnaryOp::Not,
            TokenKind::Punct(Punct::Tilde) => UnaryOp::Complement,
            TokenKind::Punct(Punct::LeftParen) => match self.cast() {
                Some(op) => op,
                None => return self.primary(),
            },
            _ => return self.primary(),
        };
        let start = self.advance().span;
        if matches!(op, UnaryOp::ToSigned | UnaryOp::ToUnsigned) {
            self.at += 2;
        }
        self.count_operator()?;
        let operand = self.nested(Self::unary)?;
        Ok(Expr::Unary(op, Box::new(operand), start.to(self.previous())))
    }

    /// Whether `(.s64)` or `(.u64)` stands at the cursor.
    fn cast(&self) -> Option<UnaryOp> {
        let closes = self.kind_ahead(2) == TokenKind::Punct(Punct::RightParen);
        if self.kind_ahead(1) != TokenKind::Dot || !closes {
            return None;
        }
        match self.text_of(self.tokens[self.at + 1]) {
            ".s64" => Some(UnaryOp::ToSigned),
            ".u64" => Some(UnaryOp::ToUnsigned),
            _ => None,
        }
    }

    fn primary(&mut self) -> Parsed<Expr<'a>> {
        let token = self.token();
        match token.kind {
            TokenKind::Int => self.int_literal(),
            TokenKind::Float | TokenKind::HexFloat | TokenKind::HexDouble | TokenKind::Dot => {
                self.float_literal()
            }
            TokenKind::Word => {
                self.at += 1;
                let name = self.name_of(token);
                if name.text == "generic" && self.is(Punct::LeftParen) {
                    let inner = self.parenthesised()?;
                    return Ok(Expr::Generic(Box::new(inner), token.span.to(self.previous())));
                }
                if self.kind() == TokenKind::Dot && self.token().span.start == token.span.end {
                    let member = self.advance();
                    return Ok(Expr::Member(name, self.name_of(member)));
                }
                if self.is(Punct::LeftBracket) {
                    self.at += 1;
                    let index = self.ternary()?;
                    self.expect(Punct::RightBracket, "`]`")?;
                    return Ok(Expr::Index(name, Box::new(index)));
                }
                Ok(Expr::Name(name))
            }
            TokenKind::Punct(Punct::LeftParen) => self.parenthesised(),
            _ => self.expected("an operand"),
        }
    }

    fn parenthesised(&mut self) -> Parsed<Expr<'a>> {
        self.expect(Punct::LeftParen, "`(`")?;
        let inner = self.ternary()?;
        self.expect(Punct::RightParen, "`)`")?;
        Ok(inner)
    }

    /// An integer, or `mask(symbol)` where a parenthesis follows it directly.
    fn int_literal(&mut self) -> Parsed<Expr<'a>> {
        let token = self.advance();
        let value = self.integer(token)?;
        if self.is(Punct::LeftParen) && self.token().span.start == token.span.end {
            let inner = self.parenthesised()?;
            return Ok(Expr::Mask(value, Box::new(inner), token.span.to(self.previous())));
        }
        let unsigned = self.text_of(token).ends_with('U') || i64::try_from(value).is_err();
        Ok(Expr::Int { value, unsigned, span: token.span })
    }

    /// `1.5e3`, `.5`, `0f3F800000`, `0d3FF0000000000000`.
    fn float_literal(&mut self) -> Parsed<Expr<'a>> {
        let token = self.token();
        let text = self.text_of(token);
        let digits = text.get(2..).unwrap_or("");
        let literal = match token.kind {
            TokenKind::HexFloat => {
                u32::from_str_radix(digits, 16).ok().map(|bits| Expr::Single(bits, token.span))
            }
            TokenKind::HexDouble => {
                u64::from_str_radix(digits, 16).ok().map(|bits| Expr::Double(bits, token.span))
            }
            TokenKind::Dot if !text[1..].starts_with(|c: char| c.is_ascii_digit()) => None,
            _ => text.parse::<f64>().ok().map(|value| Expr::Double(value.to_bits(), token.span)),
        };
        match literal {
            Some(literal) => {
                self.at += 1;
                Ok(literal)
            }
            None => self.expected("an operand"),
        }
    }
}
