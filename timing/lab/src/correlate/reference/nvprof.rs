//! nvprof: `--print-gpu-trace`, with or without metrics, `--metrics` and `--events`, and the summary, all with `--csv`.

use super::layout::{Record, Table};
use super::row::{Row, Rows, Which};
use crate::correlate::error::CorrelateError;
use crate::correlate::shape::{Shape, Size};
use std::collections::BTreeMap;

/// Whether a row of a trace is a copy or a fill, not a kernel.
fn is_transfer(name: &str) -> bool {
    name.starts_with("[CUDA ")
}

/// A row per launch with its duration.
pub(super) fn trace(table: &Table) -> Result<Rows, CorrelateError> {
    let (kernel, duration) = (table.need("Name")?, table.need("Duration")?);
    let (units, records) = table.with_units(kernel)?;
    let unit = units.get(&duration).map_or("s", String::as_str);
    let decimal = table.decimal(&[duration])?;
    let size = |record: Record<'_>, what: &str| {
        let side = |axis: &str| record.text(table.column(&format!("{what} {axis}"))?).parse().ok();
        Some(Size::of([side("X")?, side("Y")?, side("Z")?]))
    };
    let row = |record: Record<'_>| {
        let seconds = record.metric(duration, "Duration", unit, decimal)?;
        Ok(Row {
            kernel: record.text(kernel).to_owned(),
            shape: Shape { grid: size(record, "Grid"), block: size(record, "Block") },
            figures: seconds.map(|seconds| ("Duration".to_owned(), seconds)).into_iter().collect(),
            ..Row::default()
        })
    };
    let kernels = records.into_iter().filter(|record| !is_transfer(record.text(kernel)));
    Ok(Rows { rows: kernels.map(row).collect::<Result<_, CorrelateError>>()?, ..Rows::default() })
}

/// A row per launch with metrics; the number of a metric's instance may follow its name: `local_load (0)`.
pub(super) fn launches(table: &Table) -> Result<Rows, CorrelateError> {
    const DESCRIPTION: &[&str] = &["Device", "Context", "Stream", "Kernel", "Correlation_ID"];
    let kernel = table.need("Kernel")?;
    let (units, records) = table.with_units(kernel)?;
    let metrics = table.header.iter().enumerate().filter(|(_, name)| !DESCRIPTION.contains(&name.as_str()));
    let metrics: Vec<(usize, &str)> = metrics.map(|(column, name)| (column, metric_name(name))).collect();
    let decimal = table.decimal(&metrics.iter().map(|(column, _)| *column).collect::<Vec<_>>())?;
    let row = |record: Record<'_>| {
        let figure = |(column, name): &(usize, &str)| {
            let unit = units.get(column).map_or("", String::as_str);
            let value = record.metric(*column, name, unit, decimal).transpose()?;
            Some(value.map(|value| ((*name).to_owned(), value)))
        };
        Ok(Row {
            kernel: record.text(kernel).to_owned(),
            figures: metrics.iter().filter_map(figure).collect::<Result<_, CorrelateError>>()?,
            ..Row::default()
        })
    };
    Ok(Rows { rows: records.into_iter().map(row).collect::<Result<_, CorrelateError>>()?, ..Rows::default() })
}

fn metric_name(column: &str) -> &str {
    column.split_once(" (").map_or(column, |(name, _)| name)
}

/// A row per kernel and metric, with the mean over its launches.
pub(super) fn metrics(table: &Table) -> Result<Rows, CorrelateError> {
    let (kernel, value) = (table.need("Kernel")?, table.need("Avg")?);
    let name = match table.column("Metric Name") {
        Some(name) => name,
        None => table.need("Event Name")?,
    };
    let least = [kernel, value, name].into_iter().max().unwrap_or(0) + 1;
    let decimal = table.decimal(&[value])?;
    let mut rows: Vec<Row> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for record in table.records(least)? {
        let kernel = record.text(kernel);
        let place = *places.entry(kernel).or_insert_with(|| {
            rows.push(Row { kernel: kernel.to_owned(), launch: Some(Which::Mean), ..Row::default() });
            rows.len() - 1
        });
        let metric = metric_name(record.text(name));
        if let Some(figure) = record.metric(value, metric, "", decimal)? {
            rows[place].figures.entry(metric.to_owned()).or_insert(figure);
        }
    }
    Ok(Rows { rows, ..Rows::default() })
}

/// A row per kernel with the mean of its durations; calls of the API have rows too.
pub(super) fn summary(table: &Table) -> Result<Rows, CorrelateError> {
    let (kernel, mean) = (table.need("Name")?, table.need("Avg")?);
    let kind = table.column("Type");
    let (units, records) = table.with_units(kernel)?;
    let unit = units.get(&mean).map_or("s", String::as_str);
    let on_gpu = |record: &Record<'_>| {
        kind.is_none_or(|kind| record.text(kind) == "GPU activities") && !is_transfer(record.text(kernel))
    };
    let decimal = table.decimal(&[mean])?;
    let row = |record: Record<'_>| {
        let seconds = record.metric(mean, "Duration", unit, decimal)?;
        Ok(Row {
            kernel: record.text(kernel).to_owned(),
            launch: Some(Which::Mean),
            figures: seconds.map(|seconds| ("Duration".to_owned(), seconds)).into_iter().collect(),
            ..Row::default()
        })
    };
    let rows = records.into_iter().filter(on_gpu).map(row).collect::<Result<_, CorrelateError>>()?;
    Ok(Rows { rows, ..Rows::default() })
}
