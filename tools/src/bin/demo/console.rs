//! What the demo prints when it is done: aligned tables for the terminal.

use crate::measure::Results;
use report::{Cell, Column, Table, geometric_mean};
use timing::reports::{Variant, Workload};

/// Cycles and register-file accesses of the baseline.
pub(crate) fn baseline_table(Results { lab, workloads, .. }: &Results) -> Table {
    let columns = [
        Column::text("Workload"),
        Column::integer("Warp instr."),
        Column::integer("Cycles"),
        Column::float("IPC", 2),
        Column::integer("RF reads"),
        Column::integer("RF writes"),
        Column::integer("Bank conflict cycles"),
        Column::float("RF energy", 2).unit("µJ"),
    ];
    let mut table = Table::new(format!("Baseline on {}", lab.config.name), columns);
    for workload in workloads {
        let c = &workload.plain().counters;
        table.push(report::cells![
            &workload.label,
            c.warp_instructions,
            c.cycles,
            c.ipc(),
            c.rf_reads,
            c.rf_writes,
            c.rf_bank_conflict_cycles,
            lab.rf_energy_pj(workload.plain()) / 1e6,
        ]);
    }
    table
}

/// Reads a number from a workload's replay with a variant.
type Measure<'a> = &'a dyn Fn(&Workload, usize) -> f64;

/// The measures with each technique, with geometric means.
pub(crate) fn techniques_table(Results { lab, workloads, .. }: &Results) -> Table {
    let names: Vec<String> = lab.variants.iter().skip(1).map(Variant::tech).collect();
    let heads = ["Speedup", "RF accesses", "RF energy"];
    let columns = heads.iter().flat_map(|head| names.iter().map(move |name| (*head, name)));
    let columns: Vec<Column> = std::iter::once(Column::text("Workload"))
        .chain(columns.map(|(head, name)| Column::ratio(format!("{head} {name}"), 2)))
        .collect();
    let measures: [Measure<'_>; 3] =
        [&Workload::speedup, &Workload::rf_accesses, &|workload, m| workload.rf_energy(lab, m)];
    let row = |name: &str, of: &dyn Fn(Measure<'_>, usize) -> f64| {
        let values = measures.iter().flat_map(|measure| (1..lab.variants.len()).map(|m| of(*measure, m)));
        std::iter::once(Cell::from(name)).chain(values.map(Cell::from)).collect::<Vec<_>>()
    };
    let mut table = Table::new("Techniques relative to the baseline", columns);
    for workload in workloads {
        table.push(row(&workload.label, &|measure, m| measure(workload, m)));
    }
    let mean = |measure: Measure<'_>, m: usize| geometric_mean(workloads.iter().map(|w| measure(w, m)));
    table.summary(row("Geometric mean", &mean))
}
