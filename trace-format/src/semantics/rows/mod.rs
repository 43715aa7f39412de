//! Semantics of the opcode table's rows: one function per pure opcode, with its name. The arguments are the
//! row's modifiers. The arithmetic is in the modules next to this one.

mod across;
mod convert;
mod double;
mod half;
mod integer;
mod logic;
mod matrix;
mod single;

use crate::isa::Op;
use crate::isa::table::opcode_rows;

opcode_rows!(isa_semantics);
