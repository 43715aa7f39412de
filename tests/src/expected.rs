//! Expected contents of buffers after a run, with their tolerances, and the comparison with actual contents.

use crate::element::{Element, ElementType, decode, encode};
use std::fmt;

/// How far a value may lie from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Every bit counts: the kernel's arithmetic is reproducible.
    Exact,
    /// |actual - expected| <= absolute + relative * |expected|, for kernels that use approximate instructions
    /// or are compared with a calculation in higher precision.
    Within {
        /// Share of the expected magnitude.
        relative: f64,
        /// Allowance that does not depend on the magnitude.
        absolute: f64,
    },
}

/// The expected contents of one buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Little-endian bytes of all elements.
    pub bytes: Vec<u8>,
    /// Type of the elements.
    pub element: ElementType,
    /// How exactly the elements must agree.
    pub tolerance: Tolerance,
}

/// The first disagreement between expected and actual contents.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// The buffers differ in size, in bytes.
    Size {
        /// Bytes expected.
        expected: usize,
        /// Bytes found.
        actual: usize,
    },
    /// Elements differ by more than the tolerance.
    Element {
        /// Position of the first of them.
        index: usize,
        /// How many there are in all.
        count: usize,
        /// The expected value.
        expected: String,
        /// The value found.
        actual: String,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { expected, actual } => write!(f, "{actual} bytes instead of {expected}"),
            Self::Element { index, count, expected, actual } => {
                write!(f, "element {index} is {actual} instead of {expected} ({count} elements differ)")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

impl Expected {
    /// Contents that must be met bit for bit.
    pub fn exact<T: Element>(values: &[T]) -> Self {
        Self { bytes: encode(values), element: T::TYPE, tolerance: Tolerance::Exact }
    }

    /// Floating-point contents that must be met within `relative` and `absolute` bounds.
    pub fn within<T: Element>(values: &[T], relative: f64, absolute: f64) -> Self {
        let tolerance = Tolerance::Within { relative, absolute };
        Self { bytes: encode(values), element: T::TYPE, tolerance }
    }

    /// XXH3-64 of the bytes in the notation of launch manifests, if the contents are exact.
    pub fn checksum(&self) -> Option<String> {
        let exact = self.tolerance == Tolerance::Exact;
        exact.then(|| format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(&self.bytes)))
    }

    /// Compares `actual` with the expected contents.
    ///
    /// # Errors
    /// The first disagreement.
    pub fn compare(&self, actual: &[u8]) -> Result<(), Mismatch> {
        if actual.len() != self.bytes.len() {
            return Err(Mismatch::Size { expected: self.bytes.len(), actual: actual.len() });
        }
        let size = self.element.bytes();
        let mut pairs = self.bytes.chunks_exact(size).zip(actual.chunks_exact(size)).enumerate();
        let Some((index, (expected, found))) = pairs.find(|(_, (e, a))| !self.agree(e, a)) else {
            return Ok(());
        };
        let count = 1 + pairs.filter(|(_, (e, a))| !self.agree(e, a)).count();
        let (expected, actual) = (show(self.element, expected), show(self.element, found));
        Err(Mismatch::Element { index, count, expected, actual })
    }

    fn agree(&self, expected: &[u8], actual: &[u8]) -> bool {
        let Tolerance::Within { relative, absolute } = self.tolerance else {
            return expected == actual;
        };
        let (expected, actual) = match self.element {
            ElementType::F32 => (f32::from_bytes(expected).into(), f32::from_bytes(actual).into()),
            ElementType::F64 => (f64::from_bytes(expected), f64::from_bytes(actual)),
            _ => return expected == actual,
        };
        // Written so that a NaN on either side is a disagreement.
        (actual - expected).abs() <= absolute + relative * expected.abs()
    }
}

fn show(element: ElementType, bytes: &[u8]) -> String {
    fn one<T: Element + fmt::Debug>(bytes: &[u8]) -> String {
        decode::<T>(bytes).first().map_or_else(String::new, |value| format!("{value:?}"))
    }
    match element {
        ElementType::U8 => one::<u8>(bytes),
        ElementType::S8 => one::<i8>(bytes),
        ElementType::U16 => one::<u16>(bytes),
        ElementType::S16 => one::<i16>(bytes),
        ElementType::U32 => one::<u32>(bytes),
        ElementType::S32 => one::<i32>(bytes),
        ElementType::U64 => one::<u64>(bytes),
        ElementType::S64 => one::<i64>(bytes),
        ElementType::F32 => format!("{} ({:#010x})", one::<f32>(bytes), u32::from_bytes(bytes)),
        ElementType::F64 => format!("{} ({:#018x})", one::<f64>(bytes), u64::from_bytes(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_contents_distinguish_signed_zeros() {
        let expected = Expected::exact(&[1.0_f32, 0.0]);
        assert_eq!(expected.compare(&encode(&[1.0_f32, 0.0])), Ok(()));
        let mismatch = expected.compare(&encode(&[1.0_f32, -0.0])).unwrap_err();
        assert_eq!(
            mismatch.to_string(),
            "element 1 is -0.0 (0x80000000) instead of 0.0 (0x00000000) (1 elements differ)"
        );
    }

    #[test]
    fn bounds_hold_and_nan_never_agrees() {
        let expected = Expected::within(&[100.0_f32, f32::NAN], 0.01, 0.5);
        let mismatch = expected.compare(&encode(&[101.5_f32, f32::NAN])).unwrap_err();
        assert!(matches!(mismatch, Mismatch::Element { index: 1, count: 1, .. }));
        let expected = Expected::within(&[100.0_f32], 0.01, 0.5);
        assert!(expected.compare(&encode(&[101.6_f32])).is_err());
        assert_eq!(expected.checksum(), None);
    }

    #[test]
    fn sizes_are_compared_first() {
        let mismatch = Expected::exact(&[1_u32]).compare(&[1, 0]).unwrap_err();
        assert_eq!(mismatch, Mismatch::Size { expected: 4, actual: 2 });
    }

    /// XXH3-64 of the empty input with seed 0, as its specification gives it.
    #[test]
    fn checksums_follow_the_specification() {
        assert_eq!(Expected::exact::<u8>(&[]).checksum().unwrap(), "xxh3:2d06800538d394c2");
    }
}
