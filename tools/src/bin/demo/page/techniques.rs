//! Section: the techniques against the baseline.

use super::names;
use crate::measure::{Case, Lab};
use report::{Axis, BarChart, Cell, Column, Format, Section, Series, Table, geometric_mean};

pub fn section(lab: &Lab, cases: &[Case]) -> Section {
    let speedup = ratio_chart(lab, cases, "Speedup", "IPC over baseline", Case::speedup)
        .caption("Instructions per cycle relative to the same machine without the technique: bars above the line are faster.")
        .diverging(1.0);
    let accesses = ratio_chart(
        lab,
        cases,
        "Register-file accesses",
        "Bank accesses over baseline",
        Case::rf_accesses,
    )
    .caption(
        "Bank reads and writes that remain. BOW supplies operands from its collectors, CORF reads two packed \
                  registers at once.",
    )
    .baseline(1.0);
    let energy = ratio_chart(lab, cases, "Register-file energy", "Energy over baseline", |case, m| {
        case.rf_energy(lab, m)
    })
    .caption("Energy of the banks plus that of what the technique adds: buffers, tables, width detection.")
    .baseline(1.0);
    Section::new("Techniques against the baseline")
        .text(
            "**BOW** gives each warp its own operand collector, which keeps the registers of its last instructions \
             and forwards them; results are also written through to the banks. **CORF** packs two narrow values into \
             one physical register, and reads registers that are used together in one access. **BOW+CORF** \
             forwards first and coalesces what is left.",
        )
        .chart(speedup.id("speedup"))
        .chart(accesses.id("rf-accesses"))
        .chart(energy.id("rf-energy"))
        .table(counters(lab, cases))
        .details("How the savings come about", |d| d.table(mechanisms(lab, cases)))
}

fn ratio_chart(
    lab: &Lab,
    cases: &[Case],
    title: &str,
    axis: &str,
    value: impl Fn(&Case, usize) -> f64,
) -> BarChart {
    let chart = BarChart::new(title, Axis::new(axis, Format::Ratio(2)))
        .categories("Workload", names(cases))
        .geometric_mean();
    let techniques = lab.machines.iter().enumerate().skip(1);
    techniques.fold(chart, |chart, (m, machine)| {
        chart.series(Series::new(machine.label, cases.iter().map(|case| value(case, m))).colour(m - 1))
    })
}

fn counters(lab: &Lab, cases: &[Case]) -> Table {
    let columns = [
        Column::text("Workload"),
        Column::text("Machine"),
        Column::integer("Cycles").help("SM clock cycles, summed over the workload's launches"),
        Column::float("IPC", 2).help("Warp instructions per cycle, whole GPU"),
        Column::ratio("Speedup", 3),
        Column::integer("RF reads").help("Register-file bank reads"),
        Column::integer("RF writes").help("Register-file bank writes"),
        Column::integer("Bank conflict cycles").help("Requests times the cycles they waited for their bank"),
        Column::float("RF energy", 3).unit("µJ").help("Banks and what the technique adds"),
        Column::ratio("RF energy over baseline", 3),
    ];
    let mut table = Table::new("Cycles and register file", columns)
        .id("counters")
        .caption("Everything behind the charts above. Click a heading to sort.");
    for case in cases {
        for (m, machine) in lab.machines.iter().enumerate() {
            let stats = case.on(m);
            let c = &stats.counters;
            table.push(report::cells![
                case.recording.name,
                machine.label,
                c.cycles,
                c.ipc(),
                case.speedup(m),
                c.rf_reads,
                c.rf_writes,
                c.rf_bank_conflict_cycles,
                lab.rf_energy_pj(stats) / 1e6,
                case.rf_energy(lab, m),
            ]);
        }
    }
    for (m, machine) in lab.machines.iter().enumerate().skip(1) {
        let mean = |value: &dyn Fn(&Case) -> f64| Cell::from(geometric_mean(cases.iter().map(value)));
        let mut row = vec![Cell::from("Geometric mean"), Cell::from(machine.label)];
        row.resize(10, Cell::Missing);
        row[4] = mean(&|case| case.speedup(m));
        row[9] = mean(&|case| case.rf_energy(lab, m));
        table = table.summary(row);
    }
    table
}

fn mechanisms(lab: &Lab, cases: &[Case]) -> Table {
    let columns = [
        Column::text("Workload"),
        Column::text("Machine"),
        Column::percent("Operands forwarded", 1)
            .help("Source registers that came from a collector instead of a bank")
            .bar(),
        Column::percent("Reads coalesced", 1)
            .help("Source registers that shared the bank access of another")
            .bar(),
        Column::percent("Instructions with a coalesced read", 1),
        Column::float("Cycles in the collector", 1).help("Mean, per instruction that collects operands"),
        Column::integer("Values checked")
            .help("Supplied by the technique and compared with the recorded ones"),
    ];
    let mut table = Table::new("Where operands came from", columns).id("mechanisms");
    for case in cases {
        for (m, machine) in lab.machines.iter().enumerate() {
            let c = &case.on(m).counters;
            let share =
                |part: u64, whole: u64| if whole == 0 { f64::NAN } else { part as f64 / whole as f64 };
            table.push(report::cells![
                case.recording.name,
                machine.label,
                share(c.forwarded_operands, c.operand_reads),
                share(c.coalesced_register_reads, c.operand_reads),
                share(c.coalesced_read_instructions, c.warp_instructions),
                share(c.operand_collection_cycles, c.collected_instructions),
                c.checked_values,
            ]);
        }
    }
    table
}
