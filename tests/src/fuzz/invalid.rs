//! Mutants for the question which PTX exists: a valid module with one change that a person or a compiler's bug
//! might make. The kind of the change is known, so that a comparison with ptxas can count by kind.
//!
//! Everything follows from a seed and the list of texts.

use crate::oracle::generate::Dice;

/// A kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Change {
    /// A modifier becomes another one.
    Modifier,
    /// A type becomes another one.
    Type,
    /// An opcode becomes another one.
    Opcode,
    /// A state space becomes another one.
    Space,
    /// A modifier, an operand or an opcode loses, gains or changes a letter.
    Letter,
    /// A modifier is left out.
    WordLost,
    /// A modifier of another instruction is added.
    WordAdded,
    /// Two modifiers change places.
    WordsSwapped,
    /// An operand becomes another operand of the module.
    Operand,
    /// A register becomes one of another class.
    Class,
    /// A number becomes another one, or takes the place of an operand.
    Literal,
    /// An operand is left out.
    OperandLost,
    /// An operand is added.
    OperandAdded,
    /// A name becomes one that is not declared.
    Undeclared,
    /// A line that declares something is left out or repeated.
    Declaration,
    /// A label is repeated.
    Label,
    /// A word of a directive becomes that of another one.
    Directive,
    /// `.version` becomes another one.
    Version,
    /// `.target` becomes another one.
    Target,
    /// A mark such as a comma is left out, repeated or changed.
    Mark,
    /// Two lines change places.
    LinesSwapped,
}

impl Change {
    /// Every kind.
    pub const ALL: [Change; 21] = [
        Change::Modifier,
        Change::Type,
        Change::Opcode,
        Change::Space,
        Change::Letter,
        Change::WordLost,
        Change::WordAdded,
        Change::WordsSwapped,
        Change::Operand,
        Change::Class,
        Change::Literal,
        Change::OperandLost,
        Change::OperandAdded,
        Change::Undeclared,
        Change::Declaration,
        Change::Label,
        Change::Directive,
        Change::Version,
        Change::Target,
        Change::Mark,
        Change::LinesSwapped,
    ];

    /// The change in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Change::Modifier => "another modifier",
            Change::Type => "another type",
            Change::Opcode => "another opcode",
            Change::Space => "another state space",
            Change::Letter => "a letter lost, doubled or changed",
            Change::WordLost => "a modifier left out",
            Change::WordAdded => "a modifier added",
            Change::WordsSwapped => "two modifiers swapped",
            Change::Operand => "another operand",
            Change::Class => "another register",
            Change::Literal => "a literal",
            Change::OperandLost => "an operand left out",
            Change::OperandAdded => "an operand added",
            Change::Undeclared => "an undeclared name",
            Change::Declaration => "a declaration left out or repeated",
            Change::Label => "a label repeated",
            Change::Directive => "another word of a directive",
            Change::Version => "another version",
            Change::Target => "another target",
            Change::Mark => "a punctuation mark",
            Change::LinesSwapped => "two lines swapped",
        }
    }
}

const TYPES: [&str; 22] = [
    ".b8", ".b16", ".b32", ".b64", ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32", ".s64", ".f16",
    ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64", ".pred", ".b128", ".u16x2", ".f32x2",
];
const SPACES: [&str; 7] = [".global", ".shared", ".local", ".const", ".param", ".shared::cta", ".generic"];
const VERSIONS: [&str; 14] =
    ["1.4", "2.3", "3.2", "4.3", "5.0", "6.0", "6.3", "6.5", "7.0", "7.8", "8.1", "9.0", "9.5", "9.9"];
const TARGETS: [&str; 14] = [
    "sm_13", "sm_30", "sm_52", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "sm_999",
    "sm_7", "sm_85", "gfx90",
];
const LITERALS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "3",
    "31",
    "32",
    "64",
    "255",
    "256",
    "65536",
    "4294967296",
    "0f3F800000",
    "0d3FF0000000000000",
    "1.5",
    "0xFFFFFFFF",
    "99999999999999999999",
];
const MARKS: [&str; 14] = [",", ";", "[", "]", "{", "}", "(", ")", "+", "|", "@", "!", ":", "<"];

/// A changed module and how it was changed.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kind of the change.
    pub change: Change,
    /// Number of the text that was changed.
    pub of: usize,
    /// The changed text.
    pub text: String,
}

/// An instruction of a text, by the numbers of its tokens.
struct Instruction {
    opcode: usize,
    /// Its modifiers.
    words: Vec<usize>,
    /// First and last token of each operand.
    operands: Vec<(usize, usize)>,
}

/// A text as tokens.
struct Tokens<'t> {
    list: Vec<&'t str>,
    instructions: Vec<Instruction>,
}

/// The mutant of a seed; `None` where the drawn text has no place for the drawn change.
#[must_use]
pub fn mutant(texts: &[String], seed: u64) -> Option<Mutant> {
    let mut dice = Dice::new(seed ^ 0x001D_F0B1);
    let change = dice.pick(&Change::ALL);
    let of = dice.below(texts.len());
    let tokens = Tokens::of(&texts[of]);
    let donor = Tokens::of(&texts[dice.below(texts.len())]);
    let text = match change {
        Change::Declaration | Change::Label | Change::LinesSwapped => lines(&texts[of], change, &mut dice),
        _ => tokens.changed(change, &donor, &mut dice),
    }?;
    (text != texts[of]).then_some(Mutant { change, of, text })
}

/// Splits a text into words with their dot, numbers, names, marks and white space.
fn split(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%:".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if first.is_whitespace() {
            rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
        } else if first.is_ascii_digit() {
            rest.find(|c: char| !(is_word(c) || c == '.')).unwrap_or(rest.len())
        } else if first == '.' || is_word(first) && first != ':' {
            let word = rest[1..].find(|c: char| !is_word(c)).map_or(rest.len(), |end| end + 1);
            // `name:` is a label; `shared::cta` is a word.
            if rest[..word].ends_with(':') && !rest[..word].ends_with("::") { word - 1 } else { word }
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end.max(first.len_utf8()));
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn is_blank(token: &str) -> bool {
    token.starts_with(char::is_whitespace) || token.starts_with("//") || token.starts_with("/*")
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || "_%$".contains(c))
}

impl<'t> Tokens<'t> {
    fn of(text: &'t str) -> Tokens<'t> {
        let list = split(text);
        let mut instructions = Vec::new();
        let solid: Vec<usize> = (0..list.len()).filter(|&at| !is_blank(list[at])).collect();
        let mut at = 0;
        while at < solid.len() {
            let token = list[solid[at]];
            let before = at.checked_sub(1).map_or("", |before| list[solid[before]]);
            let starts = matches!(before, ";" | "{" | "}" | ":")
                || before.starts_with('%') && guarded(&list, &solid, at);
            let next = solid.get(at + 1).map_or("", |&next| list[next]);
            let opens = token.starts_with(|c: char| c.is_ascii_lowercase()) && next != ":" && next != "=";
            if starts
                && opens
                && let Some((instruction, end)) = instruction(&list, &solid, at)
            {
                instructions.push(instruction);
                at = end;
            } else {
                at += 1;
            }
        }
        Tokens { list, instructions }
    }

    fn changed(&self, change: Change, donor: &Tokens<'_>, dice: &mut Dice) -> Option<String> {
        let mut list: Vec<String> = self.list.iter().map(|token| (*token).to_owned()).collect();
        match change {
            Change::Version | Change::Target => {
                let word = if change == Change::Version { ".version" } else { ".target" };
                let at = self.list.iter().position(|token| *token == word)? + 2;
                let new = if change == Change::Version { dice.pick(&VERSIONS) } else { dice.pick(&TARGETS) };
                list.get_mut(at)?.replace_range(.., new);
            }
            Change::Directive => {
                let words = |tokens: &Tokens<'_>| tokens.directive_words();
                let (own, other) = (words(self), words(donor));
                let at = own[dice.below(own.len().max(1)).min(own.len().checked_sub(1)?)];
                list[at] = donor.list[other[dice.below(other.len().max(1)).min(other.len().checked_sub(1)?)]]
                    .to_owned();
            }
            Change::Mark => {
                let marks: Vec<usize> =
                    (0..list.len()).filter(|&at| MARKS.contains(&self.list[at])).collect();
                let at = marks[dice.below(marks.len().max(1)).min(marks.len().checked_sub(1)?)];
                list[at] = match dice.below(3) {
                    0 => String::new(),
                    1 => self.list[at].repeat(2),
                    _ => dice.pick(&MARKS).to_owned(),
                };
            }
            _ => self.changed_instruction(change, donor, dice, &mut list)?,
        }
        Some(list.concat())
    }

    fn pick<'s>(&'s self, dice: &mut Dice) -> Option<&'s Instruction> {
        (!self.instructions.is_empty()).then(|| &self.instructions[dice.below(self.instructions.len())])
    }

    /// An operand of the text.
    fn operand(&self, dice: &mut Dice) -> Option<String> {
        let instruction = self.pick(dice)?;
        let &(first, last) = chosen(&instruction.operands, dice)?;
        Some(self.list[first..=last].concat())
    }

    fn changed_instruction(
        &self,
        change: Change,
        donor: &Tokens<'_>,
        dice: &mut Dice,
        list: &mut [String],
    ) -> Option<()> {
        let instruction = self.pick(dice)?;
        let of_kind = |kinds: &[&str]| -> Vec<usize> {
            instruction.words.iter().copied().filter(|&at| kinds.contains(&self.list[at])).collect()
        };
        match change {
            Change::Modifier => {
                let at = *chosen(&instruction.words, dice)?;
                list[at] = donor.word(self.list[instruction.opcode], dice)?;
            }
            Change::Type => list[*chosen(&of_kind(&TYPES), dice)?] = dice.pick(&TYPES).to_owned(),
            Change::Space => list[*chosen(&of_kind(&SPACES), dice)?] = dice.pick(&SPACES).to_owned(),
            Change::Opcode => list[instruction.opcode] = donor.list[donor.pick(dice)?.opcode].to_owned(),
            Change::Letter => {
                let mut places = instruction.words.clone();
                places.push(instruction.opcode);
                places.extend(instruction.operands.iter().map(|(first, _)| *first));
                let at = *chosen(&places, dice)?;
                list[at] = misspelt(self.list[at], dice);
            }
            Change::WordLost => list[*chosen(&instruction.words, dice)?].clear(),
            Change::WordAdded => {
                let word = donor.word(self.list[instruction.opcode], dice)?;
                let at = *chosen(&instruction.words, dice)?;
                list[at].push_str(&word);
            }
            Change::WordsSwapped => {
                let (a, b) = (*chosen(&instruction.words, dice)?, *chosen(&instruction.words, dice)?);
                list.swap(a, b);
            }
            Change::Operand | Change::Class => {
                let &(first, last) = chosen(&instruction.operands, dice)?;
                let new = if change == Change::Operand { self.operand(dice)? } else { self.register(dice)? };
                replace(list, first, last, new);
            }
            Change::Literal => {
                let &(first, last) = chosen(&instruction.operands, dice)?;
                replace(list, first, last, dice.pick(&LITERALS).to_owned());
            }
            Change::OperandLost => {
                let &(first, last) = chosen(&instruction.operands, dice)?;
                let comma = (last + 1..list.len())
                    .find(|&at| !is_blank(self.list[at]))
                    .filter(|&at| self.list[at] == ",");
                replace(list, first, comma.unwrap_or(last), String::new());
            }
            Change::OperandAdded => {
                let &(_, last) = chosen(&instruction.operands, dice)?;
                let new = self.operand(dice)?;
                list[last].push_str(&format!(", {new}"));
            }
            Change::Undeclared => {
                let names: Vec<usize> = instruction
                    .operands
                    .iter()
                    .flat_map(|&(first, last)| first..=last)
                    .filter(|&at| is_name(self.list[at]))
                    .collect();
                list[*chosen(&names, dice)?].push_str("99999");
            }
            _ => return None,
        }
        Some(())
    }

    /// A modifier of an instruction of this text: mostly of one with a given opcode.
    fn word(&self, opcode: &str, dice: &mut Dice) -> Option<String> {
        let same = || self.instructions.iter().filter(|i| self.list[i.opcode] == opcode);
        let like: Vec<&Instruction> = same().collect();
        let instruction =
            if !like.is_empty() && dice.chance(60) { *chosen(&like, dice)? } else { self.pick(dice)? };
        Some(self.list[*chosen(&instruction.words, dice)?].to_owned())
    }

    /// A register of the text.
    fn register(&self, dice: &mut Dice) -> Option<String> {
        let named: Vec<&str> =
            self.list.iter().copied().filter(|token| token.starts_with('%') && token.len() > 1).collect();
        chosen(&named, dice).map(|name| (*name).to_owned())
    }

    /// Words with a dot that are in no instruction.
    fn directive_words(&self) -> Vec<usize> {
        let inside: std::collections::HashSet<usize> =
            self.instructions.iter().flat_map(|i| i.words.iter().copied()).collect();
        let dotted =
            |at: &usize| self.list[*at].starts_with('.') && self.list[*at].len() > 1 && !inside.contains(at);
        (0..self.list.len()).filter(dotted).collect()
    }
}

fn chosen<'l, T>(list: &'l [T], dice: &mut Dice) -> Option<&'l T> {
    (!list.is_empty()).then(|| &list[dice.below(list.len())])
}

fn replace(list: &mut [String], first: usize, last: usize, new: String) {
    list[first..=last].iter_mut().for_each(String::clear);
    list[first] = new;
}

/// Whether `@p` or `@!p` is before a token.
fn guarded(list: &[&str], solid: &[usize], at: usize) -> bool {
    let token = |back: usize| at.checked_sub(back).map_or("", |place| list[solid[place]]);
    token(2) == "@" || token(2) == "!" && token(3) == "@"
}

/// The instruction that begins at a token, and where it ends.
fn instruction(list: &[&str], solid: &[usize], start: usize) -> Option<(Instruction, usize)> {
    let mut at = start + 1;
    let mut words = Vec::new();
    while solid.get(at).is_some_and(|&token| list[token].starts_with('.') && list[token].len() > 1) {
        words.push(solid[at]);
        at += 1;
    }
    let (mut operands, mut depth, mut first) = (Vec::new(), 0i32, at);
    loop {
        let token = list[*solid.get(at)?];
        match token {
            "[" | "{" | "(" => depth += 1,
            "]" | "}" | ")" => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        if depth == 0 && matches!(token, "," | ";") {
            if at > first {
                operands.push((solid[first], solid[at - 1]));
            }
            first = at + 1;
        }
        at += 1;
        if token == ";" {
            return Some((Instruction { opcode: solid[start], words, operands }, at));
        }
    }
}

/// A word with a letter lost, doubled or changed.
fn misspelt(word: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = dice.below(letters.len());
    match dice.below(3) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        _ => letters[at] = dice.pick(&['a', 'e', 's', 't', '3', '6', 'x']),
    }
    letters.into_iter().collect()
}

/// Changes of whole lines.
fn lines(text: &str, change: Change, dice: &mut Dice) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let solid = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let declares = |line: &str| line.trim_start().starts_with('.') && line.trim_end().ends_with(';');
    let is_label = |line: &str| line.trim_end().ends_with(':') && !line.contains(' ');
    let places = |wanted: &dyn Fn(&str) -> bool, lines: &[&str]| -> Vec<usize> {
        (0..lines.len()).filter(|&at| wanted(lines[at])).collect()
    };
    match change {
        Change::Declaration => {
            let at = *chosen(&places(&declares, &lines), dice)?;
            if dice.chance(50) {
                lines.remove(at);
            } else {
                lines.insert(at, lines[at]);
            }
        }
        Change::Label => {
            let at = *chosen(&places(&is_label, &lines), dice)?;
            lines.insert(at, lines[at]);
        }
        _ => {
            let all = places(&solid, &lines);
            let near = dice.below(all.len().checked_sub(1)?);
            lines.swap(all[near], all[near + 1]);
        }
    }
    Some(lines.join("\n") + "\n")
}
