//! A sweep as a page: means by point, a chart for every metric, what failed.

use super::axes::Layout;
use super::counted;
use super::plan::Plan;
use super::run::{RF_ENERGY, Results};
use super::table::{comparable, mean, means, of, ratio};
use crate::provenance::VERSION;
use regex::Regex;
use report::{
    Axis, Callout, Cell, Chart, Column, Format, HeatChart, Line, LineChart, Report, Section, Table,
};

/// More lines than this are hard to tell apart: then cells are shown.
const MOST_LINES: usize = 8;

/// Most charts of a page.
const MOST_CHARTS: usize = 60;

/// The metrics that have a chart unless others are asked for, with what they are.
const CHARTED: [(&str, &str); 8] = [
    ("cycles", "Cycles"),
    ("ipc", "IPC (warp instructions per cycle)"),
    (RF_ENERGY, "Energy of the register file and of added structures, pJ"),
    ("rf_reads", "Register-file reads"),
    ("rf_writes", "Register-file writes"),
    ("rf_bank_conflict_cycles", "Register-file bank conflicts, cycles"),
    ("l2_accesses", "L2 accesses"),
    ("dram_bytes", "DRAM bytes"),
];

/// Metrics beside the baseline, where techniques are switched on: title, metric, and whether less is faster.
const COMPARED: [(&str, &str, bool); 3] = [
    ("Speedup over the baseline", "cycles", true),
    ("Register-file energy over the baseline", RF_ENERGY, false),
    ("Register-file reads over the baseline", "rf_reads", false),
];

/// The page. `metrics` chooses the metrics that have a chart; `about` are facts for its head.
#[must_use]
pub fn page(plan: &Plan, results: &Results, metrics: Option<&Regex>, about: &[(&str, String)]) -> Report {
    let runs = plan.runs.len();
    let report = Report::new("Sweep").subtitle(format!(
        "{} at {}: {runs} runs.",
        counted(plan.traces.len(), "trace"),
        counted(plan.points.len(), "point")
    ));
    let report = report.fact("Warplab", VERSION);
    let report = about.iter().fold(report, |report, (name, value)| report.fact(*name, value));
    let layout = Layout::of(plan);
    let used = comparable(plan, results);
    let mut section = Section::new("Points").table(means(plan, results));
    if used.len() < plan.traces.len() {
        section = section.callout(Callout::note(format!(
            "Means are over the {} of {} that have a result at every point that has any.",
            used.len(),
            counted(plan.traces.len(), "trace")
        )));
    }
    let mut report = report.section(section);
    if plan.points.iter().any(|point| !point.machine.tech.is_empty()) {
        let mut section = Section::new("Beside the baseline").text(
            "Every point relative to the same machine without techniques; geometric means over the traces.",
        );
        let compared = layout.without_baselines(plan);
        for (title, metric, inverse) in COMPARED {
            let value = |point: usize| {
                let ratio = ratio(plan, results, point, metric)?;
                Some(if inverse { 1.0 / ratio } else { ratio })
            };
            section = section.chart(chart(
                title,
                &format!("{metric}-ratio"),
                &compared,
                Format::Ratio(2),
                &value,
                true,
            ));
        }
        report = report.section(section);
    }
    report = report.section(by_metric(plan, results, metrics, &layout));
    if layout.key.is_none() || plan.traces.len() > 1 {
        report = report.section(Section::new("Cycles by trace").chart(by_trace(plan, results)));
    }
    report.section(failures(plan, results)).section(Section::new("Machines").table(machines(plan))).footer(
        "Written by `timing sweep`. Equal traces, machines and version give equal figures, byte for byte.",
    )
}

fn by_metric(plan: &Plan, results: &Results, metrics: Option<&Regex>, layout: &Layout) -> Section {
    let mut names: Vec<String> = Vec::new();
    for trace in comparable(plan, results) {
        for outcome in (0..plan.points.len()).filter_map(|point| of(plan, results, trace, point)) {
            names.extend(
                outcome.total.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
            );
        }
    }
    let title = |name: &str| CHARTED.iter().find(|(key, _)| *key == name).map(|(_, title)| *title);
    let mut chosen: Vec<String> = match metrics {
        Some(metrics) => names.into_iter().filter(|name| metrics.is_match(name)).collect(),
        None => {
            let charted = CHARTED.iter().map(|(name, _)| (*name).to_owned());
            charted.filter(|name| names.contains(name)).collect()
        }
    };
    let beyond = chosen.len().saturating_sub(MOST_CHARTS);
    chosen.truncate(MOST_CHARTS);
    let mut section = Section::new("By metric").text(
        "Means over the traces: geometric where all values are above 0, else arithmetic. The table of all launches and metrics \
         is in `sweep.csv` and `sweep.parquet`.",
    );
    for name in &chosen {
        let value = |point: usize| mean(plan, results, point, name);
        section = section.chart(chart(title(name).unwrap_or(name), name, layout, Format::Si, &value, false));
    }
    if chosen.is_empty() {
        section = section.callout(Callout::note("There is no number to draw."));
    }
    if beyond > 0 {
        section = section
            .callout(Callout::note(format!("{beyond} more metrics have no chart; choose with `--metrics`.")));
    }
    section
}

/// Lines over the varied key if it has numbers and the lines can be told apart, else cells.
fn chart(
    title: &str,
    id: &str,
    layout: &Layout,
    format: Format,
    value: &dyn Fn(usize) -> Option<f64>,
    relative: bool,
) -> Chart {
    let id = id.replace('.', "-");
    let key = layout.key.as_deref().unwrap_or_default();
    let at = |point: &Option<usize>| point.and_then(value).unwrap_or(f64::NAN);
    match &layout.numbers {
        Some(numbers) if layout.series.len() <= MOST_LINES => {
            let whole = numbers.iter().all(|number| number.fract() == 0.0);
            let along = if whole { Format::Integer } else { Format::Float(2) };
            let mut chart = LineChart::new(title, Axis::new(key, along), Axis::new(title, format))
                .id(id)
                .ticks_at_points();
            for (name, points) in &layout.series {
                let line = Line::new(name, numbers.iter().copied().zip(points.iter().map(at)));
                chart = chart.line(if name.starts_with("baseline") && layout.series.len() < 3 {
                    line.neutral()
                } else {
                    line
                });
            }
            if relative { chart.reference(1.0) } else { chart }.into()
        }
        _ => {
            let heat =
                HeatChart::new(title, format).id(id).columns(key, layout.values.iter().map(String::as_str));
            let row = |heat: HeatChart, (name, points): &(String, Vec<Option<usize>>)| {
                heat.row(name, points.iter().map(at))
            };
            layout.series.iter().fold(heat, row).into()
        }
    }
}

fn by_trace(plan: &Plan, results: &Results) -> HeatChart {
    let labels = plan.traces.iter().map(|trace| trace.label.as_str());
    let heat = HeatChart::new("Cycles over those of the first point", Format::Ratio(2))
        .id("by-trace")
        .caption("Each trace relative to its own cycles at the first point.")
        .columns("Trace", labels);
    let cycles = |trace: usize, point: usize| of(plan, results, trace, point)?.total.get("cycles").copied();
    plan.points.iter().enumerate().fold(heat, |heat, (at, point)| {
        let ratio = |trace: usize| Some(cycles(trace, at)? / cycles(trace, 0)?);
        heat.row(&point.label, (0..plan.traces.len()).map(|trace| ratio(trace).unwrap_or(f64::NAN)))
    })
}

fn failures(plan: &Plan, results: &Results) -> Section {
    let columns = [Column::text("Trace"), Column::text("Point"), Column::text("Reason")];
    let mut table = Table::new("Runs without a result", columns).id("failures");
    for run in &plan.runs {
        if let Err(why) = results.of(plan, run) {
            let labels = [&plan.traces[run.trace].label, &plan.points[run.point].label].map(Cell::from);
            table.push(labels.into_iter().chain([Cell::from(why)]));
        }
    }
    let section = Section::new("Failures");
    if table.rows().is_empty() { section.text("Every run has a result.") } else { section.table(table) }
}

fn machines(plan: &Plan) -> Table {
    let columns = ["Point", "Configuration", "Techniques", "Overrides", "Baseline"].map(Column::text);
    let mut table = Table::new("Points and their machines", columns).id("machines");
    for point in &plan.points {
        table.push([
            Cell::from(&point.label),
            Cell::from(&point.machine.config),
            Cell::from(point.machine.tech.join(",")),
            Cell::from(point.machine.set.join(" ")),
            Cell::from(&plan.points[point.baseline].label),
        ]);
    }
    table
}
