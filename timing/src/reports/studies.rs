//! Section: the limit studies, each with its charts, tables and definitions.

use super::contents::FEW;
use crate::studies::{self, StudyResult};
use report::{Callout, Section};

pub(super) fn section(results: &[StudyResult], traces: usize, without_values: &[String]) -> Section {
    let mut section = Section::new("Limit studies").text(
        "How much of each opportunity exists, from the traces alone: no machine model is involved. `timing study NAME \
         --explain` defines every column.",
    );
    if !without_values.is_empty() {
        section = section.callout(Callout::warning(format!(
            "Recorded with --addresses-only or imported, without the values that every study needs, and therefore left out here: {}.",
            without_values.join(", ")
        )));
    }
    for result in results {
        section = study(section, result, traces);
    }
    section
}

fn study(section: Section, result: &StudyResult, traces: usize) -> Section {
    let mut section = section.heading(capital(result.study)).text(format!(
        "{} ({})",
        capital(result.summary),
        result.paper
    ));
    // Two charts side by side if they have few bars.
    for charts in result.charts.chunks(if traces <= FEW { 2 } else { 1 }) {
        section = match charts {
            [one] => section.chart(one.clone()),
            more => section.row(|row| more.iter().fold(row, |row, chart| row.chart(chart.clone()))),
        };
    }
    for table in &result.tables {
        section = section.table(table.clone());
    }
    for note in &result.notes {
        section = section.callout(Callout::note(note));
    }
    section.details(format!("Numbers by kernel, and definitions: {}", result.study), |mut details| {
        if let Ok(info) = studies::find(result.study) {
            for paragraph in info.text {
                details = details.text(*paragraph);
            }
        }
        for (name, data) in &result.data {
            let id = format!("{}-{name}", result.study);
            details = details.table(data.clone().id(id));
        }
        details
    })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
