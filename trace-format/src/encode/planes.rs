//! Byte planes: the first bytes of all words, then the second bytes, and so on. Exponents and the zero upper
//! bytes of narrow integers thereby lie together, and each plane is compressed on its own.

/// Number of planes of a 32-bit word.
pub(crate) const PLANES: usize = 4;

/// Appends one plane of some words.
pub(crate) fn split(words: &[u32], plane: usize, out: &mut Vec<u8>) {
    let shift = 8 * plane as u32;
    out.extend(words.iter().map(|w| (w >> shift) as u8));
}

/// Joins four planes of equal length into words.
#[must_use]
pub(crate) fn join(planes: [&[u8]; PLANES]) -> Vec<u32> {
    let n = planes.iter().map(|p| p.len()).min().unwrap_or(0);
    let [a, b, c, d] = planes.map(|p| &p[..n]);
    let mut words = vec![0u32; n];
    for (i, word) in words.iter_mut().enumerate() {
        *word = u32::from_le_bytes([a[i], b[i], c[i], d[i]]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn planes_join_to_the_same_words(words in prop::collection::vec(any::<u32>(), 0..100)) {
            let mut planes: [Vec<u8>; PLANES] = Default::default();
            for (i, plane) in planes.iter_mut().enumerate() {
                split(&words, i, plane);
            }
            prop_assert_eq!(join(planes.each_ref().map(Vec::as_slice)), words);
        }
    }
}
