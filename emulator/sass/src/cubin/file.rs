//! The ELF file of a cubin: its sections, whose bytes are checked against the file when they are asked for, and symbols.

use super::error::CubinError;
use goblin::elf::header::ET_REL;
use goblin::elf::section_header::SHT_NOBITS;
use goblin::elf::sym::{STT_FUNC, STT_NOTYPE};
use goblin::elf::{Elf, SectionHeader};

/// A section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    /// Its type.
    pub kind: u32,
    pub flags: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    pub align: u64,
    /// Another section or a symbol, by type.
    pub info: u32,
    /// Bytes of an entry, for tables.
    pub entry: u64,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub value: u64,
    pub size: u64,
    /// The section that it is in; 0 for one that is defined elsewhere.
    pub section: usize,
    pub kind: u8,
    pub other: u8,
}

impl Symbol<'_> {
    /// Whether it is a function; one that is defined elsewhere may have no type.
    pub(super) fn may_be_function(&self) -> bool {
        matches!(self.kind, STT_FUNC | STT_NOTYPE)
    }
}

/// The parts of the file.
#[derive(Clone, Debug)]
pub(super) struct File<'a> {
    bytes: &'a [u8],
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    /// Whether it is an object file.
    pub relocatable: bool,
}

impl<'a> File<'a> {
    pub(super) fn new(elf: &Elf<'a>, bytes: &'a [u8]) -> File<'a> {
        let section = |header: &SectionHeader| Section {
            name: elf.shdr_strtab.get_at(header.sh_name).unwrap_or(""),
            kind: header.sh_type,
            flags: header.sh_flags,
            offset: header.sh_offset,
            size: header.sh_size,
            align: header.sh_addralign,
            info: header.sh_info,
            entry: header.sh_entsize,
        };
        let symbol = |symbol: goblin::elf::Sym| Symbol {
            name: elf.strtab.get_at(symbol.st_name).unwrap_or(""),
            value: symbol.st_value,
            size: symbol.st_size,
            section: symbol.st_shndx,
            kind: symbol.st_type(),
            other: symbol.st_other,
        };
        File {
            bytes,
            sections: elf.section_headers.iter().map(section).collect(),
            symbols: elf.syms.iter().map(symbol).collect(),
            relocatable: elf.header.e_type == ET_REL,
        }
    }

    /// Numbers of the sections that functions are in, ascending, each with the number of the function's symbol.
    pub(super) fn functions(&self) -> Vec<(usize, usize)> {
        let numbered = self.symbols.iter().enumerate().filter(|(_, symbol)| symbol.kind == STT_FUNC);
        let mut found: Vec<_> = numbered.map(|(number, symbol)| (symbol.section, number)).collect();
        found.sort_unstable();
        found
    }

    /// The section of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The contents of a section; none if it occupies no space in the file.
    pub(super) fn contents(&self, section: &Section<'a>) -> Result<&'a [u8], CubinError> {
        let Section { offset, size, .. } = *section;
        if section.kind == SHT_NOBITS {
            return Ok(&[]);
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let found = self.bytes.get(start..).and_then(|rest| rest.get(..length));
        found.ok_or_else(|| CubinError::Truncated { section: section.name.to_owned(), offset, size })
    }

    /// The contents of the section of a name; none if there is no such section.
    pub(super) fn contents_of(&self, name: &str) -> Result<&'a [u8], CubinError> {
        self.named(name).map_or(Ok(&[][..]), |section| self.contents(section))
    }
}
