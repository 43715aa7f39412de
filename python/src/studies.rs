//! `warplab.study`: limit studies over several traces.

use crate::study::{Asked, run};
use crate::trace::Trace;
use pyo3::prelude::*;

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
    let opened: Vec<_> = traces.iter().map(|trace| trace.get().opened()).collect();
    run(py, &opened, &Asked { names, by, kernels, launches, threads }, progress)
}
