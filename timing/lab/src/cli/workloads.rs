//! `timing list workloads`: the bundled workloads, with what they launch.

use super::error::CliError;
use report::{Cell, Column, Format, Table};
use serde::Deserialize;

/// A row for each kernel of each workload at each size; written by the tests of the workloads.
const TABLE: &str = include_str!("../../../experiments/workloads.csv");

/// A row of the table.
#[derive(Deserialize)]
struct Row {
    suite: String,
    workload: String,
    /// Papers that evaluate it, with `;` between them.
    papers: String,
    size: String,
    kernel: String,
    launches: u64,
    grid: String,
    block: String,
    registers: u64,
    shared_bytes: u64,
    warp_instructions: u64,
    footprint_bytes: u64,
    waves: Option<f64>,
    active_sms_percent: Option<f64>,
    /// Why a workload does not fill its papers' machine.
    note: String,
}

impl Row {
    /// Whether the workload's name has the text, or its suite or one of its papers is called so.
    fn is_called(&self, text: &str) -> bool {
        let is_paper = |paper: &str| paper.eq_ignore_ascii_case(text);
        self.workload.contains(text) || self.suite == text || self.papers.split(';').any(is_paper)
    }
}

/// The table as text: kernels at a size, of workloads whose name or paper has the text.
pub(super) fn list(size: &str, filter: Option<&str>) -> Result<String, CliError> {
    let rows: Result<Vec<Row>, csv::Error> =
        csv::Reader::from_reader(TABLE.as_bytes()).deserialize().collect();
    let rows = rows.map_err(|why| CliError(format!("the table of workloads: {why}")))?;
    let mut sizes: Vec<&str> = Vec::new();
    for row in &rows {
        if !sizes.contains(&row.size.as_str()) {
            sizes.push(&row.size);
        }
    }
    let columns = [
        Column::text("Workload"),
        Column::text("Suite"),
        Column::text("In papers"),
        Column::text("Kernel"),
        Column::integer("Launches"),
        Column::text("Grid"),
        Column::text("Block"),
        Column::integer("Registers"),
        Column::integer("Shared").unit("bytes"),
        Column::integer("Warp instructions"),
        Column::integer("Footprint").unit("KiB"),
        Column::float("Waves", 1),
        Column::float("Active SMs", 0).unit("%"),
    ];
    let mut table = Table::new(format!("Bundled workloads, size {size}"), columns);
    let mut notes: Vec<String> = Vec::new();
    let mut last = "";
    let wanted = |row: &&Row| row.size == size && filter.is_none_or(|text| row.is_called(text));
    for row in rows.iter().filter(wanted) {
        // Of a workload's kernels only the first repeats what belongs to the whole.
        let first = last != row.workload;
        last = &row.workload;
        let whole = |text: &str| Cell::from(if first { text } else { "" });
        let number = |number: Option<f64>| number.map_or(Cell::Missing, Cell::from);
        let footprint = if first { Cell::from(row.footprint_bytes.div_ceil(1024)) } else { Cell::Missing };
        table.push([
            whole(&row.workload),
            whole(&row.suite),
            whole(&row.papers.replace(';', ", ")),
            Cell::from(row.kernel.as_str()),
            Cell::from(row.launches),
            Cell::from(row.grid.as_str()),
            Cell::from(row.block.as_str()),
            Cell::from(row.registers),
            Cell::from(row.shared_bytes),
            Cell::from(row.warp_instructions),
            footprint,
            number(row.waves),
            number(row.active_sms_percent),
        ]);
        if first && !row.note.is_empty() {
            notes.push(format!("{}: {}", row.workload, row.note));
        }
    }
    if !sizes.contains(&size) {
        return Err(CliError(warplab_host::names::unknown("size", size, &sizes)));
    }
    if table.rows().is_empty() {
        let text = filter.unwrap_or_default();
        return Err(CliError(format!(
            "no workload, suite or paper is called {text}; `timing list workloads` shows all"
        )));
    }
    let count = Format::Integer.show(table.rows().len() as f64);
    let mut text = format!("{}\n{count} kernels\n", table.to_text());
    if !notes.is_empty() {
        text += &format!("\nNotes\n{}\n", notes.join("\n"));
    }
    Ok(text)
}
