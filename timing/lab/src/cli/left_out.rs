//! Commands that take several traces: traces, and launches of traces, that cannot be used are left out and the reasons are
//! printed, the others are processed, and the command fails at its end.

use super::error::CliError;
use crate::replay::{ReplayError, Selection, Unreadable};
use serde_json::{Value, json};
use std::path::Path;
use warplab_host::numbers::ranges_of;

/// Traces that were left out, with reasons.
#[derive(Debug)]
pub(super) struct LeftOut {
    of: usize,
    traces: Vec<(String, String)>,
    /// Traces with launches that were left out, with reasons.
    launches: Vec<(String, Unreadable)>,
}

impl LeftOut {
    /// An empty list, for a number of traces.
    pub(super) fn of(traces: usize) -> LeftOut {
        LeftOut { of: traces, traces: Vec::new(), launches: Vec::new() }
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

    /// Notes and prints that launches of a trace cannot be read.
    ///
    /// # Errors
    /// The reasons, if no launch is left.
    pub(super) fn launches(&mut self, path: &Path, found: Unreadable) -> Result<(), CliError> {
        if found.others.is_empty() {
            return Err(CliError(format!("{}: {found}", path.display())));
        }
        eprintln!("error: {}: {found}; the others are used", path.display());
        self.launches.push((path.display().to_string(), found));
        Ok(())
    }

    /// The result of replays of the launches of a trace that can be read: `replayed` is called again without those that
    /// cannot.
    ///
    /// # Errors
    /// That of `replayed` if it has another cause, or no launch can be read.
    pub(super) fn readable<T>(
        &mut self,
        path: &Path,
        selection: &Selection,
        mut replayed: impl FnMut(&Selection) -> Result<T, ReplayError>,
    ) -> Result<T, CliError> {
        let mut selection = selection.clone();
        loop {
            match replayed(&selection) {
                Ok(done) => return Ok(done),
                Err(ReplayError::Unreadable(found)) => {
                    selection = selection.without(found.launches.iter().map(|(launch, ..)| *launch));
                    self.launches(path, *found)?;
                }
                Err(why) => return Err(CliError(format!("{}: {why}", path.display()))),
            }
        }
    }

    /// The traces and the launches of traces that were left out, with the reasons.
    pub(super) fn reasons(&self) -> Vec<(String, String)> {
        let launches = self.launches.iter().flat_map(|(trace, found)| {
            found
                .launches
                .iter()
                .map(move |(launch, _, why)| (format!("launch {launch} of {trace}"), why.clone()))
        });
        self.traces.iter().cloned().chain(launches).collect()
    }

    /// Adds them to a JSON result, if there are any.
    pub(super) fn add_to(&self, value: &mut Value) {
        let traces = self.traces.iter().map(|(trace, why)| json!({ "trace": trace, "why": why }));
        let launches = self.launches.iter().flat_map(|(trace, found)| {
            let one = move |(launch, kernel, why): &(usize, String, String)| {
                json!({ "trace": trace, "launch": launch, "kernel": kernel, "why": why })
            };
            found.launches.iter().map(one)
        });
        let all: Vec<Value> = traces.chain(launches).collect();
        if !all.is_empty() {
            value["left_out"] = Value::Array(all);
        }
    }

    /// Final result of the command, after its output is written.
    ///
    /// # Errors
    /// A trace or a launch was left out.
    pub(super) fn verdict(&self) -> Result<(), CliError> {
        let names: Vec<&str> = self.traces.iter().map(|(trace, _)| trace.as_str()).collect();
        let traces = match names.len() {
            0 => None,
            count => Some(format!("{count} of {} traces left out: {}", self.of, names.join(", "))),
        };
        let of = |(trace, found): &(String, Unreadable)| {
            let numbers = ranges_of(found.launches.iter().map(|(launch, ..)| *launch as u64));
            let word = if found.launches.len() == 1 { "launch" } else { "launches" };
            format!("{word} {numbers} of {trace} left out")
        };
        let all: Vec<String> = traces.into_iter().chain(self.launches.iter().map(of)).collect();
        if all.is_empty() { Ok(()) } else { Err(CliError(all.join("; "))) }
    }
}
