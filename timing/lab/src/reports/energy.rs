//! Section: energy by component.

use super::measure::{Lab, Workload, names};
use report::{Axis, Callout, Column, Format, Section, Series, StackedChart, Table};

/// The section; several variants are shown side by side.
#[must_use]
pub fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    let section = Section::new("Energy by component").id("energy").text(format!(
        "Counted events times the prices of the table `{}` ({}). Components that the table does not price are not in \
         it, so this is not the energy of the whole GPU.",
        lab.energy.name,
        lab.energy.description.trim_end_matches('.'),
    ));
    let parts = components(lab, workloads);
    if parts.is_empty() {
        return section.callout(Callout::note("None of the counted events has a price in this table."));
    }
    section
        .chart(chart(lab, workloads, &parts))
        .details("Energy by trace, variant and component", |d| d.table(table(lab, workloads, &parts)))
}

/// Components that consume energy in any variant, in the order of the counters.
#[must_use]
pub fn components(lab: &Lab, workloads: &[Workload]) -> Vec<&'static str> {
    let mut all: Vec<(&'static str, bool)> = Vec::new();
    for workload in workloads {
        for m in 0..lab.variants.len() {
            for (name, pj) in lab.energy_of(m).apply(workload.on(m)) {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, used)) => *used |= pj > 0.0,
                    None => all.push((name, pj > 0.0)),
                }
            }
        }
    }
    all.into_iter().filter(|(_, used)| *used).map(|(name, _)| name).collect()
}

/// Energy of a component in a variant, in pJ; 0 where the table does not price it.
#[must_use]
pub fn part(lab: &Lab, workload: &Workload, m: usize, name: &str) -> f64 {
    let parts = lab.energy_of(m).apply(workload.on(m));
    parts.iter().find(|(part, _)| *part == name).map_or(0.0, |(_, pj)| *pj)
}

fn chart(lab: &Lab, workloads: &[Workload], parts: &[&'static str]) -> StackedChart {
    let title = "Energy by component";
    let bars: Vec<(&Workload, usize)> =
        workloads.iter().flat_map(|w| (0..lab.variants.len()).map(move |m| (w, m))).collect();
    let total = |w: &Workload| parts.iter().map(|name| part(lab, w, 0, name)).sum::<f64>();
    let (chart, relative) = if lab.variants.len() == 1 {
        let chart = StackedChart::new(title, Axis::new("Energy", Format::Float(3)).unit("µJ"))
            .categories("Trace", names(workloads))
            .caption("Shares of the energy that the table prices.")
            .shares();
        (chart, false)
    } else {
        let chart = StackedChart::new(title, Axis::new("Energy over baseline", Format::Ratio(2)))
            .grouped("Trace", "Variant", bars.iter().map(|(w, m)| (w.label.clone(), &lab.variants[*m].label)))
            .caption("Relative to the baseline's total of the same trace.");
        (chart, true)
    };
    let value = |w: &Workload, m: usize, name: &str| {
        let pj = part(lab, w, m, name);
        if relative { pj / total(w) } else { pj / 1e6 }
    };
    let chart = chart.id("energy-by-component").height(300.0);
    parts.iter().enumerate().fold(chart, |chart, (i, name)| {
        let values = bars.iter().map(|(w, m)| value(w, *m, name));
        chart.series(Series::new(readable(name), values).colour(i))
    })
}

fn table(lab: &Lab, workloads: &[Workload], parts: &[&'static str]) -> Table {
    let head = [Column::text("Trace"), Column::text("Variant"), Column::float("Total", 3).unit("µJ")];
    let columns = parts.iter().map(|name| Column::float(readable(name), 3).unit("µJ"));
    let mut table =
        Table::new("Energy by component and variant", head.into_iter().chain(columns)).id("energy-parts");
    for workload in workloads {
        for (m, variant) in lab.variants.iter().enumerate() {
            let values: Vec<f64> = parts.iter().map(|name| part(lab, workload, m, name) / 1e6).collect();
            let head = report::cells![&workload.label, &variant.label, values.iter().sum::<f64>()];
            table.push(head.into_iter().chain(values.into_iter().map(Into::into)));
        }
    }
    table
}

/// Display name of a component.
#[must_use]
pub fn readable(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}
