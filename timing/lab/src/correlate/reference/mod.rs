//! Reads reference figures: profiles of Nsight Compute and nvprof, statistics of Accel-Sim, and plain tables.
//!
//! `layout` finds the tables in a file and their formats by their headers; each format has a file that turns its records
//! into rows. Here rows get values under our metrics' names, and the names of columns without a counterpart are kept.

mod accelsim;
mod layout;
mod nsight;
mod nvprof;
mod plain;
mod row;

pub use layout::Format;
pub use row::Which;

use super::error::CorrelateError;
use super::metrics::{Machine, Values, of_row};
use super::names;
use super::shape::Shape;
use row::{Row, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// Reference figures of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The program, if the reference names it.
    pub program: Option<String>,
    /// The process that a profiler names; a program only if a result is called the same.
    pub process: Option<String>,
    /// The kernel, as the reference names it.
    pub kernel: String,
    /// Its launches.
    pub which: Which,
    /// Whether the reference itself numbers the launch.
    pub is_numbered: bool,
    /// Its grid and blocks, where the reference has them.
    pub shape: Shape,
    /// Values by metric.
    pub values: Values,
}

/// A reference, read.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// Formats of the tables in it, without repetitions.
    pub formats: Vec<Format>,
    /// The figures, in the order of the file.
    pub rows: Vec<Measured>,
    /// Names of columns and metrics that have no counterpart in our results, sorted.
    pub unused: Vec<String>,
    /// What the reader assumed.
    pub notes: Vec<String>,
    /// Compute capabilities of the GPUs, where the reference names them.
    pub capabilities: BTreeSet<String>,
}

/// Reads the text of a reference; `program` is the program of rows that name none.
///
/// # Errors
/// No known table, a table without rows, a damaged row, with its line.
pub fn read(
    text: &str,
    program: Option<&str>,
    machine: Option<&Machine>,
) -> Result<Reference, CorrelateError> {
    // Tables of earlier versions of this program begin with a comment that says what produced them.
    let text = text
        .strip_prefix("# produced_by ")
        .and_then(|rest| rest.split_once('\n'))
        .map_or(text, |(_, rest)| rest);
    let mut found = Reference::default();
    let mut builder = Builder::default();
    let tables = match accelsim::rows(text)? {
        Some((format, rows)) => {
            found.formats.push(format);
            builder.add(rows, false, program, machine);
            Vec::new()
        }
        None => layout::tables(text)?,
    };
    for table in &tables {
        let rows = match table.format {
            Format::NsightRaw => nsight::raw(table)?,
            Format::NsightDetails => nsight::details(table)?,
            Format::NvprofTrace => nvprof::trace(table)?,
            Format::NvprofSummary => nvprof::summary(table)?,
            Format::NvprofLaunches => nvprof::launches(table)?,
            Format::NvprofMetrics => nvprof::metrics(table)?,
            Format::Plain => plain::rows(table)?,
            // Texts in these formats have no tables.
            Format::AccelsimOutput | Format::AccelsimTables => continue,
        };
        if !found.formats.contains(&table.format) {
            found.formats.push(table.format);
        }
        builder.add(rows, table.format == Format::Plain, program, machine);
    }
    if builder.rows.is_empty() {
        let formats: Vec<&str> = found.formats.iter().map(|format| format.title()).collect();
        return Err(CorrelateError(format!("{}: it has no row of a kernel", formats.join(" and "))));
    }
    builder.finish(&mut found);
    Ok(found)
}

/// Collects rows of several tables.
#[derive(Default)]
struct Builder {
    rows: Vec<Measured>,
    /// Rows so far of the table, by program, process and kernel.
    seen: BTreeMap<(Option<String>, Option<String>, String), usize>,
    names: BTreeSet<String>,
    used: BTreeSet<String>,
    clocks: Vec<(f64, bool)>,
    needs_machine: BTreeSet<String>,
    capabilities: BTreeSet<String>,
}

impl Builder {
    fn add(&mut self, table: Rows, plain: bool, program: Option<&str>, machine: Option<&Machine>) {
        self.seen.clear();
        self.names.extend(table.texts);
        let key =
            |row: &Row| (row.program.clone(), row.process.clone(), names::trimmed(&row.kernel).to_owned());
        let mut times: BTreeMap<_, usize> = BTreeMap::new();
        for row in &table.rows {
            *times.entry(key(row)).or_default() += 1;
        }
        for row in table.rows {
            let key = key(&row);
            let taken = of_row(&row.figures, plain, machine);
            self.names.extend(row.figures.into_keys());
            self.used.extend(taken.used);
            self.clocks.extend(taken.clock);
            self.needs_machine.extend(taken.needs_machine);
            self.capabilities.extend(row.capability);
            // A plain table with one row for a kernel means all launches of it.
            let once = plain && times[&key] == 1;
            let position = self.seen.entry(key).or_default();
            let next = if once { Which::Mean } else { Which::Launch(*position) };
            *position += 1;
            self.rows.push(Measured {
                program: row.program.or_else(|| program.map(str::to_owned)),
                process: row.process,
                kernel: names::trimmed(&row.kernel).to_owned(),
                is_numbered: matches!(row.launch, Some(Which::Launch(_))),
                shape: row.shape,
                which: row.launch.unwrap_or(next),
                values: taken.values,
            });
        }
    }

    fn finish(self, found: &mut Reference) {
        found.unused = self.names.difference(&self.used).cloned().collect();
        found.rows = merged(self.rows);
        found.capabilities = self.capabilities;
        let megahertz = |(hz, _): &(f64, bool)| format!("{:.0} MHz", hz / 1e6);
        let mut by_config: Vec<String> = self.clocks.iter().filter(|clock| clock.1).map(megahertz).collect();
        by_config.dedup();
        if let Some(clock) = by_config.first() {
            found.notes.push(format!(
                "the reference has durations and no clock: cycles are at the configuration's {clock}"
            ));
        }
        if self.clocks.iter().any(|clock| !clock.1) {
            found.notes.push("cycles are durations times the clock of the profile".to_owned());
        }
        if !self.needs_machine.is_empty() {
            let names: Vec<String> = self.needs_machine.into_iter().collect();
            found.notes.push(format!(
                "{} cannot be converted without the configuration: give --config",
                names.join(", ")
            ));
        }
    }
}

/// Joins rows of the same launch, such as cycles in one file and metrics in another; the first value of a metric stays.
fn merged(rows: Vec<Measured>) -> Vec<Measured> {
    let mut result: Vec<Measured> = Vec::with_capacity(rows.len());
    let mut places = BTreeMap::new();
    for row in rows {
        let key = (row.program.clone(), row.process.clone(), row.kernel.clone(), row.which);
        match places.get(&key) {
            Some(place) => {
                let first: &mut Measured = &mut result[*place];
                if first.shape.is_unknown() {
                    first.shape = row.shape;
                }
                row.values.into_iter().for_each(|(name, value)| {
                    first.values.entry(name).or_insert(value);
                });
            }
            None => {
                places.insert(key, result.len());
                result.push(row);
            }
        }
    }
    result
}

impl Reference {
    /// Adds the rows of another file.
    pub fn join(&mut self, other: Reference) {
        for format in other.formats {
            if !self.formats.contains(&format) {
                self.formats.push(format);
            }
        }
        self.rows = merged(std::mem::take(&mut self.rows).into_iter().chain(other.rows).collect());
        let unused: BTreeSet<String> =
            std::mem::take(&mut self.unused).into_iter().chain(other.unused).collect();
        self.unused = unused.into_iter().collect();
        self.capabilities.extend(other.capabilities);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Takes the warp instructions of rows that have none from a table of another source, by kernel, launch and, where
    /// both name one, program. Returns how many rows got them.
    pub fn add_instructions(&mut self, streams: &Reference) -> usize {
        const METRIC: &str = "warp_instructions";
        let mut added = 0;
        for row in self.rows.iter_mut().filter(|row| !row.values.contains_key(METRIC)) {
            let same = |other: &&Measured| {
                names::base(&other.kernel) == names::base(&row.kernel)
                    && (row.program.is_none() || other.program.is_none() || row.program == other.program)
                    && (row.which == Which::Mean || other.which == Which::Mean || row.which == other.which)
            };
            let found: Vec<f64> = streams
                .rows
                .iter()
                .filter(same)
                .filter_map(|other| other.values.get(METRIC).copied())
                .collect();
            if !found.is_empty() {
                row.values.insert(METRIC, found.iter().sum::<f64>() / found.len() as f64);
                added += 1;
            }
        }
        added
    }
}

#[cfg(test)]
mod tests;
