//! Tables: typed columns over raw cells. The column's kind decides the format of a cell; CSV, JSON and
//! sorting use the raw value.
//!
//! Every chart gives its numbers as such a table too, so that one writer serves all.

use serde_json::{Value, json};

use crate::error::{Result, expect_len};
use crate::format::{self, Format, MISSING};
use crate::names::Names;
use crate::text;
use warplab_host::text::cell;

/// One raw value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A name that readers see in another form than programs.
    Name {
        /// In files.
        raw: String,
        /// In the page and in terminals.
        shown: String,
    },
    /// Exact whole number.
    Integer(i128),
    /// Real number; not finite counts as missing.
    Number(f64),
    /// No value.
    Missing,
}

impl Cell {
    /// A name that is shown in another form than it has in files.
    pub fn name(raw: impl Into<String>, shown: impl Into<String>) -> Self {
        Self::Name { raw: raw.into(), shown: shown.into() }
    }

    /// The number inside, if it is a finite one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value).filter(|v| v.is_finite()),
            Self::Text(_) | Self::Name { .. } | Self::Missing => None,
        }
    }

    /// The raw value for CSV: shortest text that reads back exactly, empty if missing.
    #[must_use]
    pub fn raw(&self) -> String {
        match self {
            Self::Text(text) | Self::Name { raw: text, .. } => text.clone(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) if value.is_finite() => value.to_string(),
            Self::Number(_) | Self::Missing => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) | Self::Name { raw: text, .. } => json!(text),
            Self::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => json!(value),
                (_, Ok(value)) => json!(value),
                _ => json!(value.to_string()),
            },
            // `json!` turns non-finite values into null.
            Self::Number(value) => json!(value),
            Self::Missing => Value::Null,
        }
    }
}

macro_rules! cell_from {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Cell {
            fn from(value: $integer) -> Self {
                Self::Integer(i128::from(value))
            }
        }
    )*};
}
cell_from!(u8, u16, u32, u64, i32, i64, i128);

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Integer(value as i128)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for Cell {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// Builds a row of [`Cell`]s from anything that converts: `cells!["spmv", 12_345u64, 0.71]`.
#[macro_export]
macro_rules! cells {
    ($($value:expr),* $(,)?) => { [$($crate::Cell::from($value)),*] };
}

/// A column: its heading, what its cells are, and how they are shown.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) unit: String,
    pub(crate) help: String,
    /// `None` for text.
    pub(crate) format: Option<Format>,
    pub(crate) bar: bool,
}

impl Column {
    fn new(name: impl Into<String>, format: Option<Format>) -> Self {
        let name = name.into();
        let key = text::slug(&name, '_');
        Self { name, key, unit: String::new(), help: String::new(), format, bar: false }
    }

    /// A column of text, left-aligned.
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, None)
    }

    /// A column of numbers in the given format, right-aligned.
    pub fn number(name: impl Into<String>, format: Format) -> Self {
        Self::new(name, Some(format))
    }

    /// A column of whole numbers.
    pub fn integer(name: impl Into<String>) -> Self {
        Self::number(name, Format::Integer)
    }

    /// A column of numbers with a fixed number of digits after the point.
    pub fn float(name: impl Into<String>, digits: u8) -> Self {
        Self::number(name, Format::Float(digits))
    }

    /// A column of shares, given as fractions.
    pub fn percent(name: impl Into<String>, digits: u8) -> Self {
        Self::number(name, Format::Percent(digits))
    }

    /// A column of ratios to a baseline.
    pub fn ratio(name: impl Into<String>, digits: u8) -> Self {
        Self::number(name, Format::Ratio(digits))
    }

    /// Names the column in CSV and JSON; the default is the heading in snake case.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// The unit, shown beside the heading and recorded in JSON.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// What the column means; shown when hovering over the heading and recorded in JSON.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Draws a bar behind each value, scaled to the column's largest magnitude.
    #[must_use]
    pub fn bar(mut self) -> Self {
        self.bar = true;
        self
    }

    /// The cell as readers see it.
    pub(crate) fn show(&self, cell: &Cell) -> String {
        match (cell, self.format) {
            (Cell::Text(text) | Cell::Name { shown: text, .. }, _) => text.clone(),
            (Cell::Missing, _) => MISSING.to_owned(),
            (Cell::Integer(value), Some(Format::Integer) | None) => format::integer(*value),
            (Cell::Integer(value), Some(format)) => format.show(*value as f64),
            (Cell::Number(value), Some(format)) => format.show(*value),
            (Cell::Number(value), None) if value.is_finite() => value.to_string(),
            (Cell::Number(_), None) => MISSING.to_owned(),
        }
    }

    /// Name of the column's kind in JSON.
    fn kind(&self) -> &'static str {
        match self.format {
            None => "text",
            Some(Format::Integer) => "integer",
            Some(Format::Float(_) | Format::Si) => "float",
            Some(Format::Percent(_)) => "fraction",
            Some(Format::Change(_)) => "change",
            Some(Format::Ratio(_)) => "ratio",
            Some(Format::Bytes) => "bytes",
        }
    }
}

/// A table of raw cells under typed columns.
///
/// ```
/// use report::{Column, Table, cells};
/// let table = Table::new("Register file", [
///     Column::text("Kernel"),
///     Column::integer("Reads"),
///     Column::percent("Bypassed", 1).bar(),
/// ])
/// .row(cells!["vectoradd", 1_310_720u64, 0.412])
/// .row(cells!["scan", 77_021u64, f64::NAN]);
/// assert_eq!(table.to_csv(), "kernel,reads,bypassed\nvectoradd,1310720,0.412\nscan,77021,\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(crate) title: String,
    pub(crate) id: Option<String>,
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) summary: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { title: title.into(), columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// Fixes the anchor and file name; the default is made of the title.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A sentence or two under the title, with inline markup.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Appends a row; it must have as many cells as there are columns, which is checked on rendering.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push(cells);
        self
    }

    /// Appends a row in place; see [`Table::row`].
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Appends a closing row (a total, a mean) that stays at the bottom and out of the CSV.
    #[must_use]
    pub fn summary(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.summary.push(cells.into_iter().collect());
        self
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The rows in the order they were added, without the summary.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The closing rows: totals, means.
    #[must_use]
    pub fn summaries(&self) -> &[Vec<Cell>] {
        &self.summary
    }

    /// Headings of the columns.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The cells of a row as readers see them.
    #[must_use]
    pub fn shown(&self, row: &[Cell]) -> Vec<String> {
        self.columns.iter().zip(row).map(|(column, cell)| column.show(cell)).collect()
    }

    /// Keys of the columns as CSV and JSON name them, made unique by a number where they repeat.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut names = Names::new('_');
        self.columns.iter().map(|column| names.claim(&column.key, "column")).collect()
    }

    pub(crate) fn check(&self) -> Result<()> {
        let expected = self.columns.len();
        for (i, row) in self.rows.iter().chain(&self.summary).enumerate() {
            expect_len("table", &self.title, || format!("row {}", i + 1), "cells", row.len(), expected)?;
        }
        Ok(())
    }

    /// The table as CSV (RFC 4180, newline-terminated) with a header row and raw values.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let header = self.keys();
        let records = self.rows.iter().map(|row| row.iter().map(Cell::raw).collect());
        for record in std::iter::once(header).chain(records) {
            let record: Vec<String> = record;
            let record = record.iter().map(|text| cell(text).into_owned());
            // Writing to memory does not fail, and `flexible` accepts records of any length.
            let _ = writer.write_record(record);
        }
        let bytes = writer.into_inner().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Columns, rows and summary as JSON; numbers that are not finite are null.
    pub(crate) fn to_json(&self) -> Value {
        let columns: Vec<_> = self.columns.iter().zip(self.keys()).map(column_json).collect();
        let rows = |rows: &[Vec<Cell>]| -> Vec<Vec<Value>> {
            rows.iter().map(|row| row.iter().map(Cell::json).collect()).collect()
        };
        let mut object = json!({ "columns": columns, "rows": rows(&self.rows) });
        if !self.summary.is_empty() {
            object["summary"] = json!(rows(&self.summary));
        }
        object
    }
}

fn column_json((column, key): (&Column, String)) -> Value {
    let mut object = json!({ "key": key, "name": column.name, "kind": column.kind() });
    for (field, value) in [("unit", &column.unit), ("help", &column.help)] {
        if !value.is_empty() {
            object[field] = json!(value);
        }
    }
    object
}
