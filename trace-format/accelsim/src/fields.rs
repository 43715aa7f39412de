//! Fields of a line, split by blanks.

/// The fields of a line, from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Fields<'a> {
        Fields { rest: line }
    }

    /// The next field.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let from = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.rest[from..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.rest = &rest[end..];
        Some(&rest[..end])
    }

    /// The next field without taking it.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.clone().next()
    }

    /// How many fields are left.
    pub(crate) fn count(mut self) -> usize {
        std::iter::from_fn(|| self.next()).count()
    }

    /// The next field as a decimal number; the error names it by `what`.
    #[inline]
    pub(crate) fn decimal(&mut self, what: &str) -> Result<u64, String> {
        let field = self.next().ok_or_else(|| format!("{what} is missing"))?;
        decimal(field).ok_or_else(|| format!("{what} is `{}`, not a decimal number", lossy(field)))
    }

    /// The next field as a signed decimal number.
    #[inline]
    pub(crate) fn signed(&mut self, what: &str) -> Result<i64, String> {
        let field = self.next().ok_or_else(|| format!("{what} is missing"))?;
        let (negative, digits) = match field.strip_prefix(b"-") {
            Some(digits) => (true, digits),
            None => (false, field),
        };
        let value = decimal(digits).and_then(|value| i64::try_from(value).ok());
        let value = value.ok_or_else(|| format!("{what} is `{}`, not a decimal number", lossy(field)))?;
        Ok(if negative { -value } else { value })
    }

    /// The next field as a hexadecimal number, with or without `0x`.
    #[inline]
    pub(crate) fn hex(&mut self, what: &str) -> Result<u64, String> {
        let field = self.next().ok_or_else(|| format!("{what} is missing"))?;
        hex(field).ok_or_else(|| format!("{what} is `{}`, not a hexadecimal number of 64 bits", lossy(field)))
    }
}

/// A decimal number.
#[inline]
pub(crate) fn decimal(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A hexadecimal number, with or without `0x`.
#[inline]
pub(crate) fn hex(field: &[u8]) -> Option<u64> {
    let digits = field.strip_prefix(b"0x").unwrap_or(field);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| Some(value << 4 | u64::from(char::from(byte).to_digit(16)?)))
}

/// A field in a message.
pub(crate) fn lossy(field: &[u8]) -> String {
    String::from_utf8_lossy(field).chars().filter(|c| !c.is_control()).take(40).collect()
}
