//! Statistics as rows of a metric and a value: the numbers of the JSON that `timing replay --json` writes, with the names
//! of its objects before theirs (`stalls.barrier`, `technique.bow.supplied`). And lists of what there is to choose from.

use crate::error::error;
use crate::table::Table;
use pyo3::prelude::*;
use serde_json::Value;
use timing::config::builtin;
use timing::stats::{EnergyTable, Stats};

/// Every number of some statistics, in the order of the JSON.
pub(crate) fn of(stats: &Stats, energy: &EnergyTable) -> Vec<(String, f64)> {
    let mut rows = Vec::new();
    add("", &stats.to_json(energy), &mut rows);
    rows
}

fn add(name: &str, value: &Value, rows: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => rows.extend(number.as_f64().map(|number| (name.to_owned(), number))),
        Value::Object(object) => {
            for (key, value) in object {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                add(&name, value, rows);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
    }
}

/// The techniques that `tech=` can name.
#[pyfunction]
pub(crate) fn techniques() -> PyResult<Table> {
    let columns = ["technique", "summary", "paper"].map(report::Column::text);
    let mut table = report::Table::new("Techniques", columns);
    timing::techniques::built_in()
        .infos()
        .for_each(|info| table.push(report::cells![info.name, info.summary, info.paper]));
    Table::of_report(&table)
}

/// The configurations that `config=` can name.
#[pyfunction]
pub(crate) fn machines() -> PyResult<Table> {
    let columns = [report::Column::text("machine"), report::Column::text("description")];
    let mut table = report::Table::new("Machines", columns);
    for name in builtin::list(builtin::GPUS) {
        let loaded = timing::config::load(name, &[]).map_err(error)?;
        table.push(report::cells![name, loaded.config.description]);
    }
    Table::of_report(&table)
}

/// The studies that there are.
#[pyfunction]
pub(crate) fn studies() -> PyResult<Table> {
    let columns = ["study", "summary", "paper"].map(report::Column::text);
    let mut table = report::Table::new("Studies", columns);
    timing::studies::registry()
        .for_each(|study| table.push(report::cells![study.name, study.summary, study.paper]));
    Table::of_report(&table)
}
