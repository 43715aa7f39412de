//! The bundled workloads, carried inside the binary so that the demo runs from anywhere.
//!
//! Each is unpacked as PTX and launch manifest side by side, where `emu` can run it again. The sources, more
//! sizes and the CPU references are in `tests/workloads`.

use crate::failure::Failure;
use std::io::Write;
use std::path::{Path, PathBuf};
use warplab_host::destination::Destination;

/// One bundled workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// Name in tables and charts, and stem of its files.
    pub name: &'static str,
    folder: &'static str,
    ptx: &'static str,
    manifest: &'static str,
}

macro_rules! workloads {
    ($($name:literal in $suite:literal / $folder:literal),+ $(,)?) => {
        &[$(Workload {
            name: $name,
            folder: $folder,
            ptx: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../tests/workloads/", $suite, "/", $folder, "/", $folder, ".ptx"
            )),
            manifest: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../tests/workloads/", $suite, "/", $folder, "/", $name, ".toml"
            )),
        }),+]
    };
}

/// Every workload, in the order in which they run and are shown: 1D blocks first.
pub(crate) const ALL: &[Workload] = workloads![
    "vectoradd" in "textbook" / "vectoradd",
    "reduction" in "textbook" / "reduction",
    "scan" in "textbook" / "scan",
    "histogram" in "textbook" / "histogram",
    "pathfinder" in "rodinia" / "pathfinder",
    "bfs" in "rodinia" / "bfs",
    "blackscholes" in "cuda-samples" / "blackscholes",
    "nbody" in "textbook" / "nbody",
    "spmv" in "textbook" / "spmv",
    "gaussian" in "rodinia" / "gaussian",
    "backprop" in "rodinia" / "backprop",
    "dct8x8" in "cuda-samples" / "dct8x8",
    "hotspot" in "rodinia" / "hotspot",
    "sad" in "parboil" / "sad",
    "convolution" in "textbook" / "convolution",
    "transpose" in "textbook" / "transpose",
    "matmul_naive" in "textbook" / "matmul_naive",
    "matmul_tiled_16" in "textbook" / "matmul_tiled",
    "matmul_tiled" in "textbook" / "matmul_tiled",
];

/// Names of all workloads.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|workload| workload.name)
}

/// The workloads of these names, in the order of the list; all when there are none.
///
/// # Errors
/// A name that does not exist, with those that do.
pub(crate) fn select(names: &[String]) -> Result<Vec<Workload>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|workload| workload.name == **name)) {
        let known = ALL.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ");
        return Err(Failure(format!("unknown workload `{unknown}`; there are: {known}")));
    }
    let chosen = |workload: &&Workload| names.is_empty() || names.iter().any(|name| name == workload.name);
    Ok(ALL.iter().filter(chosen).copied().collect())
}

impl Workload {
    /// What it computes: the beginning of the manifest's first comment, as many clauses as are short.
    pub(crate) fn about(&self) -> String {
        const SHORT: usize = 50;
        let comment =
            self.manifest.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default();
        let sentence = comment.split([';', ':', '(']).next().unwrap_or_default().trim().trim_end_matches('.');
        let mut about = String::new();
        for clause in sentence.split(", ") {
            if !about.is_empty() && about.len() + clause.len() > SHORT {
                break;
            }
            about += if about.is_empty() { "" } else { ", " };
            about += clause;
        }
        about.replace('`', "")
    }

    /// Writes PTX and manifest into a folder of their own below `dir`; returns the paths of both.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub(crate) fn unpack(&self, dir: &Path) -> Result<(PathBuf, PathBuf), Failure> {
        let dir = dir.join(self.folder);
        let fail = |path: &Path, e: std::io::Error| Failure(format!("cannot write {}: {e}", path.display()));
        std::fs::create_dir_all(&dir).map_err(|e| fail(&dir, e))?;
        let ptx = dir.join(format!("{}.ptx", self.folder));
        let manifest = dir.join(format!("{}.toml", self.name));
        for (path, text) in [(&ptx, self.ptx), (&manifest, self.manifest)] {
            let written = Destination::within(path).write(|out| out.write_all(text.as_bytes()));
            written.map_err(|e| fail(path, e))?;
        }
        Ok((ptx, manifest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_found_by_name_and_say_what_they_compute() {
        assert_eq!(select(&[]).unwrap().len(), ALL.len());
        let two = select(&["hotspot".into(), "scan".into()]).unwrap();
        assert_eq!(two.iter().map(|w| w.name).collect::<Vec<_>>(), ["scan", "hotspot"]);
        let Failure(message) = select(&["hotspott".into()]).unwrap_err();
        assert!(message.contains("`hotspott`") && message.contains("hotspot,"), "{message}");
        for workload in ALL {
            assert!((10..90).contains(&workload.about().len()), "{}: {}", workload.name, workload.about());
            assert!(workload.manifest.contains(&format!("ptx = \"{}.ptx\"", workload.folder)));
        }
    }
}
