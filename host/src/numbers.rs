//! Ranges of launch numbers on the command line, to select launches to record or replay.

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

#[cfg(test)]
mod tests {
    use super::range;

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
