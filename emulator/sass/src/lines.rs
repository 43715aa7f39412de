//! Lines of the CUDA source and of the PTX that the machine code of a cubin was compiled from, which `nvcc -lineinfo` leaves in it.
//!
//! Both are line tables as DWARF has them: `.debug_line` leads to the CUDA source, `.nv_debug_line_sass` to the PTX, whose text
//! is in `.nv_debug_ptx_txt`. Every function is a section of its own that begins at address 0. So the places of addresses in
//! the tables are filled with the section's number above the offset. NVIDIA's own operations, which say where a function
//! was inlined, are skipped.

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LittleEndian};
use goblin::elf::{Elf, SectionHeader};
use std::borrow::Cow;
use std::collections::HashMap;

/// What sections of code begin with; the name of the function follows.
const TEXT: &str = ".text.";
/// Lines of the CUDA source.
const CUDA_LINES: &str = ".debug_line";
/// Lines of the PTX.
const PTX_LINES: &str = ".nv_debug_line_sass";
/// The lines of the PTX, with a zero after each.
const PTX_TEXT: &str = ".nv_debug_ptx_txt";
/// The relocation that stands for a 64-bit address.
const R_CUDA_64: u32 = 2;
/// Bytes of an address.
const ADDRESS_BYTES: u8 = 8;
/// Where the number of a section begins in an address of a table; functions are smaller than 4 GiB.
const SECTION_SHIFT: u32 = 32;

/// Why the lines of a cubin cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    /// No ELF file, or a damaged one.
    #[error("this is no cubin: {0}")]
    Elf(String),
    /// A table that is damaged.
    #[error("section {section} is damaged: {why}")]
    Damaged {
        /// Its section.
        section: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Line of the PTX, from 1.
    pub ptx: Option<u32>,
    /// File, as the compiler was given it, and line of the CUDA source.
    pub source: Option<(&'a str, u32)>,
}

/// The line tables of a cubin.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    functions: HashMap<String, FunctionLines>,
    files: Vec<String>,
    ptx: Vec<String>,
}

/// Rows of a function, in both tables by address.
#[derive(Clone, Debug, Default)]
struct FunctionLines {
    ptx: Vec<Row>,
    cuda: Vec<Row>,
}

/// A line that holds from an address to that of the next row.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u32,
    /// Position of the file; of no meaning for PTX.
    file: usize,
    /// The line; 0 if there is none, as after the end of a function.
    line: u32,
}

impl Lines {
    /// Reads the tables of a cubin; empty if it was compiled without them.
    ///
    /// # Errors
    /// The file is no ELF file, or a table is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Lines, LinesError> {
        let elf = Elf::parse(bytes).map_err(|e| LinesError::Elf(e.to_string()))?;
        let mut lines = Lines::default();
        if let Some((_, section)) = find(&elf, PTX_TEXT) {
            let text = contents(bytes, section, PTX_TEXT)?;
            lines.ptx = text
                .split(|byte| *byte == 0)
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect();
        }
        for name in [PTX_LINES, CUDA_LINES] {
            if let Some((at, section)) = find(&elf, name) {
                let table = relocated(&elf, at, contents(bytes, section, name)?, name)?;
                lines.add(&elf, name, &table).map_err(|e| damaged(name, e.to_string()))?;
            }
        }
        for function in lines.functions.values_mut() {
            // Sequences may come in any order; of rows for one address the last one holds.
            function.ptx.sort_by_key(|row| row.address);
            function.cuda.sort_by_key(|row| row.address);
        }
        Ok(lines)
    }

    /// Where an instruction of a function comes from, as far as the tables say.
    #[must_use]
    pub fn origin(&self, function: &str, address: u64) -> Origin<'_> {
        let Some(of) = self.functions.get(function) else { return Origin::default() };
        let at = |rows: &[Row]| -> Option<Row> {
            let next = rows.partition_point(|row| u64::from(row.address) <= address);
            rows[..next].last().copied().filter(|row| row.line > 0)
        };
        let source = at(&of.cuda).and_then(|row| Some((self.files.get(row.file)?.as_str(), row.line)));
        Origin { ptx: at(&of.ptx).map(|row| row.line), source }
    }

    /// The text of a line of the PTX.
    #[must_use]
    pub fn ptx_text(&self, line: u32) -> Option<&str> {
        self.ptx.get((line as usize).checked_sub(1)?).map(|text| text.trim())
    }

    /// Whether there are no tables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds the rows of a table.
    fn add(&mut self, elf: &Elf<'_>, name: &str, table: &[u8]) -> gimli::Result<()> {
        let section = DebugLine::new(table, LittleEndian);
        let mut offset = 0;
        while offset < table.len() {
            let program = section.program(DebugLineOffset(offset), ADDRESS_BYTES, None, None)?;
            let header = program.header();
            offset += header.unit_length() + usize::from(header.format().initial_length_size());
            let mut files: HashMap<u64, usize> = HashMap::new();
            let mut rows = program.rows();
            while let Some((header, row)) = rows.next_row()? {
                let (section, address) = (row.address() >> SECTION_SHIFT, row.address() as u32);
                let section = usize::try_from(section).ok().and_then(|at| elf.section_headers.get(at));
                let text = section.and_then(|section| elf.shdr_strtab.get_at(section.sh_name));
                let Some(function) = text.and_then(|text| text.strip_prefix(TEXT)) else { continue };
                let line = row.line().filter(|_| !row.end_sequence());
                let line = line.and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
                let file = match name {
                    CUDA_LINES => *files.entry(row.file_index()).or_insert_with(|| {
                        self.files.push(file_name(header, row.file_index()));
                        self.files.len() - 1
                    }),
                    _ => 0,
                };
                if !self.functions.contains_key(function) {
                    self.functions.insert(function.to_owned(), FunctionLines::default());
                }
                if let Some(of) = self.functions.get_mut(function) {
                    let rows = if name == CUDA_LINES { &mut of.cuda } else { &mut of.ptx };
                    rows.push(Row { address, file, line });
                }
            }
        }
        Ok(())
    }
}

type Header<'a> = gimli::LineProgramHeader<EndianSlice<'a, LittleEndian>>;

/// A file of a table, with its folder.
fn file_name(header: &Header<'_>, index: u64) -> String {
    let text = |value: AttributeValue<EndianSlice<'_, LittleEndian>>| match value {
        AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
        _ => None,
    };
    let Some(file) = header.file(index) else { return format!("file {index}") };
    let name = text(file.path_name()).unwrap_or_else(|| format!("file {index}"));
    match file.directory(header).and_then(text).filter(|folder| !folder.is_empty() && !name.starts_with('/'))
    {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name,
    }
}

fn damaged(section: &'static str, why: impl Into<String>) -> LinesError {
    LinesError::Damaged { section, why: why.into() }
}

/// A section with its position.
fn find<'e>(elf: &'e Elf<'_>, name: &str) -> Option<(usize, &'e SectionHeader)> {
    let named = |section: &SectionHeader| elf.shdr_strtab.get_at(section.sh_name) == Some(name);
    elf.section_headers.iter().enumerate().find(|(_, section)| named(section))
}

fn contents<'a>(
    bytes: &'a [u8],
    section: &SectionHeader,
    name: &'static str,
) -> Result<&'a [u8], LinesError> {
    let start = usize::try_from(section.sh_offset).unwrap_or(usize::MAX);
    let length = usize::try_from(section.sh_size).unwrap_or(usize::MAX);
    let found = bytes.get(start..).and_then(|rest| rest.get(..length));
    found.ok_or_else(|| damaged(name, "it runs off the end of the file"))
}

/// A table whose addresses have the number of their section above the offset in it.
fn relocated<'a>(
    elf: &Elf<'_>,
    table_at: usize,
    table: &'a [u8],
    name: &'static str,
) -> Result<Cow<'a, [u8]>, LinesError> {
    let mut table = Cow::Borrowed(table);
    for (section, relocations) in &elf.shdr_relocs {
        if elf.section_headers.get(*section).is_none_or(|section| section.sh_info as usize != table_at) {
            continue;
        }
        for relocation in relocations {
            if relocation.r_type != R_CUDA_64 {
                return Err(damaged(name, format!("its relocation type {} is not known", relocation.r_type)));
            }
            let place = usize::try_from(relocation.r_offset).ok();
            let place = place.and_then(|at| table.to_mut().get_mut(at..)?.first_chunk_mut());
            let Some((place, symbol)) = place.zip(elf.syms.get(relocation.r_sym)) else {
                return Err(damaged(
                    name,
                    format!("its relocation at {:#x} leads nowhere", relocation.r_offset),
                ));
            };
            let before =
                relocation.r_addend.map_or_else(|| u64::from_le_bytes(*place), |addend| addend as u64);
            let offset = symbol.st_value.wrapping_add(before) & u64::from(u32::MAX);
            *place = ((symbol.st_shndx as u64) << SECTION_SHIFT | offset).to_le_bytes();
        }
    }
    Ok(table)
}
