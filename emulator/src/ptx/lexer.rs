//! Text to tokens.
//!
//! Tokens are kinds and byte spans; their text stays in the source. Comments, white space and `# line`
//! markers vanish here. A dotted word (`.global`, `.L2::cache_hint`, `.2d`) is one token, so that an
//! instruction's modifiers are a run of tokens. Malformed text is reported and skipped; lexing never fails.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::source::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Identifier, `%` and `$` included.
    Word,
    /// Dot and identifier, with `::` parts.
    Dot,
    /// Integer literal.
    Int,
    /// Decimal floating-point literal.
    Float,
    /// `0f` and eight hexadecimal digits.
    HexFloat,
    /// `0d` and sixteen hexadecimal digits.
    HexDouble,
    /// Quoted text.
    Str,
    /// `@@DWARF …` to the end of the line.
    DwarfLine,
    /// Operator or bracket of one or two characters.
    Punct(Punct),
    /// The end, repeated for ever.
    End,
}

/// Operators and brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Punct {
    Comma,
    Semicolon,
    Colon,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    EqualEqual,
    NotEqual,
    AndAnd,
    OrOr,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Not,
    Tilde,
    And,
    Or,
    Caret,
    Question,
    Assign,
    At,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// Splits a whole text; the last token is [`TokenKind::End`].
pub(super) fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, diagnostics };
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let Some(kind) = lexer.next_kind() else { continue };
        tokens.push(Token { kind, span: span(start, lexer.at) });
        if kind == TokenKind::End {
            return tokens;
        }
    }
}

/// Whether a byte can continue an identifier.
pub(super) const fn continues_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Both ends fit: the caller of the front end refuses texts over 4 GiB.
fn span(start: usize, end: usize) -> Span {
    let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(narrow(start), narrow(end))
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    diagnostics: &'a mut Diagnostics,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && wanted(self.bytes[self.at]) {
            self.at += 1;
        }
    }

    fn error(&mut self, start: usize, message: String, help: &str) {
        self.diagnostics.push(Diagnostic::error(span(start, self.at), message).with_help(help));
    }

    /// Skips white space (a NUL ends texts taken out of binaries), comments and line markers.
    fn skip_blank(&mut self) {
        loop {
            let start = self.at;
            self.skip_while(|byte| byte.is_ascii_whitespace() || byte == 0 || byte == 0x0b);
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.skip_while(|byte| byte != b'\n'),
                (b'/', b'*') => self.skip_block_comment(),
                (b'#', _) => self.skip_line_marker(),
                _ => {}
            }
            if self.at == start {
                return;
            }
        }
    }

    fn skip_block_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = start + 2;
                self.error(start, "this comment is never closed".into(), "add `*/`");
                self.at = self.bytes.len();
            }
        }
    }

    /// `# 12 "file"` and `#line …` are skipped; other preprocessor lines cannot be obeyed.
    fn skip_line_marker(&mut self) {
        let start = self.at;
        self.skip_while(|byte| byte != b'\n');
        let words = self.text[start + 1..self.at].trim_start();
        if !(words.is_empty() || words.starts_with("line") || words.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.error(
                start,
                "preprocessor directives are not supported".into(),
                "run the file through `cpp -P` first",
            );
        }
    }

    /// Reads one token; `None` after reporting something that is none.
    fn next_kind(&mut self) -> Option<TokenKind> {
        let start = self.at;
        if start >= self.bytes.len() {
            return Some(TokenKind::End);
        }
        let (first, second) = (self.peek(0), self.peek(1));
        match first {
            b'%' if continues_word(second) => Some(self.word()),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => Some(self.word()),
            b'.' if continues_word(second) => Some(self.dot()),
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'@' if second == b'@' => {
                self.skip_while(|byte| byte != b'\n');
                Some(TokenKind::DwarfLine)
            }
            _ => self.punctuation(first, second),
        }
    }

    fn word(&mut self) -> TokenKind {
        self.at += 1;
        self.skip_while(|byte| continues_word(byte) || byte == b'%');
        TokenKind::Word
    }

    fn dot(&mut self) -> TokenKind {
        self.at += 1;
        self.skip_while(continues_word);
        while self.peek(0) == b':' && self.peek(1) == b':' && continues_word(self.peek(2)) {
            self.at += 2;
            self.skip_while(continues_word);
        }
        TokenKind::Dot
    }

    fn number(&mut self) -> Option<TokenKind> {
        let start = self.at;
        let second = self.peek(1).to_ascii_lowercase();
        if self.peek(0) == b'0' && matches!(second, b'x' | b'b' | b'f' | b'd') {
            return self.prefixed_number(start, second);
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        let mut kind = TokenKind::Int;
        let after_dot = self.peek(1);
        let exponent_after_dot = matches!(after_dot, b'e' | b'E') && self.is_exponent(1);
        if self.peek(0) == b'.'
            && (after_dot.is_ascii_digit() || !continues_word(after_dot) || exponent_after_dot)
        {
            kind = TokenKind::Float;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if matches!(self.peek(0), b'e' | b'E') && self.is_exponent(0) {
            kind = TokenKind::Float;
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if kind == TokenKind::Int && self.peek(0) == b'U' {
            self.at += 1;
        }
        self.end_of_number(start, kind)
    }

    /// Whether an `e` at this distance is followed by an exponent.
    fn is_exponent(&self, ahead: usize) -> bool {
        let next = self.peek(ahead + 1);
        next.is_ascii_digit() || (matches!(next, b'+' | b'-') && self.peek(ahead + 2).is_ascii_digit())
    }

    /// `0x…`, `0b…`, `0f…`, `0d…`.
    fn prefixed_number(&mut self, start: usize, prefix: u8) -> Option<TokenKind> {
        self.at += 2;
        let digits = self.at;
        self.skip_while(
            |byte| if prefix == b'b' { matches!(byte, b'0' | b'1') } else { byte.is_ascii_hexdigit() },
        );
        let count = self.at - digits;
        let (kind, wrong, help) = match prefix {
            b'f' => (TokenKind::HexFloat, count != 8, "write `0f` and exactly 8 hexadecimal digits"),
            b'd' => (TokenKind::HexDouble, count != 16, "write `0d` and exactly 16 hexadecimal digits"),
            _ => (TokenKind::Int, count == 0, "digits must follow the prefix"),
        };
        if kind == TokenKind::Int && self.peek(0) == b'U' {
            self.at += 1;
        }
        if wrong {
            self.skip_while(continues_word);
            let text = self.text[start..self.at].to_owned();
            self.error(start, format!("malformed number `{text}`"), help);
            return Some(TokenKind::Int);
        }
        self.end_of_number(start, kind)
    }

    /// A number must not run into letters.
    fn end_of_number(&mut self, start: usize, kind: TokenKind) -> Option<TokenKind> {
        if continues_word(self.peek(0)) {
            self.skip_while(continues_word);
            let text = self.text[start..self.at].to_owned();
            self.error(start, format!("malformed number `{text}`"), "separate the number from what follows");
        }
        Some(kind)
    }

    fn string(&mut self) -> Option<TokenKind> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return Some(TokenKind::Str);
                }
                b'\\' if self.peek(1) != b'\n' && self.at + 1 < self.bytes.len() => self.at += 2,
                b'\n' | 0 => {
                    self.error(start, "this string is never closed".into(), "add `\"` on the same line");
                    return Some(TokenKind::Str);
                }
                _ => self.at += 1,
            }
        }
    }

    fn punctuation(&mut self, first: u8, second: u8) -> Option<TokenKind> {
        use Punct as P;
        let two = match (first, second) {
            (b'<', b'<') => Some(P::ShiftLeft),
            (b'>', b'>') => Some(P::ShiftRight),
            (b'<', b'=') => Some(P::LessEqual),
            (b'>', b'=') => Some(P::GreaterEqual),
            (b'=', b'=') => Some(P::EqualEqual),
            (b'!', b'=') => Some(P::NotEqual),
            (b'&', b'&') => Some(P::AndAnd),
            (b'|', b'|') => Some(P::OrOr),
            _ => None,
        };
        if let Some(punct) = two {
            self.at += 2;
            return Some(TokenKind::Punct(punct));
        }
        let one = match first {
            b',' => P::Comma,
            b';' => P::Semicolon,
            b':' => P::Colon,
            b'(' => P::LeftParen,
            b')' => P::RightParen,
            b'[' => P::LeftBracket,
            b']' => P::RightBracket,
            b'{' => P::LeftBrace,
            b'}' => P::RightBrace,
            b'<' => P::Less,
            b'>' => P::Greater,
            b'+' => P::Plus,
            b'-' => P::Minus,
            b'*' => P::Star,
            b'/' => P::Slash,
            b'%' => P::Percent,
            b'!' => P::Not,
            b'~' => P::Tilde,
            b'&' => P::And,
            b'|' => P::Or,
            b'^' => P::Caret,
            b'?' => P::Question,
            b'=' => P::Assign,
            b'@' => P::At,
            _ => return self.foreign_characters(),
        };
        self.at += 1;
        Some(TokenKind::Punct(one))
    }

    /// Reports a run of characters that no token starts with, once for the whole run.
    fn foreign_characters(&mut self) -> Option<TokenKind> {
        let start = self.at;
        let is_foreign =
            |c: char| !c.is_ascii() || matches!(c, '\\' | '\'' | '`' | '.') || c.is_ascii_control();
        let rest = &self.text[start..];
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let run = rest[first..].find(|c| !is_foreign(c)).unwrap_or(rest.len() - first);
        self.at = start + first + run;
        let shown: String = self.text[start..self.at].chars().take(12).collect();
        self.error(
            start,
            format!("unexpected character {shown:?}"),
            "PTX outside comments and strings is ASCII",
        );
        None
    }
}
