//! Selection of the launches and blocks to record, from the flags `--kernels`, `--launches`, `--every` and
//! `--blocks`. All launches are executed in any case.

use regex::Regex;
use trace_format::container::Sample;
use warplab_host::numbers::range;

/// A selection of the launches of a run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    kernels: Option<Regex>,
    /// Ranges of launch numbers, both ends included; none means all.
    launches: Vec<(u64, u64)>,
    /// Of the launches that the rest chooses, each so-many-th; 0 means every one.
    every: u64,
    /// Launches that the rest has chosen so far.
    chosen: u64,
    sample: Sample,
}

impl Selection {
    /// Reads the flags, each as it was written.
    ///
    /// # Errors
    /// A flag is invalid; the error names it and the reason.
    pub fn parse(
        kernels: Option<&str>,
        launches: Option<&str>,
        every: Option<&str>,
        blocks: Option<&str>,
    ) -> Result<Selection, String> {
        let kernels =
            kernels.map(|text| Regex::new(text).map_err(|e| format!("--kernels {text}: {e}"))).transpose()?;
        let launches = launches.map_or(Ok(Vec::new()), |text| {
            text.split(',').map(range).collect::<Option<Vec<_>>>().ok_or_else(|| {
                format!("--launches {text}: expected numbers and ranges, such as 10-20 or 0,5,100-")
            })
        })?;
        let every = every.map_or(Ok(0), |text| {
            let number = text.parse().ok().filter(|&n: &u64| n > 0);
            number.ok_or_else(|| format!("--every {text}: a number from 1 is wanted"))
        })?;
        let sample = blocks.map_or(Ok(Sample::All), |text| {
            blocks_of(text).ok_or_else(|| {
                format!("--blocks {text}: a number from 1 is wanted, or N/even for blocks at even distances")
            })
        })?;
        Ok(Selection { kernels, launches, every, chosen: 0, sample })
    }

    /// Whether a launch is to be recorded. Launches are asked about in their order, from number 0.
    pub fn wants(&mut self, number: u64, kernel: &str) -> bool {
        let named = self
            .kernels
            .as_ref()
            .is_none_or(|r| r.is_match(kernel) || r.is_match(&warplab_host::symbols::signature(kernel)));
        let numbered =
            self.launches.is_empty() || self.launches.iter().any(|&(a, b)| (a..=b).contains(&number));
        if !named || !numbered {
            return false;
        }
        self.chosen += 1;
        self.every == 0 || (self.chosen - 1).is_multiple_of(self.every)
    }

    /// Which blocks of a launch are to be recorded.
    #[must_use]
    pub fn sample(&self) -> Sample {
        self.sample
    }
}

fn blocks_of(text: &str) -> Option<Sample> {
    let (number, even) = match text.split_once('/') {
        None => (text, false),
        Some((number, "even")) => (number, true),
        Some(_) => return None,
    };
    let number = number.parse().ok().filter(|&n: &u64| n > 0)?;
    Some(if even { Sample::Even(number) } else { Sample::First(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(mut selection: Selection, names: &[&str]) -> Vec<usize> {
        (0..names.len()).filter(|&i| selection.wants(i as u64, names[i])).collect()
    }

    #[test]
    fn flags_choose_together() {
        let names = ["scan", "add", "scan", "scan", "add", "scan", "scan"];
        let parse = |k, l, e| Selection::parse(k, l, e, None).unwrap();
        assert_eq!(chosen(parse(None, None, None), &names), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(chosen(parse(Some("^sc"), None, None), &names), [0, 2, 3, 5, 6]);
        assert_eq!(chosen(parse(Some("^sc"), None, Some("2")), &names), [0, 3, 6]);
        assert_eq!(chosen(parse(None, Some("1,3-4,6-"), None), &names), [1, 3, 4, 6]);
        assert_eq!(chosen(parse(Some("add"), Some("2-"), Some("1")), &names), [4]);
    }

    #[test]
    fn nonsense_is_named() {
        let errors = [
            Selection::parse(Some("("), None, None, None),
            Selection::parse(None, Some("5-2"), None, None),
            Selection::parse(None, Some("x"), None, None),
            Selection::parse(None, None, Some("0"), None),
            Selection::parse(None, None, None, Some("0")),
            Selection::parse(None, None, None, Some("4/odd")),
        ];
        for (error, flag) in
            errors.into_iter().zip(["kernels", "launches", "launches", "every", "blocks", "blocks"])
        {
            assert!(error.unwrap_err().starts_with(&format!("--{flag}")));
        }
        let blocks = |text| Selection::parse(None, None, None, Some(text)).unwrap().sample();
        assert_eq!((blocks("8"), blocks("8/even")), (Sample::First(8), Sample::Even(8)));
    }
}
