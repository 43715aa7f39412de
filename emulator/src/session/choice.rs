//! Which code a session runs: PTX, or machine code, and from which file.

use super::error::SessionError;
use crate::fatbin::{self, FileKind};
use crate::manifest::{Manifest, ManifestError};
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

/// Whether a file is a cubin; with machine code asked for, also one that may hold some: a fat binary, executable or library.
pub(super) fn is_machine_code(path: &Path, code: Option<CodeKind>) -> bool {
    match (fatbin::kind_of(path), code) {
        (None, _) | (_, Some(CodeKind::Ptx)) => false,
        (Some(_), Some(CodeKind::Sass)) => true,
        (Some(kind), None) => kind == FileKind::Cubin,
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
