//! NVIDIA's tools, as programs: where they are, and what they print.

use std::path::{Path, PathBuf};

/// A tool of the CUDA toolkit, from `$CUDA_HOME/bin` or `$PATH`.
#[must_use]
pub fn tool(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin").join(name));
    let path = std::env::var_os("PATH");
    let dirs = path.iter().flat_map(std::env::split_paths).map(|dir| dir.join(name));
    home.into_iter().chain(dirs).find(|p| p.is_file())
}
