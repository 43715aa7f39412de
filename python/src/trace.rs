//! `warplab.Trace`: an open trace, with its kernels and launches, and what can be done with it.

use crate::arguments::{Setup, Techniques, overrides, threads};
use crate::error::{error, warn};
use crate::html;
use crate::launch::Launch;
use crate::replay::{Order, Replay};
use crate::study::{self, Asked};
use crate::table::Table;
use crate::watch::Raised;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::sync::OnceLock;
use timing::config::builtin;
use timing::replay::Selection;
use trace_format::reader;

/// A recorded program.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Trace {
    trace: reader::Trace,
    /// What the recording left besides the trace, if this process recorded it.
    recording: OnceLock<Py<PyAny>>,
}

impl Trace {
    /// The trace of a path, with warnings about what of it is used.
    fn open(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Trace> {
        let path: PathBuf = path.extract()?;
        let (trace, notes) = timing::traces::open(&path).map_err(error)?;
        warn(py, &notes)?;
        Ok(Trace { trace, recording: OnceLock::new() })
    }

    /// The open file.
    pub(crate) fn opened(&self) -> &reader::Trace {
        &self.trace
    }

    /// The traces of an argument: a trace, a path, or a list of these.
    ///
    /// # Errors
    /// A trace cannot be opened, or it is something else.
    pub(crate) fn several<'py>(traces: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, Trace>>> {
        if let Ok(trace) = traces.cast::<Trace>() {
            return Ok(vec![trace.clone()]);
        }
        let py = traces.py();
        if traces.is_instance_of::<PyString>() || traces.hasattr("__fspath__")? {
            return Ok(vec![Bound::new(py, Trace::open(py, traces)?)?]);
        }
        let items = traces.try_iter().map_err(|_| {
            PyTypeError::new_err(format!("expected a trace, a path, or a list of these, not {traces}"))
        })?;
        let mut all = Vec::new();
        for item in items {
            all.extend(Trace::several(&item?)?);
        }
        match all.is_empty() {
            true => Err(error("no traces are given")),
            false => Ok(all),
        }
    }

    fn listing(&self) -> report::Table {
        let mut table = report::Table::new(
            format!("{}: launches", timing::traces::label(self.trace.path())),
            [
                report::Column::integer("launch"),
                report::Column::text("kernel"),
                report::Column::text("grid"),
                report::Column::text("block"),
                report::Column::integer("stream"),
                report::Column::integer("blocks recorded").key("blocks_recorded"),
                report::Column::integer("warp instructions").key("warp_instructions"),
                report::Column::integer("thread instructions").key("thread_instructions"),
            ],
        );
        let shape = |of: [u32; 3]| format!("{}x{}x{}", of[0], of[1], of[2]);
        for (number, launch) in self.trace.launches().iter().enumerate() {
            table.push(report::cells![
                number,
                &self.trace.kernel(launch.kernel).name,
                shape(launch.geometry.grid),
                shape(launch.geometry.block),
                launch.stream,
                launch.blocks_recorded(),
                launch.warp_instructions(),
                launch.thread_instructions(),
            ]);
        }
        table
    }
}

#[pymethods]
impl Trace {
    /// Opens a trace.
    #[new]
    fn new(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Trace> {
        Trace::open(py, path)
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.trace.path().to_owned()
    }

    /// What the recording left besides the trace (`warplab.Recording`); none for a trace that was opened.
    #[getter]
    fn recording(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.recording.get().map(|recording| recording.clone_ref(py))
    }

    /// Keeps what the recording left; for `warplab.record`.
    fn _set_recording(&self, recording: Py<PyAny>) {
        // A second call changes nothing.
        let _ = self.recording.set(recording);
    }

    /// Size of the file in bytes.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.trace.file_bytes()
    }

    /// Whether it holds register values; one recorded with `addresses_only` does not.
    #[getter]
    fn has_values(&self) -> bool {
        self.trace.header().has_values()
    }

    /// Warp instructions of all launches.
    #[getter]
    fn warp_instructions(&self) -> u64 {
        self.trace.launches().iter().map(reader::Launch::warp_instructions).sum()
    }

    /// The launches, a row each.
    #[getter]
    fn launches(&self) -> PyResult<Table> {
        Table::of_report(&self.listing())
    }

    /// The kernels, a row each.
    #[getter]
    fn kernels(&self) -> PyResult<Table> {
        let mut table = report::Table::new(
            format!("{}: kernels", timing::traces::label(self.trace.path())),
            [
                report::Column::text("kernel"),
                report::Column::integer("instructions"),
                report::Column::integer("registers_per_thread"),
                report::Column::integer("static_shared_bytes"),
                report::Column::integer("local_bytes"),
                report::Column::integer("launches"),
            ],
        );
        for number in 0..self.trace.kernel_count() as u32 {
            let kernel = self.trace.kernel(number);
            let launches = self.trace.launches().iter().filter(|launch| launch.kernel == number).count();
            table.push(report::cells![
                &kernel.name,
                kernel.insts.len(),
                u32::from(kernel.regs_per_thread),
                kernel.static_shared_bytes,
                kernel.local_bytes,
                launches,
            ]);
        }
        Table::of_report(&table)
    }

    fn __len__(&self) -> usize {
        self.trace.launches().len()
    }

    /// A launch by its number; negative numbers count from the end.
    fn __getitem__(&self, number: isize) -> PyResult<Launch> {
        let count = self.trace.launches().len();
        let position = if number < 0 { number + count as isize } else { number };
        match usize::try_from(position).ok().filter(|&position| position < count) {
            Some(position) => Ok(Launch::new(self.trace.clone(), position as u32)),
            None => {
                Err(PyIndexError::new_err(format!("there is no launch {number}; the trace holds {count}")))
            }
        }
    }

    /// Replays the trace on a machine, by default a TITAN X (Pascal), with techniques or without. A technique that is a Python class makes the replay
    /// single-threaded and slow.
    #[pyo3(signature = (
        config=None, tech=None, set=None, *, ideal=false, kernels=None, launches=None, threads=None,
        concurrent=false, max_cycles=None, checked=false, progress=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn replay(
        &self,
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        tech: Option<&Bound<'_, PyAny>>,
        set: Option<&Bound<'_, PyAny>>,
        ideal: bool,
        kernels: Option<&str>,
        launches: Option<&str>,
        threads: Option<usize>,
        concurrent: bool,
        max_cycles: Option<u64>,
        checked: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Replay> {
        let tech = Techniques::read(tech)?;
        let config = config.map_or(Ok(builtin::MODELLED.to_owned()), config_text)?;
        let raised = Raised::default();
        let setup = Setup::for_python(py, &config, &tech, &overrides(set)?, ideal, &raised)?;
        warn(py, &setup.notes)?;
        let order = Order {
            config: &setup.loaded.config,
            techniques: &setup.techniques,
            selection: Selection::parse(kernels, launches).map_err(error)?,
            threads: if setup.is_python { 1 } else { self::threads(threads) },
            concurrent,
            max_cycles,
            checked,
        };
        let names = tech.joined(py)? + if ideal { " (ideal)" } else { "" };
        Replay::make(py, &self.trace, &order, setup.energy.clone(), names, progress, &raised)
    }

    /// Runs a limit study over the trace, see `warplab.study`.
    #[pyo3(signature = (names, *, by=None, kernels=None, launches=None, threads=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn study(
        &self,
        py: Python<'_>,
        names: &str,
        by: Option<&str>,
        kernels: Option<&str>,
        launches: Option<&str>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        study::run(py, &[&self.trace], &Asked { names, by, kernels, launches, threads }, progress)
    }

    fn __repr__(&self) -> String {
        let launches = self.trace.launches().len();
        let many = if launches == 1 { "" } else { "es" };
        format!(
            "<warplab.Trace {}: {launches} launch{many}, {} warp instructions>",
            self.trace.path().display(),
            report::integer(self.warp_instructions().into())
        )
    }

    fn _repr_html_(&self) -> PyResult<String> {
        Ok(html::paragraph(&self.__repr__()) + &self.launches()?.to_html())
    }
}

/// A configuration's name, or the path of its file.
///
/// # Errors
/// `TypeError` if it is neither.
pub(crate) fn config_text(config: &Bound<'_, PyAny>) -> PyResult<String> {
    let path: PathBuf = config.extract()?;
    Ok(path.display().to_string())
}
