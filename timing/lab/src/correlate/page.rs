//! A correlation as a page: key figures, charts of ours over the reference, tables, explanations.

use super::correlation::{Compared, Correlation};
use super::metrics::{Kind, Metric, Values};
use super::output::{ours_alone, reference_alone};
use super::statistics::{BAND, Statistics};
use super::tables::heading;
use crate::provenance::VERSION;
use report::{Axis, Callout, Column, Format, Kpi, Points, Report, ScatterChart, Section, Table, cells};

/// The page; `about` are facts for its head, `worst` the number of kernels that are explained.
#[must_use]
pub fn page(correlation: &Correlation, about: &[(&str, String)], worst: usize) -> Report {
    let main = correlation.main_metric();
    let report = Report::new("Correlation with hardware")
        .subtitle(format!(
            "{} kernels, reference: {}.",
            correlation.kernels.len(),
            correlation.formats.join(", ")
        ))
        .fact("Warplab", VERSION);
    about
        .iter()
        .fold(report, |report, (name, value)| report.fact(*name, value))
        .section(agreement(correlation, &main))
        .section(kernels(correlation, worst))
        .section(others(correlation, &main))
        .section(rest(correlation))
        .footer(
            "Written by `timing correlate`. Equal results and reference give an equal page, byte for byte.",
        )
}

fn agreement(correlation: &Correlation, main: &Metric) -> Section {
    let mut section = Section::new("Agreement");
    if let Some(statistics) = correlation.of(main.name) {
        section = section.kpis(key_figures(statistics));
    }
    if let Some(change) = correlation.change() {
        section = section.callout(Callout::finding(change));
    }
    section = section.chart(scatter(correlation, main));
    correlation.statistics_tables().into_iter().fold(section, Section::table)
}

fn key_figures(one: &Statistics) -> Vec<Kpi> {
    let title = heading(&one.metric).to_lowercase();
    let counts = one.metric.kind == Kind::Count;
    let (error, bias) = if counts {
        (Format::Percent(1), Kpi::number("Bias", one.bias, Format::Ratio(3)).note("geometric mean ratio"))
    } else {
        (Format::Float(1), Kpi::number("Bias", one.bias, Format::Float(1)).note("percentage points"))
    };
    vec![
        Kpi::number("Mean absolute error", one.mean_error, error).note(title),
        bias,
        Kpi::number("Correlation", one.pearson, Format::Float(3)).note("Pearson, of logarithms"),
        Kpi::number("Rank correlation", one.spearman, Format::Float(3)).note("Spearman"),
        Kpi::new(format!("Within ±{:.0} %", BAND * 100.0), format!("{} of {}", one.within, one.kernels)),
    ]
}

/// Ours over the reference; before and after if there is an earlier state.
fn scatter(correlation: &Correlation, metric: &Metric) -> ScatterChart {
    let format = if metric.name.ends_with("ipc") { Format::Float(2) } else { Format::Integer };
    let axis = |label: &str| match metric.kind {
        Kind::Count => Axis::new(label, format).log10(),
        Kind::Percentage => Axis::new(label, Format::Float(0)).unit("%").min(0.0).max(100.0),
    };
    let chart = ScatterChart::new(heading(metric), axis("Reference"), axis("Ours"));
    let chart = match metric.kind {
        Kind::Count => {
            chart.caption(format!("{}. The band is ±{:.0} %.", metric.about, BAND * 100.0)).band(BAND)
        }
        Kind::Percentage => chart.caption(format!("{}.", metric.about)).diagonal(),
    };
    let labels = correlation.labels();
    let of = |ours: fn(&Compared) -> Option<&Values>| {
        let point = |(one, label): (&Compared, &String)| {
            let reference = *one.pair.reference.get(metric.name)?;
            Some((label.clone(), reference, *ours(one)?.get(metric.name)?))
        };
        correlation.kernels.iter().zip(&labels).filter_map(point).collect::<Vec<_>>()
    };
    let chart = match correlation.before {
        Some(_) => chart.points(Points::new("before", of(|one| one.before.as_ref())).neutral()),
        None => chart,
    };
    chart.points(Points::new("ours", of(|one| Some(&one.pair.ours))))
}

fn kernels(correlation: &Correlation, worst: usize) -> Section {
    let all: Vec<usize> = (0..correlation.kernels.len()).collect();
    let mut section = Section::new("Kernels").table(correlation.kernels_table(&all));
    let lines = correlation.worst_lines(worst);
    if !lines.is_empty() {
        let columns = [Column::text("Kernel"), Column::text("Ours over the reference"), Column::text("Why")];
        let title =
            format!("Farthest from the reference in {}", heading(&correlation.main_metric()).to_lowercase());
        let mut table = Table::new(title, columns)
            .id("farthest")
            .caption("Scheduler slots of ours by what they were spent on, and metrics beyond the band.");
        for (kernel, deviation, why) in lines {
            table.push(cells![kernel, deviation, why]);
        }
        section = section.table(table);
    }
    section
}

fn others(correlation: &Correlation, main: &Metric) -> Section {
    let all: Vec<usize> = (0..correlation.kernels.len()).collect();
    let mut section = Section::new("Other metrics");
    if let Some(table) = correlation.others_table(&all) {
        section = section.table(table);
    }
    let metrics: Vec<Metric> = correlation
        .statistics
        .iter()
        .map(|one| one.metric)
        .filter(|metric| metric.name != main.name)
        .collect();
    if metrics.is_empty() {
        return section.text("The reference has no other metric that ours counts.");
    }
    for pair in metrics.chunks(2) {
        section =
            section.row(|row| pair.iter().fold(row, |row, metric| row.chart(scatter(correlation, metric))));
    }
    section
}

/// What was not matched and not compared, and what was assumed.
fn rest(correlation: &Correlation) -> Section {
    let mut section = Section::new("Not compared");
    for note in &correlation.notes {
        section = section.callout(Callout::note(note));
    }
    let lists = [
        (
            "Only in the reference",
            correlation.reference_alone.iter().map(reference_alone).collect::<Vec<_>>(),
        ),
        ("Only in the results", correlation.ours_alone.iter().map(ours_alone).collect()),
        ("Columns of the reference without a counterpart", correlation.unused.clone()),
    ];
    let mut nothing = correlation.notes.is_empty();
    for (title, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        nothing = false;
        let mut table = Table::new(title, [Column::text("Name")]);
        names.iter().for_each(|name| table.push(cells![name]));
        section = section.details(format!("{title}: {}", names.len()), |details| details.table(table));
    }
    if nothing { section.text("Every kernel and every column has its counterpart.") } else { section }
}
