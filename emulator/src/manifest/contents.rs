//! Initial contents of buffers, bit for bit as documented, so that references can reproduce them.
//!
//! `random` draws from SplitMix64 whose state starts at the seed: element i takes the i-th output z. Floats are
//! `min + (z >> 11) * 2^-53 * (max - min)`, computed in double precision and rounded to the element type;
//! integers are `min + z mod (max - min + 1)`.

use super::element::ElementType;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::path::{Path, PathBuf};
use warplab_host::input;

/// A number in a manifest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Without a fraction.
    Integer(i128),
    /// With one.
    Float(f64),
}

impl Number {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Number::Integer(v) => v as f64,
            Number::Float(v) => v,
        }
    }

    /// Little-endian bytes in an element type.
    ///
    /// # Errors
    /// A sentence, when an integer type gets a fraction or a value outside its range.
    pub fn encode(self, element: ElementType) -> Result<Vec<u8>, String> {
        match self {
            _ if element.is_float() => Ok(element.encode_float(self.as_f64())),
            Number::Integer(v) => {
                let (least, most) = element.range();
                if (least..=most).contains(&v) {
                    Ok(element.encode_integer(v))
                } else {
                    Err(format!("{v} does not fit {} ({least} to {most})", element.name()))
                }
            }
            Number::Float(v) => Err(format!("{v:?} is a float, {} is an integer type", element.name())),
        }
    }

    fn integer(self, element: ElementType) -> Result<i128, String> {
        self.encode(element)?;
        match self {
            Number::Integer(v) => Ok(v),
            Number::Float(v) => Err(format!("{v:?} is a float")),
        }
    }
}

/// How a buffer is filled.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// All bytes zero.
    Zeros,
    /// Element i is i, cast to the type.
    Iota,
    /// Every element has this value.
    Fill(Number),
    /// SplitMix64, see the module.
    Random {
        /// Initial state.
        seed: u64,
        /// Lower bound.
        min: Number,
        /// Upper bound, included for integers.
        max: Number,
    },
    /// The bytes of a file.
    File(PathBuf),
}

impl Init {
    /// Checks what can be checked without making the contents.
    ///
    /// # Errors
    /// A sentence that says what does not fit the element type.
    pub fn validate(&self, element: ElementType) -> Result<(), String> {
        match *self {
            Init::Fill(value) => value.encode(element).map(drop),
            Init::Random { min, max, .. } if element.is_float() => {
                let (a, b) = (min.as_f64(), max.as_f64());
                let fine = a.is_finite() && b.is_finite() && a <= b;
                if fine { Ok(()) } else { Err(format!("the range from {a:?} to {b:?} is empty or infinite")) }
            }
            Init::Random { min, max, .. } => {
                let (a, b) = (min.integer(element)?, max.integer(element)?);
                if a <= b { Ok(()) } else { Err(format!("the range from {a} to {b} is empty")) }
            }
            Init::Zeros | Init::Iota | Init::File(_) => Ok(()),
        }
    }

    /// The contents of a buffer.
    ///
    /// # Errors
    /// A sentence: a file cannot be read or has another size, a value does not fit, memory does not suffice.
    pub fn contents(&self, element: ElementType, len: u64) -> Result<Vec<u8>, String> {
        self.validate(element)?;
        let size = element.bytes();
        let total = usize::try_from(len).ok().and_then(|n| n.checked_mul(size));
        let total = total.ok_or_else(|| format!("{len} elements are more than this machine can address"))?;
        if let Init::File(path) = self {
            return file_contents(path, total);
        }
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(total)
            .map_err(|_| format!("there is not enough memory for {total} bytes"))?;
        match *self {
            Init::Zeros | Init::File(_) => bytes.resize(total, 0),
            Init::Iota => (0..len).for_each(|i| bytes.extend(element.encode_integer(i128::from(i)))),
            Init::Fill(value) => {
                let one = value.encode(element)?;
                (0..len).for_each(|_| bytes.extend(&one));
            }
            Init::Random { seed, min, max } => random(seed, min, max, element, len, &mut bytes)?,
        }
        Ok(bytes)
    }
}

/// The bytes of a file that has exactly so many.
pub(super) fn file_contents(path: &Path, total: usize) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let wrong = |bytes: u64| format!("{shown} has {bytes} bytes, the buffer has {total}");
    let cannot = |e: std::io::Error| format!("cannot read {shown}: {e}");
    let found = path.metadata().map_err(cannot)?;
    if found.is_file() && found.len() > total as u64 {
        return Err(wrong(found.len()));
    }
    let bytes = input::read(path, total as u64).map_err(cannot)?;
    if bytes.len() == total { Ok(bytes) } else { Err(wrong(bytes.len() as u64)) }
}

fn random(
    seed: u64,
    min: Number,
    max: Number,
    element: ElementType,
    len: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let mut source = SplitMix64::seed_from_u64(seed);
    if element.is_float() {
        let (low, high) = (min.as_f64(), max.as_f64());
        for _ in 0..len {
            let unit = (source.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let value = low + unit * (high - low);
            match element {
                ElementType::F32 => bytes.extend((value as f32).to_le_bytes()),
                _ => bytes.extend(element.encode_float(value)),
            }
        }
    } else {
        let (low, high) = (min.integer(element)?, max.integer(element)?);
        for _ in 0..len {
            let value = low + i128::from(source.next_u64()) % (high - low + 1);
            bytes.extend(&value.to_le_bytes()[..element.bytes()]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_matches_published_outputs() {
        let mut source = SplitMix64::seed_from_u64(1_234_567);
        let drawn: Vec<u64> = (0..5).map(|_| source.next_u64()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(drawn, published);
    }

    #[test]
    fn integers_stay_inside_inclusive_bounds() {
        let init = Init::Random { seed: 3, min: Number::Integer(-3), max: Number::Integer(4) };
        let bytes = init.contents(ElementType::S16, 4000).unwrap();
        let mut values: Vec<i16> = bytes.chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values, (-3..=4).collect::<Vec<i16>>());
        let all = Init::Random { seed: 3, min: Number::Integer(0), max: Number::Integer(u64::MAX.into()) };
        let first = SplitMix64::seed_from_u64(3).next_u64();
        assert_eq!(all.contents(ElementType::U64, 1).unwrap(), first.to_le_bytes());
    }

    #[test]
    fn values_that_do_not_fit_are_told() {
        let fits = |init: Init, element| init.contents(element, 1).unwrap_err();
        assert!(fits(Init::Fill(Number::Integer(256)), ElementType::U8).contains("0 to 255"));
        assert!(fits(Init::Fill(Number::Float(0.5)), ElementType::S32).contains("integer type"));
        let empty = |a, b| Init::Random { seed: 0, min: Number::Integer(a), max: Number::Integer(b) };
        assert!(fits(empty(2, 1), ElementType::U32).contains("empty"));
        assert!(fits(empty(2, 1), ElementType::F32).contains("empty"));
        assert!(fits(Init::File("/does/not/exist".into()), ElementType::U8).contains("cannot read"));
    }

    #[test]
    fn iota_and_fill_in_every_type() {
        for (_, element) in ElementType::ALL {
            let bytes = Init::Iota.contents(element, 3).unwrap();
            let shown: Vec<String> = bytes.chunks(element.bytes()).map(|b| element.show(b)).collect();
            let expect = if element.is_float() { ["0.0", "1.0", "2.0"] } else { ["0", "1", "2"] };
            assert_eq!(shown, expect);
            let fill = Init::Fill(Number::Integer(7)).contents(element, 2).unwrap();
            assert_eq!(fill.len(), 2 * element.bytes());
        }
    }
}
