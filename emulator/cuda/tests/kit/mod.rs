//! Finds what tests of the CUDA libraries need: the libraries, a CUDA toolkit, a Python interpreter.
//!
//! The folders that `tools/scripts/cuda-toolkit.sh` and `tools/scripts/python-clients.sh` name in their examples are
//! searched by default, so that a machine where the scripts were run once needs no variables.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(crate) use test_kit::{Tool, skipped};

/// Folder into which the project's scripts install what tests need.
fn cache() -> Option<PathBuf> {
    let told = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
    Some(told.or_else(home)?.join("warplab"))
}

/// The CUDA toolkit that `CUDA_HOME` or `CUDA_PATH` name, the one that is installed, or the one of the script.
pub(crate) fn toolkit() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let installed = cache().map(|c| c.join("cuda")).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    told.chain(installed).find(|p| p.join("include/cuda.h").is_file())
}

/// The compiler of the toolkit, or the one on PATH.
pub(crate) fn nvcc() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let folders = toolkit().map(|t| t.join("bin")).into_iter().chain(folders);
    folders.map(|folder| folder.join("nvcc")).find(|p| p.is_file())
}

/// The interpreter that `WARPLAB_PYTHON` names, that of the script's environment, or the usual one.
pub(crate) fn python() -> PathBuf {
    let told = std::env::var_os("WARPLAB_PYTHON").filter(|v| !v.is_empty()).map(PathBuf::from);
    let made = || cache().map(|c| c.join("python/bin/python3")).filter(|p| p.is_file());
    told.or_else(made).unwrap_or_else(|| "python3".into())
}

/// A folder of the given name with the libraries that were built with this test, as programs look for them.
///
/// Cargo puts what a test depends on beside it and only `cargo build` copies it further up, so that the folder that
/// users have may be older or not there.
pub(crate) fn libraries(name: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let test = std::env::current_exe().expect("the test has a path");
    let built = test.ancestors().nth(2).expect("it lies in the profile's folder").join("cuda");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.insert(folder.clone()) {
        return folder;
    }
    std::fs::create_dir_all(folder.join("bin")).expect("the folder for tests can be written");
    let companions =
        ["libcudart.so.13", "libcudart.so.12", "bin/ptxas", "bin/nvcc"].map(|n| (n, built.join(n)));
    for (name, from) in companions.into_iter().chain([("libcuda.so.1", test.with_file_name("libcuda.so"))]) {
        assert!(from.is_file(), "{} is built with this test", from.display());
        // A copy, since a library looks for others beside its real path. Another process may do the same at the
        // same time.
        let part = folder.join(format!("{name}.{}.part", std::process::id()));
        std::fs::copy(from, &part).expect("libraries can be copied");
        std::fs::rename(&part, folder.join(name)).expect("libraries can be put in place");
    }
    // The build leaves the driver's other name as a link; a link of ours leads to the copy.
    let other = "libcuda.so";
    if built.join(other).is_symlink() {
        let part = folder.join(format!("{other}.{}.part", std::process::id()));
        std::os::unix::fs::symlink("libcuda.so.1", &part).expect("links can be made");
        std::fs::rename(&part, folder.join(other)).expect("links can be put in place");
    }
    folder
}
