//! Properties of a cubin's machine code, read from its ELF file.

use goblin::elf::{
    Elf,
    sym::{STT_FUNC, STT_OBJECT},
};

/// Mark in a symbol's visibility byte: the function is a kernel.
const STO_CUDA_ENTRY: u8 = 0x10;

/// Compute capability of a cubin; 0 if it cannot be read.
pub(super) fn cubin_arch(bytes: &[u8]) -> u32 {
    Elf::parse(bytes).map_or(0, |elf| sass::cubin::target_number(&elf.header.e_ident, elf.header.e_flags))
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
