//! Limit studies: how much of each opportunity exists in a program, from a trace alone and without timing.
//!
//! A study is one file and one row of [`registry`]. Most are a [`driver::Fold`] over the warps of each launch,
//! and [`driver`] brings the pass over the trace, its threads and its bounded memory; [`values`] and
//! [`instances`] are what they share. What comes out is a [`StudyResult`]: tables with typed columns, charts,
//! and machine-readable data.

pub mod driver;
pub mod instances;
pub mod redundancy;
mod result;
pub mod source;
pub mod values;

pub use result::StudyResult;

use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::reader::{Launch, Trace};

/// Every study, in the order in which they are listed.
#[must_use]
pub fn registry() -> &'static [StudyInfo] {
    const ALL: &[StudyInfo] = &[redundancy::INFO];
    ALL
}

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct StudyInfo {
    /// The word that `timing study` takes.
    pub name: &'static str,
    /// What it answers, in a phrase.
    pub summary: &'static str,
    /// Paper and figure that it reproduces.
    pub paper: &'static str,
    /// What `--explain` prints.
    pub explain: Explain,
    /// Runs it over traces.
    pub run: fn(&[Input<'_>], &Options<'_>) -> Result<StudyResult, StudyError>,
}

/// The definitions behind a study's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Explain {
    /// What is counted and how, in paragraphs.
    pub text: &'static [&'static str],
    /// Every column of the data: its key, and its formula with its denominator.
    pub columns: &'static [(&'static str, &'static str)],
}

/// A trace under the name that tables and charts call it by.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Name in tables and charts.
    pub label: &'a str,
    /// The trace.
    pub trace: &'a Trace,
}

/// How to run studies.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Threads; the result does not depend on it.
    pub threads: usize,
    /// Called now and then from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { threads: 1, progress: &|_| {} }
    }
}

/// How far a pass over the traces has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Warp instructions read so far.
    pub warp_instructions: u64,
    /// Warp instructions in all traces.
    pub of: u64,
}

/// Why a study could not be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StudyError {
    /// No study has that name.
    #[error("unknown study `{name}`; there are: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Names that exist.
        known: String,
    },
    /// There is nothing to study.
    #[error("no traces were given to study")]
    NoTraces,
    /// A trace has no register values.
    #[error(
        "{label}: the trace holds no values, which the study `{study}` needs; record it with `emu record`"
    )]
    NoValues {
        /// Name of the trace.
        label: String,
        /// Name of the study.
        study: &'static str,
    },
    /// A trace does not hold what it should.
    #[error("kernel {kernel}, block {block}, warp {warp}: {why}")]
    Recording {
        /// Name of the kernel.
        kernel: String,
        /// Linear index of the block.
        block: u64,
        /// Warp in the block.
        warp: u32,
        /// What went wrong.
        why: String,
    },
}

/// The study of that name.
///
/// # Errors
/// [`StudyError::Unknown`] with the names that exist.
pub fn find(name: &str) -> Result<&'static StudyInfo, StudyError> {
    registry().iter().find(|study| study.name == name).ok_or_else(|| StudyError::Unknown {
        name: name.to_owned(),
        known: registry().iter().map(|study| study.name).collect::<Vec<_>>().join(", "),
    })
}

/// Runs the named studies over traces, in the order of the names.
///
/// # Errors
/// An unknown name, no traces, a trace without the values that a study needs, a damaged trace.
pub fn run(
    names: &[&str],
    inputs: &[Input<'_>],
    options: &Options<'_>,
) -> Result<Vec<StudyResult>, StudyError> {
    let studies = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    if inputs.is_empty() {
        return Err(StudyError::NoTraces);
    }
    for study in &studies {
        if let Some(input) = inputs.iter().find(|input| !input.trace.header().values) {
            return Err(StudyError::NoValues { label: input.label.to_owned(), study: study.name });
        }
    }
    studies.iter().map(|study| (study.run)(inputs, options)).collect()
}

/// Hands every launch of every trace to `each`, with the callback that reports its blocks.
fn each_launch(
    inputs: &[Input<'_>],
    options: &Options<'_>,
    mut each: impl FnMut(&Input<'_>, u32, &(dyn Fn(u64) + Sync)) -> Result<(), StudyError>,
) -> Result<(), StudyError> {
    let of = inputs.iter().flat_map(|i| i.trace.launches()).map(Launch::warp_instructions).sum();
    let done = AtomicU64::new(0);
    let on_block = |instructions: u64| {
        let warp_instructions = done.fetch_add(instructions, Ordering::Relaxed) + instructions;
        (options.progress)(Progress { warp_instructions, of });
    };
    for input in inputs {
        for launch in 0..input.trace.launches().len() as u32 {
            each(input, launch, &on_block)?;
        }
    }
    Ok(())
}

/// Remarks on traces that were cut off: their studies cover what was recorded.
fn incomplete_notes(inputs: &[Input<'_>]) -> Vec<String> {
    let note = |input: &Input<'_>| {
        let why = input.trace.incomplete()?;
        Some(format!(
            "{}: only the recorded blocks are counted, because the trace is incomplete ({why}).",
            input.label
        ))
    };
    inputs.iter().filter_map(note).collect()
}
