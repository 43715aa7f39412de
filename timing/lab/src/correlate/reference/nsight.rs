//! Nsight Compute: `ncu --csv --page raw` and `ncu --csv`.

use super::layout::{Record, Table};
use super::row::{Row, Rows, Which};
use crate::correlate::error::CorrelateError;
use crate::correlate::shape::{Shape, Size};
use std::collections::BTreeMap;

/// Columns that describe a launch; others are metrics.
const DESCRIPTION: &[&str] = &[
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "Section Name",
    "Invocations",
];
/// Prefixes of metrics that describe the launch or the profiler's work.
const DESCRIPTIVE: &[&str] =
    &["launch__", "device__attribute", "profiler__", "thread Domain:", "Id:Domain:", "numa__"];

fn describes(name: &str) -> bool {
    name.is_empty()
        || DESCRIPTION.contains(&name)
        || DESCRIPTIVE.iter().any(|prefix| name.starts_with(prefix))
}

fn process(record: Record<'_>, column: Option<usize>) -> Option<String> {
    column.map(|column| record.text(column).to_owned()).filter(|name| !name.is_empty())
}

/// The sizes of a launch, `(64, 64, 1)`.
fn shape(table: &Table, record: Record<'_>) -> Shape {
    let size = |name: &str| table.column(name).and_then(|column| Size::parse(record.text(column)));
    Shape { grid: size("Grid Size"), block: size("Block Size") }
}

/// The compute capability of the GPU, with a point in every locale.
fn capability(table: &Table, record: Record<'_>) -> Option<String> {
    let text = record.text(table.column("CC")?).replace(',', ".");
    (!text.is_empty()).then_some(text)
}

/// A row per launch.
pub(super) fn raw(table: &Table) -> Result<Rows, CorrelateError> {
    let (kernel, program) = (table.need("Kernel Name")?, table.column("Process Name"));
    let (units, records) = table.with_units(kernel)?;
    let metrics: Vec<usize> =
        (0..table.header.len()).filter(|column| !describes(&table.header[*column])).collect();
    let decimal = table.decimal(&metrics)?;
    let row = |record: Record<'_>| {
        let figure = |column: &usize| {
            let (name, unit) = (&table.header[*column], units.get(column).map_or("", String::as_str));
            let value = record.metric(*column, name, unit, decimal).transpose()?;
            Some(value.map(|value| (name.clone(), value)))
        };
        Ok(Row {
            process: process(record, program),
            kernel: record.text(kernel).to_owned(),
            shape: shape(table, record),
            capability: capability(table, record),
            figures: metrics.iter().filter_map(figure).collect::<Result<_, CorrelateError>>()?,
            ..Row::default()
        })
    };
    Ok(Rows { rows: records.into_iter().map(row).collect::<Result<_, CorrelateError>>()?, ..Rows::default() })
}

/// A row per metric of a launch; launches differ in `ID`. The summary over launches has means.
pub(super) fn details(table: &Table) -> Result<Rows, CorrelateError> {
    let kernel = table.need("Kernel Name")?;
    let (name, unit) = (table.need("Metric Name")?, table.column("Metric Unit"));
    let invocations = table.column("Invocations");
    let value = match table.column("Metric Value") {
        Some(value) => value,
        None => table.need("Average")?,
    };
    let (id, process_id) = (table.column("ID"), table.column("Process ID"));
    let program = table.column("Process Name");
    // Columns of rules follow the value; records without a rule end before them.
    let least = [kernel, name, value].into_iter().chain(unit).max().unwrap_or(0) + 1;
    let decimal = table.decimal(&[value])?;
    let mut rows: Vec<Row> = Vec::new();
    let mut places: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for record in table.records(least)? {
        let metric = record.text(name);
        let of_launch = |column: Option<usize>| column.map_or("", |column| record.text(column)).to_owned();
        let mut key = (of_launch(process_id), of_launch(id), record.text(kernel).to_owned());
        if id.is_none() && invocations.is_none() {
            // Without identifiers a launch ends where one of its metrics comes again.
            key.1 = rows
                .iter()
                .filter(|row| row.kernel == key.2 && row.figures.contains_key(metric))
                .count()
                .to_string();
        }
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(Row {
                process: process(record, program),
                kernel: record.text(kernel).to_owned(),
                launch: invocations.map(|_| Which::Mean),
                shape: shape(table, record),
                capability: capability(table, record),
                ..Row::default()
            });
            rows.len() - 1
        });
        if !describes(metric)
            && let Some(figure) =
                record.metric(value, metric, unit.map_or("", |unit| record.text(unit)), decimal)?
        {
            // A metric may stand in several sections.
            rows[place].figures.entry(metric.to_owned()).or_insert(figure);
        }
    }
    Ok(Rows { rows, ..Rows::default() })
}
