//! Text from outside on its way to a terminal or into a file of lines: names of kernels and files may hold anything.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text without characters that a terminal obeys or that reorder what it shows; they become `\x1b` and the like. Line
/// breaks and tabs stay.
///
/// ```
/// # use warplab_host::text::printable;
/// assert_eq!(printable("a\x1b[2J\nb"), "a\\x1b[2J\nb");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_escaped)
}

/// Whether [`printable`] leaves a text as it is.
#[must_use]
pub fn is_printable(text: &str) -> bool {
    !text.chars().any(is_escaped)
}

fn is_escaped(c: char) -> bool {
    c != '\n' && c != '\t' && is_command(c)
}

/// As [`printable`], without line breaks and tabs: a name stays within its line and its field.
///
/// ```
/// # use warplab_host::text::one_line;
/// assert_eq!(one_line("a\tb\nerror: c"), "a\\tb\\nerror: c");
/// ```
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_command)
}

/// Whether a character is a control character, ends a line, or changes the direction of others.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            _ if !is_replaced(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            _ if c.is_ascii() => drop(write!(out, "\\x{:02x}", u32::from(c))),
            _ => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

/// The text of a cell of CSV that a spreadsheet does not take for a formula: an apostrophe comes before `=`, `+`, `-`, `@`, a
/// tab and a carriage return at the beginning of a text that is no number.
///
/// ```
/// # use warplab_host::text::cell;
/// assert_eq!((&*cell("=1+1"), &*cell("-3.5e9"), &*cell("bow")), ("'=1+1", "-3.5e9", "bow"));
/// ```
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let begins = text.len() > 1 && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins && text.parse::<f64>().is_err() { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::{one_line, printable};

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for c in (0..=0x10_FFFF_u32).filter_map(char::from_u32) {
            let text = c.to_string();
            let line = one_line(&text).into_owned();
            assert!(!line.chars().any(char::is_control), "{:?}", c);
            assert!(c.is_control() || line == text || line.starts_with("\\u{"), "{c:?}");
            let shown = printable(&text).into_owned();
            assert_eq!(shown == text, line == text || c == '\n' || c == '\t', "{c:?}");
        }
        assert_eq!(one_line("\u{9b}2J\u{202e}"), "\\u{9b}2J\\u{202e}");
    }
}
