//! The images in fat binaries, and errors of reading them.

use super::cubin;
use serde::Serialize;

/// Kind of an entry of a fat binary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// Machine code (a cubin).
    Cubin,
}

/// Compression of an entry.
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

/// Origin of a fat binary within a file.
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
            ImageKind::Cubin => cubin::cubin_kernels(&self.contents),
        }
    }

    /// Whether there is neither code nor a variable in it: nvcc links such a cubin into every executable, whether its
    /// sources have device code or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind == ImageKind::Cubin && cubin::is_empty_cubin(&self.contents)
    }
}

/// Error of reading a file's fat binaries.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
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

/// Maximum total contents of a file's entries per byte of the file, if that is more than [`MAX_IMAGE_BYTES`];
/// compilers' output has a tenth of this density.
const MOST_PER_FILE_BYTE: u64 = 64;

/// Total size of the images' contents.
pub(super) fn contents_bytes(images: &[Image]) -> u64 {
    images.iter().map(|image| image.contents.len() as u64).sum()
}

/// Checks that the images of a file are not larger than its length allows.
pub(super) fn check_contents(held: u64, file: &[u8], at: u64) -> Result<(), FatbinError> {
    let limit = (file.len() as u64).saturating_mul(MOST_PER_FILE_BYTE).max(MAX_IMAGE_BYTES);
    if held <= limit {
        return Ok(());
    }
    let what = format!("a file of {} bytes whose device code has more than {limit}", file.len());
    Err(FatbinError::Damaged { at, what })
}

/// A file that is one image.
pub(super) fn plain(kind: ImageKind, bytes: &[u8]) -> Image {
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
        ImageKind::Cubin => image.arch = cubin::cubin_arch(bytes),
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
