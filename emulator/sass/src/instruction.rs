//! The decoded form of an instruction, the same for all targets.

use crate::list::List;

/// Number of the register that reads as zero (RZ).
pub const RZ: u8 = 255;
/// Number of the predicate that is true (PT, UPT).
pub const PT: u8 = 7;
/// Bytes of an instruction, on every target.
pub const INSTRUCTION_BYTES: usize = 16;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instruction {
    /// Its address, in bytes from the start of its section.
    pub address: u64,
    /// Its encoding.
    pub word: u128,
    /// The 12-bit opcode: operation in bits 0-8, form of its sources in bits 9-11.
    pub opcode: u16,
    /// The operation, without modifiers: `IMAD`.
    pub mnemonic: &'static str,
    /// The predicate under which it takes effect.
    pub guard: Guard,
    /// Modifiers in the order of nvdisasm: `WIDE`, `U32`. Defaults that nvdisasm does not print are absent.
    pub modifiers: List<&'static str, 14>,
    /// Destinations, then sources, in the order of nvdisasm.
    pub operands: List<Operand, 12>,
    /// Scheduling information of the compiler.
    pub control: Control,
    /// The number of the uniform register URZ on the target.
    pub uniform_zero: u8,
}

impl Instruction {
    /// Whether it has this modifier.
    #[must_use]
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// A guard predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Number of the predicate; [`PT`] if there is no guard.
    pub predicate: u8,
    /// Whether lanes take part in which the predicate is false.
    pub negated: bool,
    /// Whether it is a uniform predicate.
    pub uniform: bool,
}

impl Guard {
    /// Whether every lane takes part.
    #[must_use]
    pub fn is_always(self) -> bool {
        self.predicate == PT && !self.negated
    }
}

/// An operand with its marks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operand {
    /// What is read or written.
    pub value: Value,
    /// Arithmetic negation (`-`).
    pub negate: bool,
    /// Absolute value (`|x|`).
    pub absolute: bool,
    /// Bitwise complement (`~`).
    pub complement: bool,
    /// Complement of a predicate (`!`).
    pub not: bool,
    /// The register file cache keeps the value (`.reuse`).
    pub reuse: bool,
    /// Part or format of the value: `H0_H0`, `B1`, `64`; empty for all of it.
    pub suffix: &'static str,
}

/// What an operand names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value {
    /// A vector register; [`RZ`] is zero.
    Register(u8),
    /// A uniform register.
    Uniform(u8),
    /// A predicate; [`PT`] is true.
    Predicate(u8),
    /// A uniform predicate.
    UniformPredicate(u8),
    /// A convergence register.
    Convergence(u8),
    /// A dependence counter.
    Scoreboard(u8),
    /// A value in a constant bank.
    Constant {
        /// The bank.
        bank: u8,
        /// Register that is added to the offset.
        register: Option<u8>,
        /// Uniform register that is added to the offset.
        uniform: Option<u8>,
        /// Bytes.
        offset: i32,
        /// Whether nvdisasm writes a space between bank and offset.
        spaced: bool,
    },
    /// An address in memory: the sum of its parts.
    Address {
        /// First of two uniform registers that describe the memory.
        descriptor: Option<u8>,
        /// The register.
        register: Option<u8>,
        /// How the register is read: `64` for a pair, `U32`, or a factor as `X4`; empty for 32 bits.
        width: &'static str,
        /// The uniform register.
        uniform: Option<u8>,
        /// Bytes.
        offset: i32,
    },
    /// An integer.
    Integer(i64),
    /// An integer of 64 bits.
    Wide(u64),
    /// A single-precision number, as its bits.
    Single(u32),
    /// A double-precision number, as its bits.
    Double(u64),
    /// A half-precision number, as its bits.
    Half(u16),
    /// A bfloat16 number, as its bits.
    BFloat16(u16),
    /// The address of an instruction, from the start of the section.
    Target(u64),
    /// Something with a name: a special register, the shape of a texture, all predicates.
    Name(&'static str),
    /// Nothing; operands that are decoded never have it.
    #[default]
    None,
}

/// Scheduling information of the compiler (bits 105 to 124).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Cycles until the warp may issue its next instruction.
    pub stall_cycles: u8,
    /// Whether another warp should issue in the next cycle.
    pub yields: bool,
    /// Dependence counter that is decremented when results are written.
    pub write_counter: Option<u8>,
    /// Dependence counter that is decremented when sources have been read.
    pub read_counter: Option<u8>,
    /// Dependence counters that must be zero before the instruction issues, as a mask.
    pub wait_mask: u8,
    /// Reuse flags of the sources in bits 24, 32 and 64, as a mask.
    pub reuse: u8,
}

impl Control {
    /// The control bits of a word.
    #[must_use]
    pub fn of(word: u128) -> Control {
        let bits = |at: u32, width: u32| ((word >> at) & ((1 << width) - 1)) as u8;
        let counter = |at| Some(bits(at, 3)).filter(|n| *n != 7);
        Control {
            stall_cycles: bits(105, 4),
            yields: bits(109, 1) == 0,
            write_counter: counter(110),
            read_counter: counter(113),
            wait_mask: bits(116, 6),
            reuse: bits(122, 3),
        }
    }
}
