//! Limit studies over traces, and their results.

use crate::arguments::threads;
use crate::convert::json;
use crate::error::error;
use crate::html;
use crate::table::Table;
use crate::watch::watched;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use timing::reports::unique_labels;
use timing::studies::{self, By, Input, Options, Progress, Selection, StudyResult};
use trace_format::reader::Trace;

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
        self.result
            .data
            .first()
            .ok_or_else(|| error("the study has no data"))
            .and_then(|(_, table)| Table::of_report(table))
    }

    /// Names of the tables: `kernels`, `traces`, `means`, and a breakdown.
    #[getter]
    fn tables(&self) -> Vec<&str> {
        self.result.data.iter().map(|(name, _)| *name).collect()
    }

    /// A table by its name.
    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        let found = self.result.data.iter().find(|(table, _)| *table == name);
        let missing = || {
            PyKeyError::new_err(format!("there is no table `{name}`; there are {}", self.tables().join(", ")))
        };
        found.ok_or_else(missing).and_then(|(_, table)| Table::of_report(table))
    }

    /// The charts as SVG, with their titles.
    #[getter]
    fn charts(&self) -> Vec<(String, String)> {
        self.result
            .charts
            .iter()
            .map(|chart| (chart.data().title().to_owned(), chart.to_svg(720.0)))
            .collect()
    }

    /// The object that `timing study --json` writes.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json(py, &self.result.to_json())
    }

    fn __repr__(&self) -> String {
        self.result.to_text()
    }

    fn _repr_html_(&self) -> String {
        let tables =
            self.result.tables.iter().map(|table| html::heading(table.title()) + &html::table(table));
        let charts = self.charts().into_iter().map(|(title, svg)| html::picture(&svg, &title));
        let notes = self.result.notes.iter().map(|note| html::paragraph(note));
        tables.chain(charts).chain(notes).collect()
    }
}

/// What a study is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// A name, several with commas, or `all`.
    pub names: &'a str,
    /// The breakdown.
    pub by: Option<&'a str>,
    /// Kernels, by a regular expression.
    pub kernels: Option<&'a str>,
    /// Numbers of launches.
    pub launches: Option<&'a str>,
    /// Threads, or one per processor.
    pub threads: Option<usize>,
}

/// Runs studies over traces in one pass. One name gives a result, several give a list.
///
/// # Errors
/// `warplab.Error`, or an interrupt.
pub(crate) fn run(
    py: Python<'_>,
    opened: &[&Trace],
    asked: &Asked<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let chosen = studies::choose(asked.names).map_err(error)?;
    let select = Selection::parse(asked.kernels, asked.launches).map_err(error)?;
    let by = asked.by.map(breakdown).transpose()?;
    let labels = unique_labels(&opened.iter().map(|trace| trace.path().to_owned()).collect::<Vec<_>>());
    let inputs: Vec<Input<'_>> =
        opened.iter().zip(&labels).map(|(trace, label)| Input { label, trace }).collect();
    let threads = threads(asked.threads);
    let results = watched(py, progress, asked.names, |watch| {
        let progress = |p: Progress| watch.report(p.warp_instructions, p.of);
        let options = Options { threads, progress: &progress, by, select: &select, ..Options::default() };
        studies::run(&chosen, &inputs, &options).map_err(|why| why.to_string())
    })?;
    let mut results: Vec<Study> =
        results.map_err(error)?.into_iter().map(|result| Study { result }).collect();
    match (results.len(), asked.names.contains(',') || asked.names == "all") {
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
