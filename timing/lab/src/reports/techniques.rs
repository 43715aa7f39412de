//! Section: the techniques against the baseline, with geometric means.

use super::measure::{Lab, Variant, Workload, names};
use super::words::ratio;
use crate::stats::TechniqueStats;
use report::{Axis, BarChart, Cell, Column, Format, Kpi, Section, Series, Table, Tone, geometric_mean};

/// The section; there is at least one variant with techniques.
#[must_use]
pub fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    let [speedup, accesses, energy] = charts(lab, workloads, "Trace", None);
    let speedup = speedup.caption(
        "Cycles of the same machine without the technique over those with it, both without the launch latency: bars above \
         the line are faster.",
    );
    let accesses = accesses.caption("Bank reads and writes that remain.");
    let energy = energy.caption("Energy of the banks plus that of what the technique adds.");
    Section::new("Techniques against the baseline")
        .text(format!(
            "The same recorded execution on the same machine, with and without a technique. {}",
            comparison(workloads)
        ))
        .kpis(kpis(lab, workloads))
        .chart(speedup)
        .row(|row| row.chart(accesses).chart(energy))
        .table(counters(lab, workloads, "Trace"))
        .details("How the savings come about", |d| d.table(mechanisms(lab, workloads, "Trace")))
}

/// How many values techniques supplied and how many of them were compared, in a sentence made from the replays' counts.
#[must_use]
pub fn comparison(workloads: &[Workload]) -> String {
    let stats =
        workloads.iter().flat_map(|workload| &workload.replays).flat_map(|replay| &replay.total.techniques);
    let (mut taken, mut compared, mut kept) = (0, 0, Vec::new());
    for technique in stats {
        let ledger = &technique.ledger;
        taken += ledger.taken;
        compared += ledger.taken.min(ledger.supplied - ledger.kept);
        let name = technique.info.name;
        if ledger.kept > 0 && !kept.contains(&name) {
            kept.push(name);
        }
    }
    let number = |count: u64| Format::Integer.show(count as f64);
    match taken - compared {
        _ if taken == 0 => "No technique supplied a value.".into(),
        0 => format!(
            "Techniques supplied {} values in place of the register file, the units or memory; all of them were compared \
             with the recorded ones, and a single mismatch would have stopped the run.",
            number(taken)
        ),
        others => format!(
            "Techniques supplied {} values in place of the register file, the units or memory; {} were compared with the \
             recorded ones, and a single mismatch would have stopped the run. The other {} are the program's own results, \
             with which it went on where `{}` would have supplied a wrong value by its parameters.",
            number(taken),
            number(compared),
            number(others),
            kept.join("`, `")
        ),
    }
}

fn kpis(lab: &Lab, workloads: &[Workload]) -> Vec<Kpi> {
    let variants = lab.variants.iter().enumerate().skip(1);
    let of = |(m, variant): (usize, &Variant)| {
        let mean = geometric_mean(workloads.iter().map(|workload| workload.speedup(m)));
        let energy = geometric_mean(workloads.iter().map(|workload| workload.rf_energy(lab, m)));
        Kpi::number(format!("{} speedup", variant.label), mean, Format::Ratio(3))
            .note(format!("geometric mean; register-file energy {}", Format::Ratio(2).label(energy)))
            .tone(tone(mean - 1.0))
    };
    variants.map(of).collect()
}

/// Tone of a gain: less than half a percent is neutral.
#[must_use]
pub fn tone(gain: f64) -> Tone {
    match gain {
        g if g > 0.005 => Tone::Good,
        g if g < -0.005 => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// Speedup, register-file accesses and register-file energy over the baseline, a group of bars per workload;
/// `kind` is the page's word for workloads, and `digits` the number of digits, by default more for small
/// effects.
#[must_use]
pub fn charts(lab: &Lab, workloads: &[Workload], kind: &str, digits: Option<u8>) -> [BarChart; 3] {
    let of = |title, axis, value: &dyn Fn(&Workload, usize) -> f64| {
        chart((lab, workloads, kind), (title, axis), digits, value)
    };
    [
        of("Speedup", "Cycles of the baseline over these", &Workload::speedup).id("speedup").diverging(1.0),
        of("Register-file accesses", "Bank accesses over baseline", &Workload::rf_accesses)
            .id("rf-accesses")
            .baseline(1.0),
        of("Register-file energy", "Energy over baseline", &|w, m| w.rf_energy(lab, m))
            .id("rf-energy")
            .baseline(1.0),
    ]
}

fn chart(
    (lab, workloads, kind): (&Lab, &[Workload], &str),
    (title, axis): (&str, &str),
    digits: Option<u8>,
    value: &dyn Fn(&Workload, usize) -> f64,
) -> BarChart {
    // Small effects need one more digit to differ from none.
    let values = || (1..lab.variants.len()).flat_map(|m| workloads.iter().map(move |w| value(w, m)));
    let digits = digits.unwrap_or_else(|| if values().all(|v| (v - 1.0).abs() < 0.1) { 3 } else { 2 });
    let chart = BarChart::new(title, Axis::new(axis, Format::Ratio(digits)))
        .categories(kind, names(workloads))
        .geometric_mean();
    lab.variants.iter().enumerate().skip(1).fold(chart, |chart, (m, variant)| {
        chart.series(Series::new(&variant.label, workloads.iter().map(|w| value(w, m))).colour(m - 1))
    })
}

/// The numbers behind the charts; `kind` is the page's word for workloads.
#[must_use]
pub fn counters(lab: &Lab, workloads: &[Workload], kind: &str) -> Table {
    let columns = [
        Column::text(kind),
        Column::text("Variant"),
        Column::integer("Cycles").help("SM clock cycles, summed over launches"),
        Column::integer("Launch latency").help("The part of the cycles in which no kernel runs"),
        Column::float("IPC", 2).help("Warp instructions per cycle, whole GPU"),
        Column::ratio("Speedup", 3).help("Cycles of the baseline over these, both without launch latency"),
        Column::integer("RF reads").help("Register-file bank reads"),
        Column::integer("RF writes").help("Register-file bank writes"),
        Column::integer("Bank conflict cycles").help("Requests times the cycles they waited for their bank"),
        Column::float("RF energy", 3).unit("µJ").help("Banks and what the technique adds"),
        Column::ratio("RF energy over baseline", 3),
    ];
    let mut table = Table::new("Cycles and register file", columns)
        .id("counters")
        .caption("Everything behind the charts above. Click a heading to sort.");
    for workload in workloads {
        for (m, variant) in lab.variants.iter().enumerate() {
            let stats = workload.on(m);
            let c = &stats.counters;
            table.push(report::cells![
                &workload.label,
                &variant.label,
                c.cycles,
                c.launch_latency_cycles,
                c.ipc(),
                workload.speedup(m),
                c.rf_reads,
                c.rf_writes,
                c.rf_bank_conflict_cycles,
                lab.energy_of(m).register_file_pj(stats) / 1e6,
                workload.rf_energy(lab, m),
            ]);
        }
    }
    for (m, variant) in lab.variants.iter().enumerate().skip(1) {
        let mean = |value: &dyn Fn(&Workload) -> f64| Cell::from(geometric_mean(workloads.iter().map(value)));
        let mut row = vec![Cell::from("Geometric mean"), Cell::from(&variant.label)];
        row.resize(11, Cell::Missing);
        row[5] = mean(&|workload| workload.speedup(m));
        row[10] = mean(&|workload| workload.rf_energy(lab, m));
        table = table.summary(row);
    }
    table
}

/// Supplied values of each technique, and the causes of its lost opportunities.
#[must_use]
pub fn mechanisms(lab: &Lab, workloads: &[Workload], kind: &str) -> Table {
    let columns = [
        Column::text(kind),
        Column::text("Variant"),
        Column::text("Technique"),
        Column::integer("Opportunities").help("Cases in which the technique could have supplied a value"),
        Column::percent("Supplied", 1).help("Part of the opportunities in which it did").bar(),
        Column::text("Lost for")
            .help("Causes of the lost opportunities, largest first, in parts of all opportunities"),
        Column::percent("Slots held", 1)
            .help("Scheduler slots in which the technique stalled the chosen warp"),
        Column::integer("Values checked")
            .help("Values of the technique that were compared with the recorded ones"),
    ];
    let mut table = Table::new("Supplied and lost opportunities of techniques", columns).id("mechanisms");
    for workload in workloads {
        for (m, variant) in lab.variants.iter().enumerate().skip(1) {
            let stats = workload.on(m);
            for technique in &stats.techniques {
                let ledger = &technique.ledger;
                table.push(report::cells![
                    &workload.label,
                    &variant.label,
                    technique.info.name,
                    ledger.opportunities,
                    ratio(ledger.supplied, ledger.opportunities),
                    losses(technique),
                    ratio(ledger.stalls.iter().sum(), stats.stalls.total()),
                    ledger.checked,
                ]);
            }
        }
    }
    table
}

/// The causes of lost opportunities, largest first.
fn losses(technique: &TechniqueStats) -> String {
    let part = |(cause, part): (String, f64)| format!("{cause} {}", Format::Percent(1).show(part));
    technique.losses().into_iter().map(part).collect::<Vec<_>>().join(", ")
}
