//! What each row of the opcode table does: one function per pure opcode, named like it, which the row names. The
//! arguments are the row's modifiers. The arithmetic is in the modules next to this one.

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
