//! Unique names within a report or a table.

use std::collections::HashSet;

use crate::text;

/// Hands out unique slugs.
pub(crate) struct Names {
    taken: HashSet<String>,
    separator: char,
}

impl Names {
    pub(crate) fn new(separator: char) -> Self {
        Self { taken: HashSet::new(), separator }
    }

    /// A slug of `wanted` (or of `fallback`, if nothing of it survives) that was not given before.
    pub(crate) fn claim(&mut self, wanted: &str, fallback: &str) -> String {
        let mut base = text::slug(wanted, self.separator);
        if base.is_empty() {
            fallback.clone_into(&mut base);
        }
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}{}{number}", self.separator);
            number += 1;
        }
        name
    }
}
