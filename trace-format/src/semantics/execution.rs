//! One execution of an instruction: the argument of the opcode table's functions.

use super::code::ExecInst;
use super::warp::Warp;

/// One execution of an instruction by a warp: the argument of the functions that rows of the opcode table
/// name.
#[derive(Debug)]
pub struct Execution<'a> {
    /// The instruction.
    pub inst: &'a ExecInst,
    /// The warp's registers.
    pub warp: &'a mut Warp,
    /// Lanes that take part.
    pub exec: u32,
}
