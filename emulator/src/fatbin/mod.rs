//! What CUDA compilers put into executables: fat binaries with PTX and machine code for several GPUs.
//!
//! [`open`] takes any file that may hold some (an executable, a library, an object file, a `.fatbin`, a cubin,
//! a PTX text) and returns its [`Image`]s. `container` decodes the fat binary format, `payload` decompresses,
//! `elf` finds containers and kernel names in ELF files, [`runtime`] how they come by CUDA's runtime. NVIDIA does not document the format; the layout is
//! what decoding several hundred binaries of nvcc 13 showed, and everything read is checked against the file's
//! bounds, so that damaged files give errors. Linking relocatable PTX is not this module's business.

mod container;
mod elf;
mod payload;
pub mod runtime;

pub use container::{CONTAINER_MAGIC, entries};

use serde::Serialize;

/// What an entry of a fat binary holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// Machine code (a cubin).
    Cubin,
}

/// How an entry is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// As it is.
    None,
    /// A raw LZ4 block.
    Lz4,
    /// A zstd frame.
    Zstd,
}

/// Where in a file a fat binary lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A container that the program registers with the CUDA runtime.
    Registered,
    /// A container that no wrapper refers to, such as the stub that device linking leaves.
    Unreferenced,
    /// Relocatable device code: its PTX is one of several modules that have to be linked.
    Relocatable,
    /// The file is itself a fat binary, a cubin or PTX.
    File,
}

/// One program for one architecture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// PTX or machine code.
    pub kind: ImageKind,
    /// Compute capability, ten times the major version plus the minor one: 75 is `sm_75`.
    pub arch: u32,
    /// Version of the PTX ISA or of the machine code's format, major and minor.
    pub version: (u16, u16),
    /// Flags of the entry as they are in the file.
    pub flags: u64,
    /// How it is stored.
    pub compression: Compression,
    /// Where it was found.
    pub origin: Origin,
    /// Number of its container in the file, from 0.
    pub container: usize,
    /// Source file, when the compiler noted it (`-lineinfo`, `-G`).
    pub name: Option<String>,
    /// Options for ptxas that the compiler noted.
    pub options: Option<String>,
    /// Bytes that it takes in the file.
    pub stored_bytes: u64,
    /// The decompressed contents; PTX without the terminating NUL.
    pub contents: Vec<u8>,
}

impl Image {
    /// Names of the kernels in it, in the order of the file; empty when it cannot be read.
    #[must_use]
    pub fn kernels(&self) -> Vec<String> {
        match self.kind {
            ImageKind::Ptx => ptx_kernels(&self.contents),
            ImageKind::Cubin => elf::cubin_kernels(&self.contents),
        }
    }

    /// Whether there is neither code nor a variable in it: nvcc links such a cubin into every executable, whether its
    /// sources have device code or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind == ImageKind::Cubin && elf::is_empty_cubin(&self.contents)
    }
}

/// Why a file's fat binaries cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FatbinError {
    /// The file is of no kind that holds device code.
    #[error("{0}")]
    Unknown(String),
    /// The file is damaged.
    #[error("{what} at byte {at:#x}")]
    Damaged {
        /// Offset in the file.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// An entry uses something that is not known.
    #[error("{what} at byte {at:#x}, which is not supported")]
    Unsupported {
        /// Offset in the file.
        at: u64,
        /// What it is.
        what: String,
    },
}

/// Decompressed contents that one entry may have: far above any real program, and a bound on what a damaged
/// file can make us allocate.
pub const MAX_IMAGE_BYTES: u64 = 1 << 30;

/// Contents that all entries of a file may have together, in file lengths, where that is more than [`MAX_IMAGE_BYTES`]:
/// what compilers write is a tenth as dense.
const MOST_PER_FILE_BYTE: u64 = 64;

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

/// What images hold.
fn contents_bytes(images: &[Image]) -> u64 {
    images.iter().map(|image| image.contents.len() as u64).sum()
}

/// Whether the images of a file hold no more than its length lets expect.
fn check_contents(held: u64, file: &[u8], at: u64) -> Result<(), FatbinError> {
    let limit = (file.len() as u64).saturating_mul(MOST_PER_FILE_BYTE).max(MAX_IMAGE_BYTES);
    if held <= limit {
        return Ok(());
    }
    let what = format!("a file of {} bytes whose device code has more than {limit}", file.len());
    Err(FatbinError::Damaged { at, what })
}

/// The images of consecutive containers (with zero padding between them) that start at `base` in the file;
/// `first` numbers the first of them.
fn containers(bytes: &[u8], base: u64, origin: Origin, mut first: usize) -> Result<Vec<Image>, FatbinError> {
    let mut images = Vec::new();
    let mut at = 0;
    let mut held = 0;
    while let Some(skipped) = bytes.get(at..).and_then(|rest| rest.iter().position(|&b| b != 0)) {
        at = (at + skipped) & !7;
        let (mut found, length) = entries(&bytes[at..], base + at as u64)?;
        for image in &mut found {
            (image.origin, image.container) = (origin, first);
        }
        held += contents_bytes(&found);
        check_contents(held, bytes, base + at as u64)?;
        images.append(&mut found);
        first += 1;
        at += length;
    }
    Ok(images)
}

/// A file that is one image.
fn plain(kind: ImageKind, bytes: &[u8]) -> Image {
    let mut image = Image {
        kind,
        arch: 0,
        version: (0, 0),
        flags: 0,
        compression: Compression::None,
        origin: Origin::File,
        container: 0,
        name: None,
        options: None,
        stored_bytes: bytes.len() as u64,
        contents: bytes.to_vec(),
    };
    match kind {
        ImageKind::Ptx => describe_ptx(&mut image),
        ImageKind::Cubin => image.arch = elf::cubin_arch(bytes),
    }
    image
}

/// Version and target as the PTX's directives say.
fn describe_ptx(image: &mut Image) {
    let text = String::from_utf8_lossy(&image.contents);
    for line in text.lines().map(str::trim_start).take(200) {
        if let Some(version) = line.strip_prefix(".version") {
            let mut parts = version.trim().split('.').map(|n| n.trim().parse().unwrap_or(0));
            image.version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        } else if let Some(target) = line.strip_prefix(".target") {
            let digits: String =
                target.trim().trim_start_matches("sm_").chars().take_while(char::is_ascii_digit).collect();
            image.arch = digits.parse().unwrap_or(0);
            return;
        }
    }
}

fn looks_like_ptx(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(64 << 10)];
    std::str::from_utf8(head)
        .or_else(|e| std::str::from_utf8(&head[..e.valid_up_to()]))
        .is_ok_and(|text| text.lines().map(str::trim_start).any(|line| line.starts_with(".version")))
}

/// Names after `.entry`, without parsing the whole text.
fn ptx_kernels(contents: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(contents);
    let mut names = Vec::new();
    for (at, _) in text.match_indices(".entry") {
        let rest = text[at + ".entry".len()..].trim_start();
        let name: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '%')).collect();
        if !name.is_empty() {
            names.push(name);
        }
    }
    names
}
