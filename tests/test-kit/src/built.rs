//! The programs of the build that a test is a part of, and the CUDA toolkit and Python of the machine.
//!
//! The folders that `tools/scripts/cuda-toolkit.sh` and `tools/scripts/python-clients.sh` name in their examples are
//! searched by default. A machine where the scripts ran once needs no variables.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

/// Programs that tests start, in the folder of the build.
const PROGRAMS: [&str; 5] = ["emu", "timing", "trace", "demo", "cuda/libcuda.so.1"];

/// The folder in which cargo has put the programs of the build that this process is a part of.
///
/// # Errors
/// One of the programs is missing.
pub fn programs() -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|e| format!("this program has no path: {e}"))?;
    let folder = here.ancestors().find(|folder| folder.join("deps").is_dir()).unwrap_or(&here);
    // `cargo test` leaves the CUDA library among the crates; `cargo build` links it to where the programs find it.
    let (library, built) = (folder.join("libcuda.so"), folder.join("deps/libcuda.so"));
    if changed(&built) > changed(&library) {
        link(&built, &library)?;
    }
    match PROGRAMS.iter().find(|program| !folder.join(program).exists()) {
        None => Ok(folder.to_path_buf()),
        Some(program) => Err(format!(
            "there is no {program} in {}\n  help: `cargo build --release` builds it",
            folder.display()
        )),
    }
}

/// When a file was changed; `None`, which is before any time, if it does not exist.
fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// Links `to` to a file, in place of what was there. Several tests may do the same at once.
fn link(file: &Path, to: &Path) -> Result<(), String> {
    let part = to.with_extension(format!("{}.part", std::process::id()));
    let linked = fs::hard_link(file, &part).and_then(|()| fs::rename(&part, to));
    // If both names are one file already, a rename does nothing and leaves the first.
    let _ = fs::remove_file(&part);
    linked.map_err(|e| format!("{}: {e}", to.display()))
}

/// Folder into which the project's scripts install what tests need.
fn cache() -> Option<PathBuf> {
    let told = env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
    Some(told.or_else(home)?.join("warplab"))
}

/// The CUDA toolkit that `CUDA_HOME` or `CUDA_PATH` name, the one that is installed, or the one of the script.
#[must_use]
pub fn toolkit() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let installed = cache().map(|c| c.join("cuda")).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    told.chain(installed).find(|p| p.join("include/cuda.h").is_file())
}

/// The compiler of the toolkit, or the one on PATH.
#[must_use]
pub fn nvcc() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let folders = toolkit().map(|t| t.join("bin")).into_iter().chain(folders);
    folders.map(|folder| folder.join("nvcc")).find(|p| p.is_file())
}

/// The interpreter that `WARPLAB_PYTHON` names, that of the script's environment, or the usual one.
#[must_use]
pub fn python() -> PathBuf {
    let told = env::var_os("WARPLAB_PYTHON").filter(|v| !v.is_empty()).map(PathBuf::from);
    let made = || cache().map(|c| c.join("python/bin/python3")).filter(|p| p.is_file());
    told.or_else(made).unwrap_or_else(|| "python3".into())
}
