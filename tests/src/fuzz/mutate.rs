//! Inputs for the fuzz bodies: real modules, random kernels and a kernel for every opcode form, with a few bytes,
//! tokens or lines changed, or with tokens of one spliced into another. Everything follows from a seed.

use crate::coverage::{self, Dialect};
use crate::oracle::generate::{Dice, Focus, Kernel};
use std::path::Path;

/// Texts beyond this are left out of the corpus: they cost time and contain no constructs that shorter ones
/// lack.
const MAX_CORPUS_BYTES: u64 = 40_000;

/// Numbers at which something happens.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "15",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "255",
    "4095",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "0x7fffffffffffffff",
    "18446744073709551615",
    "0f7FC00000",
    "0dFFF0000000000000",
];

/// What bytes are replaced by.
const BYTES: &[u8] = b"{}[]();,.:%$@!-+<>|_0179afxuE \"\\\t~\n\0\xFF";

/// Texts that inputs are made from.
#[derive(Clone, Debug)]
pub struct Corpus {
    texts: Vec<String>,
}

impl Corpus {
    /// The PTX files of this repository and a kernel for every opcode form.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn bundled() -> std::io::Result<Corpus> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for folder in [tests.to_owned(), tests.join("../emulator/tests")] {
            collect(&folder, &mut files)?;
        }
        files.sort();
        let mut texts = files.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
        let forms = coverage::forms().into_iter().chain(coverage::pending());
        for (at, (form, _)) in forms.enumerate() {
            let dialect = if at % 2 == 0 { Dialect::Typed } else { Dialect::Untyped };
            texts.extend(coverage::sample(form).map(|sample| sample.ptx(dialect)));
        }
        Ok(Corpus { texts })
    }

    /// The texts.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The input of a seed.
    ///
    /// # Panics
    /// Panics when the corpus is empty.
    #[must_use]
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let mut dice = Dice::new(seed ^ 0x00F0_22ED);
        let text = match dice.below(3) {
            0 => Kernel::random(seed, dice.pick(&Focus::ALL), None).ptx(),
            _ => self.texts[dice.below(self.texts.len())].clone(),
        };
        let donor = &self.texts[dice.below(self.texts.len())];
        match dice.below(11) {
            0 => bytes(text.into_bytes(), &mut dice),
            8.. => values(&text, &mut dice).into_bytes(),
            1 => lines(&text, donor, &mut dice).into_bytes(),
            2 | 3 => tokens(&text, donor, &mut dice, 1).into_bytes(),
            4 => {
                let changed = lines(&text, donor, &mut dice);
                tokens(&changed, donor, &mut dice, 2).into_bytes()
            }
            n => tokens(&text, donor, &mut dice, n - 3).into_bytes(),
        }
    }
}

/// The PTX files below a folder that are not too long.
fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ptx") && entry.metadata()?.len() <= MAX_CORPUS_BYTES
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Changes, drops and doubles bytes.
fn bytes(mut text: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..dice.between(1, 8) {
        if text.is_empty() {
            break;
        }
        let at = dice.below(text.len());
        match dice.below(5) {
            0 => text[at] ^= 1 << dice.below(8),
            1 => drop(text.remove(at)),
            2 => text.insert(at, dice.pick(BYTES)),
            3 if dice.chance(10) => text.truncate(at),
            _ => text[at] = dice.pick(BYTES),
        }
    }
    text
}

/// Changes, drops, doubles and borrows lines.
fn lines(text: &str, donor: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let donors: Vec<&str> = donor.lines().collect();
    for _ in 0..dice.between(1, 5) {
        if lines.is_empty() || donors.is_empty() {
            break;
        }
        let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
        match dice.below(5) {
            0 => lines[at] = lines[other],
            1 => lines.insert(at, lines[other]),
            2 => drop(lines.remove(at)),
            3 => lines.swap(at, other),
            _ => lines.insert(at, donors[dice.below(donors.len())]),
        }
    }
    lines.join("\n")
}

/// Changes so many tokens: into another of the same text, of another text, or an interesting number.
fn tokens(text: &str, donor: &str, dice: &mut Dice, changes: usize) -> String {
    let mut own = split(text);
    let donors = split(donor);
    for _ in 0..changes {
        // White space is a token here, but changing it finds nothing.
        let Some(at) = any(&own, dice) else { break };
        match dice.below(8) {
            0 => own[at] = "",
            1 => {
                let of_donor = any(&donors, dice);
                own[at] = of_donor.map_or("", |at| donors[at]);
            }
            2 if own[at].starts_with(|c: char| c.is_ascii_digit()) => own[at] = dice.pick(&NUMBERS),
            2..5 => {
                // A token of the same kind, so that more results are well formed.
                let kind = |token: &str| token.as_bytes().first().copied().map(kind_of);
                let found = such(&own, dice, 16, |token| kind(token) == kind(own[at]));
                if let Some(found) = found {
                    own[at] = own[found];
                }
            }
            5 => {
                let found = such(&own, dice, 32, |token| token.starts_with(|c: char| c.is_ascii_digit()));
                own[found.unwrap_or(at)] = dice.pick(&NUMBERS);
            }
            6 => {
                let other = any(&own, dice).unwrap_or(at);
                own.swap(at, other);
            }
            _ => own.insert(at, own[any(&own, dice).unwrap_or(at)]),
        }
    }
    own.concat()
}

/// Exchanges registers of one kind, and numbers: what the front end takes, so that lowering and execution see it.
fn values(text: &str, dice: &mut Dice) -> String {
    let mut tokens = split(text);
    for _ in 0..dice.between(1, 6) {
        let Some(at) = such(&tokens, dice, 64, is_value) else { break };
        let alike = such(&tokens, dice, 64, |token| name_of(token) == name_of(tokens[at]));
        tokens[at] = alike.map_or(tokens[at], |other| tokens[other]);
    }
    tokens.concat()
}

fn is_value(token: &str) -> bool {
    token.starts_with(|c: char| c == '%' || c.is_ascii_digit())
}

/// What registers of one kind, and all numbers, have in common.
fn name_of(token: &str) -> &str {
    token.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// A token that is not white space.
fn any(tokens: &[&str], dice: &mut Dice) -> Option<usize> {
    (0..16)
        .map(|_| dice.below(tokens.len().max(1)))
        .find(|&at| tokens.get(at).is_some_and(|t| !t.trim().is_empty()))
}

/// A token that is such, of so many that are drawn.
fn such(tokens: &[&str], dice: &mut Dice, draws: usize, is_such: impl Fn(&str) -> bool) -> Option<usize> {
    (0..draws).filter_map(|_| any(tokens, dice)).find(|&at| is_such(tokens[at]))
}

/// Splits a text into words (modifiers with their dot, registers with their sign) and the text between them.
fn split(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let of = class(c);
        // A dot and a percent sign begin a word; other signs are tokens of their own.
        if last.is_some_and(|last| last != of || of == 2 || of == 3) && !(last == Some(2) && of == 0) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(of);
    }
    tokens.push(&text[start..]);
    tokens
}

/// Class of a character: word, white space, beginning of a word, sign.
fn class(c: char) -> u8 {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' => 0,
        c if c.is_whitespace() => 1,
        '.' | '%' => 2,
        _ => 3,
    }
}

/// Kind of a token by its first byte.
fn kind_of(first: u8) -> u8 {
    match first {
        b'.' | b'%' | b'$' => first,
        b'0'..=b'9' => b'0',
        b if b.is_ascii_alphabetic() || b == b'_' => b'a',
        _ => 0,
    }
}
