//! Scouts: a second pass over the recorded paths of resident warps, ahead of the warps themselves.
//!
//! A technique that runs a stream of its own ahead of the warps needs to know which way these will go. A scout follows a
//! warp's recording from its first instruction; the technique steps it ([`Cx::scouts`](crate::Cx::scouts)), never past
//! what its own hardware could know at that time.

use trace_format::semantics::Row;

/// What scouts regenerate of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scouting {
    /// There are no scouts.
    #[default]
    None,
    /// Paths and guards; registers are undefined.
    Paths,
    /// Every value.
    Values,
}

impl Scouting {
    /// What satisfies both.
    #[must_use]
    pub fn or(self, other: Scouting) -> Scouting {
        match (self, other) {
            (Scouting::Values, _) | (_, Scouting::Values) => Scouting::Values,
            (Scouting::Paths, _) | (_, Scouting::Paths) => Scouting::Paths,
            _ => Scouting::None,
        }
    }
}

/// An instruction that a scout has stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scouted {
    /// Instruction index.
    pub pc: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
}

/// The scouts of an SM, one for each resident warp, by warp slot.
pub trait Scouts {
    /// The next instruction of a warp's scout and the lanes on its path; `None` at the end of the warp.
    fn next(&self, warp_slot: usize) -> Option<(u32, u32)>;

    /// Steps a scout over its next instruction; `None` at the end of the warp, or if the recording is damaged, which
    /// ends the replay.
    fn step(&mut self, warp_slot: usize) -> Option<Scouted>;

    /// Architectural registers after the scout's latest step, by number.
    fn rows(&self, warp_slot: usize) -> &[Row];

    /// Lanes in which each predicate is true after the scout's latest step, by number; the last one is PT.
    fn preds(&self, warp_slot: usize) -> [u32; 8];
}
