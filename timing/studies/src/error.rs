//! Errors of studies.

use warplab_model::replay::Unreadable;

/// Errors of studies.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StudyError {
    /// No study has that name.
    #[error("{}", warplab_host::names::unknown("study", name, known))]
    Unknown {
        /// The name asked for.
        name: String,
        /// Names that exist.
        known: Vec<&'static str>,
    },
    /// No trace was given.
    #[error("no traces were given to study")]
    NoTraces,
    /// A trace has no register values.
    #[error("{label}: the trace holds no values, which these studies need: {studies}; it {why}")]
    NoValues {
        /// Name of the trace.
        label: String,
        /// Names of the studies.
        studies: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// No launch is selected.
    #[error("{0}")]
    NothingSelected(String),
    /// The record of a launch cannot be read.
    #[error("launch {launch}: {why}")]
    Launch {
        /// Position in the trace.
        launch: u32,
        /// Why.
        why: String,
    },
    /// An error in one of the traces.
    #[error("{label}: {why}")]
    Trace {
        /// Position among the given traces.
        input: usize,
        /// Name of the trace.
        label: String,
        /// The error.
        why: Box<StudyError>,
    },
    /// Launches of one of the traces cannot be read.
    #[error("{label}: {unreadable}")]
    Launches {
        /// Position among the given traces.
        input: usize,
        /// Name of the trace.
        label: String,
        /// The launches.
        unreadable: Box<Unreadable>,
    },
    /// The threads could not be started.
    #[error("the threads of the studies cannot be started: {0}; `--threads` takes fewer")]
    Threads(String),
    /// A damaged or incomplete recording.
    #[error("kernel {kernel}, block {block}, warp {warp}: {why}")]
    Recording {
        /// Name of the kernel.
        kernel: String,
        /// Linear index of the block.
        block: u64,
        /// Warp in the block.
        warp: u32,
        /// The error.
        why: String,
    },
}
