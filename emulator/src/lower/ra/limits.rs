//! Limits of registers.

/// Registers and predicates that may be used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// General registers that instructions may name, at most 255.
    pub registers: u16,
    /// Predicates, at most 7.
    pub predicates: u16,
    /// Registers that hardware allocates besides those that instructions name.
    pub hidden: u16,
    /// Registers that instructions may name without a cost, if the register file has two banks.
    pub plentiful: Option<u16>,
}
