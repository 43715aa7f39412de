//! Numbers and unbreakable spaces for text that is broken into lines.

/// A space at which no line is broken; shown as an ordinary one.
pub(super) const NO_BREAK: char = '\u{a0}';

/// Groups the digits of a number by thousands.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(NO_BREAK);
        }
        text.push(digit);
    }
    text
}

/// Text without non-breaking spaces.
pub(super) fn plain(text: &str) -> String {
    text.replace(NO_BREAK, " ")
}
