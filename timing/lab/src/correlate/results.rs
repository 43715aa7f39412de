//! Reads our side: results of `timing replay --json`, and tables that `timing correlate --csv` wrote.

use super::error::CorrelateError;
use super::metrics::{Machine, Values, of_launch};
use super::reference::{self, Which};
use super::shape::Shape;
use crate::why::slots_by_limit;
use serde_json::Value;
use std::collections::BTreeMap;

/// A replayed launch, or the mean of all launches of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The program: the name of its trace without folder and extension; empty if a table names none.
    pub program: String,
    /// The kernel.
    pub kernel: String,
    /// Its grid and blocks.
    pub shape: Shape,
    /// Values by metric.
    pub values: Values,
    /// Scheduler slots by what they were spent on, in words; empty for tables.
    pub slots: Vec<(&'static str, u64)>,
}

/// The configuration that a result names.
#[must_use]
pub fn configuration(result: &Value) -> Option<&str> {
    result.get("config").and_then(Value::as_str)
}

/// The launches of a result of `timing replay --json`, in order.
///
/// # Errors
/// Another kind of result, or a damaged one.
pub fn of_replay(result: &Value, machine: Option<&Machine>) -> Result<Vec<Launch>, CorrelateError> {
    let schema = result.get("schema").and_then(Value::as_str).unwrap_or("");
    if !schema.starts_with("warplab-replay/") {
        let schema = if schema.is_empty() { "no schema" } else { schema };
        return Err(CorrelateError(format!(
            "it is no result of `timing replay --json` ({schema}); other results have no figures of launches"
        )));
    }
    let damaged = |what: &str| CorrelateError(format!("the result is damaged: {what}"));
    let mut launches = Vec::new();
    let traces = result.get("traces").and_then(Value::as_array).ok_or_else(|| damaged("it has no traces"))?;
    for trace in traces {
        let path =
            trace.get("trace").and_then(Value::as_str).ok_or_else(|| damaged("a trace has no path"))?;
        let program = stem(path);
        let list = trace.get("launches").and_then(Value::as_array);
        for launch in list.ok_or_else(|| damaged(&format!("trace {path} has no launches")))? {
            let kernel = launch.get("kernel").and_then(Value::as_str);
            let kernel = kernel.ok_or_else(|| damaged(&format!("a launch of {path} has no kernel")))?;
            launches.push(Launch {
                program: program.clone(),
                kernel: kernel.to_owned(),
                shape: Shape::of_launch(launch),
                values: of_launch(launch, machine),
                slots: launch.get("stalls").map(slots_by_limit).unwrap_or_default(),
            });
        }
    }
    Ok(launches)
}

/// The rows of a table of ours, such as one that `timing correlate --csv` wrote.
///
/// # Errors
/// The text is no table, or a row is damaged.
pub fn of_table(text: &str, machine: Option<&Machine>) -> Result<Vec<Launch>, CorrelateError> {
    let table = reference::read(text, None, machine)?;
    let launch = |row: reference::Measured| Launch {
        program: row.program.unwrap_or_default(),
        kernel: row.kernel,
        shape: row.shape,
        values: row.values,
        slots: Vec::new(),
    };
    // Launches stand in their order, whatever the order of the rows.
    let mut rows = table.rows;
    rows.sort_by_key(|row| if let Which::Launch(number) = row.which { number } else { 0 });
    Ok(rows.into_iter().map(launch).collect())
}

/// File name without folder and extension.
fn stem(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// The mean of several launches; a metric that one of them lacks is left out.
pub(super) fn mean(launches: &[&Launch]) -> (Values, Vec<(&'static str, u64)>) {
    let mut values = Values::new();
    let count = launches.len() as f64;
    for name in launches.first().map(|first| first.values.keys()).into_iter().flatten() {
        let all: Option<Vec<f64>> = launches.iter().map(|launch| launch.values.get(name).copied()).collect();
        values.extend(all.map(|all| (*name, all.iter().sum::<f64>() / count)));
    }
    let mut slots: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (label, count) in launches.iter().flat_map(|launch| &launch.slots) {
        *slots.entry(label).or_default() += count;
    }
    let mut slots: Vec<(&'static str, u64)> = slots.into_iter().collect();
    slots.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    (values, slots)
}
