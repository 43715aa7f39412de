//! Plain tables: a column of kernels and columns named like our metrics, our counters or a profiler's metrics.

use super::layout::{KERNEL, Record, Table, is_missing};
use super::row::{Row, Rows, Which};
use crate::correlate::error::CorrelateError;
use crate::correlate::metrics;
use crate::correlate::shape::{Shape, Size};

/// Names of the column of programs, in lower case.
const PROGRAM: &[&str] = &["program", "app", "application", "benchmark", "workload", "trace"];
/// Names of the column of launches, in lower case.
const LAUNCH: &[&str] = &["launch", "invocation"];
/// Names of the columns of grids and blocks, in lower case.
const GRID: &[&str] = &["grid", "grid size", "grid_size"];
const BLOCK: &[&str] = &["block", "block size", "block_size"];
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
    let (grid, block) = (find(GRID), find(BLOCK));
    let own = |name: &str| {
        let metric = OWN.iter().find_map(|ending| name.strip_suffix(ending));
        metric.is_some_and(|metric| metrics::metric(metric).is_some())
    };
    let figures: Vec<usize> = (0..lower.len())
        .filter(|column| *column != kernel && ![program, launch, grid, block].contains(&Some(*column)))
        .filter(|column| !DESCRIPTION.contains(&lower[*column].as_str()) && !own(&lower[*column]))
        .collect();
    let decimal = table.decimal(&figures)?;
    let mut found = Rows::default();
    for record in table.records(table.header.len())? {
        let mut row = Row { kernel: record.text(kernel).to_owned(), ..Row::default() };
        if row.kernel.is_empty() {
            return Err(CorrelateError(format!("line {}: the row names no kernel", record.line())));
        }
        row.program = program.map(|program| record.text(program).to_owned()).filter(|name| !name.is_empty());
        row.shape = Shape { grid: size(record, grid)?, block: size(record, block)? };
        row.launch = launch.map(|launch| which(record, launch)).transpose()?.flatten();
        for column in &figures {
            let name = &table.header[*column];
            match (
                record.figure(*column, "", decimal),
                DURATION.iter().find(|(known, _)| *known == lower[*column]),
            ) {
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

/// A grid or block that a row names; an empty cell is unknown.
fn size(record: Record<'_>, column: Option<usize>) -> Result<Option<Size>, CorrelateError> {
    let text = column.map_or("", |column| record.text(column));
    if is_missing(text) {
        return Ok(None);
    }
    let wrong = || {
        let line = record.line();
        CorrelateError(format!("line {line}: \"{text}\" is no size; expected 64x64x1, (64, 64, 1) or 4096"))
    };
    Size::parse(text).map(Some).ok_or_else(wrong)
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
