//! The recording of a launch, for techniques that decide by a profile of it.

use std::fmt;
use trace_format::semantics::Row;

/// A launch whose recording is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiled {
    /// The launch that is prepared. No compiler has this profile: what a technique gains by it is an upper bound.
    ThisLaunch,
    /// The first launch of the same kernel in the recording, as a compiler or a driver could have it for later ones.
    FirstLaunch,
}

/// An instruction that a recorded warp executed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Executed<'a> {
    /// Instruction index.
    pub pc: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Architectural registers before the instruction.
    pub rows: &'a [Row],
}

impl<'a> Executed<'a> {
    /// An instruction on the path of the lanes of `active`, before which a warp's registers have these values.
    #[must_use]
    #[inline]
    pub fn new(pc: u32, active: u32, rows: &'a [Row]) -> Executed<'a> {
        Executed { pc, active, rows }
    }
}

/// The recorded warps of a launch.
pub trait RecordedWarps: fmt::Debug {
    /// Calls `visit` with every instruction that the warps of a launch executed, one warp after the other.
    ///
    /// # Errors
    /// The recording is damaged.
    fn walk(&self, launch: Profiled, visit: &mut dyn FnMut(&Executed<'_>)) -> Result<(), String>;
}
