//! `warplab.sweep`: replays of traces on machines, over all combinations of values and techniques, as one table with a
//! row per metric.

use crate::arguments::{Setup, Techniques, overrides, value_text};
use crate::error::{error, warn};
use crate::replay::{Order, Tidy, run};
use crate::table::Table;
use crate::trace::{Trace, config_text};
use crate::watch::{Raised, Watch, watched_with};
use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use timing::replay::Selection;

/// One replay of the sweep.
struct Job<'a> {
    trace: &'a trace_format::reader::Trace,
    label: &'a str,
    machine: &'a str,
    techniques: &'a str,
    /// Value of each key, if the key is of a technique that is switched on, or of the machine.
    values: &'a [Option<String>],
    setup: &'a Setup,
}

/// A machine with techniques and values.
struct Point {
    machine: String,
    techniques: String,
    values: Vec<Option<String>>,
    setup: Setup,
}

/// Replays traces on machines, with each of the techniques, for all combinations of the values in `vary`. A key of a technique
/// varies only where that technique is switched on. The table has a row per metric of each launch, or with
/// `per="trace"` of all launches together.
#[pyfunction]
#[pyo3(signature = (
    traces, vary=None, tech=None, machines=None, *, set=None, kernels=None, launches=None, metrics=None, per="launch",
    threads=None, progress=None
))]
#[allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "they are Python's keyword arguments"
)]
pub(crate) fn sweep(
    py: Python<'_>,
    traces: &Bound<'_, PyAny>,
    vary: Option<&Bound<'_, PyDict>>,
    tech: Option<&Bound<'_, PyAny>>,
    machines: Option<&Bound<'_, PyAny>>,
    set: Option<&Bound<'_, PyAny>>,
    kernels: Option<&str>,
    launches: Option<&str>,
    metrics: Option<Vec<String>>,
    per: &str,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    if !["launch", "trace"].contains(&per) {
        return Err(error(format!("per: `{per}` is refused: it must be one of launch, trace")));
    }
    let traces = Trace::several(traces)?;
    let selection = Selection::parse(kernels, launches).map_err(error)?;
    let axes = axes(vary)?;
    let raised = Raised::default();
    let points = points(py, machines, tech, &axes, &overrides(set)?, &raised)?;
    let opened: Vec<_> = traces.iter().map(|trace| trace.get().opened()).collect();
    let labels =
        timing::reports::unique_labels(&opened.iter().map(|t| t.path().to_owned()).collect::<Vec<_>>());
    let mut jobs = Vec::new();
    for (trace, label) in opened.iter().zip(&labels) {
        let of = |point| job(trace, label, point);
        jobs.extend(points.iter().map(of));
    }
    let threads = crate::arguments::threads(threads);
    let wanted = metrics.as_deref();
    let results = watched_with(py, progress, "sweep", &raised, |watch| {
        replays(&jobs, &selection, threads, per == "launch", wanted, watch)
    })?;
    let results = results.map_err(error)?;
    if let Some(unknown) = wanted.and_then(|wanted| wanted.iter().find(|name| is_in_none(name, &results))) {
        return Err(error(format!(
            "there is no metric `{unknown}` in these replays; `Replay.keys()` lists them"
        )));
    }
    table(&jobs, &axes, &results)
}

fn is_in_none(name: &str, results: &[Tidy]) -> bool {
    !results.iter().any(|result| result.metrics.iter().any(|(metric, _)| metric == name))
}

fn job<'a>(trace: &'a trace_format::reader::Trace, label: &'a str, point: &'a Point) -> Job<'a> {
    let Point { machine, techniques, values, setup } = point;
    Job { trace, label, machine, techniques, values, setup }
}

/// The keys of `vary` with their values.
fn axes(vary: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Vec<String>)>> {
    let Some(vary) = vary else { return Ok(Vec::new()) };
    let one = |(key, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let values = match values.is_instance_of::<PyString>() {
            true => vec![value_text(&values)?],
            false => match values.try_iter() {
                Ok(items) => items.map(|item| value_text(&item?)).collect::<PyResult<Vec<_>>>()?,
                Err(_) => vec![value_text(&values)?],
            },
        };
        match values.is_empty() {
            true => Err(error(format!("vary: `{key}` has no values"))),
            false => Ok((key, values)),
        }
    };
    vary.iter().map(one).collect()
}

/// Techniques of a sweep: `None` and `""` are the machine without any, `"a,b"` and tuples are several together.
fn variants(tech: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Techniques>> {
    let Some(tech) = tech.filter(|tech| !tech.is_none()) else { return Ok(vec![Techniques::default()]) };
    if !tech.is_instance_of::<PyList>() {
        if tech.is_instance_of::<PyTuple>() {
            let why = "tech: a sweep takes a list with an entry per variant; a tuple in it is several techniques together";
            return Err(PyTypeError::new_err(why));
        }
        return Ok(vec![Techniques::read(Some(tech))?]);
    }
    tech.try_iter()?.map(|item| Techniques::read(Some(&item?))).collect()
}

/// Every machine with every variant and combination of values, checked.
fn points(
    py: Python<'_>,
    machines: Option<&Bound<'_, PyAny>>,
    tech: Option<&Bound<'_, PyAny>>,
    axes: &[(String, Vec<String>)],
    set: &[String],
    raised: &Raised,
) -> PyResult<Vec<Point>> {
    let machines = match machines.filter(|machines| !machines.is_none()) {
        None => vec![timing::config::builtin::MODELLED.to_owned()],
        Some(list) if list.is_instance_of::<PyList>() || list.is_instance_of::<PyTuple>() => {
            list.try_iter()?.map(|item| config_text(&item?)).collect::<PyResult<_>>()?
        }
        Some(one) => vec![config_text(one)?],
    };
    let variants = variants(tech)?;
    let mut points = Vec::new();
    for machine in &machines {
        for variant in &variants {
            for values in combinations(axes, &variants, variant) {
                let chosen = axes.iter().zip(&values);
                let own = chosen.filter_map(|((key, _), value)| Some(format!("{key}={}", value.as_ref()?)));
                let set: Vec<String> = set.iter().cloned().chain(own).collect();
                let setup = Setup::for_python(py, machine, variant, &set, false, raised)?;
                // The notes are about keys, which all combinations share.
                if points.is_empty() {
                    warn(py, &setup.notes)?;
                }
                let (machine, techniques) = (machine.clone(), variant.joined(py)?);
                points.push(Point { machine, techniques, values, setup });
            }
        }
    }
    Ok(points)
}

/// The combinations of values for a variant; none for keys of techniques that only other variants have.
fn combinations(
    axes: &[(String, Vec<String>)],
    variants: &[Techniques],
    variant: &Techniques,
) -> Vec<Vec<Option<String>>> {
    let mut all = vec![Vec::new()];
    for (key, values) in axes {
        let technique =
            key.strip_prefix("technique.").and_then(|rest| rest.split_once('.')).map(|(name, _)| name);
        let has = |variant: &Techniques, name: &str| variant.words.iter().any(|word| word == name);
        // If no variant has the technique, the values are kept, and refused with the command's words.
        let elsewhere = technique
            .is_some_and(|name| !has(variant, name) && variants.iter().any(|other| has(other, name)));
        let values: Vec<Option<String>> =
            if elsewhere { vec![None] } else { values.iter().cloned().map(Some).collect() };
        all = all
            .iter()
            .flat_map(|earlier| {
                values.iter().map(move |value| [&earlier[..], std::slice::from_ref(value)].concat())
            })
            .collect();
    }
    all
}

/// Runs the jobs, several at a time.
fn replays(
    jobs: &[Job<'_>],
    selection: &Selection,
    threads: usize,
    by_launch: bool,
    wanted: Option<&[String]>,
    watch: &Watch,
) -> Result<Vec<Tidy>, String> {
    let done = AtomicU64::new(0);
    let of = jobs.len() as u64;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(jobs.len().max(1))).build();
    let one = |job: &Job<'_>| -> Result<Tidy, String> {
        let order = Order {
            config: &job.setup.loaded.config,
            techniques: &job.setup.techniques,
            selection: selection.clone(),
            threads: if job.setup.is_python { 1 } else { (threads / jobs.len()).max(1) },
            concurrent: false,
            max_cycles: None,
            checked: false,
        };
        let replay = run(job.trace, &order, &|_, _, _| watch.report(done.load(Ordering::Relaxed), of))?;
        watch.report(done.fetch_add(1, Ordering::Relaxed) + 1, of);
        Ok(Tidy::of(&replay, &job.setup.energy, by_launch, wanted))
    };
    pool.map_err(|why| why.to_string())?.install(|| jobs.par_iter().map(one).collect())
}

fn table(jobs: &[Job<'_>], axes: &[(String, Vec<String>)], results: &[Tidy]) -> PyResult<Table> {
    let [mut traces, mut kernels, mut machines, mut techniques, mut metrics] =
        [(); 5].map(|()| StringBuilder::new());
    let (mut launches, mut values) = (UInt64Builder::new(), Vec::new());
    let mut keys: Vec<Vec<Option<&str>>> = vec![Vec::new(); axes.len()];
    for (job, result) in jobs.iter().zip(results) {
        result.append_launches(&mut kernels, &mut launches);
        for (metric, value) in &result.metrics {
            traces.append_value(job.label);
            machines.append_value(job.machine);
            techniques.append_value(job.techniques);
            metrics.append_value(metric);
            values.push(*value);
            keys.iter_mut().zip(job.values).for_each(|(column, value)| column.push(value.as_deref()));
        }
    }
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("trace".into(), Arc::new(traces.finish())),
        ("kernel".into(), Arc::new(kernels.finish())),
        ("launch".into(), Arc::new(launches.finish())),
        ("machine".into(), Arc::new(machines.finish())),
        ("techniques".into(), Arc::new(techniques.finish())),
    ];
    columns.extend(axes.iter().zip(&keys).map(|((key, _), column)| (key.clone(), typed(column))));
    columns.push(("metric".into(), Arc::new(metrics.finish())));
    columns.push(("value".into(), Arc::new(Float64Array::from(values))));
    Table::new("Sweep", columns)
}

/// A column of values as integers, numbers or switches where all are, else as text.
fn typed(column: &[Option<&str>]) -> ArrayRef {
    fn all<T: std::str::FromStr>(column: &[Option<&str>]) -> Option<Vec<Option<T>>> {
        column.iter().map(|value| value.map_or(Some(None), |text| text.parse().ok().map(Some))).collect()
    }
    if let Some(numbers) = all::<i64>(column) {
        Arc::new(Int64Array::from(numbers))
    } else if let Some(numbers) = all::<f64>(column) {
        Arc::new(Float64Array::from(numbers))
    } else if let Some(switches) = all::<bool>(column) {
        Arc::new(BooleanArray::from(switches))
    } else {
        Arc::new(column.iter().copied().collect::<StringArray>())
    }
}
