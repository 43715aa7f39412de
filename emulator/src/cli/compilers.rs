//! What makes programs that compile kernels while they run end with PTX, which is what runs here, where they would go
//! on to machine code. These are settings that the programs have; what the user has set stays.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Triton's settings for the ptxas to use; ours passes PTX on.
const TRITON: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];
/// CuPy's that has NVIDIA's run-time compiler write PTX.
const CUPY: &str = "CUPY_COMPILE_WITH_PTX";
/// Folder beside the libraries with compilers that stand before NVIDIA's.
const FOLDER: &str = "bin";

/// Variables to set for a program that the libraries are in this folder for.
pub(super) fn variables(libraries: &Path) -> Vec<(&'static str, OsString)> {
    let folder = libraries.join(FOLDER);
    let ptxas = folder.join("ptxas");
    let mut all: Vec<(&str, OsString)> = vec![(CUPY, "1".into())];
    if ptxas.is_file() {
        all.extend(TRITON.map(|name| (name, ptxas.clone().into_os_string())));
    }
    all.retain(|(name, _)| std::env::var_os(name).is_none());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_nvcc = |folders: &OsString| std::env::split_paths(folders).any(|f| f.join("nvcc").is_file());
    // Who looks for nvcc on PATH is to learn that there is none.
    if folder.join("nvcc").is_file() && has_nvcc(&path) {
        let folders = std::iter::once(PathBuf::from(&folder)).chain(std::env::split_paths(&path));
        if let Ok(joined) = std::env::join_paths(folders) {
            all.push(("PATH", joined));
        }
    }
    all
}
