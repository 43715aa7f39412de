//! Compares the output that a page shows with what a command has printed.
//!
//! A page may leave out lines (`⋮` alone in a line) and parts of a line (`…`). Seconds, and rates behind them, differ from
//! run to run and are not compared; neither are the width of columns and the revision of the sources. Everything else has
//! to be the same.

use regex::Regex;
use std::sync::LazyLock;

/// The first difference between what is shown and what was printed; none if they agree.
#[must_use]
pub fn difference(shown: &[String], printed: &str) -> Option<String> {
    let printed: Vec<String> = printed.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let shown: Vec<String> = shown.iter().map(|line| plain(line)).filter(|line| !line.is_empty()).collect();
    let mut at = 0;
    let mut anywhere = false;
    let runs: Vec<&[String]> = shown.split(|line| line == "⋮").collect();
    for (i, run) in runs.iter().enumerate() {
        let last = i + 1 == runs.len();
        let Some(found) = place(run, &printed, at, anywhere, last) else {
            return Some(nearest(run, &printed, at, anywhere));
        };
        at = found + run.len();
        anywhere = true;
    }
    None
}

/// Where a run of lines stands in the output; `last` runs stand at its end.
fn place(run: &[String], printed: &[String], at: usize, anywhere: bool, last: bool) -> Option<usize> {
    let fits = |start: usize| {
        printed.get(start..start + run.len()).is_some_and(|lines| run.iter().zip(lines).all(same))
    };
    let end = printed.len().checked_sub(run.len())?;
    match (anywhere, last) {
        (true, true) if run.is_empty() => Some(printed.len()),
        (_, true) if !anywhere && at != end => None,
        (_, true) => (end >= at && fits(end)).then_some(end),
        (true, false) => (at..=end).find(|&start| fits(start)),
        (false, false) => fits(at).then_some(at),
    }
}

/// Says which line of a run is nowhere, or follows where another one was shown.
fn nearest(run: &[String], printed: &[String], at: usize, anywhere: bool) -> String {
    let starts = if anywhere { at..printed.len() + 1 } else { at..at + 1 };
    let agree = |start: usize| {
        run.iter().zip(&printed[start.min(printed.len())..]).take_while(|&pair| same(pair)).count()
    };
    let start = starts.rev().max_by_key(|&start| agree(start)).unwrap_or(at);
    let good = agree(start);
    let shown = run.get(good).map_or("the end of the output", String::as_str);
    let printed = printed.get(start + good).map_or("nothing", String::as_str);
    format!("shown:   {shown}\nprinted: {printed}")
}

/// Whether a shown line stands for a printed one.
fn same((shown, printed): (&String, &String)) -> bool {
    let mut parts = shown.split('…');
    let mut rest = match parts.next().and_then(|first| printed.strip_prefix(first)) {
        Some(rest) => rest,
        None => return false,
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// A line without colours, times, rates, widths of columns and revisions.
fn plain(line: &str) -> String {
    static SPACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\s+").expect("a pattern"));
    static RULE: LazyLock<Regex> = LazyLock::new(|| Regex::new("[─-]{3,}").expect("a pattern"));
    static TIME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b\d+(\.\d+)? s\b( \d+(\.\d+)?$)?").expect("a pattern"));
    static REVISION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r" ?\(revision [0-9a-f]+\)").expect("a pattern"));
    let line = REVISION.replace_all(line, "");
    let line = SPACE.replace_all(line.trim(), " ");
    let line = RULE.replace_all(&line, "─");
    TIME.replace_all(&line, "TIME").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(shown: &str, printed: &str) -> Option<String> {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        difference(&shown, printed)
    }

    #[test]
    fn lines_and_parts_of_lines_may_be_left_out() {
        let printed = "one 1\ntwo 2\nthree 3\nfour 4\n";
        for shown in [
            "one 1\n⋮",
            "⋮\nfour 4",
            "⋮\ntwo 2\n⋮",
            "one 1\n⋮\nfour 4",
            "one 1\ntwo 2\n⋮\nthree 3\nfour 4",
            "⋮",
        ] {
            assert_eq!(differ(shown, printed), None, "{shown}");
        }
        assert_eq!(differ("one …\ntwo 2\nt…e …\n…4", printed), None);
        for wrong in [
            "two 2\n⋮",
            "one 1",
            "one 1\n⋮\nthree 3",
            "⋮\nfour 4\n⋮\none 1\n⋮",
            "one 1\n⋮\nthree 3\ntwo 2\n⋮",
            "o…2\n⋮",
        ] {
            assert!(differ(wrong, printed).is_some(), "{wrong}");
        }
    }

    #[test]
    fn times_rates_and_widths_are_not_compared_but_results_are() {
        let printed = " k   4x4  208896  0.003 s  62.7\n------  \nbytes 5\n";
        assert_eq!(differ("k  4x4 208896 1.5 s 7.1\n───\n bytes   5", printed), None);
        assert!(differ("k  4x4 208897 1.5 s 7.1\n───\n bytes   5", printed).is_some());
        assert!(differ("k  4x4 208896 1.5 s 7.1\n───\n bytes   6", printed).is_some());
    }

    #[test]
    fn revisions_are_not_compared() {
        assert_eq!(differ("emu 0.1.0", "emu 0.1.0 (revision 166e2d78220a)\n"), None);
        assert!(differ("emu 0.1.0", "emu 0.1.1 (revision 166e2d78220a)\n").is_some());
    }

    #[test]
    fn a_difference_names_the_first_line_that_is_not_there() {
        let said = differ("a\n⋮\nb 2\nc 3\n⋮", "a\nx\nb 2\nc 4\n").unwrap();
        assert_eq!(said, "shown:   c 3\nprinted: c 4");
        assert_eq!(differ("a\nb", "a\n").unwrap(), "shown:   b\nprinted: nothing");
    }
}
