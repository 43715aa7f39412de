//! The demo's report: from measurements to sections. Numbers come from `measure`, their looks from the report
//! crate; the words around them are here.

mod cycles;
mod method;
mod overview;
mod ran;
mod redundancy;
mod techniques;

use crate::measure::{Case, Findings, Lab};
use report::Report;

/// The report.
pub fn report(lab: &Lab, cases: &[Case], findings: &Findings) -> Report {
    let techniques: Vec<&str> = lab.machines.iter().skip(1).map(|machine| machine.label).collect();
    let report = Report::new("What register-file techniques do to CUDA kernels")
        .subtitle(format!(
            "{} CUDA workloads, executed without a GPU, recorded with every value, and replayed on {} as it is and with {}.",
            cases.len(),
            lab.config.description,
            list(&techniques),
        ))
        .fact("Warplab", env!("CARGO_PKG_VERSION"))
        .fact("Configuration", &lab.config.name)
        .fact("Energy table", &lab.energy.name)
        .fact("Techniques", techniques.join(", "))
        .fact("Workloads", cases.len().to_string());
    report
        .section(overview::section(lab, cases, &findings.redundancy))
        .section(ran::section(cases))
        .section(techniques::section(lab, cases))
        .section(cycles::section(lab, cases))
        .section(redundancy::section(cases, findings))
        .section(method::section(lab, cases))
        .footer(
            "Written by `cargo run --release --bin demo`. Equal inputs give an equal report, byte for byte.",
        )
}

/// Names of the workloads, in order.
fn names(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.recording.name).collect()
}

/// "a, b and c".
fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The workload with the largest value, and the value.
fn best(cases: &[Case], value: impl Fn(&Case) -> f64) -> Option<(&str, f64)> {
    let values = cases.iter().map(|case| (case.recording.name, value(case)));
    values.filter(|(_, v)| v.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_listed_as_one_says_them() {
        assert_eq!(super::list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(super::list(&["a"]), "a");
        assert_eq!(super::list(&[]), "");
    }
}
