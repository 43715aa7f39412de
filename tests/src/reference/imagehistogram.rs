//! Reference of imagehistogram: counts of bytes, and of their upper six bits.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let words = case.buffer::<u32>("data");
    let pixels = || words.iter().flat_map(|word| word.to_le_bytes());
    let mut narrow = [0_u32; 64];
    pixels().for_each(|pixel| narrow[usize::from(pixel >> 2)] += 1);
    let mut wide = [0_u32; 256];
    pixels().for_each(|pixel| wide[usize::from(pixel)] += 1);
    Outputs::from([("narrow".into(), Expected::exact(&narrow)), ("wide".into(), Expected::exact(&wide))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn four_pixels_of_a_word_count() {
        let outputs = Setup::default().buffer("data", &[0x0403_ff05_u32]).run(expected);
        assert_eq!(values::<u32>(&outputs, "narrow")[..2], [1, 2]);
        assert_eq!(values::<u32>(&outputs, "wide")[255], 1);
    }
}
