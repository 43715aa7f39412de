//! Section: CPI stacks of the baseline.

use super::contents::FEW;
use super::measure::{Lab, Workload, names};
use crate::stats::{Stall, Stats};
use report::{Axis, Cell, Column, Format, Section, Series, StackedChart, Table};

/// Groups of causes that are shown together, from issue to idle.
const GROUPS: [(&str, &[Stall]); 10] = [
    ("Issued", &[Stall::Issued]),
    ("Second slot unpaired", &[Stall::DualIssue]),
    (
        "Waiting for memory",
        &[Stall::MemoryDependency, Stall::ConstantMiss, Stall::MemoryQueueFull, Stall::Fence],
    ),
    ("Waiting for arithmetic", &[Stall::AluDependency]),
    ("Collectors or units busy", &[Stall::CollectorFull, Stall::UnitBusy]),
    ("Fetch and branches", &[Stall::Branch, Stall::IBufferEmpty, Stall::ICacheMiss]),
    ("Barrier", &[Stall::Barrier]),
    ("Block ending or starting", &[Stall::Drain]),
    ("Ready outside the active set", &[Stall::Inactive]),
    ("Held by a technique", &[Stall::Technique]),
];

/// The section; several variants are shown side by side.
#[must_use]
pub fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    let mut section = Section::new("Where time goes")
        .text(
            "Every issue slot of every scheduler in every cycle has exactly one cause; the causes sum to the slots. \
             Slots of schedulers that hold no warp, and the launch latency, are left out of the charts and listed in \
             the table: small grids leave most of a large GPU empty.",
        );
    // A few bars do not need the full width of the page.
    section = if workloads.len() <= FEW {
        section.row(|row| row.chart(of_baseline(workloads)).chart(cpi(workloads)))
    } else {
        section.chart(of_baseline(workloads)).chart(cpi(workloads))
    };
    if lab.variants.len() > 1 {
        section = section.details("With every variant", |d| d.chart(side_by_side(lab, workloads)));
    }
    section.details("All causes", |d| d.table(causes(lab, workloads)))
}

fn slots(stats: &Stats, causes: &[Stall]) -> f64 {
    causes.iter().map(|&cause| stats.stalls.get(cause)).sum::<u64>() as f64
}

/// A series per group of causes that any bar has, each in its own colour in every chart.
fn stack(chart: StackedChart, bars: &[&Stats], value: impl Fn(&Stats, &[Stall]) -> f64) -> StackedChart {
    GROUPS.iter().enumerate().fold(chart, |chart, (i, (name, causes))| {
        if bars.iter().all(|stats| slots(stats, causes) == 0.0) {
            return chart;
        }
        chart.series(Series::new(*name, bars.iter().map(|stats| value(stats, causes))).colour(i))
    })
}

fn of_baseline(workloads: &[Workload]) -> StackedChart {
    shares(workloads, "Issue slots by cause", "Trace")
        .caption("Baseline. Shares of the slots of schedulers that hold at least one warp.")
}

/// Use of the baseline's slots, a bar per workload; `kind` is the page's word for workloads.
#[must_use]
pub fn shares(workloads: &[Workload], title: &str, kind: &str) -> StackedChart {
    let chart = StackedChart::new(title, Axis::new("Scheduler slots", Format::Integer))
        .id("issue-slots")
        .categories(kind, names(workloads))
        .height(300.0)
        .shares();
    stack(chart, &workloads.iter().map(Workload::plain).collect::<Vec<_>>(), slots)
}

fn cpi(workloads: &[Workload]) -> StackedChart {
    let axis = Axis::new("Scheduler slots per warp instruction", Format::Float(2));
    let chart = StackedChart::new("CPI stack", axis)
        .id("cpi-stack")
        .caption(
            "Baseline. The same slots per warp instruction: cycles that a scheduler with warps spends on each \
             instruction that it issues, by cause.",
        )
        .categories("Trace", names(workloads))
        .height(300.0);
    stack(chart, &workloads.iter().map(Workload::plain).collect::<Vec<_>>(), |stats, causes| {
        slots(stats, causes) / stats.counters.warp_instructions.max(1) as f64
    })
}

fn side_by_side(lab: &Lab, workloads: &[Workload]) -> StackedChart {
    let variant = |m: usize| lab.variants[m].label.as_str();
    let bars = || workloads.iter().flat_map(|w| (0..lab.variants.len()).map(move |m| (w, m)));
    let chart = StackedChart::new("Issue slots by variant", Axis::new("Scheduler slots", Format::Integer))
        .id("issue-slots-by-variant")
        .caption("As above, for every variant.")
        .grouped("Trace", "Variant", bars().map(|(w, m)| (w.label.clone(), variant(m))))
        .height(300.0)
        .shares();
    stack(chart, &bars().map(|(w, m)| w.on(m)).collect::<Vec<_>>(), slots)
}

fn causes(lab: &Lab, workloads: &[Workload]) -> Table {
    let head = [Column::text("Trace"), Column::text("Variant"), Column::integer("Slots")];
    let mut table = Table::new("Issue slots by cause and variant", head.into_iter().chain(cause_columns()))
        .id("stall-causes")
        .caption("Shares of all issue slots of the GPU; `no warp` and `launch` are slots that had no work.");
    for workload in workloads {
        for (m, variant) in lab.variants.iter().enumerate() {
            let stats = workload.on(m);
            let head = report::cells![&workload.label, &variant.label, stats.stalls.total()];
            table.push(head.into_iter().chain(cause_shares(stats)));
        }
    }
    table
}

/// A column for every cause.
pub fn cause_columns() -> impl Iterator<Item = Column> {
    Stall::ALL.iter().map(|cause| Column::percent(cause.name().replace('_', " "), 1).help(cause.doc().trim()))
}

/// Cells of these columns: shares of all issue slots.
pub fn cause_shares(stats: &Stats) -> impl Iterator<Item = Cell> {
    let share = |cause: &Stall| stats.stalls.get(*cause) as f64 / stats.stalls.total().max(1) as f64;
    Stall::ALL.iter().map(move |cause| share(cause).into())
}
