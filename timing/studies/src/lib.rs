//! Limit studies: how much of each opportunity exists in a program, from a trace alone and without timing.
//!
//! A study is one file, with a list of its counters per instruction (`define`) and a [`Fold`] that counts, and one entry of
//! [`registry`]; studies of other crates are added by their program ([`add`]). `driver` runs the pass over the trace, which all chosen studies
//! share, with threads and bounded memory; `setting`, `values`, `instances`, `sample` and `turns`
//! provide the data that they count with. The result is a [`StudyResult`]: tables with typed columns, charts,
//! annotated source, and machine-readable data, all generated from the lists by [`result`](StudyResult).

pub(crate) mod affine;
pub(crate) mod copies;
pub(crate) mod dead;
pub(crate) mod define;
pub(crate) mod divergence;
pub(crate) mod driver;
pub(crate) mod entropy;
mod error;
mod further;
pub(crate) mod instances;
mod lanes;
pub(crate) mod lifetime;
pub(crate) mod liveness;
pub(crate) mod memo;
pub(crate) mod memory;
mod open_map;
mod options;
pub(crate) mod redundancy;
pub(crate) mod registry;
mod result;
pub(crate) mod reuse;
mod rows;
pub(crate) mod runs;
pub(crate) mod sample;
mod select;
pub(crate) mod setting;
pub(crate) mod sharing;
pub(crate) mod source;
pub(crate) mod taxonomy;
pub(crate) mod total;
pub(crate) mod turns;
pub(crate) mod uniform;
pub(crate) mod values;
pub(crate) mod width;

pub use define::{Counter, Course, Figure, Headline, Join, Marks, Mean, Share, Shown, Study};
pub use driver::{Fold, Outcome, add_counts};
pub use error::StudyError;
pub use further::StudyEntry;
pub use options::{By, Options, Progress};
pub use registry::add;
pub use result::StudyResult;
pub use rows::KernelCounts;
pub use sample::Seen;
pub use select::{Input, Selection};
pub use setting::{At, Decoded, Setting, Span};
pub use total::Total;
pub use values::Shape;

use registry::all;
use source::{LaunchPaths, TraceLaunch};
use std::sync::atomic::{AtomicU64, Ordering};
pub mod internals {
    //! Parts that tests hold against twins of their own; nothing else uses them.

    pub use crate::redundancy::{Tally, of_launch};
    pub use crate::source::{LaunchPaths, TraceLaunch, WarpPath};
}

use warplab_model::replay::Unreadable;

/// Bytes of decompressed frames that a pass, which reads blocks in order, caches of each trace.
const KEPT_BYTES: usize = 16 << 20;

/// Every study, in the order in which they are listed, those of other crates last.
pub fn registry() -> impl Iterator<Item = &'static Study> {
    all().map(|(study, _)| study)
}

/// The study with a name.
///
/// # Errors
/// [`StudyError::Unknown`] with the names that exist.
pub fn find(name: &str) -> Result<&'static Study, StudyError> {
    row(name).map(|(study, _)| study)
}

fn row(name: &str) -> Result<(&'static Study, usize), StudyError> {
    all().find(|(study, _)| study.name == name).ok_or_else(|| StudyError::Unknown {
        name: name.to_owned(),
        known: registry().map(|study| study.name).chain(["all"]).collect(),
    })
}

/// The studies in a list of names (`all` means every study); each once, in the order of the names.
///
/// # Errors
/// [`StudyError::Unknown`] with the names that exist.
pub fn choose(names: &str) -> Result<Vec<&'static str>, StudyError> {
    let mut chosen = Vec::new();
    for name in names.split(',').map(str::trim) {
        let named: Vec<_> = if name == "all" { registry().collect() } else { vec![find(name)?] };
        chosen.extend(named.into_iter().map(|study| study.name));
    }
    let mut once = Vec::new();
    chosen.retain(|name| {
        !once.contains(name) && {
            once.push(*name);
            true
        }
    });
    Ok(chosen)
}

/// Runs the named studies over traces in one pass; results in the order of the names.
///
/// # Errors
/// An unknown name, no traces, nothing selected, a trace without the values that studies need, a damaged trace.
pub fn run(
    names: &[&str],
    inputs: &[Input<'_>],
    options: &Options<'_>,
) -> Result<Vec<StudyResult>, StudyError> {
    let studies = names.iter().map(|name| row(name)).collect::<Result<Vec<_>, _>>()?;
    if inputs.is_empty() {
        return Err(StudyError::NoTraces);
    }
    if let Some(input) = inputs.iter().find(|input| !input.trace.header().has_values()) {
        let why = input.trace.header().contents.lack_of_values().unwrap_or_default();
        return Err(StudyError::NoValues { label: input.label.to_owned(), studies: names.join(", "), why });
    }
    let launches = options.select.launches(inputs)?;
    inputs.iter().for_each(|input| input.trace.keep_unpacked(KEPT_BYTES));
    let chosen = studies.iter().fold(0, |set, (_, row)| set | 1 << row);
    let instructions =
        |&(input, launch): &(usize, u32)| inputs[input].trace.launches()[launch as usize].warp_instructions();
    let of = launches.iter().map(instructions).sum();
    let done = AtomicU64::new(0);
    let on_block = |instructions: u64| {
        let warp_instructions = done.fetch_add(instructions, Ordering::Relaxed) + instructions;
        (options.progress)(Progress { warp_instructions, of });
    };
    let mut rows = Vec::new();
    for &(input, launch) in &launches {
        let unreadable = |why| {
            let label = inputs[input].label.to_owned();
            let of_input = launches.iter().filter(|(of, _)| *of == input);
            let chosen: Vec<usize> = of_input.map(|(_, launch)| *launch as usize).collect();
            match Unreadable::among(inputs[input].trace, &chosen, options.threads) {
                Some(found) => StudyError::Launches { input, label, unreadable: Box::new(found) },
                None => StudyError::Trace { input, label, why: Box::new(why) },
            }
        };
        let source = TraceLaunch::new(inputs[input].trace, launch).map_err(unreadable)?;
        let kernel = inputs[input].trace.launches()[launch as usize].kernel;
        let row = rows::row_of(&mut rows, (input, inputs[input].label), kernel, &source);
        let which = Which { chosen, first: row.launches == 0 };
        let outcomes = count(&source, which, options.threads, &on_block, &mut row.earlier);
        let outcomes = outcomes.map_err(unreadable)?;
        row.add(&outcomes, source.blocks());
    }
    let notes = incomplete_notes(inputs);
    let result = |&(study, number): &(&'static Study, usize)| {
        let mut result = result::result(study, number, &rows, options);
        result.notes.extend(notes.iter().cloned());
        result
    };
    Ok(studies.iter().map(result).collect())
}

/// Counts of the named studies in one launch, in the order of the names.
///
/// # Errors
/// An unknown name, a damaged recording.
pub fn of_launch<S: LaunchPaths>(
    source: &S,
    names: &[&str],
    threads: usize,
) -> Result<Vec<Outcome>, StudyError> {
    let rows = names.iter().map(|name| row(name)).collect::<Result<Vec<_>, _>>()?;
    let chosen = rows.iter().fold(0, |set, (_, row)| set | 1 << row);
    let which = Which { chosen, first: true };
    let outcomes = count(source, which, threads, &|_| {}, &mut Seen::default())?;
    Ok(rows.iter().map(|(_, row)| outcomes[*row].clone().unwrap_or_default()).collect())
}

/// The studies to count in a launch.
#[derive(Clone, Copy)]
struct Which {
    /// Rows of the registry, one bit each.
    chosen: u32,
    /// Whether it is the first launch of its kernel.
    first: bool,
}

fn count<S: LaunchPaths>(
    source: &S,
    which: Which,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
    earlier: &mut Seen,
) -> Result<Vec<Option<Outcome>>, StudyError> {
    let setting = driver::setting(source, which.first, which.chosen);
    registry::outcomes(source, &setting, threads, on_block, earlier)
}

/// Notes on incomplete traces: their studies cover the recorded part.
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
