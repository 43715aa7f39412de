//! Reports: studies and replays of traces as one page with charts, tables and their data.
//!
//! [`measure`] runs replays and studies, every other file makes one section of the results, in the order of
//! the page. The `report` crate handles files and layout; texts and the choice of numbers are here.

pub mod cycles;
pub mod energy;
mod measure;
mod method;
mod ran;
mod source;
mod studies;
pub mod techniques;

pub use measure::{Lab, Machine, Measuring, Workload, unique_labels};
pub use method::machines;

use crate::compare::Comparison;
use crate::studies::StudyResult;
use report::{Report, Section};

/// Maximum number of traces whose charts fit side by side.
const FEW: usize = 6;

/// Input of a report.
pub struct Contents<'a> {
    /// Configuration and machines.
    pub lab: &'a Lab,
    /// Traces with their replays.
    pub workloads: &'a [Workload],
    /// Results of the studies.
    pub studies: &'a [StudyResult],
    /// Traces that could not be replayed, with the reasons.
    pub left_out: &'a [(String, String)],
    /// Traces that were recorded without values, which studies need.
    pub without_values: &'a [String],
    /// The command, to reproduce the report.
    pub command: &'a str,
}

/// The report.
#[must_use]
pub fn report(contents: &Contents<'_>) -> Report {
    let Contents { lab, workloads, studies: results, .. } = contents;
    let traces = if workloads.len() == 1 { "trace" } else { "traces" };
    let machines: Vec<&str> = lab.machines.iter().map(|machine| machine.label.as_str()).collect();
    let mut report = Report::new(title(workloads))
        .subtitle(format!(
            "{} {traces} on {}, {}.",
            workloads.len(),
            lab.config.description.trim_end_matches('.'),
            if machines.len() == 1 {
                "as it is".into()
            } else {
                format!("with and without {}", listed(&machines[1..]))
            },
        ))
        .fact("Warplab", env!("CARGO_PKG_VERSION"))
        .fact("Configuration", &lab.config.name)
        .fact("Energy table", &lab.energy.name)
        .fact("Machines", machines.join(", "))
        .section(ran::section(workloads, contents.left_out))
        .section(cycles::section(lab, workloads));
    if lab.machines.len() > 1 {
        report = report.section(techniques::section(lab, workloads));
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

/// "a, b and c".
#[must_use]
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Labels of the workloads, in order.
fn names(workloads: &[Workload]) -> Vec<&str> {
    workloads.iter().map(|workload| workload.label.as_str()).collect()
}

/// A block's threads, as "16×16".
#[must_use]
pub fn block_shape(block: [u32; 3]) -> String {
    let used = 3 - block.iter().rev().take_while(|&&n| n == 1).count();
    block[..used.max(1)].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

/// A quotient of counts; missing if the divisor is 0.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_listed_as_one_says_them() {
        assert_eq!(super::listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(super::listed(&["a"]), "a");
        assert_eq!(super::listed(&[]), "");
    }

    #[test]
    fn shapes_leave_out_the_dimensions_that_are_not_used() {
        let shapes = [[256, 1, 1], [16, 16, 1], [1, 1, 4], [1, 1, 1]];
        assert_eq!(shapes.map(super::block_shape), ["256", "16×16", "1×1×4", "1"]);
    }
}
