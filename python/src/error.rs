//! `warplab.Error`: its text is the one that the command prints after `error: `.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;

create_exception!(
    warplab,
    Error,
    PyException,
    "What Warplab refuses: bad input, with its place and a remedy, in the words of the command line."
);

/// The exception with a text.
#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(crate) fn error(why: impl ToString) -> PyErr {
    Error::new_err(why.to_string())
}

/// Passes the notes and warnings that a command prints to Python's `warnings`.
pub(crate) fn warn(py: Python<'_>, notes: &[String]) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    for note in notes {
        let text = note.strip_prefix("warning: ").or_else(|| note.strip_prefix("note: ")).unwrap_or(note);
        let level = PyDict::new(py);
        level.set_item("stacklevel", 2)?;
        warnings.call_method("warn", (text,), Some(&level))?;
    }
    Ok(())
}
