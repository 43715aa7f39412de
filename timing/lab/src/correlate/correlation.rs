//! Joins our figures with those of the reference: kernels, agreement by metric, and what only one side has.

use super::error::CorrelateError;
use super::matching::{Matching, Pair, Rename, matched};
use super::metrics::{self, Metric, Values, metric};
use super::names;
use super::reference::{Reference, Which};
use super::results::Launch;
use super::statistics::{self, Statistics, distance};
use std::collections::{BTreeMap, BTreeSet};

/// A kernel on both sides.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The pair.
    pub pair: Pair,
    /// Our figures of earlier results, if these are given and have the kernel.
    pub before: Option<Values>,
}

/// Our figures beside those of the reference.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// The kernels that both sides have, in the order of the reference.
    pub kernels: Vec<Compared>,
    /// Agreement by metric, for the metrics that both sides have.
    pub statistics: Vec<Statistics>,
    /// The same for the earlier results, over the kernels that these have.
    pub before: Option<Vec<Statistics>>,
    /// Our launches without a row: program, kernel, number.
    pub ours_alone: Vec<(String, String, usize)>,
    /// Kernels of the reference without a launch: name, number of rows, reason.
    pub reference_alone: Vec<(String, usize, String)>,
    /// Columns and metrics of the reference without a counterpart.
    pub unused: Vec<String>,
    /// Formats of the reference.
    pub formats: Vec<&'static str>,
    /// What was assumed.
    pub notes: Vec<String>,
}

/// Correlates launches with a reference, beside an earlier state of ours if there is one.
///
/// # Errors
/// No kernel, or no metric, is on both sides.
pub fn correlate(
    ours: &[Launch],
    before: Option<&[Launch]>,
    reference: &Reference,
    renames: &[Rename],
) -> Result<Correlation, CorrelateError> {
    let found = matched(ours, &reference.rows, renames);
    if found.pairs.is_empty() {
        return Err(nothing_matched(ours, &found));
    }
    let earlier = before.map(|before| matched(before, &reference.rows, renames));
    let mut of_row: BTreeMap<usize, Values> = BTreeMap::new();
    for pair in earlier.iter().flat_map(|earlier| &earlier.pairs) {
        of_row.insert(pair.row, pair.ours.clone());
    }
    let Matching { pairs, ours_alone, reference_alone, mut notes } = found;
    let kernels: Vec<Compared> =
        pairs.into_iter().map(|pair| Compared { before: of_row.remove(&pair.row), pair }).collect();
    let shared = shared_metrics(&kernels);
    if shared.is_empty() {
        let names: Vec<&str> = metrics::METRICS.iter().map(|metric| metric.name).collect();
        return Err(CorrelateError(format!(
            "the kernels match, but the reference has no metric that ours counts; it has {}. Metrics are {}, their names in \
             profiles, and the counters of `timing list --counters`",
            listed(&reference.unused, 8),
            names.join(", ")
        )));
    }
    let statistics = agreement(&kernels, &shared, |one| Some(&one.pair.ours));
    let before = earlier.is_some().then(|| agreement(&kernels, &shared, |one| one.before.as_ref()));
    let without = kernels.iter().filter(|one| one.before.is_none()).count();
    if earlier.is_some() && without > 0 {
        notes.push(format!("{without} of {} kernels are not in the earlier results", kernels.len()));
    }
    notes.splice(0..0, reference.notes.iter().cloned());
    Ok(Correlation {
        kernels,
        statistics,
        before,
        ours_alone,
        reference_alone,
        unused: reference.unused.clone(),
        formats: reference.formats.iter().map(|format| format.title()).collect(),
        notes,
    })
}

/// The metrics that at least one kernel has on both sides, in the order of tables.
fn shared_metrics(kernels: &[Compared]) -> Vec<Metric> {
    let both = |one: &Compared| {
        let shared = one.pair.reference.keys().filter(|name| one.pair.ours.contains_key(*name));
        shared.copied().collect::<Vec<_>>()
    };
    let names: BTreeSet<&str> = kernels.iter().flat_map(both).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| metrics::order(name));
    names.into_iter().filter_map(metric).collect()
}

fn agreement<'a>(
    kernels: &'a [Compared],
    metrics: &[Metric],
    ours: impl Fn(&'a Compared) -> Option<&'a Values>,
) -> Vec<Statistics> {
    let of = |metric: &Metric| {
        let pair =
            |one: &'a Compared| Some((*ours(one)?.get(metric.name)?, *one.pair.reference.get(metric.name)?));
        let pairs: Vec<(f64, f64)> = kernels.iter().filter_map(pair).collect();
        Statistics::of(*metric, &pairs)
    };
    metrics.iter().map(of).collect()
}

fn nothing_matched(ours: &[Launch], found: &Matching) -> CorrelateError {
    let theirs: Vec<String> =
        found.reference_alone.iter().map(|(kernel, _, why)| format!("{kernel} ({why})")).collect();
    let kernels: BTreeSet<&str> = ours.iter().map(|launch| names::base(&launch.kernel)).collect();
    let kernels: Vec<String> = kernels.into_iter().map(str::to_owned).collect();
    CorrelateError(format!(
        "no kernel of the reference is in the results. The reference has {}; the results have {}. A file for --match with \
         the columns reference,kernel says which is which",
        listed(&theirs, 5),
        listed(&kernels, 8)
    ))
}

/// At most `most` names.
pub(super) fn listed(names: &[String], most: usize) -> String {
    let shown = names.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(most) {
        None | Some(0) if names.is_empty() => "none".into(),
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

impl Compared {
    /// Our value and that of the reference.
    #[must_use]
    pub fn both(&self, metric: &str) -> Option<(f64, f64)> {
        Some((*self.pair.ours.get(metric)?, *self.pair.reference.get(metric)?))
    }

    /// A name with the launches of the pair: `scan_up`, `scan_up #3`, `scan_up, mean of 8`.
    fn label(&self, name: &str, launch: bool) -> String {
        match self.pair.which {
            Which::Mean if self.pair.launches > 1 => format!("{name}, mean of {}", self.pair.launches),
            Which::Launch(number) if launch => format!("{name} #{number}"),
            _ => name.to_owned(),
        }
    }
}

impl Correlation {
    /// The metric by which kernels are ranked: cycles, or the first.
    #[must_use]
    pub fn main_metric(&self) -> Metric {
        let statistics = self.statistics.iter().map(|one| one.metric);
        let cycles = statistics.clone().find(|metric| metric.name == "cycles");
        // `correlate` refuses sets without a metric.
        cycles.or(statistics.into_iter().next()).unwrap_or(metrics::METRICS[0])
    }

    /// The agreement in a metric.
    #[must_use]
    pub fn of(&self, metric: &str) -> Option<&Statistics> {
        self.statistics.iter().find(|one| one.metric.name == metric)
    }

    /// Labels of the kernels: the function's name, or the whole name if another kernel of the program has the same; with
    /// launches where a kernel has several rows.
    pub(super) fn labels(&self) -> Vec<String> {
        let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut names: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for Compared { pair, .. } in &self.kernels {
            *times.entry((&pair.program, &pair.kernel)).or_default() += 1;
            names.entry((&pair.program, names::base(&pair.kernel))).or_default().insert(&pair.kernel);
        }
        let label = |one: &Compared| {
            let (program, kernel) = (one.pair.program.as_str(), one.pair.kernel.as_str());
            let short = names::base(kernel);
            let long = warplab_host::symbols::signature(kernel);
            let name = if names[&(program, short)].len() > 1 { &*long } else { short };
            one.label(name, times[&(program, kernel)] > 1)
        };
        self.kernels.iter().map(label).collect()
    }

    /// Positions of the kernels that have the main metric, the farthest from the reference first.
    #[must_use]
    pub fn worst(&self) -> Vec<usize> {
        let metric = self.main_metric();
        let far = |index: &usize| {
            let (ours, reference) = self.kernels[*index].both(metric.name).unwrap_or((1.0, 1.0));
            distance(metric.kind, ours, reference)
        };
        let has = |index: &usize| self.kernels[*index].both(metric.name).is_some();
        let mut order: Vec<usize> = (0..self.kernels.len()).filter(has).collect();
        // A stable sort: equal distances stay in the order of the reference.
        order.sort_by(|a, b| far(b).total_cmp(&far(a)));
        order
    }

    /// The kernels whose error in a metric exceeds a tolerance, with the error.
    #[must_use]
    pub fn beyond(&self, metric: &Metric, tolerance: f64) -> Vec<(String, f64)> {
        let error = |(one, label): (&Compared, String)| {
            let (ours, reference) = one.both(metric.name)?;
            Some((label, statistics::error(metric.kind, ours, reference)))
        };
        let all = self.kernels.iter().zip(self.labels()).filter_map(error);
        all.filter(|(_, error)| error.abs() > tolerance).collect()
    }
}
