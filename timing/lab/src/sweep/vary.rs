//! A key of the configuration that takes several values: `KEY=2,3,4`, `KEY=2..7`, `KEY=16..128*2`.

use serde::{Deserialize, Serialize};

/// Maximum number of values of one key.
const MOST_VALUES: usize = 10_000;

/// Maximum number of points of a space.
pub(super) const MOST_POINTS: usize = 100_000;

/// A key of the configuration that takes several values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vary {
    /// The key, such as `technique.bow.window`.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
}

impl Vary {
    /// Reads `KEY=V1,V2,…`. A value may be a range of whole numbers with both ends: `2..7`, in steps `2..10+2`, by a factor
    /// `16..128*2`.
    ///
    /// ```
    /// let vary = warplab_lab::sweep::Vary::parse("sm.max_warps=8,16..64*2")?;
    /// assert_eq!(vary.values, ["8", "16", "32", "64"]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// There is no key or no value, a value is given twice, or a range has no end.
    pub fn parse(text: &str) -> Result<Vary, String> {
        let wrong = || format!("`{text}` is not KEY=VALUE,VALUE,… or KEY=FIRST..LAST");
        let (key, list) = text.split_once('=').ok_or_else(wrong)?;
        let items: Vec<&str> = list.split(',').map(str::trim).collect();
        if key.trim().is_empty() || items.contains(&"") {
            return Err(wrong());
        }
        Vary::of(key.trim(), items).map_err(|why| format!("`{text}`: {why}"))
    }

    /// A key with values, each of which may be a range.
    ///
    /// # Errors
    /// As [`Vary::parse`].
    pub fn of<'a>(key: &str, items: impl IntoIterator<Item = &'a str>) -> Result<Vary, String> {
        let mut values: Vec<String> = Vec::new();
        for item in items {
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A path such as `../table.toml` is no range.
            let found = match item.split_once("..").filter(|(first, _)| is_number(first)) {
                Some((first, rest)) => range(first, rest).map_err(|why| format!("{item}: {why}"))?,
                None => vec![item.to_owned()],
            };
            for value in found {
                if values.contains(&value) {
                    return Err(format!("the value {value} is given twice"));
                }
                values.push(value);
            }
        }
        if values.is_empty() || values.len() > MOST_VALUES {
            return Err(format!("{key} has {} values; expected 1 to {MOST_VALUES}", values.len()));
        }
        Ok(Vary { key: key.to_owned(), values })
    }

    /// The technique whose parameter it is, if it is one's.
    #[must_use]
    pub fn technique(&self) -> Option<&str> {
        technique_of(&self.key)
    }
}

/// The technique whose parameter a key is.
pub(crate) fn technique_of(key: &str) -> Option<&str> {
    key.strip_prefix("technique.")?.split('.').next()
}

/// Every combination of one value of each key, as overrides; with `zip` the first values of all keys, the second ones, and so
/// on. One combination without overrides if nothing varies.
///
/// # Errors
/// A key varies twice; keys of different length with `zip`; too many combinations.
pub(crate) fn combinations(vary: &[Vary], zip: bool) -> Result<Vec<Vec<String>>, String> {
    for (at, one) in vary.iter().enumerate() {
        if vary[..at].iter().any(|other| other.key == one.key) {
            return Err(format!("{} varies twice; give all its values at once", one.key));
        }
    }
    let value = |one: &Vary, at: usize| format!("{}={}", one.key, one.values[at]);
    let Some(first) = vary.first().filter(|_| zip) else {
        let count = vary.iter().try_fold(1_usize, |count, one| count.checked_mul(one.values.len()));
        if count.is_none_or(|count| count > MOST_POINTS) {
            return Err(format!("the space has more than {MOST_POINTS} points"));
        }
        return Ok(vary.iter().fold(vec![Vec::new()], |chosen: Vec<Vec<String>>, one| {
            let with = |before: &Vec<String>, at| before.iter().cloned().chain([value(one, at)]).collect();
            let each = |before: &Vec<String>| -> Vec<Vec<String>> {
                (0..one.values.len()).map(|at| with(before, at)).collect()
            };
            chosen.iter().flat_map(each).collect()
        }));
    };
    if let Some(other) = vary.iter().find(|other| other.values.len() != first.values.len()) {
        return Err(format!(
            "--zip takes values by position: {} has {} values and {} has {}",
            first.key,
            first.values.len(),
            other.key,
            other.values.len()
        ));
    }
    Ok((0..first.values.len()).map(|at| vary.iter().map(|one| value(one, at)).collect()).collect())
}

/// The whole numbers from `first` to the end of `rest`: `7`, `10+2`, `128*2`.
fn range(first: &str, rest: &str) -> Result<Vec<String>, String> {
    let number =
        |text: &str| text.trim().parse::<u64>().map_err(|_| format!("`{}` is no whole number", text.trim()));
    let first = number(first)?;
    let (last, next): (u64, Box<dyn Fn(u64) -> Option<u64>>) =
        if let Some((last, factor)) = rest.split_once('*') {
            let factor = number(factor)?;
            if factor < 2 || first == 0 {
                return Err("a range by a factor begins above 0, and the factor is 2 or more".into());
            }
            (number(last)?, Box::new(move |value| value.checked_mul(factor)))
        } else if let Some((last, step)) = rest.split_once('+') {
            let step = number(step)?;
            if step == 0 {
                return Err("a step is 1 or more".into());
            }
            (number(last)?, Box::new(move |value| value.checked_add(step)))
        } else {
            (number(rest)?, Box::new(|value| value.checked_add(1)))
        };
    if last < first {
        return Err("it ends before it begins".into());
    }
    let values = std::iter::successors(Some(first), |value| next(*value)).take_while(|value| *value <= last);
    Ok(values.take(MOST_VALUES + 1).map(|value| value.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_listed_and_counted() {
        let values = |text: &str| Vary::parse(text).expect("read").values.join(" ");
        assert_eq!(values("a.b=2..7"), "2 3 4 5 6 7");
        assert_eq!(values("a.b=1, 8..14+3 ,gto"), "1 8 11 14 gto");
        assert_eq!(values("a.b=3..50*4"), "3 12 48");
        assert_eq!(values("a.b=5..5"), "5");
        assert_eq!(values("energy=../mine.toml"), "../mine.toml");
    }

    #[test]
    fn mistakes_are_named() {
        let why = |text: &str| Vary::parse(text).expect_err("refused");
        for text in ["a.b", "=2", "a.b=", "a.b=1,,2"] {
            assert!(why(text).contains("is not KEY=VALUE"), "{text}");
        }
        assert!(why("a=7..2").contains("ends before it begins"));
        assert!(why("a=1..3,2").contains("2 is given twice"));
        assert!(why("a=1..x").contains("`x` is no whole number"));
        assert!(why("a=0..8*2").contains("begins above 0") && why("a=1..8+0").contains("a step is 1"));
        assert!(why("a=0..18446744073709551615").contains("expected 1 to 10000"));
    }
}
