//! What a study hands back, and how it is written: text for the terminal, JSON, CSV, charts.
//!
//! JSON is `{"schema": "warplab-study/1", "study", "paper", "notes", DATA...}`, where each data table is an array
//! of objects with the columns' keys; shares are fractions. CSV holds the first data table.

use super::StudyInfo;
use report::{Cell, Chart, Table};
use serde_json::{Map, Value, json};

/// The outcome of one study over all traces.
#[derive(Clone, Debug)]
pub struct StudyResult {
    /// Name of the study.
    pub study: &'static str,
    /// Paper and figure.
    pub paper: &'static str,
    /// Tables for readers.
    pub tables: Vec<Table>,
    /// Figures.
    pub charts: Vec<Chart>,
    /// What readers should know about these numbers.
    pub notes: Vec<String>,
    /// Machine-readable tables with their JSON keys; the first is the CSV.
    pub data: Vec<(&'static str, Table)>,
}

impl StudyResult {
    /// An empty result.
    #[must_use]
    pub fn new(info: &StudyInfo) -> StudyResult {
        StudyResult {
            study: info.name,
            paper: info.paper,
            tables: Vec::new(),
            charts: Vec::new(),
            notes: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Aligned text for a terminal: every table, then the notes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let tables = self.tables.iter().map(Table::to_text);
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        tables.chain(notes).collect::<Vec<_>>().join("\n")
    }

    /// The data as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("schema".into(), json!("warplab-study/1"));
        object.insert("study".into(), json!(self.study));
        object.insert("paper".into(), json!(self.paper));
        object.insert("notes".into(), json!(self.notes));
        for (name, table) in &self.data {
            object.insert((*name).into(), records(table));
        }
        Value::Object(object)
    }

    /// The first data table as CSV.
    #[must_use]
    pub fn to_csv(&self) -> String {
        self.data.first().map(|(_, table)| table.to_csv()).unwrap_or_default()
    }
}

/// A table as an array of objects.
fn records(table: &Table) -> Value {
    let keys = table.keys();
    let record = |row: &Vec<Cell>| {
        let pairs = keys.iter().cloned().zip(row.iter().map(value));
        Value::Object(pairs.collect())
    };
    Value::Array(table.rows().iter().map(record).collect())
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) => json!(text),
        Cell::Integer(number) => u64::try_from(*number).map_or_else(|_| json!(*number as f64), |n| json!(n)),
        Cell::Number(number) => json!(number),
        Cell::Missing => Value::Null,
    }
}
