//! Section: where the baseline's cycles and energy go.

use report::{Axis, Column, Format, Section, Series, StackedChart, Table, arithmetic_mean};
use timing::reports::cycles::{cause_columns, cause_shares, shares};
use timing::reports::energy::{components, part, readable};
use timing::reports::{Lab, Workload};
use timing::stats::Stall;

/// Causes without a resident warp: there was no work for the slot.
const EMPTY: [Stall; 2] = [Stall::NoWarp, Stall::Launch];

pub(super) fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    Section::new("Where cycles and energy go")
        .text(
            "Every issue slot of every scheduler in every cycle has exactly one cause; the causes sum to the slots. \
             Slots of schedulers that hold no warp are left out of the chart and listed in the table: small grids \
             leave most of a large GPU empty.",
        )
        .chart(stalls_chart(workloads))
        .details("All causes", |d| d.table(stalls_table(workloads)))
        .chart(energy_chart(lab, workloads))
        .details("Energy by component and variant", |d| d.table(energy_table(lab, workloads)))
}

fn stalls_chart(workloads: &[Workload]) -> StackedChart {
    shares(workloads, "Issue slots by cause, baseline", "Workload")
        .caption("Shares of the slots of schedulers that hold at least one warp.")
}

fn stalls_table(workloads: &[Workload]) -> Table {
    let columns = [Column::text("Workload"), Column::integer("Slots")].into_iter().chain(cause_columns());
    let mut table = Table::new("Issue slots by cause, baseline", columns)
        .id("stall-causes")
        .caption("Shares of all issue slots of the GPU; the last two columns are slots without a warp.");
    for workload in workloads {
        let head = report::cells![&workload.label, workload.plain().stalls.total()];
        table.push(head.into_iter().chain(cause_shares(workload.plain())));
    }
    debug_assert!(Stall::ALL.ends_with(&EMPTY));
    table
}

fn energy_chart(lab: &Lab, workloads: &[Workload]) -> StackedChart {
    let bars = mean_energies(lab, workloads);
    let chart = StackedChart::new("Energy by component", Axis::new("Energy over baseline", Format::Ratio(2)))
        .id("energy-by-component")
        .caption(
            "Mean over the workloads, each relative to its baseline's total. Only the components that the energy \
             table prices: it is not the energy of the whole GPU.",
        )
        .categories("Variant", lab.variants.iter().map(|variant| &variant.label))
        .horizontal();
    bars.iter().enumerate().fold(chart, |chart, (i, (name, values))| {
        chart.series(Series::new(readable(name), values.iter().copied()).colour(i))
    })
}

/// By component: per variant, the arithmetic mean of its share in the baseline's total.
fn mean_energies(lab: &Lab, workloads: &[Workload]) -> Vec<(&'static str, Vec<f64>)> {
    let parts = components(lab, workloads);
    let mean = |name: &str, m: usize| {
        arithmetic_mean(workloads.iter().map(|w| {
            let total: f64 = parts.iter().map(|name| part(lab, w, 0, name)).sum();
            part(lab, w, m, name) / total
        }))
    };
    let variants = 0..lab.variants.len();
    parts.iter().map(|name| (*name, variants.clone().map(|m| mean(name, m)).collect())).collect()
}

fn energy_table(lab: &Lab, workloads: &[Workload]) -> Table {
    let parts = components(lab, workloads);
    let columns = [Column::text("Workload"), Column::text("Variant")].into_iter();
    let columns = columns.chain(parts.iter().map(|name| Column::float(readable(name), 3).unit("µJ")));
    let mut table = Table::new("Energy by component", columns).id("energy");
    for workload in workloads {
        for (m, variant) in lab.variants.iter().enumerate() {
            let head = report::cells![&workload.label, &variant.label];
            let values = parts.iter().map(|name| (part(lab, workload, m, name) / 1e6).into());
            table.push(head.into_iter().chain(values));
        }
    }
    table
}
