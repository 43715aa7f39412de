//! The targets whose instructions are known.

use std::fmt;

/// A compute capability whose machine code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// Volta. Its words are those of Turing but for its tensor cores.
    Sm70,
    /// Turing.
    Sm75,
    /// Ampere, A100.
    Sm80,
    /// Ampere, other GPUs.
    Sm86,
    /// Ada Lovelace.
    Sm89,
    /// Hopper.
    Sm90,
    /// Blackwell, consumer GPUs.
    Sm120,
}

impl Target {
    /// Every target, oldest first.
    pub const ALL: [Target; 7] =
        [Target::Sm70, Target::Sm75, Target::Sm80, Target::Sm86, Target::Sm89, Target::Sm90, Target::Sm120];

    /// The target of a compute capability such as 75; none if its instructions are not known.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.number() == number)
    }

    /// The compute capability as a number: 75 for sm_75.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Target::Sm70 => 70,
            Target::Sm75 => 75,
            Target::Sm80 => 80,
            Target::Sm86 => 86,
            Target::Sm89 => 89,
            Target::Sm90 => 90,
            Target::Sm120 => 120,
        }
    }

    /// The number of the uniform register that is zero (URZ).
    #[must_use]
    pub const fn uniform_zero(self) -> u8 {
        match self {
            Target::Sm120 => 255,
            _ => 63,
        }
    }

    /// Its place in [`Target::ALL`].
    #[must_use]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}
