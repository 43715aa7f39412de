//! Reads cubins: the functions of their machine code, which are decoded when they are asked for.

use crate::{DecodeError, INSTRUCTION_BYTES, Instruction, Target, decode};
use goblin::elf::sym::STT_FUNC;
use goblin::elf::{Elf, SectionHeader};

/// The machine number of NVIDIA's GPUs in ELF files.
const EM_CUDA: u16 = 190;
/// Version of the ABI from which on the target is in bits 8-15 of the flags.
const TARGET_IN_SECOND_BYTE: u8 = 8;
/// Mark of a kernel in the last byte of a symbol.
const STO_CUDA_ENTRY: u8 = 0x10;
/// What sections of code begin with; the name of the function follows.
const TEXT: &str = ".text.";

/// Why a cubin cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    /// No ELF file, or a damaged one.
    #[error("this is no cubin: {0}")]
    Elf(String),
    /// An ELF file for another machine.
    #[error("this ELF file is for machine {0}, and not for a GPU of NVIDIA ({EM_CUDA})")]
    Machine(u16),
    /// A target whose instructions are not known.
    #[error(
        "the cubin is for sm_{0}, whose instructions are not known; known are sm_75, sm_80, sm_86, sm_90 and sm_120"
    )]
    Target(u32),
    /// A section runs off the end of the file.
    #[error("section {section} at byte {offset:#x} runs off the end of the file: it has {size:#x} bytes")]
    Truncated {
        /// Its name.
        section: String,
        /// Where it begins in the file.
        offset: u64,
        /// Its bytes.
        size: u64,
    },
    /// A section of code is no whole number of instructions.
    #[error(
        "section {section} at byte {offset:#x} has {size:#x} bytes, which are no whole number of instructions"
    )]
    Unaligned {
        /// Its name.
        section: String,
        /// Where it begins in the file.
        offset: u64,
        /// Its bytes.
        size: u64,
    },
}

/// A word of a function that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("section {section}, offset {error}")]
pub struct WordError {
    /// The section.
    pub section: String,
    /// The word, its address and what is unknown.
    #[source]
    pub error: DecodeError,
}

/// The machine code of a cubin.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    /// What it was compiled for.
    pub target: Target,
    /// Its sections of code, in the order of the file.
    pub functions: Vec<Function<'a>>,
}

/// A kernel, or a function that stands on its own.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its name, as it is mangled.
    pub name: String,
    /// Whether the host can launch it.
    pub is_kernel: bool,
    /// Registers per thread.
    pub registers: u32,
    /// Where its code begins in the file.
    pub file_offset: u64,
    target: Target,
    code: &'a [u8],
}

impl<'a> Cubin<'a> {
    /// Reads the headers of a cubin; no instruction is decoded.
    ///
    /// # Errors
    /// The file is no cubin, is damaged, or is for a target that is not known.
    pub fn parse(bytes: &'a [u8]) -> Result<Cubin<'a>, CubinError> {
        let elf = Elf::parse(bytes).map_err(|e| CubinError::Elf(e.to_string()))?;
        if elf.header.e_machine != EM_CUDA {
            return Err(CubinError::Machine(elf.header.e_machine));
        }
        let flags = elf.header.e_flags;
        let abi = elf.header.e_ident[goblin::elf::header::EI_ABIVERSION];
        let number = if abi >= TARGET_IN_SECOND_BYTE { flags >> 8 & 0xff } else { flags & 0xff };
        let target = Target::from_number(number).ok_or(CubinError::Target(number))?;
        let mut functions = Vec::new();
        for (index, section) in elf.section_headers.iter().enumerate() {
            let section_name = elf.shdr_strtab.get_at(section.sh_name).unwrap_or("");
            if let Some(name) = section_name.strip_prefix(TEXT) {
                functions.push(Function {
                    name: name.to_owned(),
                    is_kernel: is_kernel(&elf, index, name),
                    registers: section.sh_info >> 24,
                    file_offset: section.sh_offset,
                    target,
                    code: code(bytes, section_name, section)?,
                });
            }
        }
        Ok(Cubin { target, functions })
    }

    /// The function of a name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.name == name)
    }
}

/// Whether a symbol marks the function as a kernel.
fn is_kernel(elf: &Elf<'_>, section: usize, name: &str) -> bool {
    elf.syms.iter().any(|symbol| {
        symbol.st_shndx == section
            && symbol.st_type() == STT_FUNC
            && symbol.st_other & STO_CUDA_ENTRY != 0
            && elf.strtab.get_at(symbol.st_name) == Some(name)
    })
}

fn code<'a>(bytes: &'a [u8], name: &str, section: &SectionHeader) -> Result<&'a [u8], CubinError> {
    let (offset, size) = (section.sh_offset, section.sh_size);
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    let code = bytes.get(start..).and_then(|rest| rest.get(..length));
    let code = code.ok_or_else(|| CubinError::Truncated { section: name.to_owned(), offset, size })?;
    if length % INSTRUCTION_BYTES != 0 {
        return Err(CubinError::Unaligned { section: name.to_owned(), offset, size });
    }
    Ok(code)
}

impl<'a> Function<'a> {
    /// Number of instructions, padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.code.len() / INSTRUCTION_BYTES
    }

    /// Whether there is no code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// The words of its code.
    pub fn words(&self) -> impl Iterator<Item = u128> + 'a {
        let (words, _) = self.code.as_chunks::<INSTRUCTION_BYTES>();
        words.iter().map(|word| u128::from_le_bytes(*word))
    }

    /// Decodes its instructions, one after the other.
    pub fn instructions(&self) -> impl Iterator<Item = Result<Instruction, WordError>> + use<'a, '_> {
        self.words().enumerate().map(|(at, word)| {
            let address = (at * INSTRUCTION_BYTES) as u64;
            decode(self.target, address, word)
                .map_err(|error| WordError { section: format!("{TEXT}{}", self.name), error })
        })
    }
}
