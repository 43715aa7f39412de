//! The results of a sweep as one tidy table, as means by point, and as JSON.

use super::plan::Plan;
use super::run::{Outcome, RF_ENERGY, Results};
use super::vary::technique_of;
use crate::numbers::Numbers;
use regex::Regex;
use report::{Cell, Column, Format, Table, arithmetic_mean, geometric_mean};
use serde_json::{Value, json};

/// The tidy table: a row for every metric of every launch at every point, with its value at the point's baseline; and a row
/// with the reason for every run that failed. `metrics` chooses metrics by name.
#[must_use]
pub fn table(plan: &Plan, results: &Results, metrics: Option<&Regex>) -> Table {
    let parameters = plan.parameters.iter().map(|key| Column::text(key).key(key.as_str()));
    let columns = ["Trace", "Kernel"].map(Column::text).into_iter();
    let columns = columns.chain([Column::integer("Launch")]);
    let columns = columns.chain(["Machine", "Techniques"].map(Column::text)).chain(parameters);
    let value = |name: &str| Column::number(name, Format::Float(3));
    let columns =
        columns.chain([Column::text("Metric"), value("Value"), value("Baseline"), Column::text("Error")]);
    let mut table = Table::new("Sweep", columns).id("sweep");
    for run in &plan.runs {
        let point = &plan.points[run.point];
        let mut row = |kernel: Cell, launch: Cell, metric: Cell, value: Cell, baseline: Cell, error: Cell| {
            let start = [Cell::from(&plan.traces[run.trace].label), kernel, launch];
            let machine = [Cell::from(&point.machine.name), Cell::from(point.machine.tech.join(","))];
            let parameters = plan.parameters.iter().map(|key| Cell::from(point.values.get(key)));
            let end = [metric, value, baseline, error];
            table.push(start.into_iter().chain(machine).chain(parameters).chain(end));
        };
        let outcome = match results.of(plan, run) {
            Ok(outcome) => outcome,
            Err(why) => {
                row(Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing, why.into());
                continue;
            }
        };
        let baseline = baseline(plan, results, run.trace, run.point);
        for (at, launch) in outcome.launches.iter().enumerate() {
            let plain = baseline.and_then(|outcome| outcome.launches.get(at));
            for (metric, value) in chosen(&launch.numbers, metrics) {
                let plain = plain.and_then(|launch| launch.numbers.get(metric)).copied();
                let kernel = Cell::name(&launch.kernel, warplab_host::symbols::signature(&launch.kernel));
                let number = Cell::from(launch.launch);
                row(
                    kernel,
                    number,
                    metric.into(),
                    exact(value),
                    plain.map_or(Cell::Missing, exact),
                    Cell::Missing,
                );
            }
        }
    }
    table
}

/// A whole number as such: counts stay counts in every file.
fn exact(value: f64) -> Cell {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Cell::Integer(value as i128)
    } else {
        Cell::Number(value)
    }
}

fn chosen<'a>(numbers: &'a Numbers, metrics: Option<&'a Regex>) -> impl Iterator<Item = (&'a String, f64)> {
    let wanted = move |(name, _): &(&String, &f64)| metrics.is_none_or(|metrics| metrics.is_match(name));
    numbers.iter().filter(wanted).map(|(name, value)| (name, *value))
}

/// The result of a recording at the baseline of a point.
fn baseline<'a>(plan: &'a Plan, results: &'a Results, trace: usize, point: usize) -> Option<&'a Outcome> {
    of(plan, results, trace, plan.points[point].baseline)
}

/// The result of a recording at a point: runs are listed by recording, with all points of each.
pub(super) fn of<'a>(
    plan: &'a Plan,
    results: &'a Results,
    trace: usize,
    point: usize,
) -> Option<&'a Outcome> {
    let run = plan.runs.get(trace * plan.points.len() + point)?;
    results.of(plan, run).ok()
}

/// Mean of a metric over the recordings at a point: geometric if all values are above 0, else arithmetic. Recordings that
/// failed anywhere are left out everywhere, so that means are of the same recordings.
pub(super) fn mean(plan: &Plan, results: &Results, point: usize, metric: &str) -> Option<f64> {
    let of = |trace: usize| of(plan, results, trace, point)?.total.get(metric).copied();
    let values: Option<Vec<f64>> = comparable(plan, results).into_iter().map(of).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(match values.iter().all(|value| *value > 0.0) {
        true => geometric_mean(values),
        false => arithmetic_mean(values),
    })
}

/// Geometric mean over the recordings of a metric at a point over the same at its baseline.
pub(super) fn ratio(plan: &Plan, results: &Results, point: usize, metric: &str) -> Option<f64> {
    let of = |trace: usize| {
        let value = *of(plan, results, trace, point)?.total.get(metric)?;
        let plain = *baseline(plan, results, trace, point)?.total.get(metric)?;
        (value > 0.0 && plain > 0.0).then_some(value / plain)
    };
    let ratios: Option<Vec<f64>> = comparable(plan, results).into_iter().map(of).collect();
    ratios.filter(|ratios| !ratios.is_empty()).map(geometric_mean)
}

/// The recordings that have a result at every point that has one for any recording.
pub(super) fn comparable(plan: &Plan, results: &Results) -> Vec<usize> {
    let traces = 0..plan.traces.len();
    let has = |trace: usize, point: usize| of(plan, results, trace, point).is_some();
    let points: Vec<usize> =
        (0..plan.points.len()).filter(|point| traces.clone().any(|trace| has(trace, *point))).collect();
    traces.filter(|trace| points.iter().all(|point| has(*trace, *point)) && !points.is_empty()).collect()
}

/// Means by point: speed and register-file energy beside the baseline, IPC, storage, and how many recordings failed.
#[must_use]
pub fn means(plan: &Plan, results: &Results) -> Table {
    let techniques = plan.points.iter().any(|point| !point.machine.tech.is_empty());
    let mut columns = vec![
        Column::text("Point"),
        Column::float("IPC", 3).help("Warp instructions per cycle, mean over the traces"),
    ];
    if techniques {
        columns.extend([
            Column::ratio("Speedup", 3).help("Cycles of the baseline over the point's, geometric mean"),
            Column::ratio("RF energy", 3).help(
                "Energy of the register file and of added structures over the baseline's, geometric mean",
            ),
            Column::integer("Storage").unit("bits per SM").help("Bits that techniques add to an SM"),
        ]);
    }
    let failed = |point: usize| {
        let of_point = plan.runs.iter().filter(|run| run.point == point);
        of_point.filter(|run| results.of(plan, run).is_err()).count()
    };
    let any = (0..plan.points.len()).any(|point| failed(point) > 0);
    if any {
        columns.push(Column::integer("Failed").help("Traces without a result at this point"));
    }
    let mut table = Table::new("Points, means over the traces", columns).id("points");
    for (at, point) in plan.points.iter().enumerate() {
        let mut row = vec![Cell::from(&point.label), mean(plan, results, at, "ipc").into()];
        if techniques {
            let storage = (0..plan.traces.len()).filter_map(|trace| of(plan, results, trace, at));
            row.extend([
                ratio(plan, results, at, "cycles").map(|slower| 1.0 / slower).into(),
                ratio(plan, results, at, RF_ENERGY).into(),
                storage.map(|outcome| outcome.storage_bits).max().into(),
            ]);
        }
        row.extend(any.then(|| Cell::from(failed(at))));
        table.push(row);
    }
    table
}

/// The runs with the numbers of all launches together.
#[must_use]
pub fn to_json(plan: &Plan, results: &Results, metrics: Option<&Regex>) -> Value {
    let points = plan.points.iter().map(|point| {
        json!({
            "label": point.label,
            "machine": point.machine.name,
            "config": point.machine.config,
            "techniques": point.machine.tech,
            "set": point.machine.set,
            "baseline": plan.points[point.baseline].label,
        })
    });
    let runs = plan.runs.iter().map(|run| {
        let mut value = json!({
            "trace": plan.traces[run.trace].label,
            "label": plan.points[run.point].label,
        });
        match results.of(plan, run) {
            Ok(outcome) => {
                value["storage_bits_per_sm"] = json!(outcome.storage_bits);
                let numbers = chosen(&outcome.total, metrics);
                value["metrics"] = numbers.map(|(name, number)| (name.clone(), plain(number))).collect();
            }
            Err(why) => value["error"] = json!(why),
        }
        value
    });
    json!({
        "schema": "warplab-sweep/1",
        "points": points.collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    })
}

fn plain(number: f64) -> Value {
    match exact(number) {
        Cell::Integer(whole) => json!(whole as i64),
        _ => json!(number),
    }
}

/// Whether a key is a parameter of a technique that a point does not have.
pub(super) fn is_foreign(key: &str, tech: &[String]) -> bool {
    technique_of(key).is_some_and(|name| !tech.iter().any(|one| one == name))
}
