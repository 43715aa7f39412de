//! Decoder of NVIDIA's machine code (SASS).
//!
//! [`decode`] turns a 128-bit word into an [`Instruction`], which is the same type for all targets; its `Display` is nvdisasm's text. What the
//! bits of a word mean is data: a table ([`data/opcodes.txt`](https://github.com/warplab/warplab)) that `tools/derive.py` derives from
//! nvdisasm's text on words of programs that we compiled ourselves. A word that the table does not know is an error that names
//! it; nothing is guessed. [`cubin`] reads the ELF files that hold machine code, [`lines`] their tables of source lines.

pub mod cubin;
mod decode;
mod float;
mod instruction;
pub mod lines;
mod list;
mod print;
mod table;
mod target;

pub use decode::{DecodeError, decode};
pub use instruction::{Control, Guard, INSTRUCTION_BYTES, Instruction, Operand, PT, RZ, Value};
pub use list::List;
pub use target::Target;
