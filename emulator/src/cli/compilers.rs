//! Makes programs that compile kernels at run time stop at PTX instead of machine code, because the emulator
//! runs PTX. It uses settings of these programs; settings of the user are kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Triton's settings for the ptxas to use; ours only copies PTX.
const TRITON: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];
/// CuPy's setting that makes NVIDIA's run-time compiler write PTX.
const CUPY: &str = "CUPY_COMPILE_WITH_PTX";
/// Folder beside the libraries with wrappers of NVIDIA's compilers.
const FOLDER: &str = "bin";

/// Variables to set for a program, with the libraries in this folder.
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
    // Without nvcc, programs that search it on PATH must not find one.
    if folder.join("nvcc").is_file() && has_nvcc(&path) {
        let folders = std::iter::once(PathBuf::from(&folder)).chain(std::env::split_paths(&path));
        if let Ok(joined) = std::env::join_paths(folders) {
            all.push(("PATH", joined));
        }
    }
    all
}
