//! Initial contents of buffers: zeros, counting up, one value, or SplitMix64 noise of a range. The definition
//! is bit-exact, so that a reference and an emulator that share only the manifest start from the same bytes.

use crate::element::{Element, ElementType};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// How a buffer is filled before the first launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All bytes zero.
    Zeros,
    /// Element i is i, cast to the element type.
    Iota,
    /// Every element is this value.
    Fill(Number),
    /// Element i comes from the i-th draw of SplitMix64, scaled into `min..max` (floating-point elements) or
    /// `min..=max` (integer elements).
    Random {
        /// State of the generator before the first draw.
        seed: u64,
        /// Lower bound.
        min: Number,
        /// Upper bound; belongs to the range for integers.
        max: Number,
    },
}

/// A number of a manifest, which is an integer or a floating-point literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A literal without a fraction.
    Integer(i64),
    /// A literal with one.
    Float(f64),
}

impl Number {
    fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    fn as_i128(self) -> Result<i128, String> {
        match self {
            Self::Integer(value) => Ok(i128::from(value)),
            Self::Float(value) => Err(format!("{value} is no integer, as the elements of the buffer are")),
        }
    }
}

/// The bytes of `len` elements of type `element` filled as `init` says.
///
/// # Errors
/// A sentence, if a bound does not fit the element type or the range is empty.
pub fn contents(init: &Init, element: ElementType, len: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(len * element.bytes());
    match *init {
        Init::Zeros => bytes.resize(len * element.bytes(), 0),
        Init::Iota => (0..len).for_each(|i| append_integer(element, i as i128, &mut bytes)),
        Init::Fill(value) if is_float(element) => {
            (0..len).for_each(|_| append_float(element, value.as_f64(), &mut bytes));
        }
        Init::Fill(value) => {
            let value = value.as_i128()?;
            (0..len).for_each(|_| append_integer(element, value, &mut bytes));
        }
        Init::Random { seed, min, max } if is_float(element) => {
            let (min, max) = (min.as_f64(), max.as_f64());
            let mut source = SplitMix64::seed_from_u64(seed);
            for _ in 0..len {
                let unit = (source.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
                append_float(element, min + unit * (max - min), &mut bytes);
            }
        }
        Init::Random { seed, min, max } => {
            let (min, max) = (min.as_i128()?, max.as_i128()?);
            if max < min {
                return Err(format!("the random range {min}..={max} is empty"));
            }
            let mut source = SplitMix64::seed_from_u64(seed);
            for _ in 0..len {
                let offset = i128::from(source.next_u64()) % (max - min + 1);
                append_integer(element, min + offset, &mut bytes);
            }
        }
    }
    Ok(bytes)
}

fn is_float(element: ElementType) -> bool {
    matches!(element, ElementType::F32 | ElementType::F64)
}

fn append_float(element: ElementType, value: f64, bytes: &mut Vec<u8>) {
    match element {
        ElementType::F32 => (value as f32).append_to(bytes),
        _ => value.append_to(bytes),
    }
}

/// Appends the low bits of `value`, or its nearest floating-point number.
fn append_integer(element: ElementType, value: i128, bytes: &mut Vec<u8>) {
    match element {
        ElementType::F32 => (value as f32).append_to(bytes),
        ElementType::F64 => (value as f64).append_to(bytes),
        _ => bytes.extend_from_slice(&value.to_le_bytes()[..element.bytes()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{decode, encode};

    /// The first draws that the public reference implementation makes from seed 1234567.
    #[test]
    fn splitmix_draws_what_its_reference_draws() {
        let mut source = SplitMix64::seed_from_u64(1_234_567);
        let draws: Vec<u64> = (0..3).map(|_| source.next_u64()).collect();
        assert_eq!(draws, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn integers_cover_their_range_and_no_more() {
        let init = Init::Random { seed: 5, min: Number::Integer(-2), max: Number::Integer(3) };
        let mut seen = decode::<i16>(&contents(&init, ElementType::S16, 500).unwrap());
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [-2, -1, 0, 1, 2, 3]);
    }

    #[test]
    fn floats_stay_in_their_range_and_fill_it() {
        let init = Init::Random { seed: 5, min: Number::Float(-1.0), max: Number::Float(3.0) };
        let values = decode::<f32>(&contents(&init, ElementType::F32, 10_000).unwrap());
        assert!(values.iter().all(|v| (-1.0..=3.0).contains(v)));
        let mean = values.iter().sum::<f32>() / 10_000.0;
        assert!((mean - 1.0).abs() < 0.05, "mean {mean}");
    }

    #[test]
    fn iota_wraps_in_narrow_types_and_fill_repeats() {
        assert_eq!(contents(&Init::Iota, ElementType::U8, 258).unwrap()[255..], [255, 0, 1]);
        assert_eq!(contents(&Init::Iota, ElementType::F64, 3).unwrap(), encode(&[0.0, 1.0, 2.0]));
        let fill = Init::Fill(Number::Integer(-7));
        assert_eq!(contents(&fill, ElementType::S32, 2).unwrap(), encode(&[-7_i32, -7]));
    }

    #[test]
    fn bounds_that_do_not_fit_are_refused() {
        let fraction = Init::Random { seed: 0, min: Number::Float(0.5), max: Number::Integer(3) };
        assert!(contents(&fraction, ElementType::U32, 1).is_err());
        let empty = Init::Random { seed: 0, min: Number::Integer(4), max: Number::Integer(3) };
        assert!(contents(&empty, ElementType::U32, 1).is_err());
    }
}
