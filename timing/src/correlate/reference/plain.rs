//! Plain tables: a column of kernels and columns named like our metrics, our counters or a profiler's metrics.

use super::layout::{KERNEL, Record, Table};
use super::row::{Row, Rows, Which};
use crate::correlate::error::CorrelateError;
use crate::correlate::metrics;

/// Names of the column of programs, in lower case.
const PROGRAM: &[&str] = &["program", "app", "application", "benchmark", "workload", "trace"];
/// Names of the column of launches, in lower case.
const LAUNCH: &[&str] = &["launch", "invocation"];
/// Columns for readers, in lower case; they are not listed as unknown.
const DESCRIPTION: &[&str] =
    &["note", "notes", "comment", "source", "by", "gpu", "machine", "config", "input", "arguments"];
/// Endings of the columns that `timing correlate --csv` adds to ours.
const OWN: &[&str] = &["_reference", "_ratio", "_before"];
/// Columns of durations by unit, in lower case.
const DURATION: &[(&str, f64)] =
    &[("duration_ns", 1e-9), ("duration_us", 1e-6), ("duration_ms", 1e-3), ("duration_s", 1.0)];

/// A row per kernel or launch.
pub(super) fn rows(table: &Table) -> Result<Rows, CorrelateError> {
    let lower: Vec<String> = table.header.iter().map(|name| name.to_lowercase()).collect();
    let find = |names: &[&str]| names.iter().find_map(|name| lower.iter().position(|column| column == name));
    let kernel = find(KERNEL).ok_or_else(|| CorrelateError("it has no column kernel".into()))?;
    let (program, launch) = (find(PROGRAM), find(LAUNCH));
    let own = |name: &str| {
        let metric = OWN.iter().find_map(|ending| name.strip_suffix(ending));
        metric.is_some_and(|metric| metrics::metric(metric).is_some())
    };
    let figures: Vec<usize> = (0..lower.len())
        .filter(|column| *column != kernel && Some(*column) != program && Some(*column) != launch)
        .filter(|column| !DESCRIPTION.contains(&lower[*column].as_str()) && !own(&lower[*column]))
        .collect();
    let mut found = Rows::default();
    for record in table.records(table.header.len())? {
        let mut row = Row { kernel: record.text(kernel).to_owned(), ..Row::default() };
        if row.kernel.is_empty() {
            return Err(CorrelateError(format!("line {}: the row names no kernel", record.line())));
        }
        row.program = program.map(|program| record.text(program).to_owned()).filter(|name| !name.is_empty());
        row.launch = launch.map(|launch| which(record, launch)).transpose()?.flatten();
        for column in &figures {
            let name = &table.header[*column];
            match (record.figure(*column, ""), DURATION.iter().find(|(known, _)| *known == lower[*column])) {
                (Some(value), Some((_, seconds))) => {
                    row.figures.insert("duration".into(), value * seconds);
                }
                (Some(value), None) => {
                    row.figures.insert(known(name), value);
                }
                (None, _) if is_missing(record.text(*column)) => {}
                (None, _) if metrics::metric(&known(name)).is_some() => {
                    let text = record.text(*column);
                    return Err(CorrelateError(format!(
                        "line {}: {name} is \"{text}\", not a number",
                        record.line()
                    )));
                }
                (None, _) => {
                    found.texts.insert(name.clone());
                }
            }
        }
        found.rows.push(row);
    }
    Ok(found)
}

/// The name under which a column is looked up: our names in any case, others as they are.
fn known(name: &str) -> String {
    let lower = name.to_lowercase().replace(' ', "_");
    if metrics::metric(&lower).is_some() { lower } else { name.to_owned() }
}

fn is_missing(text: &str) -> bool {
    ["", "-", "–", "n/a", "na", "nan"].contains(&text.to_lowercase().as_str())
}

/// The launch that a row names: a number, `mean`, or nothing.
fn which(record: Record<'_>, column: usize) -> Result<Option<Which>, CorrelateError> {
    match record.text(column) {
        "" => Ok(None),
        "mean" => Ok(Some(Which::Mean)),
        text => match text.parse() {
            Ok(number) => Ok(Some(Which::Launch(number))),
            Err(_) => Err(CorrelateError(format!(
                "line {}: the launch is \"{text}\"; expected a number from 0 among the launches of that kernel, or mean",
                record.line()
            ))),
        },
    }
}
