//! Commands that take several traces: those that cannot be used are left out and the reasons are printed, the others are
//! processed, and the command fails at its end.

use super::error::CliError;
use serde_json::{Value, json};
use std::path::Path;

/// Traces that were left out, with reasons.
#[derive(Debug)]
pub(super) struct LeftOut {
    of: usize,
    traces: Vec<(String, String)>,
}

impl LeftOut {
    /// An empty list, for a number of traces.
    pub(super) fn of(traces: usize) -> LeftOut {
        LeftOut { of: traces, traces: Vec::new() }
    }

    /// Returns the result of a trace, or records and prints the reason of its failure.
    ///
    /// # Errors
    /// The reason, if no trace is left.
    pub(super) fn unless<T>(
        &mut self,
        path: &Path,
        done: Result<T, CliError>,
    ) -> Result<Option<T>, CliError> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if self.traces.len() + 1 == self.of => Err(error),
            Err(CliError(why)) => {
                warplab_host::say!("error: {why}");
                self.traces.push((path.display().to_string(), why));
                Ok(None)
            }
        }
    }

    /// The traces with the reasons.
    pub(super) fn traces(&self) -> &[(String, String)] {
        &self.traces
    }

    /// Adds them to a JSON result, if there are any.
    pub(super) fn add_to(&self, value: &mut Value) {
        if !self.traces.is_empty() {
            let list = self.traces.iter().map(|(trace, why)| json!({ "trace": trace, "why": why }));
            value["left_out"] = list.collect();
        }
    }

    /// Final result of the command, after its output is written.
    ///
    /// # Errors
    /// A trace was left out.
    pub(super) fn verdict(&self) -> Result<(), CliError> {
        let names: Vec<&str> = self.traces.iter().map(|(trace, _)| trace.as_str()).collect();
        match names.len() {
            0 => Ok(()),
            count => Err(CliError(format!("{count} of {} traces left out: {}", self.of, names.join(", ")))),
        }
    }
}
