//! Which launches of the traces are studied.

use super::{Input, StudyError};

/// A choice of launches; what is not said is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of kernels, `*` standing for any text.
    kernels: Vec<String>,
    /// Numbers of launches within their trace, first and last.
    launches: Vec<(u32, u32)>,
    /// Instead of both: positions of inputs and numbers of launches.
    exact: Option<Vec<(usize, u32)>>,
}

impl Selection {
    /// Every launch.
    #[must_use]
    pub const fn all() -> Selection {
        Selection { kernels: Vec::new(), launches: Vec::new(), exact: None }
    }

    /// Launches of the kernels that a list of names means, with the numbers that a list such as `0,4-7` means.
    ///
    /// # Errors
    /// The number that is none.
    pub fn parse(kernels: Option<&str>, launches: Option<&str>) -> Result<Selection, StudyError> {
        let kernels = kernels.into_iter().flat_map(|list| list.split(',')).map(|name| name.trim().to_owned());
        let range = |text: &str| {
            let (first, last) = text.trim().split_once('-').unwrap_or((text.trim(), text.trim()));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            number(first).zip(number(last)).filter(|(first, last)| first <= last).ok_or_else(|| {
                StudyError::NothingSelected(format!("`{text}` is no launch; give numbers such as 0,4-7"))
            })
        };
        let launches = launches.into_iter().flat_map(|list| list.split(',')).map(range);
        let launches = launches.collect::<Result<_, _>>()?;
        Ok(Selection { kernels: kernels.collect(), launches, exact: None })
    }

    /// These launches: positions of inputs and numbers of launches, which exist.
    #[must_use]
    pub fn exactly(launches: Vec<(usize, u32)>) -> Selection {
        Selection { exact: Some(launches), ..Selection::all() }
    }

    /// The chosen launches: positions of inputs and numbers of launches.
    pub(super) fn launches(&self, inputs: &[Input<'_>]) -> Result<Vec<(usize, u32)>, StudyError> {
        if let Some(launches) = &self.exact {
            return Ok(launches.clone());
        }
        let mut names: Vec<&str> = Vec::new();
        let mut chosen = Vec::new();
        let (mut of_kernels, mut most) = (vec![false; self.kernels.len()], 0);
        for (number, input) in inputs.iter().enumerate() {
            let count = input.trace.launches().len() as u32;
            most = most.max(count);
            for launch in 0..count {
                let name = input.trace.kernel_of(launch).name.as_str();
                if !names.contains(&name) {
                    names.push(name);
                }
                let named = self.kernels.iter().enumerate().filter(|(_, pattern)| matches(pattern, name));
                let named: Vec<usize> = named.map(|(i, _)| i).collect();
                named.iter().for_each(|&i| of_kernels[i] = true);
                let wanted = self.kernels.is_empty() || !named.is_empty();
                let within = |&(first, last): &(u32, u32)| (first..=last).contains(&launch);
                if wanted && (self.launches.is_empty() || self.launches.iter().any(within)) {
                    chosen.push((number, launch));
                }
            }
        }
        if let Some(missing) = of_kernels.iter().position(|found| !found) {
            let why =
                format!("no kernel is called `{}`; there are: {}", self.kernels[missing], names.join(", "));
            return Err(StudyError::NothingSelected(why));
        }
        if chosen.is_empty() {
            let why = if most == 0 {
                "the traces hold no launches".to_owned()
            } else {
                format!(
                    "no launch is selected; traces hold launches 0 to {} of: {}",
                    most - 1,
                    names.join(", ")
                )
            };
            return Err(StudyError::NothingSelected(why));
        }
        Ok(chosen)
    }
}

/// Whether a name fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut left) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(between) = last.replace(part) {
            let Some(at) = left.find(between) else { return false };
            left = &left[at + between.len()..];
        }
    }
    last.map_or(left.is_empty(), |end| left.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names() {
        let cases = [
            ("scan", "scan", true),
            ("scan", "scan2", false),
            ("scan*", "scan2", true),
            ("*", "anything", true),
            ("*sum", "prefix_sum", true),
            ("*sum", "prefix_sums", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(matches(pattern, name), fits, "{pattern} on {name}");
        }
    }

    #[test]
    fn numbers_are_ranges() {
        let selection = Selection::parse(None, Some("0, 4-7")).expect("two ranges");
        assert_eq!(selection.launches, [(0, 0), (4, 7)]);
        for wrong in ["x", "7-4", "", "1-", "-1"] {
            assert!(Selection::parse(None, Some(wrong)).is_err(), "{wrong}");
        }
    }
}
