//! Number formats for readers; all output of the project uses them.
//!
//! Digits are grouped in threes by a narrow no-break space, the minus is U+2212, shares carry a space before
//! the percent sign, ratios a multiplication sign before the number. Values that are not finite appear as a
//! dash. Raw values for CSV and JSON never pass through here.

/// Narrow no-break space: between digit groups and between number and unit.
const NARROW: char = '\u{202f}';
/// True minus sign.
const MINUS: char = '\u{2212}';
/// What is shown for a value that is missing or not finite.
pub const MISSING: &str = "–";

/// How a number is shown. Fractions (`Percent`, `Change`) are given as fractions: 0.071 is 7.1 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Whole number, grouped: `12 345 678`.
    Integer,
    /// Fixed number of digits after the point: `3.14`.
    Float(u8),
    /// Share given as a fraction: `7.1 %`; positive shares that round to zero show as `<0.1 %`.
    Percent(u8),
    /// Signed relative change given as a fraction: `+7.1 %`.
    Change(u8),
    /// Ratio to a baseline: `×1.07`.
    Ratio(u8),
    /// Three significant digits with an SI prefix: `1.23 M`.
    Si,
    /// Bytes with a binary prefix: `1.50 KiB`.
    Bytes,
}

impl Format {
    /// The value as readers see it; `–` if it is not finite.
    ///
    /// ```
    /// use report::Format;
    /// assert_eq!(Format::Ratio(2).show(1.0712), "×1.07");
    /// assert_eq!(Format::Change(1).show(0.071), "+7.1\u{202f}%");
    /// assert_eq!(Format::Si.show(1_234_567.0), "1.23\u{202f}M");
    /// assert_eq!(Format::Integer.show(f64::NAN), "–");
    /// ```
    #[must_use]
    pub fn show(self, value: f64) -> String {
        self.show_with_unit(value, "")
    }

    /// The value with its unit: `1.23 MB/s`, `12 345 cycles`. The unit joins an SI prefix directly.
    #[must_use]
    pub fn show_with_unit(self, value: f64, unit: &str) -> String {
        if !value.is_finite() {
            return MISSING.to_owned();
        }
        let spaced = |text: String| if unit.is_empty() { text } else { format!("{text}{NARROW}{unit}") };
        match self {
            Self::Integer => spaced(fixed(value, 0)),
            Self::Float(digits) => spaced(fixed(value, digits)),
            Self::Percent(digits) => spaced(percent(value, digits)),
            Self::Change(digits) => {
                let body = format!("{}{NARROW}%", fixed(value * 100.0, digits));
                let is_zero = !body.bytes().any(|b| b.is_ascii_digit() && b != b'0');
                let sign = if is_zero {
                    "±"
                } else if value > 0.0 {
                    "+"
                } else {
                    ""
                };
                spaced(format!("{sign}{body}"))
            }
            Self::Ratio(digits) => spaced(format!("×{}", fixed(value, digits))),
            Self::Si => prefixed(value, unit, 1000.0, &SI_LARGE, &SI_SMALL),
            Self::Bytes => prefixed(value, if unit.is_empty() { "B" } else { unit }, 1024.0, &BINARY, &[]),
        }
    }

    /// The value as a label over a bar: a ratio near 1 with three significant digits of its difference from 1, up to four after
    /// the point, and more where it would read as 1: bars of different height do not have the same label.
    ///
    /// ```
    /// use report::Format;
    /// let label = |value| Format::Ratio(2).label(value);
    /// assert_eq!([1.0, 1.00437, 1.0169, 0.69].map(label), ["×1.00", "×1.0044", "×1.0169", "×0.69"]);
    /// ```
    #[must_use]
    pub fn label(self, value: f64) -> String {
        match self {
            Self::Ratio(digits) => {
                let difference = (value - 1.0).abs();
                let leading = -difference.log10().floor();
                let near = difference < 0.1 && leading.is_finite();
                let needed = (leading + 2.0).min(4.0).max(leading).min(9.0) as u8;
                Self::Ratio(if near { digits.max(needed) } else { digits }).show(value)
            }
            other => other.show(value),
        }
    }

    /// The format of a column of such values: ratios with the digits that tell small differences.
    pub(crate) fn of_column(self) -> Self {
        match self {
            Self::Ratio(digits) => Self::Ratio(digits.max(4)),
            other => other,
        }
    }

    /// Whether numbers carry a prefix (k, µ, Ki) that the unit belongs to.
    pub(crate) fn has_prefix(self) -> bool {
        matches!(self, Self::Si | Self::Bytes)
    }

    /// A tick label: as few digits as the distance between ticks needs; the unit only where a prefix
    /// belongs to it.
    pub(crate) fn tick(self, value: f64, step: f64, unit: &str) -> String {
        let digits = |scale: f64| {
            let magnitude = (step.abs() * scale).log10();
            if !magnitude.is_finite() {
                return 2;
            }
            // A step such as 0.25 needs one digit more than its magnitude says.
            let base = (-magnitude.floor()).clamp(0.0, 9.0);
            let scaled = step.abs() * scale * 10f64.powf(base);
            let extra = if (scaled - scaled.round()).abs() > 1e-6 * scaled { 1.0 } else { 0.0 };
            (base + extra) as u8
        };
        match self {
            Self::Integer | Self::Float(_) if step >= 9_999.0 => Self::Si.tick(value, step, ""),
            Self::Integer | Self::Float(_) => fixed(value, digits(1.0)),
            Self::Percent(_) => format!("{}{NARROW}%", fixed(value * 100.0, digits(100.0))),
            Self::Change(_) => Self::Change(digits(100.0)).show(value),
            Self::Ratio(_) => Self::Ratio(digits(1.0)).show(value),
            Self::Si | Self::Bytes => trim_zeros(&self.show_with_unit(value, unit)),
        }
    }
}

/// An exact integer, grouped in threes: `12 345 678`.
#[must_use]
pub fn integer(value: i128) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    if value < 0 {
        text.push(MINUS);
    }
    group(&digits, &mut text);
    text
}

const SI_LARGE: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const SI_SMALL: [&str; 5] = ["m", "µ", "n", "p", "f"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Fixed digits with grouping; scientific notation where a plain number would be a wall of digits.
fn fixed(value: f64, digits: u8) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let magnitude = value.abs();
    if magnitude >= 1e15 {
        return format!("{magnitude:.2e}").with_sign(value < 0.0);
    }
    let plain = format!("{magnitude:.*}", usize::from(digits.min(12)));
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut text = String::with_capacity(plain.len() * 2);
    group(whole, &mut text);
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    let rounds_to_zero = plain.bytes().all(|b| b == b'0' || b == b'.');
    text.with_sign(value < 0.0 && !rounds_to_zero)
}

/// A share; a positive one that would be printed as zero gets a less-than sign.
fn percent(value: f64, digits: u8) -> String {
    let text = fixed(value * 100.0, digits);
    if value > 0.0 && !text.bytes().any(|b| b.is_ascii_digit() && b != b'0') {
        let least = 10f64.powi(-i32::from(digits));
        return format!("<{}{NARROW}%", fixed(least, digits));
    }
    format!("{text}{NARROW}%")
}

/// Three significant digits with the prefix that brings the number between 1 and the base.
fn prefixed(value: f64, unit: &str, base: f64, large: &[&str], small: &[&str]) -> String {
    let mut magnitude = value.abs();
    let mut prefix = "";
    if magnitude > 0.0 && magnitude < 0.9995 && !small.is_empty() {
        for name in small {
            magnitude *= base;
            prefix = name;
            if magnitude >= 0.9995 {
                break;
            }
        }
    } else {
        for name in large {
            prefix = name;
            // 999.5 would round to "1000", which belongs to the next prefix.
            if magnitude < base - 0.5 || Some(name) == large.last() {
                break;
            }
            magnitude /= base;
        }
    }
    let digits = match magnitude {
        m if m == 0.0 || m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    // Counts below a thousand are whole more often than not; "12" reads better than "12.0".
    let digits = if prefix.is_empty() && magnitude.fract() == 0.0 { 0 } else { digits };
    let number = fixed(magnitude, digits).with_sign(value < 0.0 && magnitude > 0.0);
    if prefix.is_empty() && unit.is_empty() { number } else { format!("{number}{NARROW}{prefix}{unit}") }
}

/// Removes zeros after the decimal point (`1.50 k` → `1.5 k`, `2.00 M` → `2 M`).
fn trim_zeros(text: &str) -> String {
    let (number, suffix) = match text.split_once(NARROW) {
        Some((number, suffix)) => (number, format!("{NARROW}{suffix}")),
        None => (text, String::new()),
    };
    if !number.contains('.') {
        return text.to_owned();
    }
    format!("{}{suffix}", number.trim_end_matches('0').trim_end_matches('.'))
}

fn group(digits: &str, text: &mut String) {
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(NARROW);
        }
        text.push(digit);
    }
}

trait WithSign {
    fn with_sign(self, negative: bool) -> String;
}

impl WithSign for String {
    fn with_sign(mut self, negative: bool) -> String {
        if negative {
            self.insert(0, MINUS);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(NARROW, " ").replace(MINUS, "-")
    }

    #[test]
    fn every_format_reads_as_documented() {
        let cases = [
            (Format::Integer, 12_345_678.0, "12 345 678"),
            (Format::Integer, -999.6, "-1 000"),
            (Format::Integer, -0.2, "0"),
            (Format::Float(2), 1234.5, "1 234.50"),
            (Format::Percent(1), 0.0714, "7.1 %"),
            (Format::Percent(1), 0.0001, "<0.1 %"),
            (Format::Percent(0), 0.0001, "<1 %"),
            (Format::Percent(1), 0.0, "0.0 %"),
            (Format::Change(1), 0.071, "+7.1 %"),
            (Format::Change(1), -0.071, "-7.1 %"),
            (Format::Change(1), -0.0001, "±0.0 %"),
            (Format::Ratio(2), 1.0712, "×1.07"),
            (Format::Si, 0.0, "0"),
            (Format::Si, 12.0, "12"),
            (Format::Si, 999.6, "1.00 k"),
            (Format::Si, 999_499.0, "999 k"),
            (Format::Si, 999_500.0, "1.00 M"),
            (Format::Si, -1_234_567.0, "-1.23 M"),
            (Format::Si, 0.00123, "1.23 m"),
            (Format::Bytes, 1536.0, "1.50 KiB"),
            (Format::Bytes, 7.0, "7 B"),
            (Format::Float(1), f64::INFINITY, "–"),
            (Format::Float(1), 1e300, "1.00e300"),
        ];
        for (format, value, expected) in cases {
            assert_eq!(plain(&format.show(value)), expected, "{format:?} of {value}");
        }
        assert_eq!(plain(&Format::Si.show_with_unit(2.5e9, "B/s")), "2.50 GB/s");
        assert_eq!(plain(&integer(i128::from(u64::MAX))), "18 446 744 073 709 551 615");
        assert_eq!(plain(&integer(-1000)), "-1 000");
    }

    #[test]
    fn ticks_carry_the_digits_their_step_needs() {
        assert_eq!(plain(&Format::Percent(1).tick(0.2, 0.2, "")), "20 %");
        assert_eq!(plain(&Format::Percent(1).tick(0.025, 0.025, "")), "2.5 %");
        assert_eq!(plain(&Format::Ratio(2).tick(1.05, 0.05, "")), "×1.05");
        assert_eq!(plain(&Format::Float(3).tick(0.25, 0.25, "")), "0.25");
        assert_eq!(plain(&Format::Integer.tick(200_000.0, 50_000.0, "")), "200 k");
    }
}
