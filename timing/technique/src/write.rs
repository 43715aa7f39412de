//! Results on their way to the register file.

use trace_format::semantics::Row;

/// Destination of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// One access to this bank.
    Bank(u8),
    /// One access to this bank that writes a single lane; it does not count as a write of the register.
    Lane(u8),
    /// No bank access.
    Nowhere,
}

/// How registers get new contents without passing `collect` and `write_back`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rewritten {
    /// Another technique has supplied the results of an instruction that was never fetched.
    Skipped,
    /// A micro-operation of another technique has written the registers, with the values that they had.
    Moved,
}

/// A destination register on its way to the register file.
#[derive(Clone, Copy, Debug)]
pub struct RegisterWrite<'a> {
    /// Register number.
    pub reg: u8,
    /// On entry the bank without techniques; techniques replace it.
    pub to: WriteTo,
    row: &'a Row,
}

impl<'a> RegisterWrite<'a> {
    /// A recorded result, made by the pipeline.
    #[must_use]
    #[inline]
    pub fn new(reg: u8, to: WriteTo, row: &'a Row) -> RegisterWrite<'a> {
        RegisterWrite { reg, to, row }
    }

    /// The results as recorded, in the lanes in which the instruction took effect. Other lanes hold noise, so that a
    /// technique that takes them for the register's old values is found. In [`rewritten`](crate::Technique::rewritten) every
    /// lane holds the register's value.
    #[must_use]
    #[inline]
    pub fn row(&self) -> &'a Row {
        self.row
    }
}
