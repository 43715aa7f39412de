//! Tables as aligned text for terminals and logs.

use std::sync::OnceLock;

use crate::table::{Cell, Table};

/// Between two columns.
const GAP: &str = "  ";

/// Width of lines of tables as text, if it is limited.
static LINE: OnceLock<usize> = OnceLock::new();

/// Limits the lines of [`Table::to_text`] to the width of the terminal that a program prints to. The first call counts.
pub fn limit_lines(characters: usize) {
    LINE.get_or_init(|| characters);
}

/// Positions of the columns that stand side by side: the first column, and as many others as fit beside it.
fn parts(widths: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new()];
    let mut taken = 0;
    for (column, width) in widths.iter().enumerate() {
        let beside = taken + if taken > 0 { GAP.len() } else { 0 } + width;
        if beside > most && parts.last().is_some_and(|part: &Vec<usize>| part.len() > 1) {
            parts.push(vec![0]);
            taken = widths[0];
        }
        if let Some(part) = parts.last_mut() {
            taken += if part.is_empty() { 0 } else { GAP.len() } + width;
            part.push(column);
        }
    }
    parts
}

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
        self.to_text_within(LINE.get().copied().unwrap_or(usize::MAX))
    }

    /// The same with lines of at most so many characters: columns that do not fit follow below, beside the first column again,
    /// and a title that does not fit has several lines.
    ///
    /// ```
    /// use report::{Column, Table, cells};
    /// let columns = [Column::text("Kernel"), Column::integer("Cycles"), Column::integer("Stalls")];
    /// let table = Table::new("Time of all kernels", columns).row(cells!["scan", 1234u64, 567u64]);
    /// let lines = ["Time of all", "kernels", "Kernel  Cycles", "──────  ──────", "scan     1 234", "", "Kernel  Stalls", "──────  ──────", "scan       567"];
    /// assert_eq!(table.to_text_within(15).lines().collect::<Vec<_>>(), lines);
    /// ```
    #[must_use]
    pub fn to_text_within(&self, width: usize) -> String {
        let shown =
            |row: &Vec<Cell>| self.columns.iter().zip(row).map(|(c, cell)| plain(&c.show(cell))).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let summary: Vec<Vec<String>> = self.summary.iter().map(shown).collect();
        let (widths, head) = self.layout(rows.iter().chain(&summary));
        let title = if self.title.is_empty() { Vec::new() } else { wrapped(&self.title, width) };
        let mut text: String = title.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        for (at, part) in parts(&widths, width).iter().enumerate() {
            let rule = part.iter().map(|&column| "─".repeat(widths[column])).collect::<Vec<_>>().join(GAP);
            let line = |row: &Vec<String>| {
                let cell = |&column: &usize| {
                    let (text, w) = (row.get(column).map_or("", String::as_str), widths[column]);
                    if self.columns[column].format.is_some() {
                        format!("{text:>w$}")
                    } else {
                        format!("{text:<w$}")
                    }
                };
                part.iter().map(cell).collect::<Vec<_>>().join(GAP).trim_end().to_owned()
            };
            // Headings of the other parts may be higher.
            let used = |row: &&Vec<String>| part.iter().any(|&column| !row[column].is_empty());
            let mut lines: Vec<String> = head.iter().filter(used).map(line).collect();
            lines.push(rule.clone());
            lines.extend(rows.iter().map(line));
            if !summary.is_empty() {
                lines.push(rule);
                lines.extend(summary.iter().map(line));
            }
            text += if at > 0 { "\n" } else { "" };
            lines.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
        }
        text
    }

    /// Width of every column, and the lines of the headings, which stand on the rule.
    fn layout<'a>(&self, rows: impl Iterator<Item = &'a Vec<String>>) -> (Vec<usize>, Vec<Vec<String>>) {
        let mut widths = vec![0; self.columns.len()];
        for row in rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = length(text).max(*width);
            }
        }
        let mut headings = Vec::new();
        for (column, width) in self.columns.iter().zip(&mut widths) {
            let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
            let heading = column.name.clone() + &unit;
            *width = heading.split(' ').map(length).max().unwrap_or(0).max(*width);
            headings.push(wrapped(&heading, *width));
        }
        let height = headings.iter().map(Vec::len).max().unwrap_or(0);
        let nth = |lines: &Vec<String>, k: usize| {
            let above = height - lines.len();
            k.checked_sub(above).map_or(String::new(), |k| lines[k].clone())
        };
        let head = (0..height).map(|k| headings.iter().map(|lines| nth(lines, k)).collect()).collect();
        (widths, head)
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text of at most so many characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => *last = word.to_owned(),
            Some(last) if length(last) + 1 + length(word) <= width => *last += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Terminals disagree on the width of the narrow space.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}
