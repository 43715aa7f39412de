//! Tables that fit the lines on which they are printed.

use comfy_table::{ContentArrangement, Table, presets};

/// Characters of a line: those of `COLUMNS` if it is set, else those of the terminal that is printed to; none without either.
#[must_use]
pub fn line_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || Table::new().width().map(usize::from);
    columns.filter(|&columns| columns > 0).or_else(terminal)
}

/// An empty table without lines between its cells. Cells are broken where the table would be wider than a line.
#[must_use]
pub fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    if let Some(width) = line_width() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}
