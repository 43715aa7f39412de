//! Lists, shapes and quotients, written alike in all sections.

/// "a, b and c".
#[must_use]
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A block's threads, as "16×16".
#[must_use]
pub fn block_shape(block: [u32; 3]) -> String {
    let used = 3 - block.iter().rev().take_while(|&&n| n == 1).count();
    block[..used.max(1)].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

/// A quotient of counts; missing if the divisor is 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_listed_as_one_says_them() {
        assert_eq!(super::listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(super::listed(&["a"]), "a");
        assert_eq!(super::listed(&[]), "");
    }

    #[test]
    fn shapes_leave_out_the_dimensions_that_are_not_used() {
        let shapes = [[256, 1, 1], [16, 16, 1], [1, 1, 4], [1, 1, 1]];
        assert_eq!(shapes.map(super::block_shape), ["256", "16×16", "1×1×4", "1"]);
    }
}
