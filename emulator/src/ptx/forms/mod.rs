//! Which instructions exist in PTX: one declared list, and the check of an instruction against it.
//!
//! [`table.txt`](table.txt) lists the forms: opcode, modifiers, types, operands, and the PTX version and target from which
//! on they exist. [`table`] reads it, [`name`] compares an instruction's modifiers with it, [`operand`] its operands,
//! [`message`] says what is wrong. An instruction of no form is an error of the file, as it is for `ptxas`;
//! whether an instruction that exists is emulated is the decoder's business.

mod message;
mod name;
mod operand;
mod requirement;
mod table;
mod tables;

use super::ast::Name;
use super::diagnostic::Diagnostic;
use super::resolve::Arg;
use super::source::Span;
use name::Candidate;
pub(super) use operand::Decides;
pub(super) use requirement::{Architecture, check_header};
use rustc_hash::FxHashMap;
use std::rc::Rc;
pub(super) use tables::Tables;

/// What of the file decides whether an instruction exists in it, and the names that were found to exist.
pub(super) struct Forms<'a> {
    architecture: Architecture,
    /// Forms that an instruction's name matches, by the name as written.
    known: FxHashMap<&'a str, Rc<[Candidate]>>,
}

impl<'a> Forms<'a> {
    /// Forms of a file for a PTX version and a target.
    pub(super) fn new(architecture: Architecture) -> Self {
        Self { architecture, known: FxHashMap::default() }
    }

    /// Checks that an instruction exists in PTX. `whole` is its opcode with its modifiers, as written.
    ///
    /// # Errors
    /// What of the instruction no form has, with its place.
    pub(super) fn check(
        &mut self,
        opcode: Name<'a>,
        whole: Name<'a>,
        args: &[Arg<'_>],
        tables: &Tables<'_>,
    ) -> Result<Decides, Box<Diagnostic>> {
        let candidates = match self.known.get(whole.text) {
            Some(candidates) => Rc::clone(candidates),
            None => {
                let found = self.named(opcode, whole)?;
                self.known.insert(whole.text, Rc::clone(&found));
                found
            }
        };
        let mut best: Option<operand::Misfit> = None;
        for candidate in candidates.iter() {
            match operand::compare(candidate, args, tables) {
                Ok(decides) => return Ok(decides),
                Err(misfit) if best.as_ref().is_none_or(|best| misfit.at > best.at) => best = Some(misfit),
                Err(_) => {}
            }
        }
        Err(message::operand(whole, args, best, &candidates))
    }

    /// The forms that an instruction's name matches.
    fn named(&self, opcode: Name<'a>, whole: Name<'a>) -> Result<Rc<[Candidate]>, Box<Diagnostic>> {
        let Some(forms) = table::forms(opcode.text) else {
            return Err(message::opcode(opcode));
        };
        let words = words(opcode, whole);
        let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
        let mut found: Vec<Candidate> = Vec::new();
        let mut misfits = Vec::new();
        let mut lacking = None;
        for form in forms {
            match name::compare(form, &texts) {
                Ok(candidate) => match self.architecture.lacks(&candidate.needs) {
                    None => found.push(candidate),
                    Some(lack) => lacking = Some(lack),
                },
                Err(misfit) => misfits.push((form, misfit)),
            }
        }
        match lacking {
            _ if !found.is_empty() => Ok(found.into()),
            Some(lack) => Err(message::requirement(whole, &lack)),
            None => Err(message::modifiers(opcode, whole, &words, &misfits)),
        }
    }
}

/// The modifiers of an instruction, without their dots.
fn words<'a>(opcode: Name<'a>, whole: Name<'a>) -> Vec<Name<'a>> {
    let base = whole.span.start as usize;
    let mut words = Vec::new();
    let mut at = opcode.text.len();
    for part in whole.text[at..].split_inclusive('.') {
        // Each part is a word and the dot of the next one; words of a name may have blanks between them.
        let text = part.trim_end_matches('.').trim();
        if !text.is_empty() {
            let start = base + at + part.find(text).unwrap_or(0);
            let dot = start.saturating_sub(1) as u32;
            words.push(Name { text, span: Span::new(dot, (start + text.len()) as u32) });
        }
        at += part.len();
    }
    words
}
