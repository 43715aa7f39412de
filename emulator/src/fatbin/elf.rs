//! Device code in ELF files: the sections of host programs that hold fat binaries, and kernels of cubins.

use super::container::{CONTAINER_MAGIC, containers};
use super::image::{FatbinError, Image, ImageKind, Origin, check_contents, contents_bytes, plain};
use goblin::elf::{Elf, section_header::SHT_NOBITS};
use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

/// ELF machine number of GPU code.
const EM_CUDA: u16 = 190;
/// Where ELF files have the machine number.
const MACHINE_AT: usize = 18;
/// First word of the 24-byte wrappers that programs register.
const WRAPPER_MAGIC: u32 = 0x4662_43B1;
const WRAPPER_BYTES: usize = 24;

/// Name of the section with relocatable device code.
const RELOCATABLE: &str = "__nv_relfatbin";

/// A file that may hold device code, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A cubin.
    Cubin,
    /// Another ELF file, or a fat binary.
    Other,
}

/// What a file is that may hold device code; none if it is neither an ELF file nor a fat binary, or cannot be read.
#[must_use]
pub fn kind_of(path: &Path) -> Option<FileKind> {
    let mut head = [0; MACHINE_AT + 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    let elf = head.starts_with(b"\x7fELF");
    if elf && head[MACHINE_AT..] == EM_CUDA.to_le_bytes() {
        Some(FileKind::Cubin)
    } else if elf || head.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
        Some(FileKind::Other)
    } else {
        None
    }
}

fn parse(bytes: &[u8]) -> Result<Elf<'_>, FatbinError> {
    Elf::parse(bytes)
        .map_err(|e| FatbinError::Damaged { at: 0, what: format!("an ELF file that cannot be read ({e})") })
}

/// Relocatable device code of a host ELF file.
pub(super) fn relocatable(bytes: &[u8]) -> Result<Vec<Image>, FatbinError> {
    let elf = parse(bytes)?;
    let (mut images, mut held): (Vec<Image>, u64) = (Vec::new(), 0);
    for (start, _, section) in sections(bytes, &elf, RELOCATABLE)? {
        let first = images.last().map_or(0, |i| i.container + 1);
        let mut found = containers(section, start, Origin::Relocatable, first)?;
        held += contents_bytes(&found);
        check_contents(held, bytes, start)?;
        images.append(&mut found);
    }
    Ok(images)
}

/// Device code of a host ELF file or a cubin.
pub(super) fn images(bytes: &[u8]) -> Result<Vec<Image>, FatbinError> {
    let elf = parse(bytes)?;
    if elf.header.e_machine == EM_CUDA {
        return Ok(vec![plain(ImageKind::Cubin, bytes)]);
    }
    let registered = registered_addresses(bytes, &elf)?;
    let (mut images, mut held): (Vec<Image>, u64) = (Vec::new(), 0);
    for (name, origin) in [(".nv_fatbin", Origin::Registered), (RELOCATABLE, Origin::Relocatable)] {
        for (start, address, section) in sections(bytes, &elf, name)? {
            let first = images.last().map_or(0, |i| i.container + 1);
            let mut found = containers(section, start, origin, first)?;
            if origin == Origin::Registered && !registered.is_empty() {
                mark_unreferenced(&mut found, section, address, first, &registered);
            }
            held += contents_bytes(&found);
            check_contents(held, bytes, start)?;
            images.append(&mut found);
        }
    }
    Ok(images)
}

/// A section: its offset in the file, its address, its contents.
type Section<'b> = (u64, u64, &'b [u8]);

/// Sections of a name. Those of a linker lie side by side; where they overlap, the time to read them could be the square
/// of the file's length.
fn sections<'b>(bytes: &'b [u8], elf: &Elf<'_>, name: &str) -> Result<Vec<Section<'b>>, FatbinError> {
    let named = elf
        .section_headers
        .iter()
        .filter(|s| s.sh_type != SHT_NOBITS && elf.shdr_strtab.get_at(s.sh_name) == Some(name));
    let (mut found, mut length) = (Vec::new(), 0usize);
    for s in named {
        let range = s.file_range().filter(|range| range.start <= range.end);
        let Some(contents) = range.and_then(|range| bytes.get(range)) else { continue };
        length += contents.len();
        if length > bytes.len() {
            let what = format!("sections `{name}` that are longer than the file");
            return Err(FatbinError::Damaged { at: s.sh_offset, what });
        }
        found.push((s.sh_offset, s.sh_addr, contents));
    }
    Ok(found)
}

/// Addresses of the containers that wrappers refer to; a position-independent program has them in relocations.
fn registered_addresses(bytes: &[u8], elf: &Elf<'_>) -> Result<HashSet<u64>, FatbinError> {
    let mut found = HashSet::new();
    let mut relocations = HashMap::new();
    for relocation in &elf.dynrelas {
        if let Some(addend) = relocation.r_addend {
            // The first of several for one place counts.
            relocations.entry(relocation.r_offset).or_insert(addend);
        }
    }
    for (_, address, section) in sections(bytes, elf, ".nvFatBinSegment")? {
        for (i, wrapper) in section.chunks_exact(WRAPPER_BYTES).enumerate() {
            if wrapper[..4] != WRAPPER_MAGIC.to_le_bytes() {
                continue;
            }
            let field = address.wrapping_add((i * WRAPPER_BYTES) as u64 + 8);
            let relocated = relocations.get(&field).copied();
            let mut pointer = [0; 8];
            pointer.copy_from_slice(&wrapper[8..16]);
            let plain = u64::from_le_bytes(pointer);
            found.extend(relocated.and_then(|a| u64::try_from(a).ok()).or((plain != 0).then_some(plain)));
        }
    }
    Ok(found)
}

/// Corrects the origin of images whose container no wrapper names.
fn mark_unreferenced(
    images: &mut [Image],
    section: &[u8],
    address: u64,
    first: usize,
    registered: &HashSet<u64>,
) {
    let magic = CONTAINER_MAGIC.to_le_bytes();
    let mut at = 0;
    let mut number = first;
    let mut images = images.iter_mut().peekable();
    while let Some(header) = section.get(at..).and_then(|rest| rest.get(..16)) {
        if header[..4] != magic {
            at += 8;
            continue;
        }
        let unreferenced = !registered.contains(&address.wrapping_add(at as u64));
        while let Some(image) = images.next_if(|image| image.container <= number) {
            if unreferenced && image.container == number {
                image.origin = Origin::Unreferenced;
            }
        }
        let mut length = [0; 8];
        length.copy_from_slice(&header[8..16]);
        at = at
            .saturating_add(16)
            .saturating_add(usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX));
        number += 1;
    }
}
