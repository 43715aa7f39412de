//! Reads `table.txt`: at the first use of an opcode's name, once per process.

use super::super::types::ScalarType;
use super::requirement::{Needs, parse_needs};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A modifier word and what it needs beyond its form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) text: &'static str,
    pub(super) needs: Needs,
}

/// A place of a form for one modifier.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// The words that may stand there.
    pub(super) words: Vec<Word>,
    /// No word is needed.
    pub(super) optional: bool,
    /// The words are types, which have an order.
    pub(super) is_type: bool,
    /// The word is where the form has it.
    pub(super) fixed: bool,
    /// The name that the type has among the operands.
    pub(super) binds: Option<char>,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value that is read.
    Source,
    /// A register that is written.
    Destination,
    /// A destination that may be `_`.
    Unused,
    /// A register that is read.
    Register,
    /// An integer of this type, in a register of an integer type or a constant.
    Strict,
    /// Any source of `mov`: special registers and addresses of variables too.
    Value,
    /// The source of `mov.v2`, `mov.v4`.
    Vector,
    /// The argument of `cvta`: a register, or a variable with an offset.
    Variable,
    /// An address as a value, 32 or 64 bits wide.
    Address,
    /// `[…]` in the space that the instruction names, or in the one given.
    Memory(Option<&'static str>),
    /// A number of bits or a position.
    Amount,
    /// A number of threads: whole warps.
    Threads,
    /// What `.L2::cache_hint` needs.
    Policy,
    /// An integer constant from, to, a multiple of.
    Constant(u64, u64, u64),
    /// The number of a barrier.
    Barrier,
    /// A label.
    Label,
    /// A `.branchtargets` list.
    Table,
    /// The decoder checks this operand and those after it.
    Decoder,
    /// This operand and those after it are not checked.
    Rest,
}

/// A type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// This one.
    Is(ScalarType),
    /// The one matched under a name.
    Named(char),
    /// An integer twice as wide as `T`.
    Wide,
    /// None.
    Untyped,
}

/// How many registers an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// One.
    One,
    /// As many as `.v2`, `.v4`, `.v8` says.
    Modifier,
    /// A vector of so many.
    Exactly(u8),
}

/// Whether a predicate may follow a destination after `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    No,
    May,
    Must,
}

/// An operand of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub(super) kind: Kind,
    pub(super) ty: Typed,
    /// A wider register does as well.
    pub(super) wider: bool,
    pub(super) count: Count,
    pub(super) second: Second,
    pub(super) optional: bool,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) elements: Vec<Element>,
    /// Words that are in no element are accepted.
    pub(super) open: bool,
    pub(super) operands: Vec<Want>,
    pub(super) needs: Needs,
}

static TABLE: LazyLock<HashMap<&'static str, Vec<Form>>> = LazyLock::new(|| read(include_str!("table.txt")));

/// The forms of an opcode.
pub(super) fn forms(opcode: &str) -> Option<&'static [Form]> {
    TABLE.get(opcode).map(Vec::as_slice)
}

/// Every opcode.
pub(super) fn opcodes() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

fn read(text: &'static str) -> HashMap<&'static str, Vec<Form>> {
    let mut sets: HashMap<&'static str, Vec<Word>> = HashMap::new();
    let mut forms: HashMap<&'static str, Vec<Form>> = HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((name, words)) = line.strip_prefix("set ").and_then(|set| set.split_once(" = ")) {
            let words = words.split_whitespace().flat_map(|word| expand(word, &sets)).collect();
            sets.insert(name, words);
            continue;
        }
        let mut columns = line.split(';').map(str::trim);
        let name = columns.next().unwrap_or("");
        let (opcode, modifiers) = name.split_once(' ').unwrap_or((name, ""));
        let (elements, open) = elements(modifiers, &sets);
        let operands = columns.next().unwrap_or("").split_whitespace().map(want).collect();
        let needs = parse_needs(columns.next().unwrap_or(""));
        forms.entry(opcode).or_default().push(Form { elements, open, operands, needs });
    }
    forms
}

/// The words of `w`, `w@7.0,80` or `$set`.
fn expand(text: &'static str, sets: &HashMap<&'static str, Vec<Word>>) -> Vec<Word> {
    if let Some(set) = text.strip_prefix('$') {
        return sets.get(set).cloned().unwrap_or_default();
    }
    let (text, needs) = text.split_once('@').unwrap_or((text, ""));
    vec![Word { text, needs: parse_needs(needs) }]
}

/// The places of a form, and whether it accepts other words too.
fn elements(modifiers: &'static str, sets: &HashMap<&'static str, Vec<Word>>) -> (Vec<Element>, bool) {
    let mut elements = Vec::new();
    let mut open = false;
    let mut rest = modifiers.trim();
    while !rest.is_empty() {
        // An element ends at a blank outside of braces.
        let end = match rest.find(['{', ' ']) {
            Some(at) if rest[at..].starts_with('{') => rest[at..]
                .find('}')
                .map(|close| rest[at + close..].find(' ').map_or(rest.len(), |e| at + close + e)),
            other => other,
        };
        let (element, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.trim_start();
        if element == "**" {
            open = true;
            continue;
        }
        let (element, fixed) = element.strip_prefix('^').map_or((element, false), |e| (e, true));
        let (element, optional) = element.strip_suffix('?').map_or((element, false), |e| (e, true));
        let named = element.split_once(':').filter(|(name, _)| name.len() == 1);
        let (binds, list) = named.map_or((None, element), |(name, list)| (name.chars().next(), list));
        let list = list.trim_start_matches('{').trim_end_matches('}');
        let words: Vec<Word> = list.split_whitespace().flat_map(|word| expand(word, sets)).collect();
        let is_type = words.iter().any(|word| ScalarType::from_keyword(word.text).is_some());
        elements.push(Element { words, optional, is_type, fixed, binds });
    }
    (elements, open)
}

/// One word of the column of operands.
fn want(text: &'static str) -> Want {
    let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
    let mut want = Want {
        kind: Kind::Source,
        ty: Typed::Untyped,
        wider: false,
        count: Count::One,
        second: Second::No,
        optional,
    };
    want.kind = match text {
        "..." => Kind::Rest,
        "value" => Kind::Value,
        "vector" => {
            return Want { kind: Kind::Vector, ty: Typed::Named('T'), count: Count::Modifier, ..want };
        }
        "variable" => Kind::Variable,
        "address" => Kind::Address,
        "label" => Kind::Label,
        "table" => Kind::Table,
        "bar" => Kind::Barrier,
        "amount" => Kind::Amount,
        "threads" => Kind::Threads,
        "policy" => Kind::Policy,
        "!" => Kind::Decoder,
        _ => match (text.strip_prefix('#'), text.strip_prefix('[')) {
            (Some(range), _) => constant(range),
            (_, Some(space)) => {
                Kind::Memory(Some(space.trim_end_matches(']')).filter(|space| !space.is_empty()))
            }
            _ => return typed(text, want),
        },
    };
    want
}

/// The range of `#`, `#15`, `#24..256/8`.
fn constant(text: &str) -> Kind {
    let (range, step) = text.split_once('/').unwrap_or((text, "1"));
    let (first, last) = range.split_once("..").unwrap_or(("0", range));
    Kind::Constant(first.parse().unwrap_or(0), last.parse().unwrap_or(u64::MAX), step.parse().unwrap_or(1))
}

/// A source or destination that has a type.
fn typed(text: &'static str, mut want: Want) -> Want {
    let mut text = text;
    if let Some(strict) = text.strip_prefix('!') {
        (want.kind, text) = (Kind::Strict, strict);
    }
    if let Some(register) = text.strip_prefix('%') {
        (want.kind, text) = (Kind::Register, register);
    }
    if let Some(destination) = text.strip_prefix('=') {
        (want.kind, text) = (Kind::Destination, destination.trim_start_matches('!'));
    }
    if let Some(first) = text.strip_suffix("/pred") {
        (want.second, text) = (Second::May, first);
    }
    if let Some(first) = text.strip_suffix("|pred") {
        (want.second, text) = (Second::Must, first);
    }
    if let Some(ty) = text.strip_suffix('_') {
        (want.kind, text) = (Kind::Unused, ty);
    }
    if let Some(ty) = text.strip_suffix('*') {
        (want.count, text) = (Count::Modifier, ty);
    }
    if let Some((ty, count)) = text.split_once(':') {
        (want.count, text) = (Count::Exactly(count.parse().unwrap_or(1)), ty);
    }
    if let Some(ty) = text.strip_suffix('~') {
        (want.wider, text) = (true, ty);
    }
    want.ty = match (text, ScalarType::from_keyword(text), text.chars().next()) {
        ("W", ..) => Typed::Wide,
        (_, Some(ty), _) => Typed::Is(ty),
        (_, None, Some(name)) if text.len() == 1 => Typed::Named(name),
        _ => Typed::Untyped,
    };
    want
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        for (opcode, forms) in &*TABLE {
            for form in forms {
                for element in &form.elements {
                    assert!(!element.words.is_empty(), "{opcode} has an empty set");
                    for word in &element.words {
                        let plain = word.text.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
                        assert!(plain && !word.text.is_empty(), "{opcode}: `{}` is no word", word.text);
                    }
                    // Words and types are in places of their own.
                    let types =
                        element.words.iter().filter(|w| ScalarType::from_keyword(w.text).is_some()).count();
                    assert!(types == 0 || types == element.words.len(), "{opcode}: {:?}", element.words);
                }
                for want in &form.operands {
                    let named = match want.ty {
                        Typed::Named(name) => form.elements.iter().any(|e| e.binds == Some(name)),
                        Typed::Wide => form.elements.iter().any(|e| e.binds == Some('T')),
                        Typed::Is(_) => true,
                        Typed::Untyped => !matches!(
                            want.kind,
                            Kind::Source | Kind::Register | Kind::Destination | Kind::Unused
                        ),
                    };
                    assert!(named, "{opcode}: an operand has no type: {want:?}");
                }
            }
        }
    }
}
