//! Section: where the baseline's cycles and energy go.

use super::names;
use crate::measure::{Case, Lab};
use report::{Axis, Column, Format, Section, Series, StackedChart, Table, arithmetic_mean};
use timing::stats::Stall;

/// Causes that are shown as one, from working to having nothing to do.
const GROUPS: [(&str, &[Stall]); 8] = [
    ("Issued", &[Stall::Issued]),
    ("Second slot unpaired", &[Stall::DualIssue]),
    ("Waiting for memory", &[Stall::MemoryDependency, Stall::MemoryQueueFull, Stall::Fence]),
    ("Waiting for arithmetic", &[Stall::AluDependency]),
    ("Collectors or units busy", &[Stall::CollectorFull, Stall::UnitBusy, Stall::Technique]),
    ("Fetch and branches", &[Stall::Branch, Stall::IBufferEmpty, Stall::ICacheMiss]),
    ("Barrier", &[Stall::Barrier]),
    ("Block ending or starting", &[Stall::Drain]),
];

/// Causes without a resident warp: there was no work for the slot.
const EMPTY: [Stall; 2] = [Stall::NoWarp, Stall::Launch];

pub fn section(lab: &Lab, cases: &[Case]) -> Section {
    Section::new("Where cycles and energy go")
        .text(
            "Every issue slot of every scheduler in every cycle has exactly one cause; the causes sum to the slots. \
             Slots of schedulers that hold no warp are left out of the chart and listed in the table: small grids \
             leave most of a large GPU empty.",
        )
        .chart(stalls_chart(cases))
        .details("All causes", |d| d.table(stalls_table(cases)))
        .chart(energy_chart(lab, cases))
        .details("Energy by component and machine", |d| d.table(energy_table(lab, cases)))
}

fn stalls_chart(cases: &[Case]) -> StackedChart {
    let chart =
        StackedChart::new("Issue slots by cause, baseline", Axis::new("Scheduler slots", Format::Percent(1)))
            .id("issue-slots")
            .caption("Shares of the slots of schedulers that hold at least one warp.")
            .categories("Workload", names(cases))
            .height(300.0)
            .shares();
    GROUPS.iter().enumerate().fold(chart, |chart, (i, (name, causes))| {
        let slots =
            |case: &Case| causes.iter().map(|&cause| case.plain().stalls.get(cause)).sum::<u64>() as f64;
        chart.series(Series::new(*name, cases.iter().map(slots)).colour(i))
    })
}

fn stalls_table(cases: &[Case]) -> Table {
    let columns = [Column::text("Workload"), Column::integer("Slots")].into_iter().chain(
        Stall::ALL
            .iter()
            .map(|cause| Column::percent(cause.name().replace('_', " "), 1).help(cause.doc().trim())),
    );
    let mut table = Table::new("Issue slots by cause, baseline", columns)
        .id("stall-causes")
        .caption("Shares of all issue slots of the GPU; the last two columns are slots without a warp.");
    for case in cases {
        let stalls = &case.plain().stalls;
        let share = |cause: &Stall| stalls.get(*cause) as f64 / stalls.total().max(1) as f64;
        let head = report::cells![case.recording.name, stalls.total()];
        table.push(head.into_iter().chain(Stall::ALL.iter().map(|cause| share(cause).into())));
    }
    debug_assert!(Stall::ALL.ends_with(&EMPTY));
    table
}

/// Components in the order of the energy table, as readers see them.
fn component(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

fn energy_chart(lab: &Lab, cases: &[Case]) -> StackedChart {
    let bars = mean_energies(lab, cases);
    let chart = StackedChart::new("Energy by component", Axis::new("Energy over baseline", Format::Ratio(2)))
        .id("energy-by-component")
        .caption(
            "Mean over the workloads, each relative to its baseline's total. Only the components that the energy \
             table prices: it is not the energy of the whole GPU.",
        )
        .categories("Machine", lab.machines.iter().map(|machine| machine.label))
        .horizontal();
    let used = bars.iter().enumerate().filter(|(_, (_, values))| values.iter().any(|value| *value > 0.0));
    used.fold(chart, |chart, (i, (name, values))| {
        chart.series(Series::new(component(name), values.iter().copied()).colour(i))
    })
}

/// By component: per machine, the arithmetic mean of its share in the baseline's total.
fn mean_energies(lab: &Lab, cases: &[Case]) -> Vec<(&'static str, Vec<f64>)> {
    let parts = |case: &Case, m: usize| lab.energy.apply(&case.on(m).counters);
    let Some(first) = cases.first() else { return Vec::new() };
    let mean = |name: &str, m: usize| {
        arithmetic_mean(cases.iter().map(|case| {
            let total: f64 = parts(case, 0).iter().map(|(_, pj)| pj).sum();
            parts(case, m).iter().find(|(part, _)| *part == name).map_or(0.0, |(_, pj)| *pj) / total
        }))
    };
    let machines = 0..lab.machines.len();
    parts(first, 0)
        .iter()
        .map(|(name, _)| (*name, machines.clone().map(|m| mean(name, m)).collect()))
        .collect()
}

/// Every workload on every machine.
fn bars<'a>(lab: &Lab, cases: &'a [Case]) -> Vec<(&'a Case, usize)> {
    cases.iter().flat_map(|case| (0..lab.machines.len()).map(move |m| (case, m))).collect()
}

fn energy_table(lab: &Lab, cases: &[Case]) -> Table {
    let parts: Vec<&str> = match cases.first() {
        Some(case) => lab.energy.apply(&case.plain().counters).into_iter().map(|(name, _)| name).collect(),
        None => Vec::new(),
    };
    let columns = [Column::text("Workload"), Column::text("Machine")].into_iter();
    let columns = columns.chain(parts.iter().map(|name| Column::float(component(name), 3).unit("µJ")));
    let mut table = Table::new("Energy by component", columns).id("energy");
    for (case, m) in bars(lab, cases) {
        let energy = lab.energy.apply(&case.on(m).counters);
        let value =
            |name: &&str| energy.iter().find(|(part, _)| part == name).map_or(f64::NAN, |(_, pj)| pj / 1e6);
        let head = report::cells![case.recording.name, lab.machines[m].label];
        table.push(head.into_iter().chain(parts.iter().map(|name| value(name).into())));
    }
    table
}
