//! Numbers and units as profilers print them.

/// The decimal separator of a table; the other one of `.` and `,` groups digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decimal {
    Point,
    Comma,
}

/// Reads a number with its unit, if it has one: `1,234,567`, `12.5%`, `3.1GB/s`, `9,00` in a table with decimal commas.
/// None for text, an empty cell and `n/a`, and for digits that the separator cannot be between.
pub(super) fn quantity(text: &str, decimal: Decimal) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = end_of_number(text);
    let value = number(text[..end].trim_end(), decimal)?;
    let unit = text[end..].trim();
    // Nsight Compute prints lists of values (`32.00; 4.00`) in one cell.
    (!unit.starts_with(';')).then_some((value, unit))
}

fn end_of_number(text: &str) -> usize {
    let inside = |(at, c): &(usize, char)| c.is_ascii_digit() || is_inside(text, *at, *c);
    text.char_indices().find(|found| !inside(found)).map_or(text.len(), |(at, _)| at)
}

/// The decimal separator that a number shows: the last of two kinds, one that no groups of three digits follow, or the one
/// beside that which groups. None for `1,234` and `1.234`, which may be either, and for text.
pub(super) fn shown_decimal(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let number = text[..end_of_number(text)].trim_end().trim_start_matches(['+', '-']);
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let of = |separator: char| if separator == ',' { Decimal::Comma } else { Decimal::Point };
    let other = |separator: char| if separator == ',' { Decimal::Point } else { Decimal::Comma };
    let found: Vec<char> = mantissa.chars().filter(|c| matches!(c, '.' | ',')).collect();
    let (first, last) = (*found.first()?, *found.last()?);
    if first != last {
        return Some(of(last));
    }
    let (whole, fraction) = mantissa.split_once(first)?;
    match found.len() {
        1 if fraction.len() == 3 && (1..=3).contains(&whole.len()) && whole != "0" => None,
        1 => Some(of(first)),
        _ => Some(other(first)),
    }
}

/// Whether a character that is no digit belongs to a number: a sign, a separator, an exponent.
fn is_inside(text: &str, at: usize, c: char) -> bool {
    let next = |from: usize| text[from..].chars().next();
    match c {
        '+' | '-' => at == 0 || matches!(text.as_bytes()[at - 1], b'e' | b'E'),
        '.' | ',' => true,
        '\u{a0}' | '\u{202f}' | '\'' | ' ' => next(at + c.len_utf8()).is_some_and(|n| n.is_ascii_digit()),
        'e' | 'E' => {
            let after = next(at + 1);
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            at > 0 && (digit(after) || (matches!(after, Some('+' | '-')) && digit(next(at + 2))))
        }
        _ => false,
    }
}

/// Reads digits with separators: groups of three, and at most one decimal separator after them.
fn number(text: &str, decimal: Decimal) -> Option<f64> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != '\'').collect();
    let (point, group) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let (whole, rest) =
        digits.split_once(point).map_or((&*digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut groups = whole.split(group);
    let first = groups.next().unwrap_or("").trim_start_matches(['+', '-']);
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = whole.contains(group);
    if grouped && !((1..=3).contains(&first.len()) && groups.all(is_group)) {
        return None;
    }
    let plain = whole.replace(group, "") + &rest.map_or(String::new(), |rest| format!(".{rest}"));
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The factor from a unit to the base unit: bytes, seconds, events, cycles per second, percent.
/// None for a unit that is not known.
pub(super) fn scale(unit: &str) -> Option<f64> {
    let unit = unit.trim().trim_matches(|c| matches!(c, '(' | ')' | '[' | ']'));
    match unit.split_once('/') {
        Some((over, under)) => Some(simple(over)? / simple(under)?),
        None => simple(unit),
    }
}

/// The factor of a unit without a quotient.
fn simple(unit: &str) -> Option<f64> {
    // Bytes and counts of events take K, M, G in powers of ten, as Nsight Compute prints them.
    const WORDS: &[&str] =
        &["byte", "bytes", "B", "inst", "cycle", "cycles", "sector", "sectors", "request", "warp"];
    const ONE: &[&str] =
        &["", "%", "percent", "thread", "block", "register", "SM", "hz", "Hz", "second", "s", "1"];
    if ONE.contains(&unit) || WORDS.contains(&unit) {
        return Some(1.0);
    }
    let seconds = unit.strip_suffix("second").or_else(|| unit.strip_suffix('s'));
    if let Some(factor) = seconds.and_then(|prefix| match prefix {
        "m" => Some(1e-3),
        "u" | "µ" => Some(1e-6),
        "n" => Some(1e-9),
        _ => None,
    }) {
        return Some(factor);
    }
    let prefix = unit.chars().next()?;
    let factor = match prefix {
        'K' | 'k' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'T' => 1e12,
        _ => return None,
    };
    let rest = &unit[prefix.len_utf8()..];
    (WORDS.contains(&rest) || matches!(rest, "hz" | "Hz")).then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::{Decimal, quantity, scale, shown_decimal};

    #[test]
    fn numbers_of_all_profilers_and_locales() {
        let read =
            |text: &str, decimal| quantity(text, decimal).map(|(value, unit)| (value, unit.to_owned()));
        let (of, comma) = (|text: &str| read(text, Decimal::Point), |text: &str| read(text, Decimal::Comma));
        let plain = |value: f64| Some((value, String::new()));
        assert_eq!(of("1,234,567"), plain(1_234_567.0));
        assert_eq!(of("53,261,312.50"), plain(53_261_312.5));
        assert_eq!(comma("1.234.567,5"), plain(1_234_567.5));
        assert_eq!(comma("1.234.567"), plain(1_234_567.0));
        assert_eq!(comma("9,00"), plain(9.0));
        assert_eq!((comma("1,234"), comma("1.234")), (plain(1.234), plain(1234.0)));
        assert_eq!(
            (of("9,00"), comma("9.00"), of("1.234.567"), comma("1,234,567")),
            (None, None, None, None)
        );
        assert_eq!(of("1 234\u{202f}567"), plain(1_234_567.0));
        assert_eq!(of("-1.5e-3"), plain(-0.0015));
        assert_eq!(of("1,234"), plain(1234.0));
        assert_eq!(of("0"), plain(0.0));
        assert_eq!(of("93.5%"), Some((93.5, "%".to_owned())));
        assert_eq!(of("3.125GB/s"), Some((3.125, "GB/s".to_owned())));
        assert_eq!(of("2 (4)"), Some((2.0, "(4)".to_owned())));
        for nothing in
            ["", "n/a", "N/A", "nan", "inf", "-", "32.00; 4.00", "Low (1)", "<OVERFLOW>", ",", ".", "e5", "µ"]
        {
            assert_eq!((of(nothing), comma(nothing)), (None, None), "{nothing}");
        }
    }

    #[test]
    fn a_number_shows_its_decimal_separator_or_leaves_it_open() {
        for (text, decimal) in [
            ("9,00", Some(Decimal::Comma)),
            ("0,123", Some(Decimal::Comma)),
            ("1234,567", Some(Decimal::Comma)),
            ("1.234,5 MB", Some(Decimal::Comma)),
            ("1.234.567", Some(Decimal::Comma)),
            ("8.39", Some(Decimal::Point)),
            ("0.123", Some(Decimal::Point)),
            ("1,234.5", Some(Decimal::Point)),
            ("1,234,567", Some(Decimal::Point)),
            ("1.5e-3", Some(Decimal::Point)),
            ("1,234", None),
            ("12.345", None),
            ("17", None),
            ("(64, 64, 1)", None),
            ("n/a", None),
            ("", None),
        ] {
            assert_eq!(shown_decimal(text), decimal, "{text}");
        }
    }

    #[test]
    fn units_lead_to_base_units() {
        let of = |unit: &str| scale(unit);
        for (unit, factor) in [
            ("", 1.0),
            ("%", 1.0),
            ("inst", 1.0),
            ("Ginst", 1e9),
            ("byte", 1.0),
            ("Mbyte", 1e6),
            ("KB", 1e3),
            ("usecond", 1e-6),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("nsecond", 1e-9),
            ("s", 1.0),
            ("Ghz", 1e9),
            ("hz", 1.0),
            ("cycle/usecond", 1e6),
            ("cycle/nsecond", 1e9),
            ("cycle/second", 1.0),
            ("inst/cycle", 1.0),
            ("register/thread", 1.0),
        ] {
            let found = of(unit).unwrap_or_else(|| panic!("{unit}"));
            assert!((found / factor - 1.0).abs() < 1e-12, "{unit}: {found}");
        }
        assert_eq!(of("furlong"), None);
        assert_eq!(of("Kfurlong"), None);
    }
}
