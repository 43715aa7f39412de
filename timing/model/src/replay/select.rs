//! Selection of the launches to replay, by kernel name and by position.

use regex::Regex;
use std::collections::BTreeSet;
use trace_format::reader::Trace;
use warplab_host::numbers::range;
use warplab_host::symbols;

/// A choice among the launches of a trace; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    kernels: Option<Regex>,
    /// Ranges of positions, both ends included; none means all.
    launches: Vec<(u64, u64)>,
    /// Positions that are left out although the flags choose them.
    without: BTreeSet<usize>,
    /// The flags as written, for messages.
    told: String,
}

impl Selection {
    /// Reads `--kernels` (a regular expression, for the names of the object file or the readable ones) and `--launches` (such as `3-10,12,20-`).
    ///
    /// # Errors
    /// A flag is invalid; the error names it and the reason.
    pub fn parse(kernels: Option<&str>, launches: Option<&str>) -> Result<Selection, String> {
        let regex = |text| Regex::new(text).map_err(|e| format!("--kernels {text}: {e}"));
        let ranges = |text: &str| {
            text.split(',').map(|item| range(item.trim())).collect::<Option<Vec<_>>>().ok_or_else(|| {
                format!("--launches {text}: expected numbers and ranges, such as 3-10,12 or 20-")
            })
        };
        let told = [kernels.map(|k| format!("--kernels {k}")), launches.map(|l| format!("--launches {l}"))];
        Ok(Selection {
            kernels: kernels.map(regex).transpose()?,
            launches: launches.map(ranges).transpose()?.unwrap_or_default(),
            without: BTreeSet::new(),
            told: told.into_iter().flatten().collect::<Vec<_>>().join(" "),
        })
    }

    /// The same choice without some positions.
    #[must_use]
    pub fn without(&self, positions: impl IntoIterator<Item = usize>) -> Selection {
        let without = self.without.iter().copied().chain(positions).collect();
        Selection { without, ..self.clone() }
    }

    /// Positions of the chosen launches in a trace.
    ///
    /// # Errors
    /// No launch is selected, or a number names no launch; the error lists the trace's launches.
    pub fn of(&self, trace: &Trace) -> Result<Vec<usize>, String> {
        let launches = trace.launches();
        let names: Vec<&str> = launches.iter().map(|l| trace.kernel(l.kernel).name.as_str()).collect();
        let beyond = self.launches.iter().find(|(from, _)| *from >= names.len() as u64);
        if let Some((from, _)) = beyond.filter(|_| !names.is_empty()) {
            return Err(format!("{}: there is no launch {from}; {}", self.told, listing(&names)));
        }
        let chosen = |(position, name): &(usize, &&str)| {
            let number = *position as u64;
            self.kernels.as_ref().is_none_or(|r| r.is_match(name) || r.is_match(&symbols::signature(name)))
                && (self.launches.is_empty()
                    || self.launches.iter().any(|(a, b)| (*a..=*b).contains(&number)))
        };
        let positions: Vec<usize> =
            names.iter().enumerate().filter(chosen).map(|(position, _)| position).collect();
        let positions: Vec<usize> =
            positions.into_iter().filter(|position| !self.without.contains(position)).collect();
        if positions.is_empty() && !self.told.is_empty() {
            return Err(format!("{}: no launch is selected; {}", self.told, listing(&names)));
        }
        Ok(positions)
    }
}

/// Lists the launches of a trace, consecutive launches of one kernel together.
fn listing(names: &[&str]) -> String {
    if names.is_empty() {
        return "the trace holds no launches".into();
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for position in 0..names.len() {
        match runs.last_mut() {
            Some((first, last)) if names[*first] == names[position] => *last = position,
            _ => runs.push((position, position)),
        }
    }
    const SHOWN: usize = 20;
    let mut text = "the trace holds".to_owned();
    for (first, last) in runs.iter().take(SHOWN) {
        let number = if first == last { first.to_string() } else { format!("{first}-{last}") };
        text += &format!("\n  {number}: {}", symbols::both(names[*first]));
    }
    if runs.len() > SHOWN {
        text += &format!("\n  … and so on up to {}", names.len() - 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_nonsense_is_named() {
        let parse = |text| Selection::parse(None, Some(text));
        assert_eq!(parse("3-10,12, 20-").expect("ranges").launches, [(3, 10), (12, 12), (20, u64::MAX)]);
        for nonsense in ["", "x", "5-2", "1,,2", "-3", "1-2-3", "99999999999999999999"] {
            assert!(parse(nonsense).expect_err("nonsense").starts_with("--launches"), "{nonsense}");
        }
        assert!(Selection::parse(Some("("), None).expect_err("no expression").starts_with("--kernels ("));
    }

    #[test]
    fn listings_show_names_that_can_be_read_and_copied() {
        assert_eq!(listing(&["_Z4stepPf"]), "the trace holds\n  0: step(float*) [_Z4stepPf]");
    }

    #[test]
    fn listings_put_runs_together() {
        assert_eq!(listing(&["a", "a", "b", "a"]), "the trace holds\n  0-1: a\n  2: b\n  3: a");
        let many: Vec<String> = (0..50).map(|n| format!("k{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(listing(&many).ends_with("and so on up to 49"));
    }
}
