//! Variable-length integers: seven bits per byte, low bits first, at most five bytes; and the zigzag map that
//! makes small negative numbers short.

use super::CodingError;

/// Appends a number.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number at `*at` and moves behind it.
///
/// # Errors
/// [`CodingError::Truncated`] at the end of the bytes, [`CodingError::Overlong`] when 32 bits do not hold it.
#[inline]
pub(crate) fn read(bytes: &[u8], at: &mut usize) -> Result<u32, CodingError> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at).ok_or(CodingError::Truncated)?;
        *at += 1;
        if shift == 28 && byte > 0x0F {
            return Err(CodingError::Overlong);
        }
        value |= u32::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CodingError::Overlong)
}

/// Appends a little-endian word.
#[inline]
pub(crate) fn push_word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads a little-endian word at `*at` and moves behind it.
///
/// # Errors
/// [`CodingError::Truncated`] at the end of the bytes.
#[inline]
pub(crate) fn read_word(bytes: &[u8], at: &mut usize) -> Result<u32, CodingError> {
    let word = bytes.get(*at..).and_then(|rest| rest.first_chunk()).ok_or(CodingError::Truncated)?;
    *at += 4;
    Ok(u32::from_le_bytes(*word))
}

/// Maps 0, -1, 1, -2, … (as two's complement) to 0, 1, 2, 3, ….
#[must_use]
#[inline]
pub(crate) const fn zigzag(value: u32) -> u32 {
    (value << 1) ^ (value as i32 >> 31) as u32
}

/// The inverse of [`zigzag`].
#[must_use]
#[inline]
pub(crate) const fn unzigzag(value: u32) -> u32 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_survive(values in prop::collection::vec(any::<u32>(), 0..20), shift in 0u32..32) {
            let values: Vec<u32> = values.iter().map(|v| v >> shift).collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|&v| push(&mut bytes, zigzag(v)));
            let mut at = 0;
            for &v in &values {
                prop_assert_eq!(unzigzag(read(&bytes, &mut at).unwrap()), v);
            }
            prop_assert_eq!(at, bytes.len());
            prop_assert_eq!(read(&bytes, &mut at), Err(CodingError::Truncated));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut at = 0;
            while read(&bytes, &mut at).is_ok() {}
            prop_assert!(at <= bytes.len());
        }
    }
}
