//! `timing list workloads`: the bundled workloads, with what they launch.

use super::error::CliError;
use report::{Cell, Column, Format, Table};

/// A row for each kernel of each workload at each size; written by the tests of the workloads.
const TABLE: &str = include_str!("../../experiments/workloads.csv");

/// The table as text: kernels at a size, of workloads whose name or paper has the text.
pub(super) fn list(size: &str, filter: Option<&str>) -> Result<String, CliError> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    let broken = |why: csv::Error| CliError(format!("the table of workloads: {why}"));
    let names = reader.headers().map_err(broken)?.clone();
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
    let (mut sizes, mut notes): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut last = String::new();
    for row in reader.records() {
        let row = row.map_err(broken)?;
        let cell =
            |name: &str| names.iter().position(|one| one == name).and_then(|at| row.get(at)).unwrap_or("");
        let number = |name: &str| cell(name).parse::<f64>().map_or(Cell::Missing, Cell::from);
        if !sizes.iter().any(|known| known == cell("size")) {
            sizes.push(cell("size").to_owned());
        }
        let wanted = filter.is_none_or(|text| {
            let is_paper = cell("papers").split(';').any(|paper| paper.eq_ignore_ascii_case(text));
            cell("workload").contains(text) || cell("suite") == text || is_paper
        });
        if cell("size") != size || !wanted {
            continue;
        }
        // Of a workload's kernels only the first repeats what belongs to the whole.
        let first = last != cell("workload");
        last = cell("workload").to_owned();
        let whole = |text: &str| Cell::from(if first { text } else { "" });
        let kib =
            |bytes: &str| bytes.parse::<u64>().map_or(Cell::Missing, |bytes| bytes.div_ceil(1024).into());
        table.push([
            whole(cell("workload")),
            whole(cell("suite")),
            whole(&cell("papers").replace(';', ", ")),
            Cell::from(cell("kernel")),
            number("launches"),
            Cell::from(cell("grid")),
            Cell::from(cell("block")),
            number("registers"),
            number("shared_bytes"),
            number("warp_instructions"),
            if first { kib(cell("footprint_bytes")) } else { Cell::Missing },
            number("waves"),
            number("active_sms_percent"),
        ]);
        if first && !cell("note").is_empty() {
            notes.push(format!("{}: {}", cell("workload"), cell("note")));
        }
    }
    if !sizes.iter().any(|known| known == size) {
        return Err(CliError(format!("there is no size {size}; there are {}", sizes.join(", "))));
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
