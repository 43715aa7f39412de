//! The result of a study, generated from its definition and the counts, and its output formats: text for the
//! terminal, JSON, CSV, charts, annotated source.
//!
//! JSON is `{"schema": "warplab-study/1", "study", "paper", "definitions", "notes", DATA...}`, where each
//! data table is an array of objects with the columns' keys; shares are fractions. CSV holds the requested
//! breakdown, by default kernels.

mod breakdown;
mod cells;
mod charts;

use super::define::{Marks, Shown, Study};
use super::options::{By, Options};
use super::rows::{KernelCounts, traces};
use cells::{Sum, column, data_cells, data_columns, mean, shown, shown_names};
use report::{Cell, Chart, Column, SourceListing, Table};
use serde_json::{Map, Value, json};

/// The outcome of one study over all traces.
#[derive(Clone, Debug)]
pub struct StudyResult {
    /// Name of the study.
    pub study: &'static str,
    /// Summary in a phrase.
    pub summary: &'static str,
    /// Paper and figure.
    pub paper: &'static str,
    /// Tables for readers.
    pub tables: Vec<Table>,
    /// Figures.
    pub charts: Vec<Chart>,
    /// Annotated source, a listing per kernel, when the breakdown is by line.
    pub listings: Vec<SourceListing>,
    /// Notes for readers.
    pub notes: Vec<String>,
    /// Machine-readable tables with their JSON keys; the first is the CSV.
    pub data: Vec<(&'static str, Table)>,
    /// The one number of the study, if it has one.
    pub headline: Option<Opportunity>,
    definitions: Value,
}

/// How large an opportunity is.
#[derive(Clone, Debug)]
pub struct Opportunity {
    /// What follows the number: "of the register values are never read".
    pub phrase: &'static str,
    /// Mean over the traces, 0 to 1.
    pub mean: f64,
    /// By trace.
    pub traces: Vec<(String, f64)>,
}

/// The result of a study from the counts of its row of the registry.
pub(super) fn result(
    study: &'static Study,
    number: usize,
    rows: &[KernelCounts],
    options: &Options<'_>,
) -> StudyResult {
    let sums = traces(study, number, rows.iter());
    let groups = dimensions(study, number, rows);
    let mut result = StudyResult {
        study: study.name,
        summary: study.summary,
        paper: study.paper,
        tables: vec![overview(study, &sums, &groups)],
        charts: charts::charts(study, number, rows, &sums, &groups),
        listings: Vec::new(),
        notes: sums
            .iter()
            .filter_map(|(trace, sum)| Some(format!("{trace}: {}", (study.note)(sum)?)))
            .collect(),
        data: vec![
            ("kernels", kernels(study, number, rows)),
            ("traces", data_of_traces(study, &sums)),
            ("means", means(study, &sums, &groups)),
        ],
        headline: opportunity(study, &sums),
        definitions: definitions(study),
    };
    if study.course.is_some() {
        result.data.push(("course", course(study, number, rows)));
    }
    if let Some(by) = options.by {
        let (key, shown, data) = breakdown::breakdown(study, number, rows, by, options.top);
        result.tables.push(shown);
        if by != By::Kernel {
            result.data.insert(0, (key, data));
        }
        if by == By::Line {
            result.listings = breakdown::listings(study, number, rows);
        }
    }
    result
}

/// The number of a study's headline; none where nothing was counted.
fn opportunity(study: &Study, sums: &[Sum<'_>]) -> Option<Opportunity> {
    let headline = study.headline?;
    let share = study.shares.get(headline.share)?;
    let of = |value: f64| if headline.rest { 1.0 - value } else { value };
    let traces: Vec<(String, f64)> =
        sums.iter().map(|(trace, sum)| ((*trace).to_owned(), of(share.value(sum)))).collect();
    let mean = of(mean(study, share, sums));
    mean.is_finite().then_some(Opportunity { phrase: headline.phrase, mean, traces })
}

impl StudyResult {
    /// The result of a study that has counted nothing.
    #[must_use]
    pub fn empty(study: &'static str) -> StudyResult {
        StudyResult {
            study,
            summary: "",
            paper: "",
            tables: Vec::new(),
            charts: Vec::new(),
            listings: Vec::new(),
            notes: Vec::new(),
            data: Vec::new(),
            headline: None,
            definitions: Value::Null,
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
        object.insert("definitions".into(), self.definitions.clone());
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

/// Sums by number of block dimensions and trace.
fn dimensions<'a>(study: &Study, number: usize, rows: &'a [KernelCounts]) -> Vec<(u8, Vec<Sum<'a>>)> {
    let of = |dims| (dims, traces(study, number, rows.iter().filter(|row| row.dimensions() == dims)));
    [1, 2, 3].map(of).into_iter().filter(|(_, sums)| !sums.is_empty()).collect()
}

fn overview(study: &Study, sums: &[Sum<'_>], groups: &[(u8, Vec<Sum<'_>>)]) -> Table {
    let head = [Column::text("Trace"), Column::integer("Warp instructions")];
    let columns = head.into_iter().chain(shown(study).map(|share| column(study, share)));
    let title = study.figures.first().map_or(study.summary, |figure| figure.title);
    let mut table =
        Table::new(format!("{title} ({})", study.name), columns).id(study.name).caption(study.paper);
    for (trace, sum) in sums {
        let head = [Cell::from(*trace), sum[0].into()];
        table.push(head.into_iter().chain(shown(study).map(|share| share.cell(sum))));
    }
    let row = |name: String, sums: &[Sum<'_>]| {
        let means = shown(study).map(|share| Cell::from(mean(study, share, sums)));
        [Cell::from(name), Cell::Missing].into_iter().chain(means).collect::<Vec<_>>()
    };
    table = table.summary(row(study.mean.name().into(), sums));
    let by_dimensions = matches!(study.figures.first().map(|f| f.marks), Some(Marks::StackByDimensions));
    if by_dimensions {
        for (dimensions, sums) in groups {
            table = table.summary(row(format!("of {} with {dimensions}D blocks", sums.len()), sums));
        }
    }
    table
}

fn kernels(study: &Study, number: usize, rows: &[KernelCounts]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::text("kernel"),
        Column::text("block"),
        Column::integer("block_dimensions"),
        Column::integer("launches"),
        Column::integer("blocks"),
    ];
    let mut table =
        Table::new(format!("{} by kernel", study.name), columns.into_iter().chain(data_columns(study)));
    let shown = shown_names(rows);
    for row in rows {
        let (block, dimensions) = (row.block_text(), row.dimensions());
        let name = Cell::name(&row.kernel.name, shown.get(&row.kernel.name));
        let head = report::cells![&row.trace, name, block, dimensions, row.launches, row.blocks];
        table.push(head.into_iter().chain(data_cells(study, &study.sum(row.counts(number)))));
    }
    table
}

fn data_of_traces(study: &Study, sums: &[Sum<'_>]) -> Table {
    let columns = [Column::text("trace")].into_iter().chain(data_columns(study));
    let mut table = Table::new(format!("{} by trace", study.name), columns);
    for (trace, sum) in sums {
        table.push([Cell::from(*trace)].into_iter().chain(data_cells(study, sum)));
    }
    table
}

/// Points of the curves over the course of a warp, a curve per kernel.
fn course(study: &Study, number: usize, rows: &[KernelCounts]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::text("kernel"),
        Column::float("x", 0).help("Instructions executed by the warp"),
        Column::percent("y", 2).help(study.course.map_or("", |course| course.y)),
    ];
    let mut table = Table::new(format!("{} over the course of a warp", study.name), columns);
    let shown = shown_names(rows);
    for row in rows {
        for &(x, y) in &row.course[number] {
            let name = Cell::name(&row.kernel.name, shown.get(&row.kernel.name));
            table.push(report::cells![&row.trace, name, x, y]);
        }
    }
    table
}

/// Means of the traces' shares: over all, and by block dimensions.
fn means(study: &Study, sums: &[Sum<'_>], groups: &[(u8, Vec<Sum<'_>>)]) -> Table {
    let columns = [Column::text("over"), Column::integer("traces")];
    let shares = study.shares.iter().map(|share| match share.shown {
        Shown::Percent => Column::percent(share.key, 2).key(share.key),
        Shown::Number(unit) if share.is_whole() => Column::integer(share.key).key(share.key).unit(unit),
        Shown::Number(unit) => Column::float(share.key, 4).key(share.key).unit(unit),
    });
    let title = format!("{}: {}", study.name, study.mean.name().to_lowercase());
    let mut table = Table::new(title, columns.into_iter().chain(shares));
    let mut push = |over: String, sums: &[Sum<'_>]| {
        let means = study.shares.iter().map(|share| Cell::from(mean(study, share, sums)));
        table.push([Cell::from(over), sums.len().into()].into_iter().chain(means));
    };
    push("all".into(), sums);
    for (dimensions, sums) in groups {
        push(format!("{dimensions}D blocks"), sums);
    }
    table
}

/// The definitions of every column, for readers of the files.
fn definitions(study: &Study) -> Value {
    let counters = study.counters.iter().map(|c| json!({"key": c.key, "unit": c.unit, "meaning": c.meaning}));
    let shares = study.shares.iter().map(|share| {
        json!({
            "key": share.key,
            "name": share.name,
            "formula": share.formula(study.counters),
            "meaning": share.meaning,
            "figure": share.figure,
            "unit": match share.shown { Shown::Percent => "fraction", Shown::Number(unit) => unit },
        })
    });
    json!({ "text": study.text, "counts": counters.collect::<Vec<_>>(), "shares": shares.collect::<Vec<_>>() })
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
        Cell::Text(text) | Cell::Name { raw: text, .. } => json!(text),
        Cell::Integer(number) => u64::try_from(*number).map_or_else(|_| json!(*number as f64), |n| json!(n)),
        Cell::Number(number) => json!(number),
        Cell::Missing => Value::Null,
    }
}
