//! The page of the book: the tables of all references as Markdown, and a chart for each as a file beside it.

use super::output::{MISSING, facts};
use super::reference::{Against, Reference};
use super::tables::overview;
use crate::correlate::statistics::BAND;
use report::{Axis, Chart, Format, Points, ScatterChart, Table};

/// Width of a chart.
const WIDTH: f64 = 760.0;

/// A page and its charts.
#[derive(Clone, Debug)]
pub struct Page {
    /// Markdown.
    pub text: String,
    /// Charts: what follows the name of the page in the name of the file, and the file.
    pub charts: Vec<(String, String)>,
}

/// The page of these references; `name` is that of its file without extension, by which it links to its charts.
#[must_use]
pub fn page(references: &[Reference], name: &str) -> Page {
    let mut text = String::from(
        "# Accuracy of cycles\n\n<!-- Written by `timing accuracy -o`; do not edit. The prose is in accuracy-notes.md. -->\n\n\
         Every reference of kernel cycles that Warplab has, with ours beside it, from the tables that `tests/tables/references.toml` lists. \
         `timing accuracy` prints the same, `--rows` with every launch. What the errors come from is in the \
         [notes](accuracy-notes.md).\n\n\
         *Error* is the mean absolute error of cycles, *ratio* the geometric mean of cycles over those of the reference, *within 30 %* the \
         share of rows that are no farther off. An error on rows with which values of the model were chosen says less than one on others: \
         *Used for fitting* says which they are, and *One program left out* is the error if each program is judged with the values chosen with \
         the others.\n\n",
    );
    text += &markdown(&overview(references));
    text += MISSING;
    text.push('\n');
    let mut charts = Vec::new();
    for reference in references {
        let suffix = format!("-{}.svg", reference.id);
        text += &format!("\n## {}\n\n", reference.title);
        for (name, value) in facts(reference) {
            text += &format!("- **{name}**: {value}\n");
        }
        let title = scatter_title(reference);
        text += &format!("\n![{title}]({name}{suffix})\n");
        for table in reference.tables() {
            text += &format!("\n### {}\n\n{}", table.title(), markdown(&table).trim_end());
            text.push('\n');
        }
        charts.push((suffix, Chart::from(scatter(reference)).to_svg(WIDTH)));
    }
    Page { text, charts }
}

fn scatter_title(reference: &Reference) -> String {
    format!("Cycles, ours over the reference: {}", reference.title)
}

fn scatter(reference: &Reference) -> ScatterChart {
    let other = if reference.against == Against::Silicon { "Silicon" } else { "Simulator" };
    let axis = |label: &str| Axis::new(label, Format::Si).unit("cycles").log10();
    let caption = format!("{}. The band is ±{:.0} %.", reference.programs, BAND * 100.0);
    let chart =
        ScatterChart::new(scatter_title(reference), axis(other), axis("Model")).caption(caption).band(BAND);
    reference.columns.iter().enumerate().fold(chart, |chart, (at, column)| {
        let points = reference
            .rows
            .iter()
            .map(|row| (format!("{} {}", row.program, row.name), row.reference, row.cycles[at]));
        let points = Points::new(&column.name, points.collect::<Vec<_>>());
        chart.points(if column.revision.is_some() { points } else { points.neutral() })
    })
}

/// A table as Markdown, its closing rows in bold.
fn markdown(table: &Table) -> String {
    let headings: Vec<&str> = table.headings().collect();
    let mut text = format!("| {} |\n|{}\n", headings.join(" | "), "---|".repeat(headings.len()));
    for row in table.rows() {
        text += &format!("| {} |\n", cells(table.shown(row)).join(" | "));
    }
    for row in table.summaries() {
        let bold = cells(table.shown(row)).into_iter().map(|cell| format!("**{cell}**"));
        text += &format!("| {} |\n", bold.collect::<Vec<_>>().join(" | "));
    }
    text + "\n"
}

/// Cells in which Markdown finds nothing to interpret but code.
fn cells(shown: Vec<String>) -> Vec<String> {
    shown
        .into_iter()
        .map(|cell| cell.replace('|', "\\|").replace('_', "\\_").replace('\u{202f}', " "))
        .collect()
}
