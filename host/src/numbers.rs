//! Ranges of launch numbers, to select launches to record or replay: as the command line gives them, and as messages do.

/// First and last number of `7`, `3-10` or `20-` (no end); `None` if the text has another form or the range
/// is empty.
#[must_use]
pub fn range(text: &str) -> Option<(u64, u64)> {
    match text.split_once('-') {
        None => text.parse().ok().map(|n| (n, n)),
        Some((from, "")) => from.parse().ok().map(|n| (n, u64::MAX)),
        Some((from, to)) => {
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some((from, to))
        }
    }
}

/// Ascending numbers as `range` reads them, with commas: `0-2,5`.
pub fn ranges_of(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let told = |(first, last): (u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.into_iter().map(told).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{range, ranges_of};

    #[test]
    fn numbers_are_told_as_they_are_read() {
        let of = |numbers: &[u64]| ranges_of(numbers.iter().copied());
        assert_eq!((of(&[]).as_str(), of(&[7]).as_str()), ("", "7"));
        assert_eq!(of(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert!(of(&[0, 1, 2, 5]).split(',').all(|text| range(text).is_some()));
    }

    #[test]
    fn ranges_hold_both_ends() {
        assert_eq!(range("7"), Some((7, 7)));
        assert_eq!(range("3-10"), Some((3, 10)));
        assert_eq!(range("20-"), Some((20, u64::MAX)));
        for nonsense in ["", "x", "5-2", "-3", "1-2-3", " 1", "99999999999999999999"] {
            assert_eq!(range(nonsense), None, "{nonsense}");
        }
    }
}
