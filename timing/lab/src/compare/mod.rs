//! Comparison of two JSON results: replays, studies, diagnoses and reports.
//!
//! `flatten` gives every number and text of a document a path that does not depend on the order of rows,
//! and `compare` joins two documents by path. It does not depend on the meaning of the numbers.

mod flatten;
mod traces;

pub(crate) use flatten::{Leaf, flatten};

use report::{Callout, Cell, Column, Format, Section, Table};
use serde_json::Value;
use std::collections::BTreeMap;

/// A number that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its path in the documents.
    pub path: String,
    /// Its value in the first.
    pub before: f64,
    /// Its value in the second.
    pub after: f64,
}

impl Change {
    /// The difference relative to the first value; infinite if that is 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.before == self.after { 0.0 } else { (self.after - self.before) / self.before.abs() }
    }
}

/// The differences of two documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Numbers that differ by more than the threshold, the largest relative change first.
    pub changes: Vec<Change>,
    /// Texts that differ, and values that are a number in only one document: path, before, after.
    pub texts: Vec<(String, String, String)>,
    /// Paths that only the first has.
    pub only_before: Vec<String>,
    /// Paths that only the second has.
    pub only_after: Vec<String>,
    /// Numbers that both have.
    pub numbers: usize,
    /// Numbers that differ, but by no more than the threshold.
    pub within: usize,
}

/// Compares two documents; numbers whose relative change is at most `threshold` count as unchanged. Traces are named by the
/// shortest ends of their paths that tell them apart, so that their folders do not matter.
#[must_use]
pub fn compare(before: &Value, after: &Value, threshold: f64) -> Comparison {
    let (before, after) = &traces::shortened(before, after);
    let before: BTreeMap<String, Leaf> = flatten(before).into_iter().collect();
    let mut result = Comparison::default();
    let mut seen = std::collections::BTreeSet::new();
    for (path, after) in flatten(after) {
        seen.insert(path.clone());
        match (before.get(&path), after) {
            (None, _) => result.only_after.push(path),
            (Some(Leaf::Number(a)), Leaf::Number(b)) => {
                result.numbers += 1;
                let change = Change { path, before: *a, after: b };
                if change.relative().abs() > threshold {
                    result.changes.push(change);
                } else if change.before != change.after {
                    result.within += 1;
                }
            }
            (Some(a), b) if *a != b => result.texts.push((path, a.to_string(), b.to_string())),
            _ => {}
        }
    }
    result.only_before = before.into_keys().filter(|path| !seen.contains(path)).collect();
    // A stable sort: equal changes stay in the order of the document.
    result.changes.sort_by(|a, b| b.relative().abs().total_cmp(&a.relative().abs()));
    result
}

impl Comparison {
    /// Whether nothing differs by more than the threshold.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changes.is_empty()
            && self.texts.is_empty()
            && self.only_before.is_empty()
            && self.only_after.is_empty()
    }

    /// Summary of the comparison in a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = match (self.changes.len(), self.numbers) {
            (0, n) => format!("Of {n} numbers none changed by more than the threshold"),
            (c, n) => format!("Of {n} numbers {c} changed by more than the threshold"),
        };
        if self.within > 0 {
            text += &format!(", {} by less", self.within);
        }
        text + "."
    }

    /// The changed numbers as a table, at most `most` of them.
    #[must_use]
    pub fn table(&self, most: usize) -> Table {
        let columns = [
            Column::text("What"),
            Column::number("Before", Format::Si),
            Column::number("After", Format::Si),
            Column::number("Change", Format::Change(1)).help("Difference as a part of the value before"),
        ];
        let mut table = Table::new("Changed numbers", columns).id("changes");
        for change in self.changes.iter().take(most) {
            let relative = Some(change.relative()).filter(|value| value.is_finite());
            table.push([
                Cell::from(&change.path),
                change.before.into(),
                change.after.into(),
                relative.into(),
            ]);
        }
        table
    }

    /// Adds the changes to a section of a report.
    #[must_use]
    pub fn describe(&self, section: Section) -> Section {
        let mut section = section.callout(Callout::finding(self.summary()));
        if !self.changes.is_empty() {
            section = section.table(self.table(usize::MAX));
        }
        if !self.texts.is_empty() {
            let columns = [Column::text("What"), Column::text("Before"), Column::text("After")];
            let mut table = Table::new("Changed texts", columns).id("changed-texts");
            for (path, before, after) in &self.texts {
                table.push(report::cells![path, before, after]);
            }
            section = section.table(table);
        }
        for (title, paths) in [("Only before", &self.only_before), ("Only after", &self.only_after)] {
            if !paths.is_empty() {
                let mut table = Table::new(title, [Column::text("What")]);
                paths.iter().for_each(|path| table.push(report::cells![path]));
                section = section.details(format!("{title}: {}", paths.len()), |d| d.table(table));
            }
        }
        section
    }

    /// Text for a terminal with at most `most` rows of each kind.
    #[must_use]
    pub fn to_text(&self, most: usize) -> String {
        let mut text = String::new();
        if !self.changes.is_empty() {
            text += &self.table(most).to_text();
            text += &rest(self.changes.len(), most);
        }
        if !self.texts.is_empty() {
            text += "Changed texts\n";
            for (path, before, after) in self.texts.iter().take(most) {
                text += &format!("  {path}: {before} -> {after}\n");
            }
            text += &rest(self.texts.len(), most);
        }
        for (title, paths) in
            [("Only in the first", &self.only_before), ("Only in the second", &self.only_after)]
        {
            if !paths.is_empty() {
                text += &format!("{title}\n");
                paths.iter().take(most).for_each(|path| text += &format!("  {path}\n"));
                text += &rest(paths.len(), most);
            }
        }
        text + &self.summary() + "\n"
    }
}

fn rest(count: usize, most: usize) -> String {
    if count > most { format!("  … and {} more (--top shows more)\n", count - most) } else { String::new() }
}

#[cfg(test)]
mod tests;
