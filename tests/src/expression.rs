//! Integer expressions of launch manifests: + - * / % with the usual precedence, parentheses, min, max,
//! ceil_div and pow, over the manifest's scalars. Division truncates; overflow and division by zero are errors.

use crate::Scalars;

/// The value of `text` with the names in `scalars`.
///
/// # Errors
/// A sentence that says what is wrong and where, in characters from the start of `text`.
pub fn evaluate(text: &str, scalars: &Scalars) -> Result<i64, String> {
    let mut parser = Parser { text, at: 0, scalars };
    let value = parser.sum(0)?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => Err(parser.error(&format!("`{c}` is not expected"))),
    }
}

/// Deeper nesting than this is refused, so that no input exhausts the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    scalars: &'a Scalars,
}

impl<'a> Parser<'a> {
    fn error(&self, what: &str) -> String {
        format!("in `{}` at character {}: {what}", self.text, self.at)
    }

    /// The next character that is no blank, without consuming it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("expected `{wanted}`"))) }
    }

    fn checked(&self, value: Option<i64>) -> Result<i64, String> {
        value.ok_or_else(|| self.error("the value overflows or is divided by zero"))
    }

    fn sum(&mut self, depth: usize) -> Result<i64, String> {
        if depth > MAX_DEPTH {
            return Err(self.error("parentheses are nested too deeply"));
        }
        let mut value = self.product(depth)?;
        loop {
            value = if self.accept('+') {
                let right = self.product(depth)?;
                self.checked(value.checked_add(right))?
            } else if self.accept('-') {
                let right = self.product(depth)?;
                self.checked(value.checked_sub(right))?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self, depth: usize) -> Result<i64, String> {
        let mut value = self.atom(depth)?;
        loop {
            value = if self.accept('*') {
                let right = self.atom(depth)?;
                self.checked(value.checked_mul(right))?
            } else if self.accept('/') {
                let right = self.atom(depth)?;
                self.checked(value.checked_div(right))?
            } else if self.accept('%') {
                let right = self.atom(depth)?;
                self.checked(value.checked_rem(right))?
            } else {
                return Ok(value);
            };
        }
    }

    fn atom(&mut self, depth: usize) -> Result<i64, String> {
        let first = self.peek().ok_or_else(|| self.error("a value is missing"))?;
        if self.accept('(') {
            let value = self.sum(depth + 1)?;
            self.expect(')')?;
            return Ok(value);
        }
        if first.is_ascii_digit() {
            let digits = self.word(|c| c.is_ascii_digit());
            return digits.parse().map_err(|_| self.error("the number is too large"));
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        match name {
            "" => Err(self.error(&format!("`{first}` is not expected"))),
            "min" | "max" | "ceil_div" | "pow" => self.call(name, depth),
            _ => self.scalars.get(name).copied().ok_or_else(|| self.error(&format!("no scalar `{name}`"))),
        }
    }

    fn call(&mut self, name: &str, depth: usize) -> Result<i64, String> {
        self.expect('(')?;
        let a = self.sum(depth + 1)?;
        self.expect(',')?;
        let b = self.sum(depth + 1)?;
        self.expect(')')?;
        match name {
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            "pow" => self.checked(u32::try_from(b).ok().and_then(|b| a.checked_pow(b))),
            _ if b > 0 && a >= 0 => Ok(a / b + i64::from(a % b != 0)),
            _ => Err(self.error("ceil_div needs a non-negative dividend and a positive divisor")),
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        evaluate(text, &Scalars::from([("n".into(), 100), ("steps".into(), 2)]))
    }

    #[test]
    fn precedence_and_functions() {
        assert_eq!(value("2+3*4"), Ok(14));
        assert_eq!(value("(2 + 3) * 4 - 20/3%4"), Ok(18));
        assert_eq!(value("10-4-3"), Ok(3));
        assert_eq!(value("ceil_div(n,16-2*steps)"), Ok(9));
        assert_eq!(value("max(n, min(steps, 7) * 60)"), Ok(120));
        assert_eq!(value("ceil_div(96,32)"), Ok(3));
        assert_eq!(value("3*pow(steps, 5)"), Ok(96));
    }

    #[test]
    fn mistakes_are_named() {
        let depth = "(".repeat(500);
        let wrong = [
            "",
            "n+",
            "m",
            "1/0",
            "(1",
            "1)",
            "ceil_div(1)",
            "pow(2,63)",
            "pow(2,0-1)",
            "n n",
            "9223372036854775807+1",
            "a€",
            &depth,
        ];
        for text in wrong {
            assert!(value(text).is_err(), "{text:?} was accepted");
        }
        assert!(value("n * colour").unwrap_err().contains("no scalar `colour`"));
    }
}
