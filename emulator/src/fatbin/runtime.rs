//! Linkage of the CUDA runtime in an executable or library: shared or static.
//!
//! nvcc links the runtime statically by default. Its functions keep their names in the symbol table; this
//! module finds their addresses by name, and the CUDA libraries use them. A stripped file has no names, so
//! its functions cannot be identified.

use goblin::container::Ctx;
use goblin::elf::section_header::SHF_EXECINSTR;
use goblin::elf::sym::{STT_FUNC, STT_OBJECT, Sym};
use goblin::elf::{Elf, SectionHeader, header};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The first function that every compiled program calls.
const REGISTER: &str = "__cudaRegisterFatBinary";
/// Variable in which nvcc's generated code stores the result of [`REGISTER`].
const REGISTERED: &str = "__cudaFatCubinHandle";
/// Driver function that only the runtime requests.
const TABLES: &[u8] = b"cuGetExportTable\0";
/// Sections that compiled programs have, whatever they are linked with.
const DEVICE_CODE: [&str; 2] = [".nv_fatbin", ".nvFatBinSegment"];
/// Section with the names of all symbols, which stripped files lack.
const SYMBOL_NAMES: &str = ".strtab";

/// Linkage of the CUDA runtime in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runtime {
    /// The file does not use the runtime.
    None,
    /// From a library.
    Shared,
    /// It is linked in, or the file is NVIDIA's library itself.
    Linked(Linked),
    /// It is linked in, and the names of its functions are stripped.
    Stripped,
}

/// A CUDA runtime with names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linked {
    /// Functions that may be the runtime's, by their names.
    pub functions: Vec<Symbol>,
    /// Addresses of pointers, 8 bytes each, that are null until the file's device code has been registered.
    pub registered: Vec<u64>,
}

/// A function of an ELF file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its symbol.
    pub name: String,
    /// Its address, before the file is moved to where it is loaded.
    pub address: u64,
    /// Bytes from there to the next function or the section's end.
    pub room_bytes: u64,
}

/// Linkage of the CUDA runtime in a file; unreadable files have none. NVIDIA's library is recognised by its
/// file name.
#[must_use]
pub fn runtime(path: &Path, bytes: &[u8]) -> Runtime {
    let is_library = path.file_name().is_some_and(|n| n.as_bytes().starts_with(b"libcudart.so"));
    if !(is_library || is_candidate(bytes).unwrap_or(false)) {
        return Runtime::None;
    }
    let Ok(elf) = Elf::parse(bytes) else { return Runtime::None };
    // Our library only forwards to the driver library; NVIDIA's opens that on demand.
    let is_ours = is_library && elf.libraries.iter().any(|l| l.starts_with("libcuda.so"));
    if is_ours || !matches!(elf.header.e_type, header::ET_EXEC | header::ET_DYN) {
        return Runtime::None;
    }
    if elf.dynsyms.iter().any(|s| s.is_import() && elf.dynstrtab.get_at(s.st_name) == Some(REGISTER)) {
        return Runtime::Shared;
    }
    let linked = linked(&elf);
    if linked.functions.iter().any(|f| f.name == REGISTER) {
        return Runtime::Linked(linked);
    }
    // Files may carry device code for the driver API alone.
    if bytes.windows(TABLES.len()).any(|w| w == TABLES) { Runtime::Stripped } else { Runtime::None }
}

/// Whether an executable asks for no loader, so that nothing can be loaded into it.
#[must_use]
pub fn is_without_loader(bytes: &[u8]) -> bool {
    Elf::parse(bytes).is_ok_and(|elf| elf.header.e_type != header::ET_REL && elf.interpreter.is_none())
}

/// Whether an ELF file has sections for device code or, like bindings for other languages, only the runtime's names.
/// Little but the names of sections is read, since every library of a process is asked; most have no symbol table.
fn is_candidate(bytes: &[u8]) -> Option<bool> {
    let header = Elf::parse_header(bytes).ok()?;
    let context = Ctx::new(header.container().ok()?, header.endianness().ok()?);
    let count = usize::from(header.e_shnum);
    let sections = SectionHeader::parse(bytes, usize::try_from(header.e_shoff).ok()?, count, context).ok()?;
    let names = sections.get(usize::from(header.e_shstrndx))?.file_range()?;
    let names = bytes.get(names)?;
    let is = |section: &SectionHeader, name: &str| {
        let rest = names.get(section.sh_name..).unwrap_or_default();
        rest.starts_with(name.as_bytes()) && rest.get(name.len()) == Some(&0)
    };
    if sections.iter().any(|s| DEVICE_CODE.iter().any(|name| is(s, name))) {
        return Some(true);
    }
    let symbols = sections.iter().find(|s| is(s, SYMBOL_NAMES)).and_then(SectionHeader::file_range);
    let mut names = bytes.get(symbols?)?.split(|&b| b == 0);
    Some(names.any(|name| name == REGISTER.as_bytes()))
}

/// All symbols with their names; what is exported is usually in both tables.
fn symbols<'e>(elf: &'e Elf<'_>) -> impl Iterator<Item = (Sym, &'e str)> {
    let all =
        elf.syms.iter().map(|s| (s, &elf.strtab)).chain(elf.dynsyms.iter().map(|s| (s, &elf.dynstrtab)));
    all.filter(|(s, _)| !s.is_import() && s.st_shndx != 0)
        .filter_map(|(s, names)| Some((s, names.get_at(s.st_name)?)))
}

fn linked(elf: &Elf<'_>) -> Linked {
    let (mut all, mut named, mut registered) = (Vec::new(), Vec::new(), Vec::new());
    for (symbol, name) in symbols(elf) {
        match symbol.st_type() {
            STT_FUNC => {
                all.push(symbol.st_value);
                if name.starts_with("cuda") || name.starts_with("__cuda") {
                    named.push((name, symbol.st_value));
                }
            }
            // C++ mangles it, since it is a file's own.
            STT_OBJECT if name.ends_with(REGISTERED) => registered.push(symbol.st_value),
            _ => {}
        }
    }
    all.sort_unstable();
    named.sort_unstable();
    named.dedup();
    registered.sort_unstable();
    registered.dedup();
    let end = |address: u64| {
        let code = elf.section_headers.iter().filter(|s| s.sh_flags & u64::from(SHF_EXECINSTR) != 0);
        let section = code.map(|s| (s.sh_addr, s.sh_addr.saturating_add(s.sh_size)));
        section.filter(|&(start, end)| start <= address && address < end).map(|(_, end)| end).max()
    };
    let functions = named.into_iter().map(|(name, address)| {
        let next = all.get(all.partition_point(|&a| a <= address)).copied();
        let end = end(address).unwrap_or(address);
        let room_bytes = next.map_or(end, |n| n.min(end)).saturating_sub(address);
        Symbol { name: name.to_owned(), address, room_bytes }
    });
    Linked { functions: functions.collect(), registered }
}
