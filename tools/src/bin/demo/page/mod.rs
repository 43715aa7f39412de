//! The demo's report: from measurements to sections. Charts and tables that `timing report` has too are those of
//! `timing::reports`; the words around them are here.

mod cycles;
mod method;
mod overview;
mod ran;
mod redundancy;
mod techniques;

use crate::measure::Results;
use report::Report;
use timing::provenance::{VERSION, config_hash};
use timing::reports::listed;

/// The report.
pub(crate) fn report(results: &Results) -> Report {
    let Results { lab, workloads, .. } = results;
    let techniques: Vec<&str> = lab.variants.iter().skip(1).map(|variant| variant.label.as_str()).collect();
    let report = Report::new("What register-file techniques do to CUDA kernels")
        .subtitle(format!(
            "{} CUDA workloads, executed without a GPU, recorded with every value, and replayed on {} as it is and with {}.",
            workloads.len(),
            lab.config.description,
            listed(&techniques),
        ))
        .produced_by(results.produced_by.to_json())
        .fact("Warplab", VERSION)
        .fact("Configuration", &lab.config.name)
        .fact("Hash of its values", config_hash(&lab.config))
        .fact("Energy table", &lab.energy.name)
        .fact("Techniques", techniques.join(", "))
        .fact("Workloads", workloads.len().to_string());
    report
        .section(overview::section(results))
        .section(ran::section(results))
        .section(techniques::section(lab, workloads))
        .section(cycles::section(lab, workloads))
        .section(redundancy::section(results))
        .section(method::section(results))
        .footer(
            "Written by `cargo run --release --bin demo`. Equal inputs give an equal report, byte for byte.",
        )
}
