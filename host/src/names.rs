//! Names that a user mistypes.

/// Similarity below which a name is not taken for another one, from 0 to 1 (Jaro and Winkler).
const SIMILAR: f64 = 0.8;

/// The known name that is most like a word, if one is like it.
///
/// ```
/// # use warplab_host::names::nearest;
/// assert_eq!(nearest("bwo", ["larf", "bow", "corf"]), Some("bow"));
/// assert_eq!(nearest("gtx48", ["gtx480", "gtxtitan"]), Some("gtx480"));
/// assert_eq!(nearest("zzz", ["larf", "bow", "corf"]), None);
/// // Another number is another thing, not a slip of the hand.
/// assert_eq!(nearest("rtx4090", ["rtx2060", "rtx3070"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let likeness = |name: &str| {
        // One letter is no typo of another one.
        let typo = word.chars().count() > 2 && strsim::osa_distance(&word, &name.to_lowercase()) == 1;
        if typo { 1.0 } else { strsim::jaro_winkler(&word, &name.to_lowercase()) }
    };
    let scored = known.into_iter().filter(|name| may_be_number_of(&digits(&word), &digits(name)));
    let scored = scored.map(|name| (likeness(name), name)).filter(|(score, _)| *score >= SIMILAR);
    scored
        .fold(None::<(f64, &str)>, |best, next| best.filter(|best| best.0 >= next.0).or(Some(next)))
        .map(|best| best.1)
}

fn digits(word: &str) -> Vec<u8> {
    word.bytes().filter(u8::is_ascii_digit).collect()
}

/// Whether digits are those of a name with two of them in another order, or with one too many or too few.
fn may_be_number_of(typed: &[u8], name: &[u8]) -> bool {
    let (short, long) = if typed.len() < name.len() { (typed, name) } else { (name, typed) };
    match long.len() - short.len() {
        0 => {
            let sorted = |digits: &[u8]| {
                let mut digits = digits.to_vec();
                digits.sort_unstable();
                digits
            };
            sorted(short) == sorted(long)
        }
        1 => {
            let mut rest = long.iter();
            short.iter().all(|digit| rest.any(|other| other == digit))
        }
        _ => false,
    }
}

/// The message about a name that does not exist: what it should be, the name, and those that exist.
///
/// ```
/// # use warplab_host::names::unknown;
/// assert_eq!(
///     unknown("technique", "bwo", &["larf", "bow"]),
///     "unknown technique `bwo`; did you mean `bow`? known are larf, bow"
/// );
/// assert_eq!(unknown("technique", "zzz", &["larf", "bow"]), "unknown technique `zzz`; known are larf, bow");
/// ```
#[must_use]
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!("unknown {what} `{name}`{}", among(name, "known are", known))
}

/// What a mistyped name may mean, and the names that exist, to follow a message about it.
///
/// ```
/// # use warplab_host::names::among;
/// assert_eq!(among("bwo", "there are", &["larf", "bow"]), "; did you mean `bow`? there are larf, bow");
/// ```
#[must_use]
pub fn among(name: &str, exist: &str, known: &[&str]) -> String {
    let guess = nearest(name, known.iter().copied());
    let guess = guess.map_or(String::new(), |guess| format!(" did you mean `{guess}`?"));
    format!(";{guess} {exist} {}", known.join(", "))
}

/// What a mistyped name may mean, to follow a message about it: `; did you mean `bow`?`, or nothing.
///
/// ```
/// # use warplab_host::names::perhaps;
/// assert_eq!(perhaps("mtamul", ["matmul", "saxpy"]), "; did you mean `matmul`?");
/// assert_eq!(perhaps("zzz", ["matmul", "saxpy"]), "");
/// ```
#[must_use]
pub fn perhaps<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |guess| format!("; did you mean `{guess}`?"))
}
/// Whether a name is a word of lower-case letters, digits and these marks.
///
/// ```
/// # use warplab_host::names::is_word;
/// assert!(is_word("corf++", "-+") && !is_word("corf++", "_") && !is_word("Corf", "-+") && !is_word("", "_"));
/// ```
#[must_use]
pub fn is_word(name: &str, marks: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
    !name.is_empty() && name.chars().all(letter)
}
