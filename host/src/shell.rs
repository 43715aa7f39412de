//! Commands as text: words as a shell reads them, without what changes no result.

use crate::outputs::{OUTPUT, WRITING, Writes};
use std::path::Path;

/// A word as a shell reads it.
///
/// ```
/// # use warplab_host::shell::quoted;
/// assert_eq!(quoted("--set"), "--set");
/// assert_eq!(quoted("a=b'c"), r"'a=b'\''c'");
/// ```
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=:+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words of a command without the options that write files or submit jobs ([`WRITING`]), and those options.
///
/// ```
/// # use warplab_host::shell::without_writing;
/// let words = ["timing", "replay", "t", "--csv", "x", "--json=y", "-oz", "--slurm", "--", "--csv"];
/// let (kept, removed) = without_writing(&words);
/// assert_eq!(kept, ["timing", "replay", "t", "--", "--csv"]);
/// assert_eq!(removed, ["--csv x", "--json=y", "-oz", "--slurm"]);
/// ```
pub fn without_writing<'a>(words: &[&'a str]) -> (Vec<&'a str>, Vec<String>) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word);
            break;
        }
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let writes = WRITING.iter().find(|(known, _)| name.strip_prefix("--") == Some(known));
        let value = match writes {
            // Its value may be missing.
            Some((_, Writes::Jobs)) if name == word => words.next_if(|next| !next.starts_with('-')),
            Some((_, Writes::Files)) if name == word => words.next(),
            None if word == OUTPUT => words.next(),
            Some(_) => None,
            None if word.starts_with(OUTPUT) => None,
            None => {
                kept.push(word);
                continue;
            }
        };
        removed.push(value.map_or_else(|| word.to_owned(), |value| format!("{word} {value}")));
    }
    kept.extend(words);
    (kept, removed)
}

/// The words of a command without some options: `valued` ones with the word that follows them or stands after `=`, and
/// `flags`. Words from `--` on belong to another program and are all kept.
///
/// ```
/// # use warplab_host::shell::without;
/// let words = ["emu", "record", "-o", "x", "a.ptx", "--threads=2", "--json", "--", "app", "-o", "y"];
/// assert_eq!(without(words, &["-o", "--threads"], &["--json"]), ["emu", "record", "a.ptx", "--", "app", "-o", "y"]);
/// ```
pub fn without<'a>(
    words: impl IntoIterator<Item = &'a str>,
    valued: &[&str],
    flags: &[&str],
) -> Vec<&'a str> {
    let (mut kept, mut words) = (Vec::new(), words.into_iter());
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word);
            break;
        }
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        if valued.contains(&word) {
            words.next();
        } else if !valued.contains(&name) && !flags.contains(&word) {
            kept.push(word);
        }
    }
    kept.extend(words);
    kept
}

/// A word without the folder, if it names a file or folder that exists: the same command is the same text wherever its
/// files lie.
#[must_use]
pub fn without_folder(word: &str) -> &str {
    let path = Path::new(word);
    let name = path.file_name().and_then(|name| name.to_str());
    name.filter(|_| word.contains('/') && path.exists()).unwrap_or(word)
}
