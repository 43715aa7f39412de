//! Names of machine state: 32-bit registers R0..R254 and RZ, predicates P0..P6 and PT, program counters.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A 32-bit warp register, R0..R254; 255 is RZ, which reads as zero and ignores writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Reg(pub u8);

impl Reg {
    /// The register that reads as zero and ignores writes.
    pub const RZ: Reg = Reg(255);
    /// Number of allocatable registers per thread (R0..R254).
    pub const COUNT: usize = 255;

    /// Whether this is RZ.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 255
    }

    /// Index of the register in a register file row table; RZ is 255.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The `n`-th register after this one (the upper word of a pair is `nth(1)`); RZ stays RZ.
    #[must_use]
    pub const fn nth(self, n: u8) -> Reg {
        if self.is_zero() { self } else { Reg(self.0 + n) }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() { f.write_str("RZ") } else { write!(f, "R{}", self.0) }
    }
}

/// A register of the uniform data path, one word per warp, UR0..UR62, since sm_100 more; 255 is URZ. Only machine code of NVIDIA has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct UniformReg(pub u8);

impl UniformReg {
    /// The uniform register that reads as zero and ignores writes.
    pub const URZ: UniformReg = UniformReg(255);

    /// Whether this is URZ.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 255
    }

    /// The `n`-th register after this one; URZ stays URZ.
    #[must_use]
    pub const fn nth(self, n: u8) -> UniformReg {
        if self.is_zero() { self } else { UniformReg(self.0 + n) }
    }
}

impl fmt::Display for UniformReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() { f.write_str("URZ") } else { write!(f, "UR{}", self.0) }
    }
}

/// A one-bit-per-lane predicate, P0..P6; 7 is PT, which reads as true and ignores writes. 8..14 are the uniform
/// predicates UP0..UP6, one bit per warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Pred(pub u8);

impl Pred {
    /// The predicate that is always true.
    pub const PT: Pred = Pred(7);
    /// Number of allocatable predicates per thread (P0..P6).
    pub const COUNT: usize = 7;

    /// Number of values of this type: P0..P6, PT, UP0..UP6, and one that is not used.
    pub const ALL: usize = 16;

    /// Lanes in which each predicate is true before the first instruction: PT in all, the others in none.
    pub const AT_START: [u32; Pred::ALL] = {
        let mut lanes = [0; Pred::ALL];
        lanes[Pred::PT.index()] = u32::MAX;
        lanes
    };

    /// The uniform predicate of a number; that of 7 is PT.
    #[must_use]
    pub const fn uniform(number: u8) -> Pred {
        if number == 7 { Pred::PT } else { Pred(8 + number) }
    }

    /// Whether it is a uniform predicate.
    #[must_use]
    pub const fn is_uniform(self) -> bool {
        self.0 > 7
    }

    /// Whether this is PT.
    #[must_use]
    pub const fn is_true(self) -> bool {
        self.0 == 7
    }

    /// Index into a table of predicates; PT is 7.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Pred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            7 => f.write_str("PT"),
            n @ 0..7 => write!(f, "P{n}"),
            n => write!(f, "UP{}", n - 8),
        }
    }
}

/// A program counter as an instruction index; instructions occupy 8 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Pc(pub u32);

impl Pc {
    /// Bytes that one instruction occupies in the instruction memory.
    pub const BYTES: u32 = 8;

    /// Byte address of the instruction within its kernel.
    #[must_use]
    pub const fn byte(self) -> u32 {
        self.0 * Self::BYTES
    }

    /// Index into a kernel's instruction list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The next instruction in memory order.
    #[must_use]
    pub const fn next(self) -> Pc {
        Pc(self.0 + 1)
    }
}

impl fmt::Display for Pc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.byte())
    }
}
