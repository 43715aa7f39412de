//! Reads cubins: the functions of their machine code, which are decoded when they are asked for, and everything else that
//! running them needs.
//!
//! [`Cubin::parse`] reads the headers. [`Cubin::kernel_info`] reads what the cubin says about a kernel (parameters, registers,
//! shared memory, jump tables), [`Cubin::data`] its variables and constants and the addresses in them. Nothing that a section
//! says is assumed; what is not known and might change a result is refused.

mod attribute;
mod code;
mod data;
mod error;
mod file;
mod kernel;

pub use code::{CodeField, CodeRelocation};
pub use data::{Data, Place, Referent, Relocation, Variable};
pub use error::{CubinError, SectionError, WordError};
pub use kernel::{IndirectBranch, KernelInfo, Parameter};

use crate::{INSTRUCTION_BYTES, Instruction, Target, decode};
use attribute::register_counts;
use error::EM_CUDA;
use file::{File, Section};
use goblin::elf::Elf;
use goblin::elf::header::{EI_ABIVERSION, EI_OSABI, SIZEOF_IDENT};

/// `EI_OSABI` of the newer format, and the `EI_ABIVERSION` from which on it was used: the target is in bits 8-15 of the flags.
const NEWER_FORMAT: (u8, u8) = (0x41, 8);
/// Mark of a kernel in the last byte of a symbol.
const STO_CUDA_ENTRY: u8 = 0x10;
/// What sections of code begin with; the name of the function follows.
const TEXT: &str = ".text.";

/// The machine code of a cubin.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    /// What it was compiled for.
    pub target: Target,
    /// Its sections of code, in the order of the file.
    pub functions: Vec<Function<'a>>,
    file: File<'a>,
}

/// A kernel, or a function that stands on its own.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its name, as it is mangled.
    pub name: String,
    /// Whether the host can launch it.
    pub is_kernel: bool,
    /// Registers per thread; 0 if the cubin does not say it.
    pub registers: u32,
    /// Where its code begins in the file.
    pub file_offset: u64,
    /// Functions within its section, ascending: where each begins, and its name.
    pub parts: Vec<(u64, String)>,
    target: Target,
    code: &'a [u8],
}

/// The compute capability of a cubin as a number, from `e_ident` and `e_flags` of its ELF header. Where no function keeps to the
/// calling convention, the newer format has a low version of the ABI.
#[must_use]
pub fn target_number(ident: &[u8; SIZEOF_IDENT], flags: u32) -> u32 {
    let (os_abi, version) = NEWER_FORMAT;
    let newer = ident[EI_OSABI] == os_abi || ident[EI_ABIVERSION] >= version;
    (if newer { flags >> 8 } else { flags }) & 0xff
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
        let number = target_number(&elf.header.e_ident, elf.header.e_flags);
        let target = Target::from_number(number).ok_or(CubinError::Target(number))?;
        let file = File::new(&elf, bytes);
        let counts = register_counts(&file);
        let of_functions = file.functions();
        let mut functions = Vec::new();
        for (index, section) in file.sections.iter().enumerate() {
            let Some(name) = section.name.strip_prefix(TEXT) else { continue };
            let first = of_functions.partition_point(|(at, _)| *at < index);
            let inside = of_functions[first..].iter().take_while(|(at, _)| *at == index);
            let (own, others): (Vec<_>, Vec<_>) =
                inside.map(|(_, number)| *number).partition(|number| file.symbols[*number].name == name);
            let own = own.first().copied();
            let count = own.and_then(|number| counts.get(&(number as u32)));
            let part = |number: usize| (file.symbols[number].value, file.symbols[number].name.to_owned());
            let mut parts: Vec<_> = others.into_iter().map(part).collect();
            parts.sort();
            functions.push(Function {
                name: name.to_owned(),
                is_kernel: own.is_some_and(|number| file.symbols[number].other & STO_CUDA_ENTRY != 0),
                registers: count.copied().unwrap_or(section.info >> 24),
                file_offset: section.offset,
                parts,
                target,
                code: code(&file, section)?,
            });
        }
        Ok(Cubin { target, functions, file })
    }

    /// The function of a name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// Functions that the file names and does not have, such as `vprintf`, in the order of its symbols.
    pub fn undefined_functions(&self) -> impl Iterator<Item = &'a str> {
        let undefined = self
            .file
            .symbols
            .iter()
            .filter(|symbol| symbol.section == 0 && symbol.may_be_function() && !symbol.name.is_empty());
        undefined.map(|symbol| symbol.name)
    }

    /// Functions that the host can launch, in the order of the file.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|function| function.is_kernel)
    }
}

fn code<'a>(file: &File<'a>, section: &Section<'a>) -> Result<&'a [u8], CubinError> {
    let code = file.contents(section)?;
    if code.len() % INSTRUCTION_BYTES != 0 {
        let (section, offset, size) = (section.name.to_owned(), section.offset, section.size);
        return Err(CubinError::Unaligned { section, offset, size });
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
