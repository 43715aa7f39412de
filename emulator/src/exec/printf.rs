//! The formatting of C's `printf`, as device code uses it: flags, width, precision, length modifiers and
//! every conversion, with results as glibc gives them. The caller supplies the arguments.

/// Source of the arguments of a format; each call returns the next one.
pub(crate) trait Arguments {
    /// Error of reading an argument.
    type Error;
    /// A 32-bit word.
    fn word(&mut self) -> Result<u32, Self::Error>;
    /// A 64-bit word.
    fn wide(&mut self) -> Result<u64, Self::Error>;
    /// The bytes of a string, without its end; `None` for a null pointer.
    fn text(&mut self, address: u64) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// Maximum field width and precision, to bound the size of texts.
const MAX_WIDTH: usize = 4096;

/// One conversion: flags, width, precision.
#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer argument: 8, 16, 32 or 64.
    bits: u32,
}

/// Formats a text and returns the number of arguments used.
pub(crate) fn format<A: Arguments>(format: &[u8], args: &mut A, out: &mut Vec<u8>) -> Result<u32, A::Error> {
    let mut taken = 0;
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        let (spec, next) = spec(format, at, args, &mut taken)?;
        at = next;
        let Some(&conversion) = format.get(at) else {
            out.extend_from_slice(&format[start..]);
            break;
        };
        at += 1;
        if conversion == b'%' {
            out.push(b'%');
        } else if b"diuxXoc".contains(&conversion)
            || b"fFeEgGaA".contains(&conversion)
            || b"sp".contains(&conversion)
        {
            taken += 1;
            convert(conversion, spec, args, out)?;
        } else {
            // Not a conversion: copied unchanged.
            out.extend_from_slice(&format[start..at]);
        }
    }
    Ok(taken)
}

/// Flags, width, precision and length; and the position of the conversion's letter.
fn spec<A: Arguments>(
    format: &[u8],
    mut at: usize,
    args: &mut A,
    taken: &mut u32,
) -> Result<(Spec, usize), A::Error> {
    let mut spec = Spec { bits: 32, ..Spec::default() };
    while let Some(flag) = format.get(at) {
        match flag {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        at += 1;
    }
    let mut number = |at: &mut usize| -> Result<Option<i64>, A::Error> {
        if format.get(*at) == Some(&b'*') {
            *at += 1;
            *taken += 1;
            return Ok(Some(i64::from(args.word()? as i32)));
        }
        let mut value = None;
        while let Some(digit) = format.get(*at).filter(|c| c.is_ascii_digit()) {
            value = Some((value.unwrap_or(0) * 10 + i64::from(digit - b'0')).min(1 << 30));
            *at += 1;
        }
        Ok(value)
    };
    if let Some(width) = number(&mut at)? {
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    }
    if format.get(at) == Some(&b'.') {
        at += 1;
        // A negative precision counts as none.
        let precision = number(&mut at)?.unwrap_or(0);
        spec.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
    }
    loop {
        spec.bits = match (format.get(at), spec.bits) {
            (Some(b'h'), 16) => 8,
            (Some(b'h'), _) => 16,
            (Some(b'l' | b'j' | b'z' | b't' | b'L' | b'q'), _) => 64,
            _ => return Ok((spec, at)),
        };
        at += 1;
    }
}

fn convert<A: Arguments>(
    conversion: u8,
    spec: Spec,
    args: &mut A,
    out: &mut Vec<u8>,
) -> Result<(), A::Error> {
    match conversion {
        b'd' | b'i' => {
            let value = integer(spec, args)?;
            let value = (value << (64 - spec.bits)) as i64 >> (64 - spec.bits);
            let digits = digits(value.unsigned_abs(), conversion, spec);
            number(spec, sign(value < 0, spec), &digits, spec.precision.is_none(), out);
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = integer(spec, args)?;
            let value = if spec.bits < 64 { value & ((1 << spec.bits) - 1) } else { value };
            let digits = digits(value, conversion, spec);
            let prefix = match conversion {
                b'x' if spec.alternate && value != 0 => "0x",
                b'X' if spec.alternate && value != 0 => "0X",
                _ => "",
            };
            number(spec, prefix, &digits, spec.precision.is_none(), out);
        }
        b'c' => {
            let byte = args.word()? as u8;
            pad(spec, &[byte], out);
        }
        b's' => {
            let address = args.wide()?;
            let text = args.text(address)?.unwrap_or_else(|| b"(null)".to_vec());
            let shown = spec.precision.map_or(text.len(), |p| p.min(text.len()));
            pad(spec, &text[..shown], out);
        }
        b'p' => match args.wide()? {
            0 => pad(spec, b"(nil)", out),
            address => number(spec, "0x", &format!("{address:x}"), true, out),
        },
        _ => {
            let value = f64::from_bits(args.wide()?);
            let prefix = sign(value.is_sign_negative(), spec);
            let upper = conversion.is_ascii_uppercase();
            let text = float(value.abs(), conversion.to_ascii_lowercase(), spec);
            let (prefix, text) = match text.strip_prefix("0x") {
                Some(rest) => (format!("{prefix}0x"), rest.to_owned()),
                None => (prefix.to_owned(), text),
            };
            let case = |s: String| if upper { s.to_ascii_uppercase() } else { s };
            number(spec, &case(prefix), &case(text), value.is_finite(), out);
        }
    }
    Ok(())
}

fn integer<A: Arguments>(spec: Spec, args: &mut A) -> Result<u64, A::Error> {
    if spec.bits == 64 { args.wide() } else { args.word().map(u64::from) }
}

const fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

/// Digits of an integer, at least as many as the precision asks for.
fn digits(value: u64, conversion: u8, spec: Spec) -> String {
    let mut text = match conversion {
        b'x' => format!("{value:x}"),
        b'X' => format!("{value:X}"),
        b'o' => format!("{value:o}"),
        _ => value.to_string(),
    };
    if value == 0 && spec.precision == Some(0) {
        text.clear();
    }
    let least = spec.precision.unwrap_or(0);
    if text.len() < least {
        text.insert_str(0, &"0".repeat(least - text.len()));
    }
    if conversion == b'o' && spec.alternate && !text.starts_with('0') {
        text.insert(0, '0');
    }
    text
}

/// A number in its field; zeros may fill it between prefix and digits.
fn number(spec: Spec, prefix: &str, digits: &str, zeros_allowed: bool, out: &mut Vec<u8>) {
    let length = prefix.len() + digits.len();
    if spec.zero && !spec.left && zeros_allowed && length < spec.width {
        out.extend_from_slice(prefix.as_bytes());
        out.resize(out.len() + spec.width - length, b'0');
        out.extend_from_slice(digits.as_bytes());
        return;
    }
    pad(spec, format!("{prefix}{digits}").as_bytes(), out);
}

/// A text in its field.
fn pad(spec: Spec, text: &[u8], out: &mut Vec<u8>) {
    let fill = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.resize(out.len() + fill, b' ');
    }
    out.extend_from_slice(text);
    if spec.left {
        out.resize(out.len() + fill, b' ');
    }
}

/// The magnitude of a floating-point number.
fn float(value: f64, conversion: u8, spec: Spec) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return "inf".into();
    }
    let precision = spec.precision.unwrap_or(6);
    match conversion {
        b'f' => with_point(format!("{value:.precision$}"), spec),
        b'e' => scientific(value, precision, spec),
        b'g' => general(value, precision.max(1), spec),
        _ => hexadecimal(value, spec),
    }
}

/// The `#` flag keeps the point behind a number without digits after it.
fn with_point(mut text: String, spec: Spec) -> String {
    if spec.alternate && !text.contains('.') {
        text.push('.');
    }
    text
}

/// Significand and exponent of `d.ddde±x`, correctly rounded.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (significand, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (significand.to_owned(), exponent.parse().unwrap_or(0))
}

fn exponent(e: i32) -> String {
    format!("e{}{:02}", if e < 0 { '-' } else { '+' }, e.unsigned_abs())
}

fn scientific(value: f64, precision: usize, spec: Spec) -> String {
    let (significand, e) = parts(value, precision);
    with_point(significand, spec) + &exponent(e)
}

/// `%g`: a number of significant digits, in the shorter notation, without trailing zeros unless `#` is given.
fn general(value: f64, digits: usize, spec: Spec) -> String {
    let (significand, e) = parts(value, digits - 1);
    let scientific = e < -4 || e >= digits as i32;
    let mut text = if scientific {
        significand
    } else {
        let after = (digits as i32 - 1 - e) as usize;
        format!("{value:.after$}")
    };
    if spec.alternate {
        text = with_point(text, spec);
    } else if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if scientific { text + &exponent(e) } else { text }
}

/// `%a`: hexadecimal significand and binary exponent, rounded to even where digits are cut off.
fn hexadecimal(value: f64, spec: Spec) -> String {
    let bits = value.to_bits();
    let field = (bits >> 52) as i32 & 0x7FF;
    let mut fraction = bits & ((1 << 52) - 1);
    let mut lead = u64::from(field != 0);
    let e = match (field, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => field - 1023,
    };
    let mut shown = 13;
    if let Some(precision) = spec.precision {
        if precision < 13 {
            let cut = 4 * (13 - precision);
            let all = lead << 52 | fraction;
            let (mut kept, rest) = (all >> cut, all & ((1 << cut) - 1));
            let half = 1u64 << (cut - 1);
            kept += u64::from(rest > half || (rest == half && kept & 1 == 1));
            lead = kept >> (52 - cut);
            fraction = (kept << cut) & ((1 << 52) - 1);
        }
        shown = precision;
    } else {
        while shown > 0 && fraction >> (4 * (13 - shown)) & 0xF == 0 {
            shown -= 1;
        }
    }
    let digits = format!("{fraction:013x}");
    let digits: String = digits.chars().chain(std::iter::repeat('0')).take(shown).collect();
    let point = if shown > 0 || spec.alternate { "." } else { "" };
    format!("0x{lead}{point}{digits}p{}{}", if e < 0 { '-' } else { '+' }, e.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    enum Arg {
        W(u32),
        L(u64),
        F(f64),
        S(Option<&'static str>),
    }
    use Arg::*;

    struct List(std::vec::IntoIter<Arg>, Option<&'static str>);

    impl Arguments for List {
        type Error = Infallible;
        fn word(&mut self) -> Result<u32, Infallible> {
            let Some(W(word)) = self.0.next() else { panic!("a word is expected") };
            Ok(word)
        }
        fn wide(&mut self) -> Result<u64, Infallible> {
            Ok(match self.0.next() {
                Some(L(wide)) => wide,
                Some(F(value)) => value.to_bits(),
                Some(S(text)) => {
                    self.1 = text;
                    u64::from(text.is_some())
                }
                _ => panic!("a wide argument is expected"),
            })
        }
        fn text(&mut self, _: u64) -> Result<Option<Vec<u8>>, Infallible> {
            Ok(self.1.map(|s| s.as_bytes().to_vec()))
        }
    }

    fn formatted(text: &str, args: Vec<Arg>) -> (String, u32) {
        let mut out = Vec::new();
        let Ok(taken) = format(text.as_bytes(), &mut List(args.into_iter(), None), &mut out);
        (String::from_utf8(out).unwrap(), taken)
    }

    /// Expected texts are what glibc 2.36 prints for the same calls.
    #[test]
    fn every_conversion_formats_as_glibc_does() {
        let cases: Vec<(&str, Vec<Arg>, &str)> = vec![
            ("%d|%i|%u", vec![W(u32::MAX), W(7), W(u32::MAX)], "-1|7|4294967295"),
            ("%5d|%-5d|%05d|%+d|% d", vec![W(42), W(42), W(42), W(42), W(42)], "   42|42   |00042|+42| 42"),
            ("%.3d|%8.3d|%-8.3d|%08.3d", vec![W(7), W(7), W(7), W(7)], "007|     007|007     |     007"),
            ("%.0d|%+.0d|%.0u", vec![W(0), W(0), W(0)], "|+|"),
            (
                "%hd|%hhd|%hu|%hhu",
                vec![W(0x1_8000), W(0x180), W(0x1_8000), W(0x1FF)],
                "-32768|-128|32768|255",
            ),
            (
                "%ld|%lld|%lu|%zx",
                vec![L(u64::MAX), L(1 << 63), L(u64::MAX), L(255)],
                "-1|-9223372036854775808|18446744073709551615|ff",
            ),
            (
                "%x|%X|%#x|%#X|%#o|%o|%#x",
                vec![W(0xabc), W(0xabc), W(0xabc), W(0xabc), W(8), W(8), W(0)],
                "abc|ABC|0xabc|0XABC|010|10|0",
            ),
            ("%08x|%#010x|%-#8x|", vec![W(0xabc), W(0xabc), W(0xabc)], "00000abc|0x00000abc|0xabc   |"),
            ("%c|%3c|%-3c|", vec![W(65), W(66), W(67)], "A|  B|C  |"),
            (
                "%s|%6s|%-6s|%.2s|%s",
                vec![S(Some("abc")), S(Some("abc")), S(Some("abc")), S(Some("abc")), S(None)],
                "abc|   abc|abc   |ab|(null)",
            ),
            (
                "%*d|%-*d|%.*f|%*d",
                vec![W(6), W(1), W(4), W(2), W(2), F(1.0), W(-4i32 as u32), W(3)],
                "     1|2   |1.00|3   ",
            ),
            (
                "%f|%.0f|%.1f|%8.2f|%-8.2f|%08.2f|%+f",
                vec![F(1.5), F(2.5), F(0.25), F(-1.005), F(3.0), F(-3.0), F(0.0)],
                "1.500000|2|0.2|   -1.00|3.00    |-0003.00|+0.000000",
            ),
            (
                "%#.0f|%f|%F|%f|%5.1f|%05f",
                vec![
                    F(3.0),
                    F(f64::NAN),
                    F(f64::INFINITY),
                    F(f64::NEG_INFINITY),
                    F(f64::INFINITY),
                    F(f64::INFINITY),
                ],
                "3.|nan|INF|-inf|  inf|  inf",
            ),
            (
                "%e|%.0e|%E|%.3e|%#.0e",
                vec![F(12345.678), F(15.0), F(1e-7), F(0.0), F(1.0)],
                "1.234568e+04|2e+01|1.000000E-07|0.000e+00|1.e+00",
            ),
            ("%e|%e", vec![F(1e300), F(5e-324)], "1.000000e+300|4.940656e-324"),
            (
                "%g|%g|%g|%g|%g|%g|%G",
                vec![F(100000.0), F(1000000.0), F(0.0001), F(0.00001), F(0.0), F(1.5), F(1e-10)],
                "100000|1e+06|0.0001|1e-05|0|1.5|1E-10",
            ),
            (
                "%.3g|%.10g|%#g|%.0g|%g",
                vec![F(1234.5), F(0.1), F(1.0), F(25.0), F(999999.5)],
                "1.23e+03|0.1|1.00000|2e+01|1e+06",
            ),
            (
                "%a|%a|%a|%.0a|%.2a|%A|%a",
                vec![F(1.0), F(0.5), F(-3.75), F(1.5), F(1.999), F(255.5), F(0.0)],
                "0x1p+0|0x1p-1|-0x1.ep+1|0x2p+0|0x2.00p+0|0X1.FFP+7|0x0p+0",
            ),
            (
                "%a|%20a|%-20a|%020a",
                vec![F(5e-324), F(1.0), F(1.0), F(-1.0)],
                "0x0.0000000000001p-1022|              0x1p+0|0x1p+0              |-0x00000000000001p+0",
            ),
            ("100%%|%5%", vec![], "100%|%"),
            (
                "%p|%p|%20p|",
                vec![L(0x7f00_0000_1000), L(0), L(0x10)],
                "0x7f0000001000|(nil)|                0x10|",
            ),
            ("%y|%", vec![], "%y|%"),
        ];
        for (text, args, expect) in cases {
            assert_eq!(formatted(text, args).0, expect, "{text}");
        }
    }

    #[test]
    fn the_result_counts_the_arguments() {
        assert_eq!(formatted("plain", vec![]).1, 0);
        assert_eq!(formatted("%d %% %*.*f", vec![W(1), W(2), W(3), F(1.0)]).1, 4);
        assert_eq!(formatted("%9999999999d", vec![W(1)]).0.len(), MAX_WIDTH);
    }
}
