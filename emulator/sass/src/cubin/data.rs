//! What a module has besides code: variables, constants, and the places in them that hold addresses.
//!
//! Addresses are known once the loader has placed the variables, so that the linker leaves *relocations*: a place, a symbol
//! and an addend. Two kinds occur in linked cubins (64-bit addresses, `R_CUDA_64` and `R_CUDA_G64`); others are refused.

use super::error::{CubinError, SectionError};
use super::file::{File, Section};
use super::{Cubin, TEXT};
use goblin::elf::section_header::{SHT_REL, SHT_RELA};
use goblin::elf::sym::{STT_FUNC, STT_OBJECT};

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
        // Relocations of code and of parameters are not supported: the first one is named.
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
    let bytes = file.contents(of)?;
    let patched = file.contents(target)?;
    let has_addend = of.kind == SHT_RELA;
    let entry = if has_addend { 24 } else { 16 };
    let told = kernel.map(|(name, _)| name);
    if bytes.len() % entry != 0 || of.entry != entry as u64 {
        let what = format!(
            "{:#x} bytes in entries of {}, which are no whole number of relocations",
            bytes.len(),
            of.entry
        );
        return Err(wrong(of.name, 0, told, what).into());
    }
    let mut found = Vec::new();
    for (index, entry) in bytes.chunks_exact(entry).enumerate() {
        let word = |at: usize| entry[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let (offset, info) = (word(0), word(8));
        let (number, symbol_number) = (info as u32, (info >> 32) as usize);
        let refuse = |what: String| -> CubinError { wrong(target.name, offset, told, what).into() };
        let Some(symbol) = file.symbols.get(symbol_number) else {
            let at = (index * entry.len()) as u64;
            return Err(
                wrong(of.name, at, told, format!("symbol number {symbol_number} does not exist")).into()
            );
        };
        let generic = number == R_CUDA_G64;
        if let Some((_, kind)) = HANDLES.iter().find(|(known, _)| *known == number) {
            return Err(refuse(format!(
                "relocation {number:#x}: the code uses the {kind} reference {}, which is not supported; {kind} objects are",
                symbol.name
            )));
        }
        if !generic && number != R_CUDA_64 || kernel.is_some_and(|(_, allowed)| !allowed) {
            return Err(refuse(format!(
                "relocation {number:#x} by the address of {} is not supported",
                symbol.name
            )));
        }
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(stored) = patched.get(at..).and_then(|rest| rest.first_chunk::<ADDRESS_BYTES>()) else {
            return Err(refuse(format!(
                "relocation {number:#x} runs off the section, which has {:#x} bytes",
                patched.len()
            )));
        };
        let addend = if has_addend { word(16) } else { u64::from_le_bytes(*stored) };
        let of = match file.sections.get(symbol.section).filter(|_| symbol.section != 0) {
            None if symbol.kind == STT_FUNC || symbol.kind == 0 => Referent::External(symbol.name),
            None => {
                return Err(refuse(format!(
                    "relocation {number:#x} by {}, which is not defined",
                    symbol.name
                )));
            }
            Some(section) => match (section.name.strip_prefix(TEXT), Place::of(section.name)) {
                (Some(function), _) => Referent::Code { function, offset: symbol.value },
                // A constant has an address in the generic space; that in its own is not used by compilers.
                (_, Some(Place::Constants)) if !generic => {
                    return Err(refuse(format!(
                        "relocation {number:#x} by the constant {} is not supported",
                        symbol.name
                    )));
                }
                (_, Some(place @ (Place::Zeroed | Place::Initialised | Place::Constants))) => {
                    Referent::Data { place, offset: symbol.value }
                }
                _ => {
                    return Err(refuse(format!(
                        "relocation {number:#x} by {} in section {} is not supported",
                        symbol.name, section.name
                    )));
                }
            },
        };
        found.push(Relocation { place, offset, of, addend: addend.cast_signed(), generic });
    }
    Ok(found)
}
