//! The table of encodings, as the tool wrote it.
//!
//! `data/opcodes.txt` has one row per opcode and set of targets that agree on it:
//!
//! ```text
//! 75,80,86 210 IADD3
//!   mod 74: 0=- 1=X
//!   op R# R=16-23
//!   op P# P=87-89 bang:90 when:74=1
//! ```
//!
//! `mod` gives the modifier for each value of some bits (`-` is none), in the order of printing; `mod const` is always there. `op` gives an
//! operand: a template, then for each place of the template its bits (least significant first, times a factor after `*`, plus a
//! number after `+`; `s` if signed, `c` if complemented), marks as `MARK:BIT`, `unless:BITS` (absent if all are ones, unless it
//! is complemented or bit `show:BIT` is set), `zero:BITS` (absent if all are zeros), `when:BITS=VALUES` (absent for other values), and
//! `by:BITS { VALUE=TEMPLATE.SUFFIX }` if the template depends on bits. `guard uniform` says that the guard
//! is a uniform predicate. `one` lists bits that must be 1 and `any` bits of no effect; all
//! other bits must be 0. Bits of the opcode, the guard and the control bits belong to every row. Rows of 75 hold for 70 as
//! well, which has rows of its own for what they lack.

use crate::Target;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../data/opcodes.txt");

/// Bits of the opcode, the guard and the control bits, which no row lists.
const COMMON: u128 = 0xffff | ((1 << 20) - 1) << 105;

/// Bits that form a number, least significant first, in runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    runs: Vec<(u32, u32)>,
}

impl Bits {
    fn parse(text: &str) -> Option<Bits> {
        let run = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < 128).then(|| (first, last - first + 1))
        };
        Some(Bits { runs: text.split(',').map(run).collect::<Option<_>>()? })
    }

    pub(crate) fn width(&self) -> u32 {
        self.runs.iter().map(|run| run.1).sum()
    }

    pub(crate) fn mask(&self) -> u128 {
        self.runs.iter().fold(0, |mask, &(at, width)| mask | ones(width) << at)
    }

    /// Their value in a word.
    #[inline]
    pub(crate) fn of(&self, word: u128) -> u64 {
        let (mut value, mut shift) = (0, 0);
        for &(at, width) in &self.runs {
            value |= ((word >> at & ones(width)) as u64) << shift;
            shift += width;
        }
        value
    }
}

fn ones(width: u32) -> u128 {
    u128::MAX.checked_shr(128 - width).unwrap_or(0)
}

/// A number of an operand.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// `R`, `UR`, `P`, `UP`, `B`, `SB`, `#` for other numbers, or `#0` for an offset without a uniform register beside it.
    pub kind: &'static str,
    pub bits: Bits,
    pub scale: i64,
    /// What is added after scaling.
    pub plus: i64,
    pub signed: bool,
    /// Whether the bits hold the complement of the number.
    pub complemented: bool,
}

impl Field {
    #[inline]
    pub(crate) fn of(&self, word: u128) -> i64 {
        let raw = self.bits.of(if self.complemented { !word } else { word });
        let width = self.bits.width();
        let value =
            if self.signed && width < 64 { (raw << (64 - width)) as i64 >> (64 - width) } else { raw as i64 };
        value.wrapping_mul(self.scale).wrapping_add(self.plus)
    }
}

/// Texts by the value of some bits, sorted by value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice<T> {
    pub bits: Bits,
    pub values: Vec<(u64, T)>,
}

impl<T> Choice<T> {
    #[inline]
    pub(crate) fn of(&self, word: u128) -> Option<&T> {
        let value = self.bits.of(word);
        if let Some((v, found)) = self.values.get(value as usize)
            && *v == value
        {
            return Some(found);
        }
        let at = self.values.binary_search_by_key(&value, |entry| entry.0).ok()?;
        Some(&self.values[at].1)
    }
}

/// A modifier or several, split at dots.
#[derive(Clone, Debug)]
pub(crate) enum Modifier {
    Always(Vec<&'static str>),
    Chosen(Choice<Vec<&'static str>>),
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Register,
    Uniform,
    Predicate,
    UniformPredicate,
    Convergence,
    Scoreboard,
    Integer,
    Target,
    Single,
    Double,
    Half,
    BFloat16,
    Word(&'static str),
    Constant { register: bool, uniform: bool, spaced: bool },
    Address { descriptor: bool, register: bool, width: &'static str, uniform: bool, offset: bool },
}

/// One operand of a row.
#[derive(Clone, Debug)]
pub(crate) struct OperandRow {
    pub form: (Form, &'static str),
    pub fields: Vec<Field>,
    pub negate: Option<u32>,
    pub absolute: Option<u32>,
    pub complement: Option<u32>,
    /// A complement if bit 74 (`.X`) is set, a negation otherwise.
    pub carry_complement: Option<u32>,
    pub not: Option<u32>,
    /// Bit of the register file cache.
    pub reuse: Option<u32>,
    /// Absent if these bits are all ones.
    pub unless: Option<Bits>,
    /// Present nevertheless if this bit is set.
    pub show: Option<u32>,
    /// Absent if these bits are all zeros.
    pub zero: Option<Bits>,
    /// Absent unless these bits have one of the values.
    pub when: Option<(Bits, Vec<u64>)>,
    pub by: Option<Choice<(Form, &'static str)>>,
}

/// The encoding of one opcode.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub mnemonic: &'static str,
    pub modifiers: Vec<Modifier>,
    pub operands: Vec<OperandRow>,
    /// Whether the guard is a uniform predicate.
    pub uniform_guard: bool,
    /// Bits that must be ones.
    pub ones: u128,
    /// Bits that may have any value.
    pub free: u128,
}

/// The rows of a target, by opcode.
pub(crate) struct Table {
    rows: Vec<Option<Box<Row>>>,
}

impl Table {
    /// The table of a target, which is read at first use.
    pub(crate) fn of(target: Target) -> &'static Table {
        static TABLES: [OnceLock<Table>; Target::ALL.len()] = [const { OnceLock::new() }; Target::ALL.len()];
        TABLES[target.index()].get_or_init(|| match Table::parse(TEXT, target) {
            Ok(table) => table,
            // A test reads every table.
            Err(wrong) => unreachable!("data/opcodes.txt: {wrong}"),
        })
    }

    #[inline]
    pub(crate) fn row(&self, opcode: u16) -> Option<&Row> {
        self.rows.get(usize::from(opcode))?.as_deref()
    }

    fn parse(text: &'static str, target: Target) -> Result<Table, String> {
        let mut table = Table { rows: vec![None; 1 << 12] };
        let number = target.number().to_string();
        let mut current: Option<(usize, Row)> = None;
        for (at, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("line {}: {what}: {line}", at + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(rest) = line.strip_prefix("  ") {
                if let Some((_, row)) = &mut current {
                    row.add(rest).ok_or_else(|| wrong("not understood"))?;
                }
                continue;
            }
            if let Some((opcode, row)) = current.take() {
                table.rows[opcode] = Some(Box::new(row.finished()));
            }
            let mut words = line.split(' ');
            let (Some(targets), Some(opcode), Some(mnemonic)) = (words.next(), words.next(), words.next())
            else {
                return Err(wrong("targets, opcode and mnemonic are expected"));
            };
            let lists = |number: &str| targets.split(',').any(|t| t == number);
            let shared = target == Target::Sm70 && lists("75");
            if !lists(&number) && !shared {
                continue;
            }
            let opcode = usize::from_str_radix(opcode, 16).ok().filter(|o| *o < 1 << 12);
            let opcode = opcode.ok_or_else(|| wrong("no opcode"))?;
            if table.rows[opcode].is_some() {
                return Err(wrong("a second row"));
            }
            let row = Row {
                mnemonic,
                modifiers: Vec::new(),
                operands: Vec::new(),
                uniform_guard: false,
                ones: 0,
                free: 0,
            };
            current = Some((opcode, row));
        }
        if let Some((opcode, row)) = current.take() {
            table.rows[opcode] = Some(Box::new(row.finished()));
        }
        Ok(table)
    }
}

impl Row {
    fn add(&mut self, line: &'static str) -> Option<()> {
        let (what, rest) = line.split_once(' ')?;
        match what {
            "mod" => {
                let (bits, values) = rest.split_once(": ")?;
                let words = |text: &'static str| match text {
                    "-" => Vec::new(),
                    text => text.split('.').collect::<Vec<_>>(),
                };
                self.modifiers.push(if bits == "const" {
                    Modifier::Always(words(values))
                } else {
                    Modifier::Chosen(choice(bits, values, words)?)
                });
            }
            "op" => self.operands.push(OperandRow::parse(rest)?),
            "one" => self.ones |= Bits::parse(rest)?.mask(),
            "guard" => self.uniform_guard = rest == "uniform",
            "any" => self.free |= Bits::parse(rest)?.mask(),
            _ => return None,
        }
        Some(())
    }

    fn finished(mut self) -> Row {
        self.free |= COMMON;
        for modifier in &self.modifiers {
            if let Modifier::Chosen(choice) = modifier {
                self.free |= choice.bits.mask();
            }
        }
        for operand in &self.operands {
            self.free |= operand.mask();
        }
        self.ones &= !self.free;
        self
    }
}

impl OperandRow {
    fn parse(text: &'static str) -> Option<OperandRow> {
        let (head, tail) = text.split_once(" { ").map_or((text, None), |(head, tail)| (head, Some(tail)));
        let mut words = head.split(' ');
        let mut row = OperandRow {
            form: form(words.next()?)?,
            fields: Vec::new(),
            negate: None,
            absolute: None,
            complement: None,
            carry_complement: None,
            not: None,
            reuse: None,
            unless: None,
            show: None,
            zero: None,
            when: None,
            by: None,
        };
        for word in words {
            if let Some((mark, value)) = word.split_once(':') {
                let bit = || value.parse::<u32>().ok().filter(|bit| *bit < 128);
                match mark {
                    "neg" => row.negate = Some(bit()?),
                    "abs" => row.absolute = Some(bit()?),
                    "inv" => row.complement = Some(bit()?),
                    "xinv" => row.carry_complement = Some(bit()?),
                    "bang" => row.not = Some(bit()?),
                    "reuse" => row.reuse = Some(bit()?),
                    "show" => row.show = Some(bit()?),
                    "zero" => row.zero = Some(Bits::parse(value)?),
                    "unless" => row.unless = Some(Bits::parse(value)?),
                    "when" => {
                        let (bits, values) = value.split_once('=')?;
                        let values: Option<_> =
                            values.split(',').map(|v| u64::from_str_radix(v, 16).ok()).collect();
                        row.when = Some((Bits::parse(bits)?, values?));
                    }
                    "by" => row.by = Some(choice(value, tail?.strip_suffix(" }")?, |_| (Form::Integer, ""))?),
                    _ => return None,
                }
            } else {
                let (kind, value) = word.split_once('=')?;
                let (value, plus) = value.split_once('+').unwrap_or((value, "0"));
                let (bits, scale) = value.split_once('*').unwrap_or((value, "1"));
                let (bits, signed) = bits.strip_suffix('s').map_or((bits, false), |bits| (bits, true));
                let (bits, complemented) = bits.strip_suffix('c').map_or((bits, false), |bits| (bits, true));
                let (bits, scale, plus) = (Bits::parse(bits)?, scale.parse().ok()?, plus.parse().ok()?);
                row.fields.push(Field { kind, bits, scale, plus, signed, complemented });
            }
        }
        if let (Some(by), Some(tail)) = (&mut row.by, tail) {
            let texts = tail.strip_suffix(" }")?.split(' ').map(|entry| entry.split_once('=').map(|e| e.1));
            let word = matches!(row.form.0, Form::Word(_));
            for (entry, text) in by.values.iter_mut().zip(texts) {
                entry.1 = if word { (Form::Word(text?), "") } else { form(text?)? };
            }
        }
        Some(row)
    }

    fn mask(&self) -> u128 {
        let single = [self.negate, self.absolute, self.complement, self.carry_complement, self.not];
        let mut mask = single.into_iter().flatten().fold(0, |mask, bit| mask | 1 << bit);
        for field in &self.fields {
            mask |= field.bits.mask();
        }
        mask |= self.zero.as_ref().map_or(0, Bits::mask);
        mask |= self.unless.as_ref().map_or(0, Bits::mask);
        mask |= self.when.as_ref().map_or(0, |when| when.0.mask());
        mask | self.by.as_ref().map_or(0, |by| by.bits.mask())
    }
}

fn choice<T>(bits: &str, values: &'static str, of: impl Fn(&'static str) -> T) -> Option<Choice<T>> {
    let entry = |entry: &'static str| {
        let (value, text) = entry.split_once('=')?;
        Some((u64::from_str_radix(value, 16).ok()?, of(text)))
    };
    let values: Vec<_> = values.split(' ').map(entry).collect::<Option<_>>()?;
    values.is_sorted_by_key(|entry| entry.0).then_some(Choice { bits: Bits::parse(bits)?, values })
}

/// The form that a template stands for, and its suffix.
fn form(template: &'static str) -> Option<(Form, &'static str)> {
    let simple = |form| Some((form, ""));
    match template {
        "f32" => return simple(Form::Single),
        "f64" => return simple(Form::Double),
        "f16" => return simple(Form::Half),
        "bf16" => return simple(Form::BFloat16),
        "target" => return simple(Form::Target),
        "word" | "PR" | "UPR" => return simple(Form::Word(template)),
        _ => {}
    }
    if template.starts_with('[') || template.starts_with("desc") {
        let inner = template.strip_prefix("desc[UR#]").unwrap_or(template);
        let descriptor = inner.len() < template.len();
        let inner = inner.strip_prefix('[')?.strip_suffix(']')?;
        let mut parts = inner.split('+').peekable();
        let register = parts.peek().is_some_and(|p| p.starts_with("R#"));
        let width = if register { parts.next()?.strip_prefix("R#")?.trim_start_matches('.') } else { "" };
        let uniform = parts.next_if(|p| *p == "UR#").is_some();
        let offset = parts.next_if(|p| *p == "#").is_some();
        let known = parts.next().is_none();
        return known.then_some((Form::Address { descriptor, register, width, uniform, offset }, ""));
    }
    if template.starts_with("c[") {
        for (prefix, form) in [
            ("c[#][#]", Form::Constant { register: false, uniform: false, spaced: false }),
            ("c[#]_[#]", Form::Constant { register: false, uniform: false, spaced: true }),
            ("c[#][R#+#]", Form::Constant { register: true, uniform: false, spaced: false }),
            ("c[#][UR#+#]", Form::Constant { register: false, uniform: true, spaced: false }),
        ] {
            if let Some(suffix) = template.strip_prefix(prefix) {
                return Some((form, suffix.trim_start_matches('.')));
            }
        }
        return None;
    }
    let (core, suffix) = template.split_once('.').unwrap_or((template, ""));
    let form = match core {
        "R#" => Form::Register,
        "UR#" => Form::Uniform,
        "P#" => Form::Predicate,
        "UP#" => Form::UniformPredicate,
        "B#" => Form::Convergence,
        "SB#" => Form::Scoreboard,
        "#" => Form::Integer,
        _ => return None,
    };
    Some((form, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_read() {
        for target in Target::ALL {
            let table = Table::parse(TEXT, target).unwrap_or_else(|e| panic!("{target}: {e}"));
            let rows = table.rows.iter().flatten().count();
            assert!(rows > 200, "{target}: {rows} rows");
        }
    }

    #[test]
    fn bits_in_runs_have_the_least_significant_first() {
        let bits = Bits::parse("64-66,72-76").unwrap();
        assert_eq!(bits.width(), 8);
        assert_eq!(bits.of(0b101 << 64 | 0b10001 << 72), 0b1000_1101);
        assert!(Bits::parse("64-128").is_none() && Bits::parse("7-3").is_none());
    }
}
