//! Errors of a reference's columns, over all rows and by program, size or cause.

use super::reference::{Reference, Row};
use crate::correlate::metrics::{Metric, metric};
use crate::correlate::statistics::Statistics;

/// Upper ends of the classes of size, in cycles of the reference; the last class has none.
const SIZES: [(f64, &str); 3] = [
    (5_000.0, "up to 5 000 cycles"),
    (50_000.0, "5 000 to 50 000 cycles"),
    (f64::INFINITY, "over 50 000 cycles"),
];

/// By what the rows of a reference are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By program.
    Program,
    /// By cycles of the reference.
    Size,
    /// By the known cause of the error.
    Cause,
}

impl Grouping {
    /// All groupings.
    pub const ALL: [Grouping; 3] = [Grouping::Program, Grouping::Size, Grouping::Cause];

    /// Word in headings and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Grouping::Program => "program",
            Grouping::Size => "size",
            Grouping::Cause => "cause",
        }
    }
}

/// Rows of a reference and their errors.
#[derive(Clone, Debug)]
pub struct Group {
    /// Program, class of size or cause.
    pub name: String,
    /// Rows in it.
    pub rows: usize,
    /// Agreement of each of [`Reference::columns`] with the reference.
    pub figures: Vec<Statistics>,
}

impl Group {
    fn of(reference: &Reference, name: String, rows: &[&Row]) -> Group {
        let figures = (0..reference.columns.len()).map(|column| {
            let pairs: Vec<(f64, f64)> = rows.iter().map(|row| (row.cycles[column], row.reference)).collect();
            Statistics::of(cycles(), &pairs)
        });
        Group { name, rows: rows.len(), figures: figures.collect() }
    }
}

/// The metric of all references.
pub(super) fn cycles() -> Metric {
    metric("cycles").expect("correlate has the metric cycles")
}

impl Reference {
    /// Whether the rows are cycles of a step, such as a load, and not of whole launches.
    #[must_use]
    pub fn is_of_steps(&self) -> bool {
        self.rows.iter().all(|row| row.reference < 1000.0)
    }

    /// All rows as one group.
    #[must_use]
    pub fn overall(&self) -> Group {
        Group::of(self, "all".to_owned(), &self.rows.iter().collect::<Vec<_>>())
    }

    /// The groups that have rows: programs in the order of the table, sizes from small to large, causes in the order of the list
    /// and then the rows without a known cause.
    #[must_use]
    pub fn groups(&self, by: Grouping) -> Vec<Group> {
        let mut groups: Vec<(String, Vec<&Row>)> = match by {
            Grouping::Program => Vec::new(),
            Grouping::Size => SIZES.iter().map(|(_, name)| ((*name).to_owned(), Vec::new())).collect(),
            Grouping::Cause => {
                let causes = self.causes.iter().map(|cause| cause.cause.as_str());
                causes.chain(["no cause known"]).map(|name| (name.to_owned(), Vec::new())).collect()
            }
        };
        for row in &self.rows {
            let at = match by {
                Grouping::Program => groups.iter().position(|(name, _)| *name == row.program),
                Grouping::Size => SIZES.iter().position(|(end, _)| row.reference <= *end),
                Grouping::Cause => Some(row.cause.unwrap_or(self.causes.len())),
            };
            match at {
                Some(at) => groups[at].1.push(row),
                None => groups.push((row.program.clone(), vec![row])),
            }
        }
        let filled = groups.into_iter().filter(|(_, rows)| !rows.is_empty());
        filled.map(|(name, rows)| Group::of(self, name, &rows)).collect()
    }
}
