//! `warplab.study` and `Trace.study`: limit studies over traces.

use crate::convert::json;
use crate::error::error;
use crate::html;
use crate::table::Table;
use crate::trace::Trace;
use crate::watch::watched;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use timing::studies::{self, By, Input, Options, Progress, Selection, StudyResult};

/// The result of a study over some traces.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Study {
    result: StudyResult,
}

#[pymethods]
impl Study {
    /// Name of the study.
    #[getter]
    fn name(&self) -> &str {
        self.result.study
    }

    /// Paper and figure.
    #[getter]
    fn paper(&self) -> &str {
        self.result.paper
    }

    /// Notes for readers.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.result.notes.clone()
    }

    /// The requested breakdown, by default a row per kernel; shares are fractions.
    #[getter]
    fn table(&self) -> PyResult<Table> {
        self.result.data.first().ok_or_else(|| error("the study has no data")).and_then(|(_, table)| Table::of_report(table))
    }

    /// Names of the tables: `kernels`, `traces`, `means`, and a breakdown.
    #[getter]
    fn tables(&self) -> Vec<&str> {
        self.result.data.iter().map(|(name, _)| *name).collect()
    }

    /// A table by its name.
    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        let found = self.result.data.iter().find(|(table, _)| *table == name);
        let missing = || PyKeyError::new_err(format!("there is no table `{name}`; there are {}", self.tables().join(", ")));
        found.ok_or_else(missing).and_then(|(_, table)| Table::of_report(table))
    }

    /// The charts as SVG, with their titles.
    #[getter]
    fn charts(&self) -> Vec<(String, String)> {
        self.result.charts.iter().map(|chart| (chart.data().title().to_owned(), chart.to_svg(720.0))).collect()
    }

    /// The object that `timing study --json` writes.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json(py, &self.result.to_json())
    }

    fn __repr__(&self) -> String {
        self.result.to_text()
    }

    fn _repr_html_(&self) -> String {
        let tables = self.result.tables.iter().map(|table| html::heading(table.title()) + &html::table(table));
        let charts = self.charts().into_iter().map(|(title, svg)| html::picture(&svg, &title));
        let notes = self.result.notes.iter().map(|note| html::paragraph(note));
        tables.chain(charts).chain(notes).collect()
    }
}

/// Runs a study over traces in one pass: `names` is a name, several with commas, or `"all"`. One name gives a result, several
/// give a list.
#[pyfunction]
#[pyo3(signature = (names, traces, *, by=None, kernels=None, launches=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
pub(crate) fn study(
    py: Python<'_>,
    names: &str,
    traces: &Bound<'_, PyAny>,
    by: Option<&str>,
    kernels: Option<&str>,
    launches: Option<&str>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let traces = Trace::several(traces)?;
    let chosen = studies::choose(names).map_err(error)?;
    let select = Selection::parse(kernels, launches).map_err(error)?;
    let by = by.map(breakdown).transpose()?;
    let opened: Vec<_> = traces.iter().map(|trace| trace.get().opened()).collect();
    let labels = timing::reports::unique_labels(&opened.iter().map(|t| t.path().to_owned()).collect::<Vec<_>>());
    let inputs: Vec<Input<'_>> =
        opened.iter().zip(&labels).map(|(trace, label)| Input { label, trace }).collect();
    let threads = crate::arguments::threads(threads);
    let results = watched(py, progress, names, |watch| {
        let progress = |p: Progress| watch.report(p.warp_instructions, p.of);
        let options = Options { threads, progress: &progress, by, select: &select, ..Options::default() };
        studies::run(&chosen, &inputs, &options).map_err(|why| why.to_string())
    })?;
    let mut results: Vec<Study> = results.map_err(error)?.into_iter().map(|result| Study { result }).collect();
    match (results.len(), names.contains(',') || names == "all") {
        (1, false) => Ok(results.remove(0).into_pyobject(py)?.into_any().unbind()),
        _ => Ok(results.into_pyobject(py)?.into_any().unbind()),
    }
}

fn breakdown(by: &str) -> PyResult<By> {
    match by {
        "kernel" => Ok(By::Kernel),
        "line" => Ok(By::Line),
        "class" => Ok(By::Class),
        "pc" => Ok(By::Pc),
        _ => Err(error(format!("by: `{by}` is not a breakdown; there are kernel, line, class, pc"))),
    }
}
