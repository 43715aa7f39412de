//! Registers and variables of the code whose operands are checked.

use super::super::module::{Register, Variable};

/// What operands refer to.
pub(in super::super) struct Tables<'c> {
    pub(in super::super) registers: &'c [Register],
    pub(in super::super) vars: &'c [Variable],
}
