//! Floating point numbers as nvdisasm prints them: 20 significant digits (C's `%.20g`), or from 10^9 on 21 in
//! scientific notation (`%.20e`).

use std::fmt;

/// Significant digits.
const DIGITS: i32 = 20;

/// Writes a number; `quiet` says whether a NaN is a quiet one.
pub(crate) fn write(f: &mut impl fmt::Write, value: f64, quiet: bool) -> fmt::Result {
    let sign = if value.is_sign_negative() { '-' } else { '+' };
    if value.is_infinite() {
        return write!(f, "{sign}INF");
    }
    if value.is_nan() {
        return write!(f, "{sign}{}", if quiet { "QNAN" } else { "SNAN" });
    }
    if value == 0.0 {
        return f.write_str(if value.is_sign_negative() { "-0.0" } else { "0" });
    }
    if value.abs() >= 1e9 {
        let text = format!("{value:.20e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return write!(f, "{mantissa}e+{exponent:0>2}");
    }
    let text = format!("{value:.19e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |s: &str| s.trim_end_matches('0').trim_end_matches('.').to_owned();
    if (-4..DIGITS).contains(&exponent) {
        let digits = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        let fixed = format!("{value:.digits$}");
        return f.write_str(&if fixed.contains('.') { trimmed(&fixed) } else { fixed });
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(f, "{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// The value of a half-precision number.
pub(crate) fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    match exponent {
        0 => sign * mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN.copysign(sign),
        _ => sign * (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    fn text(value: f64) -> String {
        let mut out = String::new();
        super::write(&mut out, value, true).expect("a string takes everything");
        out
    }

    #[test]
    fn numbers_have_twenty_significant_digits() {
        assert_eq!(text(f64::from(0.001f32)), "0.0010000000474974513054");
        assert_eq!(text(6_755_399_441_055_744.0), "6.75539944105574400000e+15");
        assert_eq!(text(16_777_216.0), "16777216");
        assert_eq!(text(8.112_963_841_460_668e31), "8.11296384146066816958e+31");
        assert_eq!(text(-126.0), "-126");
        assert_eq!(text(f64::from(1e-4f32)), "9.9999997473787516356e-05");
        assert_eq!(text(-0.0), "-0.0");
        assert_eq!(text(f64::NEG_INFINITY), "-INF");
    }

    #[test]
    fn halves() {
        assert_eq!(super::half(0x3c00), 1.0);
        assert_eq!(super::half(0x0001), 2f64.powi(-24));
        assert_eq!(super::half(0xfc00), f64::NEG_INFINITY);
        assert!(super::half(0x7e00).is_nan());
    }
}
