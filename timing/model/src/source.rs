//! The input of the pipeline: per warp, a stream of steps with register values and addresses.
//!
//! The trace reader is one implementation; tests build others by hand. A stream is stepped when its warp
//! issues, in program order, so that before the step its rows are the values that the instruction reads.

use std::fmt;

use trace_format::isa::Pred;
pub use trace_format::semantics::Row;
pub use warplab_technique::MemAccess;

/// The next instruction on a warp's recorded path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// Instruction index.
    pub pc: u32,
    /// Lanes on the path.
    pub active: u32,
}

/// An instruction that a stream has just stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Instruction index.
    pub pc: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Lanes in which the instruction took effect, after its guard.
    pub exec: u32,
}

/// Error of a stream that cannot continue: a damaged or incomplete recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError(pub String);

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SourceError {}

/// One warp's recorded path.
pub trait WarpStream: Send {
    /// The next instruction, or `None` at the end of the warp.
    fn peek(&self) -> Option<Upcoming>;

    /// Steps over the next instruction: rows and memory access then describe its effect.
    ///
    /// # Errors
    /// The recording does not hold the values of the instruction.
    fn step(&mut self) -> Result<Step, SourceError>;

    /// Called once when [`WarpStream::peek`] returns `None`.
    ///
    /// # Errors
    /// The recording ends here because it is damaged.
    fn finish(&mut self) -> Result<(), SourceError>;

    /// Architectural registers, indexed by register number.
    fn rows(&self) -> &[Row];

    /// Lanes in which each predicate is true, by its number: P0 to P6, PT, the uniform predicates.
    fn preds(&self) -> &[u32; Pred::ALL];

    /// Uniform registers by number; none if the kernel has none.
    fn uniforms(&self) -> &[Row];

    /// Memory access of the last step, if it was one.
    fn mem(&self) -> Option<MemAccess<'_>>;
}

/// The warps of one kernel launch.
pub trait LaunchSource: Sync {
    /// Whether events are recorded for a view of the pipeline; otherwise recording is compiled out.
    const OBSERVED: bool = false;

    /// Whether techniques may run; otherwise their calls are compiled out.
    const TECHNIQUES: bool = true;

    /// A warp's stream; it may borrow from the source.
    type Warp<'a>: WarpStream
    where
        Self: 'a;

    /// Opens a warp of a block at its beginning, using the memory of a stream that is no longer needed.
    ///
    /// # Errors
    /// The recording does not hold that warp.
    fn open<'a>(
        &'a self,
        block: u32,
        warp: u32,
        used: Option<Self::Warp<'a>>,
    ) -> Result<Self::Warp<'a>, SourceError>;

    /// Opens the scout of a warp, for its path alone or with all values; `used` is a scout of the same kind.
    ///
    /// # Errors
    /// As for [`LaunchSource::open`].
    fn open_scout<'a>(
        &'a self,
        block: u32,
        warp: u32,
        _values: bool,
        used: Option<Self::Warp<'a>>,
    ) -> Result<Self::Warp<'a>, SourceError> {
        self.open(block, warp, used)
    }
}

/// Wraps the source of a launch without techniques, so that their calls are compiled out.
#[derive(Clone, Debug)]
pub struct Plain<S>(pub S);

impl<S: LaunchSource> LaunchSource for Plain<S> {
    const OBSERVED: bool = S::OBSERVED;

    const TECHNIQUES: bool = false;

    type Warp<'a>
        = S::Warp<'a>
    where
        Self: 'a;

    fn open<'a>(
        &'a self,
        block: u32,
        warp: u32,
        used: Option<Self::Warp<'a>>,
    ) -> Result<Self::Warp<'a>, SourceError> {
        self.0.open(block, warp, used)
    }
}
