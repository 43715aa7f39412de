//! Fat binaries, which CUDA compilers put into executables: PTX and machine code for several GPUs.
//!
//! [`open`] takes any file that may hold some (an executable, a library, an object file, a `.fatbin`, a
//! cubin, a PTX text) and returns its [`Image`]s. `container` decodes the fat binary format, `payload`
//! decompresses, `elf` finds containers and kernel names in ELF files, [`runtime`] finds how they link CUDA's
//! runtime, `closed` knows NVIDIA's closed libraries. NVIDIA does not document the format; the layout was derived from several hundred binaries of nvcc
//! 13, and everything read is checked against the file's bounds, so that damaged files give errors. This
//! module does not link relocatable PTX.

mod closed;
mod container;
mod cubin;
mod elf;
mod image;
mod payload;
pub mod runtime;

pub use closed::{closed_function, closed_kernel, closed_library};
use container::containers;
pub use container::{CONTAINER_MAGIC, entries};
pub use elf::{FileKind, kind_of};
use image::{check_contents, contents_bytes, plain};

pub use image::{Compression, FatbinError, Image, ImageKind, MAX_IMAGE_BYTES, Origin};

/// What archives of object files (`.a`) begin with.
const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";

/// All device code in a file; that of an archive is the code of all its members.
///
/// # Errors
/// When the file is of no kind that holds device code, or is damaged. A file of a known kind without device
/// code has no images.
pub fn open(bytes: &[u8]) -> Result<Vec<Image>, FatbinError> {
    if bytes.starts_with(b"\x7fELF") {
        return elf::images(bytes);
    }
    if bytes.get(..4) == Some(&CONTAINER_MAGIC.to_le_bytes()[..]) {
        return containers(bytes, 0, Origin::File, 0);
    }
    if bytes.starts_with(ARCHIVE_MAGIC) {
        return archive(bytes);
    }
    if looks_like_ptx(bytes) {
        return Ok(vec![plain(ImageKind::Ptx, bytes)]);
    }
    Err(FatbinError::Unknown(
        "this is no executable, library, object file, fat binary, cubin or PTX text; CUDA programs for Linux \
         are ELF files"
            .into(),
    ))
}

/// The relocatable device code of an executable or a library, which has to be linked before it is loaded; nothing else
/// of the file is unpacked.
///
/// # Errors
/// When the file is no ELF file, or is damaged.
pub fn relocatable(bytes: &[u8]) -> Result<Vec<Image>, FatbinError> {
    elf::relocatable(bytes)
}

/// The images of the members of an archive, whose containers are numbered through.
fn archive(bytes: &[u8]) -> Result<Vec<Image>, FatbinError> {
    let damaged = |what: String| FatbinError::Damaged { at: 0, what };
    let archive = goblin::archive::Archive::parse(bytes)
        .map_err(|e| damaged(format!("an archive that cannot be read ({e})")))?;
    let (mut images, mut held): (Vec<Image>, u64) = (Vec::new(), 0);
    for member in (0..archive.len()).filter_map(|at| archive.get_at(at)) {
        let at = usize::try_from(member.offset).unwrap_or(usize::MAX);
        let contents = bytes.get(at..).and_then(|rest| rest.get(..member.size()));
        let contents = contents.ok_or_else(|| damaged("an archive whose member runs off its end".into()))?;
        if !contents.starts_with(b"\x7fELF") {
            continue;
        }
        let first = images.last().map_or(0, |i| i.container + 1);
        let mut found = elf::images(contents)?;
        found.iter_mut().for_each(|image| image.container += first);
        held += contents_bytes(&found);
        check_contents(held, bytes, member.offset)?;
        images.append(&mut found);
    }
    Ok(images)
}

fn looks_like_ptx(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(64 << 10)];
    std::str::from_utf8(head)
        .or_else(|e| std::str::from_utf8(&head[..e.valid_up_to()]))
        .is_ok_and(|text| text.lines().map(str::trim_start).any(|line| line.starts_with(".version")))
}
