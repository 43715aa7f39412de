//! Tables as aligned text for terminals and logs.

use crate::table::{Cell, Column, Table};

/// Between two columns.
const GAP: &str = "  ";

impl Table {
    /// The table as aligned text: title, headings, rows, and the summary under a rule. Headings wrap between
    /// words where the cells below them are narrower.
    ///
    /// ```
    /// use report::{Column, Table, cells};
    /// let table = Table::new("Time", [Column::text("Kernel"), Column::integer("GPU cycles")])
    ///     .row(cells!["scan", 1234u64])
    ///     .summary(cells!["Total", 1234u64]);
    /// let lines = [
    ///     "Time",
    ///     "           GPU",
    ///     "Kernel  cycles",
    ///     "──────  ──────",
    ///     "scan     1 234",
    ///     "──────  ──────",
    ///     "Total    1 234",
    /// ];
    /// assert_eq!(table.to_text().lines().collect::<Vec<_>>(), lines);
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        let shown =
            |row: &Vec<Cell>| self.columns.iter().zip(row).map(|(c, cell)| plain(&c.show(cell))).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let summary: Vec<Vec<String>> = self.summary.iter().map(shown).collect();
        let (widths, head) = self.layout(rows.iter().chain(&summary));
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
        lines.extend(head.iter().map(line));
        lines.push(rule.clone());
        lines.extend(rows.iter().map(line));
        if !summary.is_empty() {
            lines.push(rule);
            lines.extend(summary.iter().map(line));
        }
        lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// Width of every column, and the lines of the headings, which stand on the rule.
    fn layout<'a>(&self, rows: impl Iterator<Item = &'a Vec<String>>) -> (Vec<usize>, Vec<Vec<String>>) {
        let length = |text: &str| text.chars().count();
        let mut widths = vec![0; self.columns.len()];
        for row in rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = length(text).max(*width);
            }
        }
        let mut wrapped = Vec::new();
        for (column, width) in self.columns.iter().zip(&mut widths) {
            let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
            let heading = column.name.clone() + &unit;
            *width = heading.split(' ').map(length).max().unwrap_or(0).max(*width);
            let mut lines = vec![String::new()];
            for word in heading.split(' ') {
                match lines.last_mut() {
                    Some(last) if last.is_empty() => *last = word.to_owned(),
                    Some(last) if length(last) + 1 + length(word) <= *width => *last += &format!(" {word}"),
                    _ => lines.push(word.to_owned()),
                }
            }
            wrapped.push(lines);
        }
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let nth = |lines: &Vec<String>, k: usize| {
            let above = height - lines.len();
            k.checked_sub(above).map_or(String::new(), |k| lines[k].clone())
        };
        let head = (0..height).map(|k| wrapped.iter().map(|lines| nth(lines, k)).collect()).collect();
        (widths, head)
    }
}

/// Terminals disagree on the width of the narrow space.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}
