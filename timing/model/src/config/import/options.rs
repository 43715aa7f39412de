//! Parser of GPGPU-Sim's and Accel-Sim's option files: `-option value` with comments, quotes and values over several
//! lines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Place of an option, shown as `file:line`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Position of the file among those that are imported together.
    pub file: usize,
    /// Line of the option.
    pub line: usize,
    /// Name of the file.
    pub origin: Arc<str>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin, self.line)
    }
}

/// An option in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Value; empty where there is none.
    pub value: String,
    /// Where it is.
    pub at: Place,
}

/// Options by name without the dash; the last of several values counts, as in GPGPU-Sim.
pub(super) type Options = BTreeMap<String, Given>;

/// Maximum size of an option file in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Parses files, whose texts come with their names. An option of a later file replaces that of an earlier one.
///
/// # Errors
/// The file, the line and the error.
pub(super) fn parse(files: &[(&str, &str)]) -> Result<Options, String> {
    let mut options = Options::new();
    for (file, (text, origin)) in files.iter().enumerate() {
        parse_one(text, &Place { file, line: 0, origin: (*origin).into() }, &mut options)
            .map_err(|why| format!("{origin}:{why}"))?;
    }
    Ok(options)
}

fn parse_one(text: &str, place: &Place, options: &mut Options) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err("1: this is no option file: it has more than a mebibyte".into());
    }
    let mut current: Option<String> = None;
    for (line, token) in tokens(text)? {
        let given = || Given { value: String::new(), at: Place { line, ..place.clone() } };
        let option =
            token.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        match (option, &current) {
            (Some(option), _) => {
                options.insert(option.to_owned(), given());
                current = Some(option.to_owned());
            }
            (None, Some(option)) => {
                let given = options.entry(option.clone()).or_insert_with(given);
                if !given.value.is_empty() {
                    given.value.push(' ');
                }
                given.value += &token;
            }
            (None, None) => {
                let shown: String = token.chars().take(40).collect();
                return Err(format!(
                    "{line}: `{shown}` comes before the first option; an option begins with a dash"
                ));
            }
        }
    }
    Ok(())
}

/// Words with their lines; a quoted text is one word, without the white space in it.
fn tokens(text: &str) -> Result<Vec<(usize, String)>, String> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut quoted: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.split('#').next().unwrap_or("");
        for (part, piece) in line.split('"').enumerate() {
            if part > 0 {
                match quoted.take() {
                    Some(word) => out.push(word),
                    None => quoted = Some((number, String::new())),
                }
            }
            match &mut quoted {
                Some((_, word)) => word.extend(piece.chars().filter(|c| !c.is_whitespace())),
                None => out.extend(piece.split_whitespace().map(|word| (number, word.to_owned()))),
            }
        }
    }
    match quoted {
        Some((line, _)) => Err(format!("{line}: a quotation mark is not closed")),
        None => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_values_over_lines_are_read() {
        let text = "# a comment\n-a 1 # another\n-b \"x=1:y=2:\n      z=3\"\n\n-c\n-d 1:2 -3\n-a 2\n";
        let options = parse(&[(text, "a.config")]).expect("options");
        let of = |name: &str| (options[name].value.as_str(), options[name].at.line);
        assert_eq!(of("a"), ("2", 8));
        assert_eq!(of("b"), ("x=1:y=2:z=3", 3));
        assert_eq!(of("c"), ("", 6));
        assert_eq!(of("d"), ("1:2 -3", 7), "a negative number is a value");
    }

    #[test]
    fn what_is_no_option_file_is_refused() {
        let parse = |text: &str| parse(&[("-a 1", "first"), (text, "second")]);
        assert!(parse("hello").expect_err("no option").starts_with("second:1: `hello`"));
        assert!(parse("-a 1\n-b \"x\n").expect_err("open").starts_with("second:2:"));
        assert!(parse(&"x".repeat(MAX_BYTES + 1)).is_err());
        assert_eq!(parse("").expect("the first file")["a"].at.to_string(), "first:1");
        assert_eq!(parse("\n-a 2").expect("both")["a"].at.to_string(), "second:2");
    }
}
