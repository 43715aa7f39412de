//! Compares an instruction's modifiers with a form.
//!
//! Types must be in the form's order, other words may be in any order, and no place takes two words. That is how ptxas
//! reads them.

use super::super::types::ScalarType;
use super::requirement::Needs;
use super::table::{Count, Form, Kind, Second, Typed, Want};

/// A form whose modifiers an instruction has, with the types put into its operands.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) operands: Vec<Operand>,
    pub(super) needs: Needs,
    /// The state space that the modifiers name.
    pub(super) space: Option<&'static str>,
    /// `.L2::cache_hint` is among them.
    pub(super) hinted: bool,
}

/// An operand of a form with its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) kind: Kind,
    pub(super) ty: Option<ScalarType>,
    pub(super) wider: bool,
    /// Registers of a vector; `None` for one alone.
    pub(super) count: Option<u8>,
    pub(super) second: Second,
    pub(super) optional: bool,
}

/// How far modifiers match a form.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    /// Places of the form that a word was found for.
    pub(super) taken: Vec<bool>,
    /// The first word that has no place.
    pub(super) stranger: Option<usize>,
    /// Words that have one.
    pub(super) matched: usize,
}

/// Compares words with a form.
pub(super) fn compare(form: &Form, words: &[&str]) -> Result<Candidate, Misfit> {
    let mut misfit = Misfit { taken: vec![false; form.elements.len()], stranger: None, matched: 0 };
    let mut types: Vec<(char, ScalarType)> = Vec::new();
    let (mut needs, mut vector, mut space) = (form.needs, None, None);
    let mut next_type = 0;
    for (index, &word) in words.iter().enumerate() {
        let ty = ScalarType::from_keyword(word);
        let place = form.elements.iter().enumerate().find_map(|(at, element)| {
            // ptxas takes a flag twice (`.uni.uni`).
            let repeated = misfit.taken[at]
                && !(element.words.len() == 1 && !element.is_type && space_of(word).is_none());
            let in_place = (!element.is_type || at >= next_type) && (!element.fixed || index == at);
            let free = !repeated && in_place;
            let found = element.words.iter().find(|known| known.text == word);
            found.filter(|_| free).map(|found| (at, element, found))
        });
        let Some((at, element, found)) = place else {
            if !form.open {
                misfit.stranger.get_or_insert(index);
            }
            continue;
        };
        misfit.taken[at] = true;
        misfit.matched += 1;
        needs = needs.and(found.needs);
        if element.is_type {
            next_type = at + 1;
        }
        if let (Some(name), Some(ty)) = (element.binds, ty) {
            types.push((name, ty));
        }
        match found.text {
            "v2" => vector = Some(2),
            "v4" => vector = Some(4),
            "v8" => vector = Some(8),
            _ => space = space_of(found.text).or(space),
        }
    }
    let complete = form.elements.iter().zip(&misfit.taken).all(|(element, taken)| element.optional || *taken);
    if misfit.stranger.is_some() || !complete {
        return Err(misfit);
    }
    let operands = form.operands.iter().map(|want| operand(want, &types, vector)).collect();
    Ok(Candidate { operands, needs, space, hinted: words.contains(&"L2::cache_hint") })
}

fn operand(want: &Want, types: &[(char, ScalarType)], vector: Option<u8>) -> Operand {
    let named = |name: char| types.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty);
    let ty = match want.ty {
        Typed::Is(ty) => Some(ty),
        Typed::Named(name) => named(name),
        Typed::Wide => named('T').and_then(ScalarType::widened),
        Typed::Untyped => named('T'),
    };
    let count = match want.count {
        Count::One => None,
        Count::Modifier => vector.or(Some(1)),
        Count::Exactly(count) => Some(count),
    };
    let Want { kind, wider, second, optional, .. } = *want;
    Operand { kind, ty, wider, count, second, optional }
}

/// A word if it is a state space.
fn space_of(word: &str) -> Option<&str> {
    let space = matches!(
        word,
        "global"
            | "shared"
            | "shared::cta"
            | "shared::cluster"
            | "local"
            | "const"
            | "param"
            | "param::entry"
            | "param::func"
    );
    space.then_some(word)
}
