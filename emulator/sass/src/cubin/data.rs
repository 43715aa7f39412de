//! What a module has besides code: variables, constants, and the places in them that hold addresses.
//!
//! Addresses are known once the loader has placed the variables, so that the linker leaves *relocations*: a place, a symbol
//! and an addend. Three kinds occur in the data of linked cubins (64-bit addresses, `R_CUDA_64` and `R_CUDA_G64`, and those of
//! functions, `R_CUDA_FUNC_DESC_64`); others are refused. Those of code are in [`super::code`].

use super::error::{CubinError, SectionError};
use super::file::{File, Section, Symbol};
use super::{Cubin, TEXT};
use goblin::elf::section_header::{SHT_REL, SHT_RELA};
use goblin::elf::sym::STT_OBJECT;

const GLOBAL: &str = ".nv.global";
const GLOBAL_INIT: &str = ".nv.global.init";
const CONSTANT3: &str = ".nv.constant3";
const CONSTANT4: &str = ".nv.constant4";
/// Literals of all kernels; most compilers make a section for each kernel.
pub(super) const CONSTANT2: &str = ".nv.constant2";

/// Number of a relocation by a 64-bit address.
const R_CUDA_64: u32 = 2;
/// Number of a relocation by a 64-bit generic address.
const R_CUDA_G64: u32 = 4;
/// Number of a relocation by the 64-bit address by which a function is called through a pointer.
const R_CUDA_FUNC_DESC_64: u32 = 0x23;
/// Numbers of relocations by the handle of a texture and of a surface that the module declares.
const HANDLES: [(u32, &str); 2] = [(6, "texture"), (0x34, "surface")];
/// Bytes of an address.
const ADDRESS_BYTES: usize = 8;

/// Sections that do not take part in the execution; their relocations are not read.
const BESIDE: [&str; 8] =
    [".debug_", ".nv_debug", ".nv.info", ".nv.merc", ".nv.capmerc", ".nv.callgraph", ".note", ".nv.compat"];

/// A part of a module's data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// Variables that begin as zeros (`.nv.global`).
    Zeroed,
    /// Variables with initial values (`.nv.global.init`).
    Initialised,
    /// `__constant__` variables (bank 3, `.nv.constant3`).
    Constants,
    /// Addresses that code loads (bank 4, `.nv.constant4`).
    Addresses,
    /// Literals of the compiler (bank 2, `.nv.constant2`).
    Literals,
}

impl Place {
    fn of(section: &str) -> Option<Place> {
        Some(match section {
            GLOBAL => Place::Zeroed,
            GLOBAL_INIT => Place::Initialised,
            CONSTANT3 => Place::Constants,
            CONSTANT4 => Place::Addresses,
            CONSTANT2 => Place::Literals,
            _ => return None,
        })
    }
}

/// A variable that the host can ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable<'a> {
    /// Its name, as it is mangled.
    pub name: &'a str,
    /// The part of the data that it is in.
    pub place: Place,
    /// Where in that part.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// What a relocation refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Referent<'a> {
    /// A place in the module's data.
    Data {
        /// The part.
        place: Place,
        /// Where in that part.
        offset: u64,
    },
    /// Code.
    Code {
        /// The function that the section is of.
        function: &'a str,
        /// Where in the section.
        offset: u64,
    },
    /// A function of the system, such as `vprintf`.
    External(&'a str),
}

/// Eight bytes that hold an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation<'a> {
    /// The part of the data that the address is in.
    pub place: Place,
    /// Where in that part.
    pub offset: u64,
    /// What the address is of.
    pub of: Referent<'a>,
    /// Added to it.
    pub addend: i64,
    /// Whether the address is one of the generic space.
    pub generic: bool,
}

/// The data of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Data<'a> {
    /// Bytes of the variables that begin as zeros.
    pub zeroed_bytes: u64,
    /// Contents of the others.
    pub initialised: &'a [u8],
    /// Contents of bank 3.
    pub constants: &'a [u8],
    /// Contents of bank 4.
    pub addresses: &'a [u8],
    /// Largest alignment of the parts.
    pub align: u64,
    /// Variables by name, in the order of the symbols.
    pub variables: Vec<Variable<'a>>,
    /// Addresses in the parts.
    pub relocations: Vec<Relocation<'a>>,
}

impl<'a> Cubin<'a> {
    /// What the module has besides code.
    ///
    /// # Errors
    /// A section is damaged, or has a relocation that is not supported.
    pub fn data(&self) -> Result<Data<'a>, CubinError> {
        let file = &self.file;
        if file.relocatable {
            return Err(CubinError::Relocatable);
        }
        let parts = [GLOBAL, GLOBAL_INIT, CONSTANT3, CONSTANT4];
        let aligns = parts.iter().filter_map(|name| file.named(name)).map(|section| section.align);
        let mut data = Data {
            zeroed_bytes: file.named(GLOBAL).map_or(0, |section| section.size),
            initialised: file.contents_of(GLOBAL_INIT)?,
            constants: file.contents_of(CONSTANT3)?,
            addresses: file.contents_of(CONSTANT4)?,
            align: aligns.max().unwrap_or(1).max(1),
            ..Data::default()
        };
        for symbol in file.symbols.iter().filter(|symbol| symbol.kind == STT_OBJECT) {
            let Some((section, place)) = data_section(file, symbol.section) else { continue };
            let (name, offset, bytes) = (symbol.name, symbol.value, symbol.size);
            if offset.checked_add(bytes).is_none_or(|end| end > section.size) {
                let what = format!(
                    "variable {name} of {bytes:#x} bytes runs off the section, which has {:#x}",
                    section.size
                );
                return Err(wrong(section.name, offset, None, what).into());
            }
            data.variables.push(Variable { name, place, offset, bytes });
        }
        for (of, target) in relocated(file)? {
            if BESIDE.iter().any(|prefix| target.name.starts_with(prefix)) || is_of_a_kernel(target.name) {
                continue;
            }
            let Some(place) = Place::of(target.name) else {
                let what = format!("relocations of section {} are not supported", target.name);
                return Err(wrong(of.name, 0, None, what).into());
            };
            data.relocations.extend(read(file, of, target, place, None)?);
        }
        Ok(data)
    }
}

/// The section of a number, if it holds data of the module.
fn data_section<'f, 'a>(file: &'f File<'a>, number: usize) -> Option<(&'f Section<'a>, Place)> {
    let section = file.sections.get(number)?;
    Some((section, Place::of(section.name)?))
}

/// Whether a section is of one kernel.
fn is_of_a_kernel(name: &str) -> bool {
    name.starts_with(TEXT) || [".nv.constant0.", ".nv.constant2."].iter().any(|of| name.starts_with(of))
}

fn wrong(section: &str, offset: u64, kernel: Option<&str>, what: String) -> SectionError {
    SectionError { section: section.to_owned(), offset, kernel: kernel.map(str::to_owned), what }
}

/// Sections of relocations that are not empty, each with the section that it is about.
fn relocated<'f, 'a>(file: &'f File<'a>) -> Result<Vec<(&'f Section<'a>, &'f Section<'a>)>, CubinError> {
    let all = file.sections.iter().filter(|section| matches!(section.kind, SHT_REL | SHT_RELA));
    let pair = |of: &'f Section<'a>| {
        let target = file.sections.get(of.info as usize).filter(|_| of.info != 0);
        let what = || format!("relocations of section number {}, which does not exist", of.info);
        target.map(|target| (of, target)).ok_or_else(|| wrong(of.name, 0, None, what()).into())
    };
    all.filter(|section| section.size > 0).map(pair).collect()
}

/// Relocations of a section that belongs to a kernel, of which its literals may have some.
///
/// # Errors
/// The section is damaged, or has a relocation that is not supported.
pub(super) fn of_kernel<'a>(
    file: &File<'a>,
    kernel: &str,
    sections: &[(&str, Option<Place>)],
) -> Result<Vec<Relocation<'a>>, CubinError> {
    let mut found = Vec::new();
    for (of, target) in relocated(file)? {
        let Some((_, place)) = sections.iter().find(|(name, _)| *name == target.name) else { continue };
        // Relocations of parameters are not supported: the first one is named.
        let all = read(file, of, target, place.unwrap_or(Place::Literals), Some((kernel, place.is_some())))?;
        found.extend(all);
    }
    Ok(found)
}

/// Reads a section of relocations. A kernel is given with whether the section may have relocations at all.
fn read<'a>(
    file: &File<'a>,
    of: &Section<'a>,
    target: &Section<'a>,
    place: Place,
    kernel: Option<(&str, bool)>,
) -> Result<Vec<Relocation<'a>>, CubinError> {
    let told = kernel.map(|(name, _)| name);
    let patched = file.contents(target)?;
    let mut found = Vec::new();
    for entry in entries(file, of, target, told)? {
        let number = entry.number;
        let generic = number == R_CUDA_G64;
        entry.refuse_handles()?;
        if !generic && !matches!(number, R_CUDA_64 | R_CUDA_FUNC_DESC_64)
            || kernel.is_some_and(|(_, allowed)| !allowed)
        {
            return Err(entry.unsupported());
        }
        let at = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        let Some(stored) = patched.get(at..).and_then(|rest| rest.first_chunk::<ADDRESS_BYTES>()) else {
            return Err(entry.runs_off());
        };
        let addend = entry.addend.unwrap_or(i64::from_le_bytes(*stored));
        let of = entry.referent(file, generic)?;
        found.push(Relocation { place, offset: entry.offset, of, addend, generic });
    }
    Ok(found)
}

/// An entry of a section of relocations.
pub(super) struct Entry<'e, 'a> {
    /// The section that it changes.
    target: &'e Section<'a>,
    /// The kernel that the section is of.
    told: Option<&'e str>,
    /// Where it changes it.
    pub offset: u64,
    /// Its kind.
    pub number: u32,
    symbol: &'e Symbol<'a>,
    /// What is added to the symbol's address, if it does not stand in the place that is changed.
    pub addend: Option<i64>,
}

/// The entries of a section of relocations.
fn entries<'e, 'a>(
    file: &'e File<'a>,
    of: &Section<'a>,
    target: &'e Section<'a>,
    told: Option<&'e str>,
) -> Result<Vec<Entry<'e, 'a>>, CubinError> {
    let bytes = file.contents(of)?;
    let has_addend = of.kind == SHT_RELA;
    let entry = if has_addend { 24 } else { 16 };
    if bytes.len() % entry != 0 || of.entry != entry as u64 {
        let what = format!(
            "{:#x} bytes in entries of {}, which are no whole number of relocations",
            bytes.len(),
            of.entry
        );
        return Err(wrong(of.name, 0, told, what).into());
    }
    let read = |(index, entry): (usize, &[u8])| {
        let word = |at: usize| entry[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let (info, at) = (word(8), (index * entry.len()) as u64);
        let number = (info >> 32) as usize;
        let symbol = file
            .symbols
            .get(number)
            .ok_or_else(|| wrong(of.name, at, told, format!("symbol number {number} does not exist")))?;
        let addend = has_addend.then(|| word(16).cast_signed());
        Ok(Entry { target, told, offset: word(0), number: info as u32, symbol, addend })
    };
    bytes.chunks_exact(entry).enumerate().map(read).collect()
}

/// Relocations of the section of code of a function.
pub(super) fn of_code<'e, 'a>(
    file: &'e File<'a>,
    function: &'e str,
) -> Result<Vec<Entry<'e, 'a>>, CubinError> {
    let mut found = Vec::new();
    for (of, target) in relocated(file)? {
        if target.name.strip_prefix(TEXT) == Some(function) {
            found.extend(entries(file, of, target, Some(function))?);
        }
    }
    Ok(found)
}

impl<'a> Entry<'_, 'a> {
    pub(super) fn refuse(&self, what: String) -> CubinError {
        wrong(self.target.name, self.offset, self.told, what).into()
    }

    /// Its kind is not known.
    pub(super) fn unsupported(&self) -> CubinError {
        self.refuse(format!(
            "relocation {:#x} by the address of {} is not supported",
            self.number, self.symbol.name
        ))
    }

    /// What it changes is not there.
    pub(super) fn runs_off(&self) -> CubinError {
        self.refuse(format!(
            "relocation {:#x} runs off the section, which has {:#x} bytes",
            self.number, self.target.size
        ))
    }

    /// Fails if it is by the handle of an object.
    pub(super) fn refuse_handles(&self) -> Result<(), CubinError> {
        let Some((_, kind)) = HANDLES.iter().find(|(known, _)| *known == self.number) else { return Ok(()) };
        Err(self.refuse(format!(
            "relocation {:#x}: the code uses the {kind} reference {}, which is not supported; {kind} objects are",
            self.number, self.symbol.name
        )))
    }

    /// What its symbol stands for.
    pub(super) fn referent(&self, file: &File<'a>, generic: bool) -> Result<Referent<'a>, CubinError> {
        let (symbol, number) = (self.symbol, self.number);
        Ok(match file.sections.get(symbol.section).filter(|_| symbol.section != 0) {
            None if symbol.may_be_function() => Referent::External(symbol.name),
            None => {
                return Err(
                    self.refuse(format!("relocation {number:#x} by {}, which is not defined", symbol.name))
                );
            }
            Some(section) => match (section.name.strip_prefix(TEXT), Place::of(section.name)) {
                (Some(function), _) => Referent::Code { function, offset: symbol.value },
                // A constant has an address in the generic space; that in its own is not used by compilers.
                (_, Some(Place::Constants)) if !generic => {
                    return Err(self.refuse(format!(
                        "relocation {number:#x} by the constant {} is not supported",
                        symbol.name
                    )));
                }
                (_, Some(place @ (Place::Zeroed | Place::Initialised | Place::Constants))) => {
                    Referent::Data { place, offset: symbol.value }
                }
                _ => {
                    return Err(self.refuse(format!(
                        "relocation {number:#x} by {} in section {} is not supported",
                        symbol.name, section.name
                    )));
                }
            },
        })
    }
}
