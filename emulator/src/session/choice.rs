//! Which code a session runs: PTX, or machine code, and from which file.

use super::error::SessionError;
use crate::fatbin;
use crate::manifest::{Manifest, ManifestError};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The code of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CodeKind {
    /// PTX, lowered here.
    Ptx,
    /// NVIDIA's machine code.
    Sass,
}

impl CodeKind {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CodeKind::Ptx => "ptx",
            CodeKind::Sass => "sass",
        }
    }
}

impl std::str::FromStr for CodeKind {
    type Err = String;

    fn from_str(name: &str) -> Result<CodeKind, String> {
        let found = [CodeKind::Ptx, CodeKind::Sass].into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("there is no code `{name}`; known are ptx and sass"))
    }
}

/// The machine number of NVIDIA's GPUs in ELF files, and its place.
const EM_CUDA: [u8; 2] = [190, 0];
const MACHINE_AT: usize = 18;

/// Whether a file is a cubin; with machine code asked for, also one that may hold some: a fat binary, executable or library.
pub(super) fn is_machine_code(path: &Path, code: Option<CodeKind>) -> bool {
    let mut head = [0; MACHINE_AT + 2];
    let begins = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let elf = head.starts_with(b"\x7fELF");
    let container = head.starts_with(&fatbin::CONTAINER_MAGIC.to_le_bytes());
    begins.is_ok()
        && match code {
            Some(CodeKind::Ptx) => false,
            Some(CodeKind::Sass) => elf || container,
            None => elf && head[MACHINE_AT..] == EM_CUDA,
        }
}

/// Whether machine code runs, of a manifest that was named: if it is asked for or its file is named, or there is no PTX.
pub(super) fn wants_machine_code(code: Option<CodeKind>, named: Option<&Path>, manifest: &Manifest) -> bool {
    match code {
        Some(code) => code == CodeKind::Sass,
        None if named.is_some() => true,
        // A file beside the manifest runs if the manifest names none.
        None if manifest.names_ptx => false,
        None => manifest.cubin.is_some() || !manifest.ptx.is_file() && beside(&manifest.ptx).is_file(),
    }
}

/// The file of machine code beside a PTX file.
fn beside(ptx: &Path) -> PathBuf {
    ptx.with_extension("cubin")
}

/// The file with the machine code.
///
/// # Errors
/// There is none, and nothing is compiled.
pub(super) fn cubin(named: Option<&Path>, manifest: &Manifest, ptx: &Path) -> Result<PathBuf, SessionError> {
    let named = named.map(Path::to_owned).or_else(|| manifest.cubin.clone());
    if let Some(cubin) = named {
        return Ok(cubin);
    }
    let beside = beside(ptx);
    if beside.is_file() {
        return Ok(beside);
    }
    let (ptx, cubin) = (ptx.display(), beside.display());
    Err(ManifestError {
        help: Some(format!(
            "`ptxas -arch=sm_80 {ptx} -o {cubin}` assembles PTX; name another file with --cubin, or as cubin = \"FILE\" in the manifest"
        )),
        ..ManifestError::file(
            manifest.path.display().to_string(),
            format!("no machine code is named, and there is no {cubin}"),
        )
    }
    .into())
}
