//! Tables and source listings as HTML. Cells carry their raw value where the shown one would not
//! sort; the page's script does the sorting, filtering and folding.

use std::fmt::Write as _;

use crate::highlight::Highlighter;
use crate::source::{SourceLine, SourceListing};
use crate::table::{Cell, Column, Table};
use crate::text::escape;

/// From this many rows on a table scrolls within its card and offers a filter.
const LONG: usize = 24;

/// A table of at most `limit` rows; a note gives the number of omitted rows.
pub(crate) fn table(out: &mut String, table: &Table, id: &str, limit: usize) {
    let rows = &table.rows[..table.rows.len().min(limit)];
    let long = rows.len() >= LONG;
    if long {
        let _ = write!(
            out,
            "<label class=\"filter\" hidden>Filter <input type=\"search\" data-of=\"{id}--t\" \
             placeholder=\"text in any column\"></label>"
        );
    }
    let class = if long { "scroll tall" } else { "scroll" };
    let title = escape(&table.title);
    let _ = write!(
        out,
        "<div class=\"{class}\" role=\"group\" tabindex=\"0\" aria-label=\"Table: {title}\">\
         <table class=\"sortable{}\" id=\"{id}--t\"><thead><tr>",
        print_width(table.columns.len())
    );
    table.columns.iter().for_each(|column| head(out, column));
    out.push_str("</tr></thead><tbody>");
    let peaks: Vec<_> = (0..table.columns.len()).map(|k| peak(table, k)).collect();
    for row in rows {
        self::row(out, table, &peaks, row);
    }
    out.push_str("</tbody>");
    if !table.summary.is_empty() {
        out.push_str("<tfoot>");
        for row in &table.summary {
            self::row(out, table, &[], row);
        }
        out.push_str("</tfoot>");
    }
    out.push_str("</table></div>");
    if rows.len() < table.rows.len() {
        let (shown, all) = (rows.len(), table.rows.len());
        let _ = write!(out, "<p class=\"remark\">The first {shown} of {all} rows; the CSV has all.</p>");
    }
}

/// Class of a table that is too wide for paper at the usual size.
fn print_width(columns: usize) -> &'static str {
    match columns {
        0..=7 => "",
        8..=12 => " wide",
        _ => " wide widest",
    }
}

fn head(out: &mut String, column: &Column) {
    let class = if column.format.is_some() { " class=\"n\"" } else { "" };
    let _ = write!(out, "<th scope=\"col\"{class} aria-sort=\"none\"");
    if !column.help.is_empty() {
        let _ = write!(out, " title=\"{}\"", escape(&column.help));
    }
    let _ = write!(out, "><button type=\"button\">{}", escape(&column.name));
    if !column.unit.is_empty() {
        let _ = write!(out, " <span class=\"unit\">{}</span>", escape(&column.unit));
    }
    out.push_str("</button></th>");
}

fn row(out: &mut String, table: &Table, peaks: &[f64], row: &[Cell]) {
    out.push_str("<tr>");
    for (k, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
        let shown = escape(&column.show(cell));
        if column.format.is_none() {
            let element = if k == 0 { "th scope=\"row\"" } else { "td" };
            let _ = write!(out, "<{element}>{shown}</{}>", if k == 0 { "th" } else { "td" });
            continue;
        }
        let bar = peaks.get(k).filter(|_| column.bar).and_then(|&peak| bar_share(cell.number(), peak));
        numeric_cell(out, "n", cell.number(), bar, &shown);
    }
    out.push_str("</tr>");
}

/// A numeric cell with its sort key and, if wanted, a bar of the given share behind it.
fn numeric_cell(out: &mut String, class: &str, value: Option<f64>, bar: Option<f64>, shown: &str) {
    let _ = match bar {
        Some(share) => write!(out, "<td class=\"{class} bar\" style=\"--w:{:.1}%\"", share * 100.0),
        None => write!(out, "<td class=\"{class}\""),
    };
    if let Some(value) = value {
        let _ = write!(out, " data-v=\"{value}\"");
    }
    let _ = write!(out, ">{shown}</td>");
}

fn bar_share(value: Option<f64>, peak: f64) -> Option<f64> {
    value.filter(|_| peak > 0.0).map(|value| (value.abs() / peak).min(1.0))
}

/// Largest magnitude in a column.
fn peak(table: &Table, column: usize) -> f64 {
    let values = table.rows.iter().filter_map(|row| row.get(column)?.number());
    values.map(f64::abs).fold(0.0, f64::max)
}

/// An annotated listing; cold stretches are bodies of their own that the script folds.
pub(crate) fn source(out: &mut String, listing: &SourceListing) {
    let title = escape(&listing.title);
    let _ = write!(
        out,
        "<div class=\"scroll tall\" role=\"group\" tabindex=\"0\" aria-label=\"Listing: {title}\">\
         <table class=\"source\"><thead><tr><th scope=\"col\" class=\"n\">Line</th>"
    );
    for column in &listing.columns {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{}</th>", escape(&column.name));
    }
    out.push_str("<th scope=\"col\">Source</th></tr></thead>");
    let peaks = listing.peaks();
    let mut highlighter = Highlighter::new(listing.language);
    for (lines, folds) in listing.runs() {
        if folds {
            let _ = write!(
                out,
                "<tbody class=\"unfold\" hidden><tr><td colspan=\"{}\"><button type=\"button\" data-action=\"unfold\">\
                 Show {} lines without samples</button></td></tr></tbody><tbody class=\"cold\">",
                listing.columns.len() + 2,
                lines.len()
            );
        } else {
            out.push_str("<tbody>");
        }
        for line in lines {
            source_line(out, listing, &peaks, line, &mut highlighter);
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table></div>");
}

fn source_line(
    out: &mut String,
    listing: &SourceListing,
    peaks: &[f64],
    line: &SourceLine,
    highlighter: &mut Highlighter,
) {
    let first = line.values.first().copied().filter(|v| v.is_finite());
    let heat = peaks.first().and_then(|&peak| bar_share(first, peak)).unwrap_or(0.0);
    let _ = write!(out, "<tr style=\"--h:{:.1}%\"><td class=\"n\">{}</td>", heat * 24.0, line.number);
    for (k, column) in listing.columns.iter().enumerate() {
        let value = line.values.get(k).copied().filter(|v| v.is_finite());
        // An empty cell says "none" more quietly than a column full of dashes.
        let shown = value.map_or(String::new(), |value| escape(&column.show(&Cell::Number(value))));
        let bar = peaks.get(k).and_then(|&peak| bar_share(value, peak));
        numeric_cell(out, "n", value, bar, &shown);
    }
    let _ = write!(out, "<td class=\"src\"><code>{}</code></td></tr>", highlighter.line(&line.text));
}
