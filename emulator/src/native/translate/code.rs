//! The decoded code of a function, in which targets are found.

use sass::{INSTRUCTION_BYTES, Instruction};
use trace_format::isa::Pc;

/// Why an instruction has no translation.
pub(super) type Refusal = String;

/// The decoded words of a function.
pub(super) struct Code<'a> {
    pub(super) words: &'a [Result<Instruction, String>],
    /// Where the functions that it calls begin.
    pub(super) entries: Vec<Pc>,
}

impl Code<'_> {
    /// The place of an address.
    pub(super) fn place(&self, address: u64) -> Result<Pc, Refusal> {
        let at = address / INSTRUCTION_BYTES as u64;
        if address.is_multiple_of(INSTRUCTION_BYTES as u64) && at < self.words.len() as u64 {
            Ok(Pc(at as u32))
        } else {
            Err(format!("{address:#x} lies outside the function"))
        }
    }
}
