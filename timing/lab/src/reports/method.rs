//! Last section: how to read the numbers, and the data needed to reproduce them.

use super::contents::Contents;
use super::measure::{Lab, Workload};
use crate::config::flatten;
use crate::provenance::{Provenance, origin, trace_hash};
use report::{Code, Column, Language, Section, Table};

pub(super) fn section(contents: &Contents<'_>) -> Section {
    let lab = contents.lab;
    Section::new("Configuration and versions")
        .text(
            "**Means.** Ratios to the baseline are averaged geometrically, shares as each study says, each trace \
             counting once. **Cycles** are those of a model of the named GPU with its published sizes and latencies, \
             not of the chip itself; what is compared is the same model with and without a technique. **Energy** is \
             counted events times published prices.",
        )
        .code(command(contents.produced_by))
        .table(traces(contents.workloads))
        .table(variants(lab, "Variants"))
        .details("Every value of the configuration", |d| d.table(configuration(lab)))
        .details("Every price of the energy table", |d| d.table(prices(lab)))
}

/// The command that produces a report.
#[must_use]
pub fn command(produced_by: &Provenance) -> Code {
    Code::new(format!("{}\n", produced_by.command()), Language::Plain).title("command")
}

/// The traces of a report: their files, what recorded them, and their hashes.
#[must_use]
pub fn traces(workloads: &[Workload]) -> Table {
    let columns = [
        Column::text("Trace"),
        Column::text("File"),
        Column::text("Recorded by"),
        Column::text("From").help("The command that recorded it, or the files of its kernels"),
        Column::number("Size", report::Format::Bytes),
        Column::text("Hash"),
    ];
    let mut table = Table::new("Traces", columns).id("traces");
    for workload in workloads {
        let trace = &workload.trace;
        table.push(report::cells![
            &workload.label,
            trace.path().file_name().map(|name| name.to_string_lossy().into_owned()),
            trace.header().recorder(),
            origin(trace),
            trace.file_bytes(),
            trace_hash(trace).ok(),
        ]);
    }
    table
}

/// The variants of a report with what their techniques do.
#[must_use]
pub fn variants(lab: &Lab, title: &str) -> Table {
    let columns = [
        Column::text("Variant"),
        Column::text("Technique"),
        Column::text("What it does"),
        Column::text("Paper"),
    ];
    let mut table = Table::new(title, columns).id("variants");
    for variant in &lab.variants {
        let rows: Vec<_> = variant.infos().collect();
        let join = |of: &dyn Fn(&crate::techniques::TechniqueInfo) -> &'static str| {
            rows.iter().map(|row| of(row)).collect::<Vec<_>>().join("; ")
        };
        let what = if rows.is_empty() {
            "the configuration without techniques".into()
        } else {
            join(&|row| row.summary)
        };
        table.push(report::cells![&variant.label, variant.tech(), what, join(&|row| row.paper)]);
    }
    table
}

fn configuration(lab: &Lab) -> Table {
    let columns = [Column::text("Key"), Column::text("Value"), Column::text("From"), Column::text("Source")];
    let mut table = Table::new(format!("Configuration {}", lab.config.name), columns).id("configuration");
    let Ok(value) = toml::Value::try_from(&lab.config) else { return table };
    for (key, value) in flatten(&value) {
        let place = lab.loaded.places.get(&key).cloned();
        let source = lab.loaded.sources.get(&key).cloned();
        table.push(report::cells![key, value.to_string(), place, source]);
    }
    table
}

fn prices(lab: &Lab) -> Table {
    let columns = [Column::text("Event"), Column::float("Energy", 3).unit("pJ"), Column::text("Source")];
    let mut table = Table::new(format!("Energy table {}", lab.energy.name), columns).id("prices");
    for (event, price) in &lab.energy.event {
        table.push(report::cells![event, price.pj, &price.source]);
    }
    table
}
