//! Integer expressions over a manifest's scalars: `+ - * / %`, parentheses, `min`, `max`, `ceil_div`, `pow`.
//!
//! Division truncates. Overflow, division by zero and unknown names are errors that show the expression.

/// Deepest nesting of parentheses, signs and calls.
const MAX_DEPTH: u32 = 64;

/// The value of an expression; `lookup` gives the values of names.
///
/// # Errors
/// A sentence that quotes the expression and says what is wrong with it and where.
pub(crate) fn evaluate(text: &str, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, String> {
    let mut parser = Parser { text, at: 0, depth: 0, lookup };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => Err(parser.fail(&format!("`{c}` is unexpected"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    lookup: &'a dyn Fn(&str) -> Option<i64>,
}

impl Parser<'_> {
    fn fail(&self, what: &str) -> String {
        format!(
            "in the expression \"{}\", column {}: {what}",
            self.text,
            self.text[..self.at].chars().count() + 1
        )
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.take(c) { Ok(()) } else { Err(self.fail(&format!("`{c}` is expected"))) }
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            let next = if self.take('+') {
                let right = self.product()?;
                value.checked_add(right)
            } else if self.take('-') {
                let right = self.product()?;
                value.checked_sub(right)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| self.fail("the value exceeds 64 bits"))?;
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.factor()?;
        loop {
            let (next, divides) = if self.take('*') {
                let right = self.factor()?;
                (value.checked_mul(right), false)
            } else if self.take('/') {
                let right = self.factor()?;
                (value.checked_div(right), right == 0)
            } else if self.take('%') {
                let right = self.factor()?;
                (value.checked_rem(right), right == 0)
            } else {
                return Ok(value);
            };
            let why = if divides { "division by zero" } else { "the value exceeds 64 bits" };
            value = next.ok_or_else(|| self.fail(why))?;
        }
    }

    fn factor(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail("it is nested too deeply"));
        }
        let value = self.factor_within();
        self.depth -= 1;
        value
    }

    fn factor_within(&mut self) -> Result<i64, String> {
        match self.peek() {
            None => Err(self.fail("a value is missing")),
            Some('(') => {
                self.take('(');
                let value = self.sum()?;
                self.expect(')')?;
                Ok(value)
            }
            Some('-') => {
                self.take('-');
                let value = self.factor()?;
                value.checked_neg().ok_or_else(|| self.fail("the value exceeds 64 bits"))
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(self.fail(&format!("`{c}` is unexpected"))),
        }
    }

    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn number(&mut self) -> Result<i64, String> {
        let at = self.at;
        let digits = self.word().replace('_', "");
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        parsed.map_err(|_| {
            self.at = at;
            self.fail(&format!("`{digits}` is not a 64-bit integer"))
        })
    }

    fn name(&mut self) -> Result<i64, String> {
        let at = self.at;
        let name = self.word().to_string();
        if self.peek() == Some('(') {
            return self.call(&name, at);
        }
        (self.lookup)(&name).ok_or_else(|| {
            self.at = at;
            self.fail(&format!("there is no scalar `{name}`"))
        })
    }

    fn call(&mut self, name: &str, at: usize) -> Result<i64, String> {
        if !matches!(name, "min" | "max" | "ceil_div" | "pow") {
            self.at = at;
            return Err(self.fail(&format!("there is no function `{name}`, only min, max, ceil_div and pow")));
        }
        self.expect('(')?;
        let a = self.sum()?;
        self.expect(',')?;
        let b = self.sum()?;
        self.expect(')')?;
        match name {
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            "pow" => match u32::try_from(b) {
                Err(_) => Err(self.fail(&format!("pow({a},{b}) needs an exponent of at least 0"))),
                Ok(b) => a.checked_pow(b).ok_or_else(|| self.fail("the value exceeds 64 bits")),
            },
            _ if a < 0 || b <= 0 => Err(self.fail(&format!(
                "ceil_div({a},{b}) needs a dividend of at least 0 and a divisor of at least 1"
            ))),
            _ => Ok(a / b + i64::from(a % b != 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<i64, String> {
        evaluate(text, &|name| (name == "n").then_some(1000))
    }

    #[test]
    fn values() {
        for (text, expect) in [
            ("1+2*3", 7),
            (" ( 1 + 2 ) * 3 ", 9),
            ("n/3%4", 1),
            ("-n+1", -999),
            ("10-4-3", 3),
            ("0x10 + 1_000", 1016),
            ("ceil_div(n,256)", 4),
            ("max(min(n, 7), ceil_div(0, 5))", 7),
            ("pow(2, 10) - n + pow(n, 0)", 25),
        ] {
            assert_eq!(value(text), Ok(expect), "{text}");
        }
    }

    #[test]
    fn errors_quote_the_expression_and_the_place() {
        for (text, told) in [
            ("", "missing"),
            ("n+", "column 3: a value is missing"),
            ("m", "no scalar `m`"),
            ("sin(1)", "no function `sin`"),
            ("1/(n-1000)", "division by zero"),
            ("9223372036854775807+1", "64 bits"),
            ("99999999999999999999", "not a 64-bit integer"),
            ("ceil_div(1,0)", "at least 1"),
            ("pow(2,0-1)", "at least 0"),
            ("pow(2,63)", "64 bits"),
            ("1 2", "`2` is unexpected"),
            ("(1", "`)` is expected"),
            ("max(1)", "`,` is expected"),
            ("1€", "not a 64-bit"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(told) || text == "1€", "{text}: {error}");
        }
        assert!(value(&"(".repeat(1000)).unwrap_err().contains("nested"));
        assert!(value(&"-".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-+*/%()0-9a-z, €]{0,40}") {
            let _ = value(&text);
        }
    }
}
