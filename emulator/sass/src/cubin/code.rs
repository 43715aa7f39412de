//! Relocations of code: fields of instructions that get addresses of functions and variables. Programs whose files were
//! compiled on their own and linked (`nvcc -rdc=true`) have them.

use super::data::{self, Referent};
use super::error::CubinError;
use super::{Cubin, Function};
use crate::INSTRUCTION_BYTES;

/// Kinds of relocations, by their numbers: `R_CUDA_ABS32_LO_32`, `R_CUDA_ABS32_HI_32`, `R_CUDA_ABS47_34`,
/// `R_CUDA_FUNC_DESC32_LO_32`, `R_CUDA_FUNC_DESC32_HI_32`, `R_CUDA_ABS55_16_34`.
const FIELDS: [(u32, CodeField); 6] = [
    (0x38, CodeField::Low),
    (0x39, CodeField::High),
    (0x3a, CodeField::Call),
    (0x3e, CodeField::Low),
    (0x3f, CodeField::High),
    (0x4b, CodeField::LongCall),
];

/// The part of an instruction that gets an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeField {
    /// The literal, which gets the lower 32 bits.
    Low,
    /// The literal, which gets the upper 32 bits.
    High,
    /// The target of a call, which is counted in words of four bytes.
    Call,
    /// The same from sm_90 on, in two parts.
    LongCall,
}

impl CodeField {
    /// The bits of the field and the part of an address that they hold.
    fn place(self, address: u64) -> (u128, u128) {
        let part = |at: u32, width: u32, value: u64| {
            let ones = (1u128 << width) - 1;
            (ones << at, (u128::from(value) & ones) << at)
        };
        match self {
            CodeField::Low => part(32, 32, address),
            CodeField::High => part(32, 32, address >> 32),
            CodeField::Call => part(34, 47, address >> 2),
            CodeField::LongCall => {
                let (low, high) = (part(16, 8, address >> 2), part(34, 47, address >> 10));
                (low.0 | high.0, low.1 | high.1)
            }
        }
    }

    /// The word with an address in its field.
    #[must_use]
    pub fn put(self, word: u128, address: u64) -> u128 {
        let (mask, bits) = self.place(address);
        word & !mask | bits
    }
}

/// An instruction that gets an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeRelocation<'a> {
    /// Address of the instruction in the function's section.
    pub address: u64,
    /// The part of it.
    pub field: CodeField,
    /// What the address is of.
    pub of: Referent<'a>,
    /// Added to it.
    pub addend: i64,
}

impl<'a> Cubin<'a> {
    /// Relocations of a function's code.
    ///
    /// # Errors
    /// They are damaged, or of a kind that is not supported.
    pub fn code_relocations(&self, function: &Function<'a>) -> Result<Vec<CodeRelocation<'a>>, CubinError> {
        let mut found = Vec::new();
        for entry in data::of_code(&self.file, &function.name)? {
            entry.refuse_handles()?;
            let Some((_, field)) = FIELDS.iter().find(|(number, _)| *number == entry.number) else {
                return Err(entry.unsupported());
            };
            let at = usize::try_from(entry.offset).unwrap_or(usize::MAX);
            if at % INSTRUCTION_BYTES != 0 {
                return Err(entry.refuse("an instruction does not begin there".into()));
            }
            let Some(word) = function.words().nth(at / INSTRUCTION_BYTES) else {
                return Err(entry.runs_off());
            };
            // What has no addend of its own may have one in the field.
            let stored = word & field.place(u64::MAX).0;
            let addend = match (entry.addend, field) {
                (Some(addend), _) => addend,
                (None, CodeField::Low) => i64::from((stored >> 32) as u32),
                (None, _) if stored == 0 => 0,
                (None, _) => return Err(entry.refuse("the field is not empty".into())),
            };
            let of = entry.referent(&self.file, false)?;
            found.push(CodeRelocation { address: entry.offset, field: *field, of, addend });
        }
        Ok(found)
    }
}
