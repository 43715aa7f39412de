//! Numbers and units as profilers print them.

/// Reads a number with its unit, if it has one: `1,234,567`, `12.5%`, `3.1GB/s`, `9,00` (a decimal comma).
/// None for text, an empty cell and `n/a`.
pub(super) fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || is_inside(text, *at, *c)))
        .map_or(text.len(), |(at, _)| at);
    let value = number(text[..end].trim_end())?;
    let unit = text[end..].trim();
    // Nsight Compute prints lists of values (`32.00; 4.00`) in one cell.
    (!unit.starts_with(';')).then_some((value, unit))
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

/// Reads digits with separators. Of `.` and `,` the last is the decimal separator if both occur; a lone comma is one
/// unless groups of three digits follow.
fn number(text: &str) -> Option<f64> {
    let mut digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != '\'').collect();
    let grouped = |text: &str, by: char| {
        let mut groups = text.split(by);
        let first = groups.next().unwrap_or("").trim_start_matches(['+', '-']);
        (1..=3).contains(&first.len())
            && groups.all(|g| g.len() == 3 && g.bytes().all(|b| b.is_ascii_digit()))
    };
    match (digits.rfind(','), digits.rfind('.')) {
        (Some(comma), Some(point)) if comma < point => digits.retain(|c| c != ','),
        (Some(_), Some(_)) => digits = digits.replace('.', "").replace(',', "."),
        (Some(_), None) if grouped(&digits, ',') => digits.retain(|c| c != ','),
        (Some(_), None) => digits = digits.replace(',', "."),
        (None, Some(_)) if digits.matches('.').count() > 1 => digits.retain(|c| c != '.'),
        _ => {}
    }
    digits.parse::<f64>().ok().filter(|value| value.is_finite())
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
    use super::{quantity, scale};

    #[test]
    fn numbers_of_all_profilers_and_locales() {
        let of = |text: &str| quantity(text).map(|(value, unit)| (value, unit.to_owned()));
        let plain = |value: f64| Some((value, String::new()));
        assert_eq!(of("1,234,567"), plain(1_234_567.0));
        assert_eq!(of("53,261,312.50"), plain(53_261_312.5));
        assert_eq!(of("1.234.567,5"), plain(1_234_567.5));
        assert_eq!(of("1.234.567"), plain(1_234_567.0));
        assert_eq!(of("9,00"), plain(9.0));
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
            assert_eq!(of(nothing), None, "{nothing}");
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
