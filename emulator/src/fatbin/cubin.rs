//! Properties of a cubin's machine code, read from its ELF file.

use goblin::elf::{
    Elf,
    header::{EI_ABIVERSION, EI_OSABI},
    sym::{STT_FUNC, STT_OBJECT},
};

/// Mark in a symbol's visibility byte: the function is a kernel.
const STO_CUDA_ENTRY: u8 = 0x10;

/// `EI_OSABI` of the newer format of cubins.
const NEWER: u8 = 0x41;

/// Compute capability of a cubin; the newer format keeps it in the second byte of the flags. Its `EI_ABIVERSION` is 8, and 2 where
/// no function keeps to the calling convention.
pub(super) fn cubin_arch(bytes: &[u8]) -> u32 {
    let Ok(elf) = Elf::parse(bytes) else { return 0 };
    let flags = elf.header.e_flags;
    let (low, second) = (flags & 0xff, flags >> 8 & 0xff);
    let ident = |at: usize| elf.header.e_ident[at];
    if ident(EI_OSABI) == NEWER || ident(EI_ABIVERSION) >= 8 { second } else { low }
}

/// Kernels of a cubin, by its symbols.
pub(super) fn cubin_kernels(bytes: &[u8]) -> Vec<String> {
    let Ok(elf) = Elf::parse(bytes) else { return Vec::new() };
    let kernels = elf.syms.iter().filter(|s| s.st_type() == STT_FUNC && s.st_other & STO_CUDA_ENTRY != 0);
    kernels.filter_map(|s| elf.strtab.get_at(s.st_name)).map(str::to_owned).collect()
}

/// Whether a cubin defines no function and no variable; one that cannot be read may.
pub(super) fn is_empty_cubin(bytes: &[u8]) -> bool {
    let is_definition = |kind| matches!(kind, STT_FUNC | STT_OBJECT);
    Elf::parse(bytes).is_ok_and(|elf| !elf.syms.iter().any(|s| s.st_shndx != 0 && is_definition(s.st_type())))
}
