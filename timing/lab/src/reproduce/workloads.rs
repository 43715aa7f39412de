//! The workloads that stand for papers' programs: launch manifests with their PTX, in folders.

use crate::store::Key;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warplab_host::input;

/// Depth of folders in which manifests are looked for: SUITE/NAME/NAME.toml.
const DEPTH: usize = 3;

/// The manifests of a folder, by name.
#[derive(Clone, Debug)]
pub struct Workloads {
    folder: PathBuf,
    found: BTreeMap<String, Workload>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Name of its manifest, without the extension.
    pub name: String,
    /// The launch manifest.
    pub manifest: PathBuf,
    /// Its PTX.
    pub ptx: PathBuf,
}

/// A way to record a workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recording {
    /// Name of the workload.
    pub workload: String,
    /// Size of its manifest.
    pub size: String,
    /// Order of instructions.
    pub schedule: Option<String>,
    /// Registers per thread at most.
    pub maxregs: Option<u32>,
}

impl Recording {
    /// Its arguments for `emu record`.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--size".to_owned(), self.size.clone()];
        if let Some(schedule) = &self.schedule {
            arguments.extend(["--schedule".into(), schedule.clone()]);
        }
        if let Some(registers) = self.maxregs {
            arguments.extend(["--maxregs".into(), registers.to_string()]);
        }
        arguments
    }
}

impl Workloads {
    /// The manifests in a folder and its folders.
    ///
    /// # Errors
    /// The folder cannot be read, or has no manifest.
    pub fn in_folder(folder: &Path) -> Result<Workloads, String> {
        let mut found = BTreeMap::new();
        collect(folder, DEPTH, &mut found).map_err(|why| format!("{}: {why}", folder.display()))?;
        if found.is_empty() {
            return Err(format!("{} has no launch manifest (NAME.toml with a key `ptx`)", folder.display()));
        }
        Ok(Workloads { folder: folder.to_owned(), found })
    }

    /// The bundled workloads: `tests/workloads` in this folder or above it, or those of the installed program.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn bundled() -> Result<Workloads, String> {
        let here = std::env::current_dir().ok();
        let program = std::env::current_exe().ok();
        let above = here.iter().chain(&program).flat_map(|path| path.ancestors());
        let checkout = above.map(|path| path.join("tests/workloads"));
        // As install.sh puts them beside the programs, and the Python package beside its own.
        let installed = program.iter().flat_map(|path| path.ancestors().skip(1).take(2));
        let installed =
            installed.flat_map(|path| ["share/warplab/workloads", "workloads"].map(|name| path.join(name)));
        let folder = checkout.chain(installed).find(|path| path.is_dir());
        let folder = folder.ok_or(
            "the bundled workloads (tests/workloads) are neither in this folder, nor above it, nor beside the installed program; \
             name their folder with --workloads",
        )?;
        Workloads::in_folder(&folder)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The workload with a name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: &str) -> Result<&Workload, String> {
        let missing = || {
            let guess = warplab_host::names::perhaps(name, self.found.keys().map(String::as_str));
            format!("there is no workload {name} in {}{guess}", self.folder.display())
        };
        self.found.get(name).ok_or_else(missing)
    }
}

impl Workload {
    /// A key of its content: all files of its folder.
    pub(super) fn key(&self, key: Key) -> Result<Key, String> {
        let folder = self.manifest.parent().unwrap_or(Path::new("."));
        let fail = |why: std::io::Error| format!("{}: {why}", folder.display());
        let entries = std::fs::read_dir(folder).map_err(fail)?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_file() && path.extension().is_none_or(|end| end != "wtrace"))
            .collect();
        files.sort();
        files.iter().try_fold(key.with(self.name.as_bytes()), |key, path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            Ok(key.with(name).with(
                &input::read(path, input::IMAGE_BYTES).map_err(|why| format!("{}: {why}", path.display()))?,
            ))
        })
    }
}

/// Adds the manifests of a folder.
fn collect(folder: &Path, depth: usize, found: &mut BTreeMap<String, Workload>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && depth > 1 {
            collect(&path, depth - 1, found)?;
        } else if path.extension().is_some_and(|end| end == "toml")
            && let Some(ptx) = ptx_of(&path)
        {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name.clone(), Workload { name, manifest: path, ptx });
        }
    }
    Ok(())
}

/// The PTX that a manifest names.
fn ptx_of(manifest: &Path) -> Option<PathBuf> {
    let table: toml::Table = toml::from_str(&input::read_text(manifest, input::TEXT_BYTES).ok()?).ok()?;
    Some(manifest.with_file_name(table.get("ptx")?.as_str()?))
}
