//! Reports: studies and replays of traces as one page with charts, tables and their data.
//!
//! `measure` runs replays and studies, `waits` sums the cycles that warps waited, and each file with a function
//! `section` makes one section of the results. The `report` crate handles files and layout; texts and the choice of
//! numbers are here.

mod combinations;
mod contents;
pub mod cycles;
pub mod energy;
mod findings;
mod measure;
mod method;
mod ran;
mod source;
mod studies;
pub mod techniques;
mod waits;
mod words;

use crate::provenance::{VERSION, config_hash};
pub use contents::Contents;
pub use measure::{Combination, Lab, Measuring, Variant, Workload, unique_labels};
pub use method::{command, traces, variants};
pub use words::{block_shape, listed};

use crate::compare::Comparison;
use report::{Report, Section};

/// The report.
#[must_use]
pub fn report(contents: &Contents<'_>) -> Report {
    let Contents { lab, workloads, studies: results, .. } = contents;
    let traces = if workloads.len() == 1 { "trace" } else { "traces" };
    let variants: Vec<&str> = lab.variants.iter().map(|variant| variant.label.as_str()).collect();
    let mut report = Report::new(title(workloads))
        .produced_by(contents.produced_by.to_json())
        .subtitle(format!(
            "{} {traces} on {}{}, {}.",
            workloads.len(),
            lab.config.description.trim_end_matches('.'),
            // A changed machine is called by its change.
            lab.config
                .name
                .split_once(", ")
                .map_or(String::new(), |(_, change)| format!(", changed: {change}")),
            if variants.len() == 1 {
                "as it is".into()
            } else {
                format!("with and without {}", listed(&variants[1..]))
            },
        ))
        .fact("Warplab", VERSION)
        .fact("Configuration", &lab.config.name)
        .fact("Hash of its values", config_hash(&lab.config))
        .fact("Energy table", &lab.energy.name)
        .fact("Variants", variants.join(", "))
        .section(findings::section(lab, workloads, results))
        .section(ran::section(&contents.lab.config, workloads, contents.left_out))
        .section(cycles::section(lab, workloads));
    let warnings = workloads.iter().flat_map(|workload| {
        let of = workload.replays[0].register_warnings(&lab.config);
        of.into_iter().map(|why| format!("{}: {why}", workload.label))
    });
    let warnings: Vec<String> = warnings.collect();
    if !warnings.is_empty() {
        report = report.fact("Caution", warnings.join("; "));
    }
    if lab.variants.len() > 1 {
        report = report.section(techniques::section(lab, workloads));
    }
    if !lab.combinations.is_empty() && !workloads.is_empty() {
        report = report.section(combinations::section(lab, workloads));
    }
    report = report.section(energy::section(lab, workloads));
    report = report.section(studies::section(results, workloads.len(), contents.without_values));
    report.section(source::section(workloads)).section(method::section(contents)).footer(
        "Written by `timing report`. Equal traces, configuration and version give an equal report, byte for byte.",
    )
}

/// A section on the differences from an earlier report or replay.
#[must_use]
pub fn changes(comparison: &Comparison, against: &str, threshold: f64) -> Section {
    let shown = report::Format::Percent(1).show(threshold);
    let section = Section::new("What changed").text(format!(
        "Every number of this report beside the same number of `{against}`; shown are those that differ by more than {shown}."
    ));
    comparison.describe(section)
}

fn title(workloads: &[Workload]) -> String {
    match workloads {
        [one] => format!("{} in figures", one.label),
        [a, b] => format!("{} and {} in figures", a.label, b.label),
        all => format!("{} workloads in figures", all.len()),
    }
}
