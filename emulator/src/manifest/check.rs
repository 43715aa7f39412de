//! Compares buffers with the contents that the manifest expects.

use super::contents::file_contents;
use super::element::ElementType;
use super::spec::{Buffer, Expect};
use xxhash_rust::xxh3::xxh3_64;

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Not as expected, and how.
    Failed(String),
    /// Not checked, and why.
    Skipped(String),
}

/// A check of one buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The buffer.
    pub buffer: String,
    /// The result.
    pub verdict: Verdict,
}

/// Text of a checksum in the form of manifests.
#[must_use]
pub(crate) fn checksum(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxh3_64(bytes))
}

/// Compares a buffer's contents with the expected ones, if there are any.
#[must_use]
pub(crate) fn check(buffer: &Buffer, bytes: &[u8]) -> Option<Check> {
    let verdict = match buffer.expect.as_ref()? {
        Expect::Checksum(sum) if xxh3_64(bytes) == *sum => Verdict::Passed,
        Expect::Checksum(sum) => {
            Verdict::Failed(format!("the checksum is {}, expected xxh3:{sum:016x}", checksum(bytes)))
        }
        Expect::File { path, ulps } => match file_contents(path, bytes.len()) {
            Err(error) => Verdict::Failed(error),
            Ok(expected) => compare(buffer.element, bytes, &expected, *ulps),
        },
    };
    Some(Check { buffer: buffer.name.clone(), verdict })
}

/// Compares element by element; floats may differ by `ulps` units in the last place, NaNs are all alike.
fn compare(element: ElementType, got: &[u8], expected: &[u8], ulps: u64) -> Verdict {
    let n = element.bytes();
    let mut first = None;
    let (mut count, mut worst) = (0u64, 0u128);
    for (i, (a, b)) in got.chunks_exact(n).zip(expected.chunks_exact(n)).enumerate() {
        let distance = if a == b {
            Some(0)
        } else if element.is_float() {
            match (element.ordinal(a), element.ordinal(b)) {
                (None, None) => Some(0),
                (Some(x), Some(y)) => Some(x.abs_diff(y)),
                _ => None,
            }
        } else {
            None
        };
        if distance.is_none_or(|d| d > u128::from(ulps)) {
            count += 1;
            worst = worst.max(distance.unwrap_or(0));
            first.get_or_insert((i, element.show(a), element.show(b)));
        }
    }
    match first {
        None => Verdict::Passed,
        Some((i, a, b)) => {
            let far = if worst > 0 { format!(", by up to {worst} ULPs") } else { String::new() };
            let total = got.len() / n;
            Verdict::Failed(format!(
                "{count} of {total} elements differ{far}; the first is element {i}: {a}, expected {b}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn tolerance_counts_in_units_in_the_last_place() {
        let a = floats(&[1.0, -0.0, f32::NAN, f32::MIN_POSITIVE]);
        let next = |x: f32, n: i32| f32::from_bits((x.to_bits() as i32 + n) as u32);
        let b = floats(&[next(1.0, 3), 0.0, -f32::NAN, next(f32::MIN_POSITIVE, -2)]);
        assert_eq!(compare(ElementType::F32, &a, &b, 3), Verdict::Passed);
        let Verdict::Failed(told) = compare(ElementType::F32, &a, &b, 2) else { panic!() };
        assert!(told.contains("1 of 4") && told.contains("3 ULPs") && told.contains("element 0"), "{told}");
        let c = floats(&[1.0, 0.0, 1.0, 0.0]);
        assert!(matches!(compare(ElementType::F32, &a, &c, u64::MAX), Verdict::Failed(_)));
        let across = compare(ElementType::F32, &floats(&[next(0.0, 1)]), &floats(&[-next(0.0, 1)]), 2);
        assert_eq!(across, Verdict::Passed);
    }

    #[test]
    fn integers_have_to_be_equal() {
        let told = compare(ElementType::S8, &[1, 255], &[1, 254], 9);
        assert_eq!(
            told,
            Verdict::Failed("1 of 2 elements differ; the first is element 1: -1, expected -2".into())
        );
    }
}
