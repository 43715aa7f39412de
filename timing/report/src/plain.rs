//! Tables as aligned text for terminals and logs.

use crate::table::{Cell, Column, Table};

/// Between two columns.
const GAP: &str = "  ";

impl Table {
    /// The table as aligned text: title, headings, rows, and the summary under a rule.
    ///
    /// ```
    /// use report::{Column, Table, cells};
    /// let table = Table::new("Cycles", [Column::text("Kernel"), Column::integer("Cycles")])
    ///     .row(cells!["scan", 1234u64])
    ///     .summary(cells!["Total", 1234u64]);
    /// let lines = ["Cycles", "Kernel  Cycles", "──────  ──────", "scan     1 234", "──────  ──────", "Total    1 234"];
    /// assert_eq!(table.to_text().lines().collect::<Vec<_>>(), lines);
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        let heading = |c: &Column| {
            if c.unit.is_empty() { c.name.clone() } else { format!("{} ({})", c.name, c.unit) }
        };
        let shown =
            |row: &Vec<Cell>| self.columns.iter().zip(row).map(|(c, cell)| plain(&c.show(cell))).collect();
        let head: Vec<String> = self.columns.iter().map(heading).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let summary: Vec<Vec<String>> = self.summary.iter().map(shown).collect();
        let all = || std::iter::once(&head).chain(&rows).chain(&summary);
        let width = |i: usize| all().filter_map(|row| row.get(i)).map(|text| text.chars().count()).max();
        let widths: Vec<usize> = (0..self.columns.len()).map(|i| width(i).unwrap_or(0)).collect();
        let rule = widths.iter().map(|&w| "─".repeat(w)).collect::<Vec<_>>().join(GAP);
        let line = |row: &Vec<String>| {
            let cell = |((text, &w), column): ((&String, &usize), &Column)| {
                if column.format.is_some() { format!("{text:>w$}") } else { format!("{text:<w$}") }
            };
            let cells: Vec<String> = row.iter().zip(&widths).zip(&self.columns).map(cell).collect();
            cells.join(GAP).trim_end().to_owned()
        };
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            lines.push(self.title.clone());
        }
        lines.extend([line(&head), rule.clone()]);
        lines.extend(rows.iter().map(line));
        if !summary.is_empty() {
            lines.push(rule);
            lines.extend(summary.iter().map(line));
        }
        lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}

/// Terminals disagree on the width of the narrow space.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}
