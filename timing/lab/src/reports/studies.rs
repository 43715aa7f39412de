//! Section: the limit studies, each folded, with its charts, tables and definitions.

use super::contents::FEW;
use super::words::listed;
use crate::studies::{self, StudyResult};
use report::{Callout, Chart, Format, Section};

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
    if let Some(notes) = notes(results) {
        section = section.callout(Callout::note(notes));
    }
    // Two studies of the same thing have the same chart, which is shown once.
    let charts = report::distinct(results.iter().flat_map(|result| &result.charts));
    for result in results {
        section = section.entry(
            format!("study-{}", result.study),
            capital(result.study),
            headline(result),
            |entry| {
                let own = result.charts.iter();
                let own = own.filter(|one| charts.iter().any(|chart| std::ptr::eq(*chart, *one)));
                study(entry, result, &own.collect::<Vec<_>>(), traces)
            },
        );
    }
    section
}

/// The number of a study beside its name.
fn headline(result: &StudyResult) -> String {
    match &result.headline {
        Some(headline) => format!("{} {}", Format::Percent(1).show(headline.mean), headline.phrase),
        None => result.summary.to_owned(),
    }
}

/// The notes of all studies as one: each once, after the traces or studies that it is about.
fn notes(results: &[StudyResult]) -> Option<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (about, text) in
        results.iter().flat_map(|result| &result.notes).filter_map(|note| note.split_once(": "))
    {
        match said.iter_mut().find(|(known, _)| *known == text) {
            Some((_, abouts)) if abouts.contains(&about) => {}
            Some((_, abouts)) => abouts.push(about),
            None => said.push((text, vec![about])),
        }
    }
    let sentence = |(text, abouts): &(&str, Vec<&str>)| format!("{}: {text}", listed(abouts));
    let all: Vec<String> = said.iter().map(sentence).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn study(section: Section, result: &StudyResult, charts: &[&Chart], traces: usize) -> Section {
    let mut section = section.text(format!("{} ({})", capital(result.summary), result.paper));
    // Two charts side by side if they have few bars.
    for charts in charts.chunks(if traces <= FEW { 2 } else { 1 }) {
        section = match charts {
            [one] => section.chart((*one).clone()),
            more => section.row(|row| more.iter().fold(row, |row, chart| row.chart((*chart).clone()))),
        };
    }
    for table in &result.tables {
        section = section.table(table.clone());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_on_several_traces_or_studies_is_said_once() {
        let result = |study, notes: &[&str]| {
            let mut result = StudyResult::empty(study);
            result.notes = notes.iter().map(|note| (*note).to_owned()).collect();
            result
        };
        let results = [
            result("a", &["x: estimated.", "y: estimated.", "z: given up: 3."]),
            result("b", &["x: estimated.", "y: other."]),
        ];
        assert_eq!(notes(&results).as_deref(), Some("x and y: estimated. z: given up: 3. y: other."));
        assert_eq!(notes(&[result("a", &[])]), None);
    }
}
